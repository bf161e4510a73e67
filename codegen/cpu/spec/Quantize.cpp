//===- Quantize.cpp - scalar specification of the int8 activation format --------------------------------===//
#include "codegen/cpu/spec/Quantize.h"
#include "codegen/cpu/spec/Math.h"
#include "codegen/cpu/spec/MathConstants.h"

#include <cmath>
#include <cstring>

namespace ingot::spec {

ActGroup quantizeGroup(const float x[32]) {
  ActGroup g{};
  float amax = 0.0f;
  for (int i = 0; i < 32; ++i)
    amax = maxOf(std::fabs(x[i]), amax);
  bool zero = amax < 1e-30f;
  g.da = zero ? 0.0f : amax / 127.0f;
  float id = zero ? 0.0f : 127.0f / amax;
  for (int i = 0; i < 32; ++i) {
    // |x * id| <= 127 (1 + 2^-22): the addition rounds to an integer, ties to even, and leaves it in the low
    // bits.
    int32_t q = int32_t(bitsOf(x[i] * id + kRoundMagic)) - int32_t(bitsOf(kRoundMagic));
    q = q > 127 ? 127 : q < -127 ? -127 : q;
    g.q[i] = int8_t(q);
    g.s16[i / 16] += q;
  }
  g.ds = g.da * float(g.s16[0] + g.s16[1]);
  return g;
}

void quantizeRow(const ActLayout &l, const float *x, int64_t row, uint8_t *act) {
  uint8_t *block = act + row / l.R * l.regionBytes();
  int64_t r = row % l.R;
  for (int64_t b = 0; b < l.kp() / 32; ++b) {
    float v[32] = {};
    for (int i = 0; i < 32 && b * 32 + i < l.K; ++i)
      v[i] = x[b * 32 + i];
    ActGroup g = quantizeGroup(v);
    for (int w = 0; w < 8; ++w)
      std::memcpy(block + ((b * 8 + w) * l.R + r) * 4, g.q + 4 * w, 4);
    std::memcpy(block + l.daOffset() + (b * l.R + r) * 4, &g.da, 4);
    std::memcpy(block + l.dsOffset() + (b * l.R + r) * 4, &g.ds, 4);
    for (int h = 0; h < 2; ++h)
      std::memcpy(block + l.s16Offset() + ((b * 2 + h) * l.R + r) * 4, &g.s16[h], 4);
  }
}

ActGroup readGroup(const ActLayout &l, const uint8_t *act, int64_t row, int64_t b) {
  const uint8_t *block = act + row / l.R * l.regionBytes();
  int64_t r = row % l.R;
  ActGroup g;
  for (int w = 0; w < 8; ++w)
    std::memcpy(g.q + 4 * w, block + ((b * 8 + w) * l.R + r) * 4, 4);
  std::memcpy(&g.da, block + l.daOffset() + (b * l.R + r) * 4, 4);
  std::memcpy(&g.ds, block + l.dsOffset() + (b * l.R + r) * 4, 4);
  for (int h = 0; h < 2; ++h)
    std::memcpy(&g.s16[h], block + l.s16Offset() + ((b * 2 + h) * l.R + r) * 4, 4);
  return g;
}

} // namespace ingot::spec
