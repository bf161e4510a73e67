//===- MathConstants.h - constants of the fixed elementary sequences ------------------------------------===//
//
// One place for the coefficients that the scalar specification (spec/Math.cpp) and the emitted kernels
// (codegen/cpu/Math.cpp) share: both evaluate the same FMA sequence, so equal constants mean equal bits.
// The polynomials are minimax fits (Remez exchange) of our own, rounded to float.
//
//===----------------------------------------------------------------------------------------------------===//
#ifndef INGOT_CODEGEN_CPU_SPEC_MATHCONSTANTS_H
#define INGOT_CODEGEN_CPU_SPEC_MATHCONSTANTS_H

namespace ingot::spec {

// exp: n = round(x * log2 e) by adding and subtracting 1.5 * 2^23; r = x - n * ln 2 in two steps;
// exp(r) = 1 + r + r^2 * q(r), relative error of q's fit 3e-9 on |r| <= 0.347.
inline constexpr float kLog2E = 0x1.715476p+0f;
inline constexpr float kRoundMagic = 12582912.0f; // its low 9 mantissa bits are zero: see expf's shift
inline constexpr float kLn2Hi = 0x1.62e400p-1f;
inline constexpr float kLn2Lo = 0x1.7f7d1cp-20f;
inline constexpr float kExpQ0 = 0x1.fffffcp-2f;
inline constexpr float kExpQ1 = 0x1.555490p-3f;
inline constexpr float kExpQ2 = 0x1.5558f6p-5f;
inline constexpr float kExpQ3 = 0x1.123a8ep-7f;
inline constexpr float kExpQ4 = 0x1.6a2318p-10f;
/// Below: exactly 0. Above: the value at 88 (finite, so that 1 / (1 + exp) needs no special case).
inline constexpr float kExpLow = -87.3f;
inline constexpr float kExpHigh = 88.0f;

// gelu_tanh(x) = x / (1 + exp(-2 u)), u = sqrt(2/pi) * (x + 0.044715 x^3): the same function as
// x * (1 + tanh u) / 2 without the cancellation at negative x.
inline constexpr float kGeluTanhA = -1.5957691216057308f;             // -2 sqrt(2 / pi)
inline constexpr float kGeluTanhB = -1.5957691216057308f * 0.044715f; // the same times 0.044715

// gelu (erf): with z = |x| / sqrt 2 and t = 1 / (1 + z / 2): erfc(z) / 2 = exp(-z^2) * t * h(t),
// relative error of h's fit 5e-8 for t in 0.17 .. 1 (beyond, exp(-z^2) is 0).
inline constexpr float kGeluHalfInvSqrt2 = 0x1.6a09e6p-2f; // 1 / (2 sqrt 2)
inline constexpr float kGeluH[9] = {0x1.20db66p-3f,  0x1.212492p-3f,  0x1.f20366p-4f,
                                    0x1.9e90a4p-4f,  -0x1.aa1fc0p-7f, 0x1.1bd3f0p-3f,
                                    -0x1.f21930p-3f, 0x1.2305c2p-3f,  -0x1.e344acp-6f};

} // namespace ingot::spec
#endif
