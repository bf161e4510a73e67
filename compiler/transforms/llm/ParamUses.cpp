//===- ParamUses.cpp - who uses which parameter ----------------------------------------------------===//
#include "compiler/transforms/llm/ParamUses.h"

using namespace mlir;

namespace ingot::transforms {

ParamUses::ParamUses(ModuleOp module) {
  std::optional<SymbolTable::UseRange> uses = SymbolTable::getSymbolUses(&module.getBodyRegion());
  assert(uses && "all operations are registered");
  for (SymbolTable::SymbolUse use : *uses)
    users[use.getSymbolRef().getRootReference()].push_back(use.getUser());
}

ArrayRef<Operation *> ParamUses::of(llm::ParamOp param) const {
  auto it = users.find(param.getSymNameAttr());
  return it == users.end() ? ArrayRef<Operation *>() : ArrayRef<Operation *>(it->second);
}

} // namespace ingot::transforms
