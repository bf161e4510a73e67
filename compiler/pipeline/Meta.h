//===- Meta.h - the description that an artefact carries ------------------------------------------------===//
#ifndef INGOT_COMPILER_PIPELINE_META_H
#define INGOT_COMPILER_PIPELINE_META_H

#include "compiler/import/Model.h"
#include "compiler/pipeline/CompileOptions.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

#include <string>

namespace ingot::pipeline {

/// One variant after the program phase.
struct VariantModule {
  std::string isa;
  mlir::ModuleOp module;
  uint64_t objectBytes = 0;
  uint64_t scratchBytes = 0;           ///< largest of its kernels, per worker
  llvm::StringMap<uint64_t> codeBytes; ///< of each kernel; empty before emission
};

/// The META section (runtime/abi/ingot_pack.h): what the runtime reads and what `info`, `inspect` and
/// `explain` print. The text depends on its arguments alone.
std::string buildMeta(const import_::ModelSource &source, const CompileOptions &options,
                      llvm::ArrayRef<VariantModule> variants, const std::string &compilerVersion);

/// The part of it that tokenizing and rendering chats need, without compiling anything.
std::string buildTextMeta(const import_::ModelSource &source);

} // namespace ingot::pipeline

#endif // INGOT_COMPILER_PIPELINE_META_H
