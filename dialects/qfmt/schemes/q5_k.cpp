//===- q5_k.cpp - as q4_k with 32 bytes of fifth bits before the nibbles: bit s of byte i, sub-block s -===//
#include "dialects/qfmt/schemes/Blocks.h"

using namespace ingot::qfmt;

namespace {
struct Traits {
  static constexpr Scheme kScheme = Scheme::Q5_K;
  static constexpr int64_t kBytes = 176;
  static constexpr int kBits = 5;
  static void codes(const uint8_t *block, int s, uint8_t c[32]) {
    const uint8_t *high = block + 16, *q = block + 48 + 32 * (s / 2);
    for (int i = 0; i < 32; ++i)
      c[i] = uint8_t((s % 2 ? q[i] >> 4 : q[i] & 15) | (high[i] >> s & 1) << 4);
  }
};
} // namespace

const SchemeOps ingot::qfmt::ops_q5_k = Super256<Traits>::ops();
