//===- Norm.cpp - scalar specification of RMS normalisation ---------------------------------------------===//
#include "codegen/cpu/spec/Norm.h"
#include "codegen/cpu/spec/Math.h"

#include <cmath>

namespace ingot::spec {

float rmsScale(const float *x, int64_t D, float eps) {
  float lanes[16] = {};
  for (int64_t i = 0; i < D; ++i)
    lanes[i % 16] = std::fma(x[i], x[i], lanes[i % 16]);
  return 1.0f / std::sqrt(tree16(lanes) / float(D) + eps);
}

void rmsNorm(const float *x, const float *gamma, const float *residual, float *y, int64_t D, int64_t groups,
             float eps) {
  int64_t width = D / groups;
  for (int64_t g = 0; g < groups; ++g) {
    const float *xg = x + g * width;
    float s = rmsScale(xg, width, eps);
    for (int64_t i = 0; i < width; ++i) {
      float v = (xg[i] * s) * gamma[i];
      y[g * width + i] = residual ? residual[g * width + i] + v : v;
    }
  }
}

} // namespace ingot::spec
