//===- InitAllPasses.h - every pass of Ingot, for the tools ---------------------------------------------===//
#ifndef INGOT_COMPILER_TRANSFORMS_INITALLPASSES_H
#define INGOT_COMPILER_TRANSFORMS_INITALLPASSES_H

#include "compiler/transforms/llm/Passes.h"
#include "compiler/transforms/qfmt/Passes.h"
#include "compiler/transforms/rt/Passes.h"
#include "compiler/transforms/tile/Passes.h"

namespace ingot::transforms {

/// Makes every pass known by its command-line name. For tools; pipelines create passes directly. tile-select
/// asks `registry`, which must outlive the tool.
inline void registerAllIngotPasses(const KernelRegistry &registry) {
  registerIngotLlmPasses();
  registerIngotQfmtPasses();
  registerIngotTilePasses(registry);
  registerIngotRtPasses();
}

} // namespace ingot::transforms

#endif
