//===- Norm.h - RMS normalisation of rows ---------------------------------------------------------------===//
//
// Emission of spec/Norm.h. Results: f32 rows, packed int8 activations, or both; with a residual operand the
// result is residual + norm(x). In `groups` equal pieces of a row (q and k heads) gamma serves every piece.
//
//===----------------------------------------------------------------------------------------------------===//
#ifndef INGOT_CODEGEN_CPU_NORM_H
#define INGOT_CODEGEN_CPU_NORM_H

#include "codegen/cpu/Quantize.h"

#include <optional>

namespace ingot::cpu {

struct NormSpec {
  int64_t D = 0;
  int64_t groups = 1;
  float eps = 0;
  RowDomain domain = RowDomain::Rows;
  RowsRef x;
  std::optional<RowsRef> residual;
  unsigned gamma = 0;             ///< weight: D / groups floats, padded to 16
  std::optional<RowsRef> outRows; ///< may be the memory of x or of the residual
  std::optional<unsigned> outAct; ///< slot
  spec::ActLayout act;            ///< K = D, where outAct is set
};

/// Empty when emitNorm can do it, else the reason.
std::string refuseNorm(const NormSpec &spec);
void emitNorm(KernelBuilder &k, const NormSpec &spec);

/// fl(1 / sqrt(mean of squares + eps)) of `width` f32 at `x`: an f32 scalar.
Value emitRmsScale(KernelBuilder &k, Value x, int64_t width, float eps);

} // namespace ingot::cpu

#endif
