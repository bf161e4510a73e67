//===- Rows.h - how kernels address rows of activations -------------------------------------------------===//
//
// f32 rows have a stride of the slot's width rounded up to 16 floats; a kernel may read a column range of
// them, or the rows that the step selects for its outputs. The floats between width and stride hold anything.
//
//===----------------------------------------------------------------------------------------------------===//
#ifndef INGOT_CODEGEN_CPU_ROWS_H
#define INGOT_CODEGEN_CPU_ROWS_H

#include "codegen/cpu/KernelBuilder.h"

namespace ingot::cpu {

/// Which rows a launch works on: the step's token rows, or its output rows.
enum class RowDomain { Rows, Out };

inline int64_t roundUp(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

/// Columns offset .. of the f32 rows in `slot`, whose rows are `width` floats wide.
struct RowsRef {
  unsigned slot = 0;
  int64_t width = 0;
  int64_t offset = 0;
  bool selected = false; ///< row i of the domain is row step->out_rows[i] of the slot
  int64_t strideBytes() const { return roundUp(width, 16) * 4; }
  /// D columns fill the padded row: full vectors may touch all of it.
  bool whole(int64_t D) const { return offset == 0 && roundUp(width, 16) == roundUp(D, 16); }
};

/// Number of rows of the domain, i64.
Value domainRows(KernelBuilder &k, RowDomain domain);

/// Address of the first column of row `row` (i64). `base` is k.slot(ref.slot), loaded outside of loops.
Value rowPointer(KernelBuilder &k, const RowsRef &ref, Value base, Value row);

/// Calls f(row) for this part's share of the rows.
void forRows(KernelBuilder &k, RowDomain domain, llvm::function_ref<void(Value)> f);

} // namespace ingot::cpu

#endif
