//===- Passes.h - passes that decide weight and activation formats ---------------------------------===//
#ifndef INGOT_COMPILER_TRANSFORMS_QFMT_PASSES_H
#define INGOT_COMPILER_TRANSFORMS_QFMT_PASSES_H

#include "dialects/llm/Llm.h"

#include "mlir/Pass/Pass.h"

namespace ingot::transforms {
#define GEN_PASS_DECL
#include "compiler/transforms/qfmt/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "compiler/transforms/qfmt/Passes.h.inc"
} // namespace ingot::transforms

#endif
