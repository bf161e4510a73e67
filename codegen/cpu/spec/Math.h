//===- Math.h - scalar specification of elementary functions and reductions -----------------------------===//
//
// What every float kernel of every CPU variant computes, bit for bit: exp, silu, gelu, tanh, the 16-lane
// reduction tree, and the conversions of the KV cache. No fast-math, no contraction but the std::fma written
// here. Domain: any float; NaN gives NaN.
//
//===-------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_CODEGEN_CPU_SPEC_MATH_H
#define INGOT_CODEGEN_CPU_SPEC_MATH_H

#include <cstdint>
#include <cstring>

namespace ingot::spec {

/// Kind of the gate of a feed-forward block.
enum class GateKind { Silu, Gelu, GeluTanh };

inline uint32_t bitsOf(float x) {
  uint32_t u;
  std::memcpy(&u, &x, 4);
  return u;
}
inline float floatOf(uint32_t u) {
  float x;
  std::memcpy(&x, &u, 4);
  return x;
}

/// exp(x), relative error below 2e-7; exactly 0 below -87.3 (also for -inf), exp(88) above 88.
float exp(float x);
/// x / (1 + exp(-x)).
float silu(float x);
/// x * Phi(x), by erfc.
float gelu(float x);
/// The tanh approximation of gelu.
float geluTanh(float x);
/// 1 - 2 / (exp(2x) + 1).
float tanh(float x);
/// c * tanh(x * fl(1 / c)).
float softcap(float x, float c);
/// gate(g) * u.
float gate(GateKind kind, float g, float u);

/// The larger of two, b when either is NaN: the semantics of `maxps`.
inline float maxOf(float a, float b) { return a > b ? a : b; }

/// Sum of 16 lanes: lanes i and i + 8, then + 4, + 2, + 1.
float tree16(const float lanes[16]);

/// IEEE binary16 and bfloat16, round to nearest even; a NaN stays a (quiet) NaN.
uint16_t f32ToF16(float x);
float f16ToF32(uint16_t h);
uint16_t f32ToBf16(float x);
/// One dot of `k` (even) bf16 weights and f32 values that are rounded to bf16 first: what AVX512-BF16
/// computes. Of each pair of columns the odd one is added first; each addition of an (exact) product rounds
/// once. Inputs and sums under 2^-126 count as zero.
float dotBf16(const uint16_t *w, int64_t k, const float *x);
/// The same by tiles of AMX-BF16: of each 32 columns (k is a multiple) the even and the odd ones form a chain
/// each, whose sum is added to the result.
float dotBf16Tiles(const uint16_t *w, int64_t k, const float *x);
inline float bf16ToF32(uint16_t h) { return floatOf(uint32_t(h) << 16); }

} // namespace ingot::spec
#endif
