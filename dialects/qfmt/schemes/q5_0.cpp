//===- q5_0.cpp - f16 d, 4 bytes of fifth bits, 16 of nibbles; value (q - 16) d -------------------===//
#include "dialects/qfmt/schemes/Blocks.h"

using namespace ingot::qfmt;

namespace {
struct Traits {
  static constexpr Scheme kScheme = Scheme::Q5_0;
  static constexpr int64_t kBytes = 22;
  static constexpr int kBits = 5, kZero = 16;
  static constexpr bool kHasMin = false;
  static const uint8_t *d(const uint8_t *block) { return block; }
  static const uint8_t *m(const uint8_t *block) { return block + 0; }
  static void codes(const uint8_t *block, uint8_t c[32]) {
    nibbles16(block + 6, c);
    fifthBits(block + 2, c);
  }
};
} // namespace

const SchemeOps ingot::qfmt::ops_q5_0 = Block32<Traits>::ops();
