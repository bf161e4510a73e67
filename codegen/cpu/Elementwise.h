//===- Elementwise.h - gate, add, scale, softcap, select on rows ----------------------------------------===//
//
// Kernels without a reduction. The result may be the memory of an operand with the same columns.
//
//===----------------------------------------------------------------------------------------------------===//
#ifndef INGOT_CODEGEN_CPU_ELEMENTWISE_H
#define INGOT_CODEGEN_CPU_ELEMENTWISE_H

#include "codegen/cpu/Math.h"
#include "codegen/cpu/Rows.h"

namespace ingot::cpu {

struct ElementwiseSpec {
  enum class Kind {
    Gate,    ///< gate(a) * b
    Add,     ///< a + b
    Scale,   ///< a * constant
    Softcap, ///< constant * tanh(a / constant)
    Copy     ///< a; with a.selected, the rows whose logits are wanted
  };
  Kind kind = Kind::Copy;
  int64_t D = 0;
  RowDomain domain = RowDomain::Rows;
  RowsRef a, b, out;
  spec::GateKind gate = spec::GateKind::Silu;
  float constant = 1;
};

void emitElementwise(KernelBuilder &k, const ElementwiseSpec &spec);

} // namespace ingot::cpu

#endif
