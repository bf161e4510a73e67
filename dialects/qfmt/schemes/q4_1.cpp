//===- q4_1.cpp - f16 d, f16 m, 16 bytes of nibbles; value q d + m --------------------------------===//
#include "dialects/qfmt/schemes/Blocks.h"

using namespace ingot::qfmt;

namespace {
struct Traits {
  static constexpr Scheme kScheme = Scheme::Q4_1;
  static constexpr int64_t kBytes = 20;
  static constexpr int kBits = 4, kZero = 0;
  static constexpr bool kHasMin = true;
  static const uint8_t *d(const uint8_t *block) { return block; }
  static const uint8_t *m(const uint8_t *block) { return block + 2; }
  static void codes(const uint8_t *block, uint8_t c[32]) { nibbles16(block + 4, c); }
};
} // namespace

const SchemeOps ingot::qfmt::ops_q4_1 = Block32<Traits>::ops();
