//===- Math.h - elementary functions inside kernels -----------------------------------------------------===//
//
// Emission of the fixed sequences of spec/Math.h on f32 scalars or vectors: equal bits on every target. The
// coefficients come from spec/MathConstants.h; a change here is a change there.
//
//===----------------------------------------------------------------------------------------------------===//
#ifndef INGOT_CODEGEN_CPU_MATH_H
#define INGOT_CODEGEN_CPU_MATH_H

#include "codegen/cpu/KernelBuilder.h"
#include "codegen/cpu/spec/Math.h"

namespace ingot::cpu {

/// exp(x); x may be -inf (0). Saturates at exp(88).
Value emitExp(KernelBuilder &k, Value x);
/// The same where x <= 88 is known (softmax): one operation less.
Value emitExpNonPositive(KernelBuilder &k, Value x);
Value emitSilu(KernelBuilder &k, Value x);
Value emitGelu(KernelBuilder &k, Value x);
Value emitGeluTanh(KernelBuilder &k, Value x);
Value emitTanh(KernelBuilder &k, Value x);
/// cap * tanh(x * fl(1 / cap)).
Value emitSoftcap(KernelBuilder &k, Value x, float cap);
/// gate(g) * u.
Value emitGate(KernelBuilder &k, spec::GateKind kind, Value g, Value u);

} // namespace ingot::cpu

#endif
