//===- Emit.h - tile kernels to MLIR functions ----------------------------------------------------===//
#ifndef INGOT_CODEGEN_CPU_EMIT_H
#define INGOT_CODEGEN_CPU_EMIT_H

#include "codegen/cpu/KernelFacts.h"
#include "codegen/target/Targets.h"
#include "dialects/tile/Tile.h"

namespace ingot::cpu {

/// Appends the function of `kernel`, named like it, to `into`. Sets what the runtime must know of it.
/// The kernel has its schedule (tile-select ran for this target); a family without an emitter or a schedule
/// that the emitter refuses is an error at the kernel's location.
mlir::LogicalResult emitKernel(tile::KernelOp kernel, mlir::ModuleOp into, const target::Target &target,
                               KernelFacts &facts);

} // namespace ingot::cpu

#endif
