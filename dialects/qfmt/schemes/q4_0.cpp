//===- q4_0.cpp - f16 d, 16 bytes of nibbles; value (q - 8) d -------------------------------------===//
#include "dialects/qfmt/schemes/Blocks.h"

using namespace ingot::qfmt;

namespace {
struct Traits {
  static constexpr Scheme kScheme = Scheme::Q4_0;
  static constexpr int64_t kBytes = 18;
  static constexpr int kBits = 4, kZero = 8;
  static constexpr bool kHasMin = false;
  static const uint8_t *d(const uint8_t *block) { return block; }
  static const uint8_t *m(const uint8_t *block) { return block + 0; }
  static void codes(const uint8_t *block, uint8_t c[32]) { nibbles16(block + 2, c); }
};
} // namespace

const SchemeOps ingot::qfmt::ops_q4_0 = Block32<Traits>::ops();
