//===- q4_k.cpp - 256 columns: f16 d, f16 dmin, 12 bytes of 6-bit scales and minimums, 128 of nibbles -===//
#include "dialects/qfmt/schemes/Blocks.h"

using namespace ingot::qfmt;

namespace {
struct Traits {
  static constexpr Scheme kScheme = Scheme::Q4_K;
  static constexpr int64_t kBytes = 144;
  static constexpr int kBits = 4;
  static void codes(const uint8_t *block, int s, uint8_t c[32]) {
    const uint8_t *q = block + 16 + 32 * (s / 2);
    for (int i = 0; i < 32; ++i)
      c[i] = s % 2 ? q[i] >> 4 : q[i] & 15;
  }
};
} // namespace

const SchemeOps ingot::qfmt::ops_q4_k = Super256<Traits>::ops();
