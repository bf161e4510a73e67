//===- FiniteCheck.h - weights that are no numbers ------------------------------------------------------===//
#ifndef INGOT_CODEGEN_PACKAGE_FINITECHECK_H
#define INGOT_CODEGEN_PACKAGE_FINITECHECK_H

#include "dialects/qfmt/Geometry.h"

namespace ingot::package {

/// Whether every value of a row of `cols` elements in its file form is finite. Quantized formats can hold
/// another value only through their half-precision scales and minimums.
bool isFinite(qfmt::Scheme scheme, const uint8_t *row, int64_t cols);

} // namespace ingot::package

#endif // INGOT_CODEGEN_PACKAGE_FINITECHECK_H
