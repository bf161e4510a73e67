//===- ModelBuilder.h - Emits llm operations --------------------*- C++ -*-===//
//
// The pieces that block builders compose: norms, projections, attention, gated
// MLPs. Each piece creates the parameters it uses, checks the file's tensors
// against the shapes that the config implies, and gives every operation the
// location of its tensor path ("blk.3.attn_q").
//
// The first fault is kept; afterwards pieces still return values of the right
// types, so that a block builder needs no error handling. Parameters are
// created in the order of use, one per tensor.
//
//===----------------------------------------------------------------------===//
#ifndef INGOT_COMPILER_ARCH_MODELBUILDER_H
#define INGOT_COMPILER_ARCH_MODELBUILDER_H

#include "compiler/arch/Architecture.h"
#include "dialects/llm/Llm.h"
#include "llvm/ADT/StringSet.h"

namespace ingot::arch {

class ModelBuilder {
public:
  ModelBuilder(mlir::MLIRContext *context, const import_::ModelSource &model,
               const Architecture &architecture, llvm::StringRef architectureName, const ModelConfig &config,
               const BuildOptions &options);

  const ModelConfig &config() const { return config_; }

  /// Builds the whole module; null with `error` set on a fault.
  mlir::OwningOpRef<mlir::ModuleOp> build(std::string &error);

  // Pieces of a layer; `role` is below "blk.N.".
  /// RMSNorm of whole rows.
  mlir::Value norm(int64_t layer, llvm::StringRef role, mlir::Value x);
  /// q, k, v, per-head norms, rope, KV append, attention and output projection.
  mlir::Value attention(int64_t layer, mlir::Value x);
  /// down(activation(gate(x)) * up(x)).
  mlir::Value gatedMlp(int64_t layer, mlir::Value x);
  mlir::Value add(int64_t layer, llvm::StringRef role, mlir::Value residual, mlir::Value x);

private:
  enum class Bias { No, Yes };
  mlir::Value linear(int64_t layer, llvm::StringRef role, mlir::Value x, int64_t n, bool bias);
  mlir::Value headNorm(int64_t layer, llvm::StringRef role, mlir::Value x, int64_t heads);
  llm::RopeAttr ropeAttr(const RopeConfig &rope);

  mlir::Location loc(const std::string &path);
  std::string layerPath(int64_t layer, llvm::StringRef role) const;
  /// The file's name of a tensor: `kind` is "weight" or "bias".
  std::string fileName(int64_t layer, llvm::StringRef role, llvm::StringRef kind) const;
  /// The parameter of a tensor with the expected shape ({n, k} or {d}).
  llm::ParamOp param(int64_t layer, llvm::StringRef role, llvm::StringRef kind,
                     llvm::ArrayRef<int64_t> shape);
  void fail(std::string text);
  void checkUnused();

  mlir::MLIRContext *context;
  const import_::ModelSource &model;
  const Architecture &architecture;
  std::string architectureName;
  const ModelConfig &config_;
  const BuildOptions &options;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::OpBuilder params, body;
  mlir::Value batch;
  llvm::StringMap<llm::ParamOp> made;
  llvm::StringSet<> used; // names of the file's tensors
  std::string error_;
};

} // namespace ingot::arch

#endif // INGOT_COMPILER_ARCH_MODELBUILDER_H
