//===- Query.h - a kernel as the registry sees it ---------------------------------------------------===//
#ifndef INGOT_COMPILER_TRANSFORMS_TILE_QUERY_H
#define INGOT_COMPILER_TRANSFORMS_TILE_QUERY_H

#include "compiler/support/KernelRegistry.h"
#include "dialects/tile/Tile.h"

namespace ingot::tile {

/// The prototype of a formed kernel for a target; the same before and after tile-select.
KernelQuery queryOf(KernelOp kernel, llvm::StringRef isa);

/// Gives the kernel the candidate's schedule, dot kind and layout for a target. An error at the kernel where
/// the candidate does not fit it.
mlir::LogicalResult applySchedule(KernelOp kernel, const KernelCandidate &candidate, llvm::StringRef isa);

/// What a kernel with a schedule was given, without layout, cost and reason.
KernelCandidate scheduleOf(KernelOp kernel);

} // namespace ingot::tile

#endif
