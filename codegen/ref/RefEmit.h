//===- RefEmit.h - plain f32 lowering of kernels: the oracle --------------------------------------------===//
//
// Emits the kernels of `--kernels=ref`: every step of a body as an obvious loop in f32 over unpacked f32
// weights, softmax in two passes over all keys. Shares nothing with codegen/cpu but the builder of functions
// and the elementary functions; it is compared with external references and then judges the fast kernels.
//
//===------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_CODEGEN_REF_REFEMIT_H
#define INGOT_CODEGEN_REF_REFEMIT_H

#include "codegen/cpu/KernelFacts.h"
#include "codegen/target/Targets.h"
#include "dialects/tile/Describe.h"

namespace ingot::ref {

/// Appends `kernel`'s function, named like it, to `into`; sequences have at most `context` positions. Sets
/// the bytes of scratch that the function needs. An operation that has no plain lowering is an error at its
/// location.
mlir::LogicalResult emitKernel(tile::KernelOp kernel, mlir::ModuleOp into, const target::Target &target,
                               int64_t context, cpu::KernelFacts &facts);

} // namespace ingot::ref

#endif // INGOT_CODEGEN_REF_REFEMIT_H
