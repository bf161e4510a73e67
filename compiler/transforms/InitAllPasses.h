//===- InitAllPasses.h - every pass of Ingot, for the tools ----------------------------------------------===//
#ifndef INGOT_COMPILER_TRANSFORMS_INITALLPASSES_H
#define INGOT_COMPILER_TRANSFORMS_INITALLPASSES_H

#include "compiler/transforms/llm/Passes.h"
#include "compiler/transforms/qfmt/Passes.h"

namespace ingot::transforms {

/// Makes every pass known by its command-line name. For tools; pipelines create passes directly.
inline void registerAllIngotPasses() {
  registerIngotLlmPasses();
  registerIngotQfmtPasses();
}

} // namespace ingot::transforms

#endif
