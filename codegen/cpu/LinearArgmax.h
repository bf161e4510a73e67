//===- LinearArgmax.h - the best column of each part in place of the logits
//-------------------------------===//
//
// The last step of the kernel of a head, in steps with INGOT_STEP_ARGMAX.
//
// A part's entry of a row (ingot_argmax_v1) lies where its first column would, so that it needs no memory of
// its own and parts share no cache line. A tile compares its columns with the entries of its rows; only where
// one of them is better or not finite, columns are looked at one by one. After the first few panels that is
// rare, and a tile costs a few instructions more than storing it. Columns pass in ascending order for every
// row, whatever the schedule, so a strict comparison keeps the lowest index.
//
//===------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_CODEGEN_CPU_LINEARARGMAX_H
#define INGOT_CODEGEN_CPU_LINEARARGMAX_H

#include "codegen/cpu/KernelBuilder.h"

namespace ingot::cpu {

class LinearArgmax {
public:
  /// `n` columns, of which only the last panel may be padded, in rows of the output `out`. Makes the part's
  /// entries of rows 0 .. rows - 1 (i64) where the step asks for them.
  LinearArgmax(KernelBuilder &k, int64_t n, Value out, Value rows);
  /// Whether the step asks (i1).
  Value wanted() const { return asked; }
  /// Columns from `column` on of rows row0 .. : ys[v][r] is the v-th vector of row r.
  void update(llvm::ArrayRef<llvm::SmallVector<Value, 12>> ys, Value column, Value row0);

private:
  /// Columns that lie in `spill` one after the other, one by one.
  void scan(Value column, int64_t columns, Value r, Value entry0);

  KernelBuilder &k;
  int64_t n, stride; ///< columns; bytes of a row
  Value asked, spill;
  Value entries; ///< of row 0
};

} // namespace ingot::cpu

#endif
