//===- Emit.cpp - tile kernels to MLIR functions --------------------------------------------------===//
#include "codegen/cpu/Emit.h"
#include "codegen/cpu/Families.h"

using namespace mlir;
using namespace ingot;

LogicalResult ingot::cpu::emitKernel(tile::KernelOp kernel, ModuleOp into, const target::Target &target,
                                     KernelFacts &facts) {
  facts = {};
  if (!kernel.getSchedule())
    return kernel.emitError() << "kernel '" << kernel.getSymName() << "' has no schedule";
  KernelBuilder k(into, kernel.getSymName(), target);
  LogicalResult result = failure();
  switch (kernel.getFamily()) {
#define INGOT_FAMILY(name)                                                                                   \
  case tile::Family::name:                                                                                   \
    result = emit##name##Family(kernel, k, facts);                                                           \
    break;
#include "codegen/cpu/Families.def"
  default:
    kernel.emitError() << "family " << tile::stringifyFamily(kernel.getFamily()) << " has no CPU emitter";
  }
  k.finish();
  return result;
}
