//===- Hash.cpp -----------------------------------------------------------------------------------------===//
#include "runtime/weights/Hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace ingot::weights {

static XXH64_state_t *stateOf(unsigned char *bytes) { return reinterpret_cast<XXH64_state_t *>(bytes); }

uint64_t hashBytes(const void *data, uint64_t size) { return XXH64(size ? data : "", size, 0); }

Hasher::Hasher() {
  static_assert(sizeof(XXH64_state_t) <= sizeof(state), "the state must fit");
  XXH64_reset(stateOf(state), 0);
}

void Hasher::add(const void *data, uint64_t size) {
  if (size)
    XXH64_update(stateOf(state), data, size);
}

void Hasher::addWord(uint64_t value) { add(&value, sizeof(value)); }

uint64_t Hasher::digest() const { return XXH64_digest(stateOf(const_cast<unsigned char *>(state))); }

} // namespace ingot::weights
