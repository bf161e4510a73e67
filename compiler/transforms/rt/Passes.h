//===- Passes.h - passes from kernels to the step program ------------------------------------------===//
#ifndef INGOT_COMPILER_TRANSFORMS_RT_PASSES_H
#define INGOT_COMPILER_TRANSFORMS_RT_PASSES_H

#include "dialects/rt/Rt.h"

#include "mlir/Pass/Pass.h"

namespace ingot::transforms {
#define GEN_PASS_DECL
#include "compiler/transforms/rt/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "compiler/transforms/rt/Passes.h.inc"
} // namespace ingot::transforms

#endif
