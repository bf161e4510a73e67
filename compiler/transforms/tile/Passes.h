//===- Passes.h - passes from model ops to kernels -------------------------------------------------===//
#ifndef INGOT_COMPILER_TRANSFORMS_TILE_PASSES_H
#define INGOT_COMPILER_TRANSFORMS_TILE_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <memory>
#include <string>

namespace ingot {
class KernelRegistry;
class TuneProfile;
} // namespace ingot

namespace ingot::transforms {

#define GEN_PASS_DECL
#include "compiler/transforms/tile/Passes.h.inc"

/// tile-select with a registry, and with measured schedules where `profile` is not null; both must outlive
/// the pass. The pass made without a registry fails when it runs.
std::unique_ptr<mlir::Pass> createTileSelectPass(const KernelRegistry &registry, llvm::StringRef isa,
                                                 const TuneProfile *profile = nullptr);

/// Registers the passes of this folder by name; tile-select asks `registry`, which must outlive the tool.
void registerIngotTilePasses(const KernelRegistry &registry);

} // namespace ingot::transforms

#endif
