//===- Registration.cpp - passes of this folder by name ------------------------------------------------------------===//
#include "compiler/transforms/tile/Passes.h"

#include "mlir/Pass/PassRegistry.h"

namespace ingot::tile {

void registerTilePasses(const KernelRegistry &registry) {
  mlir::registerPass([] { return createTileFormKernels(); });
  mlir::registerPass([] { return createTileAttention(); });
  mlir::registerPass([&registry] { return createTileSelectPass(registry, "avx2"); });
  mlir::registerPass([] { return createQfmtAssignLayouts(); });
  mlir::registerPass([] { return createTileDedup(); });
}

} // namespace ingot::tile
