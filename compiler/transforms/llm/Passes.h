//===- Passes.h - passes on the llm dialect --------------------------------------------------------===//
#ifndef INGOT_COMPILER_TRANSFORMS_LLM_PASSES_H
#define INGOT_COMPILER_TRANSFORMS_LLM_PASSES_H

#include "dialects/llm/Llm.h"

#include "mlir/Pass/Pass.h"

namespace ingot::transforms {
#define GEN_PASS_DECL
#include "compiler/transforms/llm/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "compiler/transforms/llm/Passes.h.inc"
} // namespace ingot::transforms

#endif
