//===- Build.h - From a model on disk to an llm module ----------*- C++ -*-===//
//
// The entry of compiler/arch: chooses the architecture, reads its config and
// emits the model as `llm` operations. No weight bytes are read but those of
// small rope factor tensors, which become attributes.
//
//===----------------------------------------------------------------------===//
#ifndef INGOT_COMPILER_ARCH_BUILD_H
#define INGOT_COMPILER_ARCH_BUILD_H

#include "compiler/import/Model.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <cstdint>
#include <string>
#include <vector>

namespace ingot::arch {

struct ModelConfig;

enum class KvDtype { F32, F16, BF16, Int8 };

struct BuildOptions {
  /// Positions to serve; 0: the model's own, at most 4096. More than the
  /// model's own is an error.
  int64_t context = 0;
  int64_t maxSeqs = 1;
  KvDtype kvDtype = KvDtype::F16;
};

/// Builds the module: one llm.config, one llm.param per tensor, and one
/// llm.step named "step". On failure returns null and sets `error` to a text
/// that names the file and the field or tensor. Loads the dialects it needs.
mlir::OwningOpRef<mlir::ModuleOp> buildModel(mlir::MLIRContext *context, const import_::ModelSource &model,
                                             const BuildOptions &options, std::string &error);

/// The configuration that buildModel would use; false and `error` on a fault.
bool readModelConfig(const import_::ModelSource &model, const BuildOptions &options, ModelConfig &config,
                     std::string &error);

/// Names of the known architectures, in the order of Architectures.def.
std::vector<std::string> knownArchitectures();

} // namespace ingot::arch

#endif // INGOT_COMPILER_ARCH_BUILD_H
