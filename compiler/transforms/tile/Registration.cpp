//===- Registration.cpp - passes of this folder by name --------------------------------------------===//
#include "compiler/transforms/tile/Passes.h"

#include "mlir/Pass/PassRegistry.h"

namespace ingot::transforms {

void registerIngotTilePasses(const KernelRegistry &registry) {
  mlir::registerPass([] { return createTileFormKernelsPass(); });
  mlir::registerPass([] { return createTileAttentionPass(); });
  mlir::registerPass([&registry] { return createTileSelectPass(registry, "avx2"); });
  mlir::registerPass([] { return createQfmtAssignLayoutsPass(); });
  mlir::registerPass([] { return createTileDedupPass(); });
}

} // namespace ingot::transforms
