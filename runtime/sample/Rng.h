//===- Rng.h - counter-based random numbers -------------------------------------------------------------===//
//
// A draw is a pure function of (seed, counter): a request that is preempted and computed again, or runs
// beside others, draws the same numbers. Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as
// 1, 2, 3", SC 2011).
//
//===------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_RUNTIME_SAMPLE_RNG_H
#define INGOT_RUNTIME_SAMPLE_RNG_H

#include <cstdint>

namespace ingot::sample {

/// 64 random bits of stream `seed` at `counter`.
inline uint64_t randomBits(uint64_t seed, uint64_t counter) {
  uint32_t x[4] = {uint32_t(counter), uint32_t(counter >> 32), 0, 0};
  uint32_t key[2] = {uint32_t(seed), uint32_t(seed >> 32)};
  for (int round = 0; round < 10; ++round) {
    uint64_t a = uint64_t(0xD2511F53u) * x[0], b = uint64_t(0xCD9E8D57u) * x[2];
    uint32_t y0 = uint32_t(b >> 32) ^ x[1] ^ key[0], y2 = uint32_t(a >> 32) ^ x[3] ^ key[1];
    x[0] = y0, x[1] = uint32_t(b), x[2] = y2, x[3] = uint32_t(a);
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return uint64_t(x[1]) << 32 | x[0];
}

/// Uniform in [0, 1), 53 bits.
inline double randomUniform(uint64_t seed, uint64_t counter) {
  return double(randomBits(seed, counter) >> 11) * 0x1.0p-53;
}

} // namespace ingot::sample
#endif
