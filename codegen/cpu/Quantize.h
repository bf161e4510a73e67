//===- Quantize.h - f32 rows to int8 activations --------------------------------------------------------===//
//
// Emission of spec/Quantize.h: groups of 32 into the block layout. Shared by the quantize, norm and attention
// families, whose results become the operand of a quantized linear.
//
//===----------------------------------------------------------------------------------------------------===//
#ifndef INGOT_CODEGEN_CPU_QUANTIZE_H
#define INGOT_CODEGEN_CPU_QUANTIZE_H

#include "codegen/cpu/Rows.h"
#include "codegen/cpu/spec/Quantize.h"

namespace ingot::cpu {

/// One row of a packed activation slot.
class ActRow {
public:
  /// `base` is the slot's address; `row` an i64.
  ActRow(KernelBuilder &k, const spec::ActLayout &layout, Value base, Value row);

  /// Quantizes the 32 values of lo and hi into group `group` (i64).
  void writeGroup(Value group, Value lo, Value hi);

  /// Largest magnitude of 32 values; the scale and its inverse for magnitudes (any shape): both 0 below
  /// 1e-30.
  static Value magnitude(KernelBuilder &k, Value lo, Value hi);
  static std::pair<Value, Value> scales(KernelBuilder &k, Value magnitude);
  /// The rest of writeGroup once the scale (f32) and its inverse (16 lanes) are known.
  void writeScaled(Value group, Value lo, Value hi, Value scale, Value inverse);

private:
  KernelBuilder &k;
  spec::ActLayout layout;
  Value at; ///< the block's region + 4 * (row in block)
};

struct QuantizeSpec {
  int64_t D = 0;
  RowDomain domain = RowDomain::Rows;
  RowsRef x;
  unsigned out = 1;
  spec::ActLayout act; ///< K = D
};

/// Quantizes rows; slots: x, out.
void emitQuantize(KernelBuilder &k, const QuantizeSpec &spec);

/// Quantizes a row of D columns: calls values(first, count, last) -> vector with zeros in lanes >= count for
/// each 16 columns, twice: `last` is false in the pass that looks for the magnitudes, true in the one that
/// writes. `first` is an i64 column, count 1 .. 16. `stack` has quantizeStack(D) bytes.
void quantizeColumns(KernelBuilder &k, ActRow &row, int64_t D, Value stack,
                     llvm::function_ref<Value(Value, int64_t, bool)> values);
int64_t quantizeStack(int64_t D);

} // namespace ingot::cpu

#endif
