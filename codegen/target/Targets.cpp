//===- Targets.cpp - table of CPU variants --------------------------------------------------------===//
#include "codegen/target/Targets.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace ingot::target;

static const Target table[] = {
#define INGOT_TARGET(name, triple, cpu, features, bits, fastOnly, required)                                  \
  {#name, triple, cpu, features, bits, fastOnly, required},
#include "codegen/target/Targets.def"
};

bool Target::hasFeature(llvm::StringRef feature) const {
  llvm::SmallVector<llvm::StringRef> list;
  required.split(list, ',');
  return llvm::is_contained(list, feature);
}

llvm::ArrayRef<Target> ingot::target::allTargets() { return table; }

const Target *ingot::target::findTarget(llvm::StringRef name) {
  for (const Target &t : table)
    if (t.name == name)
      return &t;
  return nullptr;
}
