//===- Norm.h - scalar specification of RMS normalisation -----------------------------------------------===//
//
// sum of squares in 16 lanes (lane i takes elements i, i + 16, ... by fma, ascending, from 0), tree16, then
// s = 1 / sqrt(sum / D + eps) with IEEE division and square root, y = (x * s) * gamma.
//
//===-------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_CODEGEN_CPU_SPEC_NORM_H
#define INGOT_CODEGEN_CPU_SPEC_NORM_H

#include <cstdint>

namespace ingot::spec {

/// 1 / sqrt(mean of squares + eps) of x[0 .. D-1], D >= 1.
float rmsScale(const float *x, int64_t D, float eps);

/// y = rms_norm(x) * gamma over `groups` equal groups of a row of D values (gamma has D / groups entries);
/// with `residual`, y = residual + that. y may be x.
void rmsNorm(const float *x, const float *gamma, const float *residual, float *y, int64_t D, int64_t groups,
             float eps);

} // namespace ingot::spec
#endif
