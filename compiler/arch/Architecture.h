//===- Architecture.h - What one architecture provides ----------*- C++ -*-===//
//
// An architecture is a config reader, a map of tensor names and a block
// builder. Roles are written as in GGUF ("attn_q", "ffn_down"), so that only
// the Hugging Face names need a map.
//
//===----------------------------------------------------------------------===//
#ifndef INGOT_COMPILER_ARCH_ARCHITECTURE_H
#define INGOT_COMPILER_ARCH_ARCHITECTURE_H

#include "compiler/arch/Build.h"
#include "compiler/arch/Fields.h"
#include "compiler/arch/ModelConfig.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/ArrayRef.h"

namespace ingot::arch {

class ModelBuilder;

/// A role of a layer and its Hugging Face name below "model.layers.N.".
struct TensorName {
  const char *role;
  const char *hf;
};

struct Architecture {
  /// Reads the configuration. Faults are recorded in `fields`.
  void (*readConfig)(Fields &fields, const BuildOptions &options, ModelConfig &config);
  llvm::ArrayRef<TensorName> names;
  /// Emits one layer: the residual stream in, the residual stream out.
  mlir::Value (*buildBlock)(ModelBuilder &builder, int64_t layer, mlir::Value x);
};

#define ARCHITECTURE(name, hf, gguf) const Architecture &name##Architecture();
#include "compiler/arch/Architectures.def"

} // namespace ingot::arch

#endif // INGOT_COMPILER_ARCH_ARCHITECTURE_H
