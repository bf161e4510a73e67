//===- q8_0.cpp - f16 d, 32 signed bytes; value q d. Codes are q + 128 ----------------------------===//
#include "dialects/qfmt/schemes/Blocks.h"

using namespace ingot::qfmt;

namespace {
struct Traits {
  static constexpr Scheme kScheme = Scheme::Q8_0;
  static constexpr int64_t kBytes = 34;
  static constexpr int kBits = 8, kZero = 128;
  static constexpr bool kHasMin = false;
  static const uint8_t *d(const uint8_t *block) { return block; }
  static const uint8_t *m(const uint8_t *block) { return block + 0; }
  static void codes(const uint8_t *block, uint8_t c[32]) {
    for (int i = 0; i < 32; ++i)
      c[i] = uint8_t(block[2 + i] ^ 0x80);
  }
};
} // namespace

const SchemeOps ingot::qfmt::ops_q8_0 = Block32<Traits>::ops();
