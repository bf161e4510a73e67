//===- ParamUses.h - who uses which parameter ------------------------------------------------------===//
#ifndef INGOT_COMPILER_TRANSFORMS_LLM_PARAMUSES_H
#define INGOT_COMPILER_TRANSFORMS_LLM_PARAMUSES_H

#include "dialects/llm/Llm.h"

#include "llvm/ADT/DenseMap.h"

namespace ingot::transforms {

/// Operations that name each parameter of a module, in IR order. A snapshot: rewrites do not update it.
class ParamUses {
public:
  explicit ParamUses(mlir::ModuleOp module);
  llvm::ArrayRef<mlir::Operation *> of(llm::ParamOp param) const;
  /// Named by exactly one operation.
  bool usedOnce(llm::ParamOp param) const { return of(param).size() == 1; }

private:
  // Only looked up, never iterated.
  llvm::DenseMap<mlir::StringAttr, llvm::SmallVector<mlir::Operation *>> users;
};

} // namespace ingot::transforms

#endif
