//===- Schemes.cpp - table of weight formats, activation quantizer, half conversions --------------===//
#include "dialects/qfmt/schemes/Blocks.h"

using namespace ingot::qfmt;

const SchemeOps &ingot::qfmt::schemeOps(Scheme scheme) {
  switch (scheme) {
#define INGOT_SCHEME(enumerator, name)                                                                       \
  case Scheme::enumerator:                                                                                   \
    return ops_##name;
#include "dialects/qfmt/schemes/Schemes.def"
  }
  assert(false && "scheme outside the enum");
  return ops_f32;
}

void ingot::qfmt::quantizeActRow(const float *x, int64_t k, int8_t *q, float *da, float *ds) {
  for (int64_t b = 0; b < k / 32; ++b, x += 32, q += 32) {
    float amax = 0;
    for (int i = 0; i < 32; ++i)
      amax = std::fabs(x[i]) > amax ? std::fabs(x[i]) : amax;
    if (amax < 1e-30f) {
      std::memset(q, 0, 32);
      da[b] = 0;
      ds[b] = 0;
      continue;
    }
    da[b] = amax / 127.0f;
    float id = 127.0f / amax;
    int32_t sum = 0;
    for (int i = 0; i < 32; ++i) {
      float r = std::nearbyint(x[i] * id);
      r = r > 127.0f ? 127.0f : r < -127.0f ? -127.0f : r;
      q[i] = int8_t(r);
      sum += q[i];
    }
    ds[b] = da[b] * float(sum);
  }
}

float ingot::qfmt::halfToFloat(uint16_t h) {
  uint32_t sign = uint32_t(h & 0x8000) << 16, exponent = h >> 10 & 31, mantissa = h & 0x3FF, bits;
  if (exponent == 31) {
    bits = sign | 0x7F800000 | mantissa << 13 | (mantissa ? 0x400000 : 0);
  } else if (exponent) {
    bits = sign | (exponent + 112) << 23 | mantissa << 13;
  } else {
    float f = float(mantissa) * 0x1p-24f; // exact
    std::memcpy(&bits, &f, 4);
    bits |= sign;
  }
  float f;
  std::memcpy(&f, &bits, 4);
  return f;
}

uint16_t ingot::qfmt::floatToHalf(float f) {
  uint32_t bits;
  std::memcpy(&bits, &f, 4);
  uint16_t sign = uint16_t(bits >> 16 & 0x8000);
  uint32_t magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000)
    return uint16_t(sign | 0x7E00 | (magnitude >> 13 & 0x3FF));
  if (magnitude >= 0x477FF000) // rounds beyond 65504
    return uint16_t(sign | 0x7C00);
  if (magnitude < 0x38800000) { // below 2^-14: adding 0.5 leaves the rounded subnormal in the low bits
    float m;
    std::memcpy(&m, &magnitude, 4);
    m += 0.5f;
    std::memcpy(&magnitude, &m, 4);
    return uint16_t(sign | (magnitude - 0x3F000000));
  }
  magnitude += 0xFFF + (magnitude >> 13 & 1);
  return uint16_t(sign | ((magnitude - 0x38000000) >> 13));
}
