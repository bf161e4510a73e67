//===- Qwen.h - What the Qwen families share --------------------*- C++ -*-===//
#ifndef INGOT_COMPILER_ARCH_QWEN_H
#define INGOT_COMPILER_ARCH_QWEN_H

#include "compiler/arch/Fields.h"
#include "compiler/arch/ModelConfig.h"

namespace ingot::arch {

/// sliding_window counts only with use_sliding_window, and then only in layers
/// from max_window_layers on (or where layer_types says so).
void readQwenWindow(Fields &fields, ModelConfig &config);

} // namespace ingot::arch

#endif // INGOT_COMPILER_ARCH_QWEN_H
