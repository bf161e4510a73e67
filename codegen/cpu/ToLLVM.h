//===- ToLLVM.h - kernels from scf, arith, vector and math to the LLVM dialect --------------------===//
#ifndef INGOT_CODEGEN_CPU_TOLLVM_H
#define INGOT_CODEGEN_CPU_TOLLVM_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <memory>

namespace ingot::cpu {

/// One full conversion of everything a kernel may hold (after scf became cf) to the LLVM dialect.
std::unique_ptr<mlir::Pass> createKernelsToLLVMPass();

/// scf -> cf, then the conversion above, in place. Ops that are LLVM dialect already stay as they are.
mlir::LogicalResult lowerToLLVM(mlir::ModuleOp module);

} // namespace ingot::cpu

#endif
