//===- Math.cpp - scalar specification of elementary functions ------------------------------------------===//
#include "codegen/cpu/spec/Math.h"
#include "codegen/cpu/spec/MathConstants.h"

#include <cmath>

namespace ingot::spec {

float exp(float x) {
  float y = x > kExpHigh ? kExpHigh : x;
  // The sum is rounded to an integer (ulp 1 between 2^23 and 2^24), ties to even; the integer is also in the
  // low bits of t, where a shift by 23 turns it into an exponent: the constant's own low 9 bits are zero.
  float t = std::fma(y, kLog2E, kRoundMagic);
  float n = t - kRoundMagic;
  float r = std::fma(n, -kLn2Hi, y);
  r = std::fma(n, -kLn2Lo, r);
  float q = std::fma(kExpQ4, r, kExpQ3);
  q = std::fma(q, r, kExpQ2);
  q = std::fma(q, r, kExpQ1);
  q = std::fma(q, r, kExpQ0);
  float p = std::fma(q, r * r, r) + 1.0f;
  float e = floatOf(bitsOf(p) + (bitsOf(t) << 23));
  return x < kExpLow ? 0.0f : e;
}

float silu(float x) { return x / (1.0f + exp(-x)); }

float geluTanh(float x) {
  float w = x * std::fma(kGeluTanhB, x * x, kGeluTanhA);
  return x / (1.0f + exp(w));
}

float gelu(float x) {
  float a = x < 0.0f ? -x : x;
  float t = 1.0f / std::fma(a, kGeluHalfInvSqrt2, 1.0f);
  float h = kGeluH[8];
  for (int i = 7; i >= 0; --i)
    h = std::fma(h, t, kGeluH[i]);
  h = (h * t) * exp((x * x) * -0.5f); // upper tail probability of |x|
  float xh = x * h;
  return x < 0.0f ? xh : x - xh;
}

float tanh(float x) { return 1.0f - 2.0f / (exp(x + x) + 1.0f); }

float softcap(float x, float c) { return c * tanh(x * (1.0f / c)); }

float gate(GateKind kind, float g, float u) {
  switch (kind) {
  case GateKind::Silu:
    return silu(g) * u;
  case GateKind::Gelu:
    return gelu(g) * u;
  case GateKind::GeluTanh:
    return geluTanh(g) * u;
  }
  return 0.0f;
}

float tree16(const float lanes[16]) {
  float v[16];
  for (int i = 0; i < 16; ++i)
    v[i] = lanes[i];
  for (int w = 8; w >= 1; w /= 2)
    for (int i = 0; i < w; ++i)
      v[i] = v[i] + v[i + w];
  return v[0];
}

uint16_t f32ToF16(float x) {
  uint32_t u = bitsOf(x), sign = (u >> 16) & 0x8000, mag = u & 0x7fffffff;
  if (mag > 0x7f800000)
    return uint16_t(sign | 0x7e00 | ((mag >> 13) & 0x3ff));
  if (mag >= 0x47800000) // 65536 and more, infinity
    return uint16_t(sign | 0x7c00);
  uint32_t exp = mag >> 23;
  // Value = m * 2^(exp - 150); a half keeps 13 bits less, more of them below its smallest normal exponent.
  uint32_t m, shift;
  if (exp >= 113) {
    m = mag - (112u << 23);
    shift = 13;
  } else {
    if (exp < 102)
      return uint16_t(sign);
    m = (mag & 0x7fffff) | 0x800000;
    shift = 126 - exp;
  }
  uint32_t q = m >> shift, rest = m & ((1u << shift) - 1), half = 1u << (shift - 1);
  if (rest > half || (rest == half && (q & 1)))
    ++q; // may carry into the exponent, up to infinity
  return uint16_t(sign | q);
}

float f16ToF32(uint16_t h) {
  uint32_t sign = uint32_t(h & 0x8000) << 16, exp = (h >> 10) & 31, m = h & 0x3ff;
  if (exp == 31)
    return floatOf(sign | 0x7f800000 | (m << 13) | (m ? 0x400000 : 0));
  if (exp)
    return floatOf(sign | ((exp + 112) << 23) | (m << 13));
  float v = float(m) * 0x1p-24f;
  return sign ? -v : v;
}

uint16_t f32ToBf16(float x) {
  uint32_t u = bitsOf(x);
  if ((u & 0x7fffffff) > 0x7f800000)
    return uint16_t((u >> 16) | 0x40);
  return uint16_t((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}

static float flushed(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }

/// sum + w * x, the factors flushed and x rounded.
static float addBf16(uint16_t w, float x, float sum) {
  return flushed(std::fma(flushed(bf16ToF32(w)), bf16ToF32(f32ToBf16(flushed(x))), sum));
}

float dotBf16(const uint16_t *w, int64_t k, const float *x) {
  float sum = 0;
  for (int64_t pair = 0; pair < k; pair += 2)
    for (int64_t i : {pair + 1, pair})
      sum = addBf16(w[i], x[i], sum);
  return sum;
}

float dotBf16Tiles(const uint16_t *w, int64_t k, const float *x) {
  float sum = 0;
  for (int64_t block = 0; block < k; block += 32) {
    float even = 0, odd = 0;
    for (int64_t i = block; i < block + 32; i += 2) {
      even = addBf16(w[i], x[i], even);
      odd = addBf16(w[i + 1], x[i + 1], odd);
    }
    sum = flushed(sum + flushed(even + odd));
  }
  return sum;
}

} // namespace ingot::spec
