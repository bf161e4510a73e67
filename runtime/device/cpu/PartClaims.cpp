//===- PartClaims.cpp -----------------------------------------------------------------------------------===//
#include "runtime/device/cpu/PartClaims.h"

namespace ingot::cpu {

// Claims order nothing: operands were published by the barrier before the launch, and results are by the one
// behind it.
static constexpr std::memory_order Relaxed = std::memory_order_relaxed;

void PartClaims::open(unsigned worker, uint64_t turn, uint32_t pieces) {
  std::atomic<uint64_t> &word = ranges[worker].word;
  uint64_t seen = word.load(Relaxed);
  // Another worker may have opened it, used it up, and even opened that of a launch to come: then its word
  // stands, also where it came between and the exchange fails.
  if (turnOf(seen) < turn)
    word.compare_exchange_strong(seen, pack(turn, 0, pieces), Relaxed);
}

/// Largest power of two that is at most half of `left` (at least 1) and divides `at`.
static uint32_t half(uint32_t left, uint32_t at) {
  uint32_t size = 1;
  while (size * 4 <= left && at % (size * 2) == 0)
    size *= 2;
  return size;
}

bool PartClaims::takeOwn(unsigned worker, uint64_t turn, bool single, uint32_t &first, uint32_t &size) {
  std::atomic<uint64_t> &word = ranges[worker].word;
  uint64_t seen = word.load(Relaxed);
  do {
    uint32_t lo = loOf(seen), hi = hiOf(seen);
    // Of another turn: this range is used up, and somebody opened that of a launch to come.
    if (turnOf(seen) != turn || lo == hi)
      return false;
    first = lo;
    size = single ? 1 : half(hi - lo, lo);
  } while (!word.compare_exchange_weak(seen, pack(turn, first + size, hiOf(seen)), Relaxed));
  return true;
}

uint32_t PartClaims::leftOf(uint64_t word, uint64_t turn, uint32_t pieces) {
  if (turnOf(word) != turn)
    return turnOf(word) < turn ? pieces : 0;
  return hiOf(word) - loOf(word);
}

unsigned PartClaims::fullest(unsigned worker, uint64_t turn, uint32_t pieces) const {
  unsigned best = count;
  uint32_t most = 0;
  for (unsigned i = 1; i < count; ++i) {
    unsigned other = worker + i < count ? worker + i : worker + i - count;
    uint32_t left = leftOf(ranges[other].word.load(Relaxed), turn, pieces);
    if (left > most) {
      most = left;
      best = other;
    }
  }
  return best;
}

bool PartClaims::takeFrom(unsigned victim, uint64_t turn, uint32_t pieces, bool single, uint32_t &first,
                          uint32_t &size) {
  std::atomic<uint64_t> &word = ranges[victim].word;
  uint64_t seen = word.load(Relaxed);
  uint32_t left = leftOf(seen, turn, pieces);
  if (left == 0)
    return false;
  bool opened = turnOf(seen) == turn;
  uint32_t lo = opened ? loOf(seen) : 0, hi = opened ? hiOf(seen) : pieces;
  size = single ? 1 : half(left, hi);
  first = hi - size;
  return word.compare_exchange_strong(seen, pack(turn, lo, first), Relaxed);
}

} // namespace ingot::cpu
