//===- Hash.h - XXH64 as the pack format uses it --------------------------------------------------------===//
//
// Seed 0, whole buffers or streamed. Kept behind functions so that the header-only library is compiled once.
//
//===------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_RUNTIME_WEIGHTS_HASH_H
#define INGOT_RUNTIME_WEIGHTS_HASH_H

#include <cstdint>

namespace ingot::weights {

/// XXH64 of `size` bytes, seed 0. `data` may be null where `size` is 0.
uint64_t hashBytes(const void *data, uint64_t size);

/// XXH64 of a concatenation. At most 2^63 bytes; no allocation.
class Hasher {
public:
  Hasher();
  void add(const void *data, uint64_t size);
  void addWord(uint64_t value);
  uint64_t digest() const;

private:
  alignas(16) unsigned char state[96];
};

} // namespace ingot::weights
#endif
