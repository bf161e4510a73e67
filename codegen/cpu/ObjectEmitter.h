//===- ObjectEmitter.h - kernels to the bytes of one relocatable object ---------------------------===//
//
// Module of kernels (and tables in the LLVM dialect) -> LLVM IR -> O2 -> ELF object in memory: PIC, small
// code model, one section a function. The same bytes are linked ahead of time and loaded by the JIT. The
// object calls nothing by name: an undefined symbol is an error.
//
// LLVM ends the process on what it cannot select. The guards are caps: a kernel of more operations than
// `maxKernelOps` is refused before LLVM sees it; the compiler runs emission in a child process where it must
// survive.
//
//===----------------------------------------------------------------------------------------------------===//
#ifndef INGOT_CODEGEN_CPU_OBJECTEMITTER_H
#define INGOT_CODEGEN_CPU_OBJECTEMITTER_H

#include "codegen/target/Targets.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

#include <string>

namespace ingot::cpu {

/// Seconds of one emission. What LLVM does function by function is counted for each; the sums hold
/// everything.
struct EmitTimes {
  double lower = 0, optimize = 0, generate = 0; ///< to LLVM IR, O2, instructions and bytes
  llvm::StringMap<double> optimizeOf, generateOf;
};

struct EmitOptions {
  /// Operations of one kernel before lowering.
  size_t maxKernelOps = 60000;
  /// Assembly text in place of an object.
  bool assembly = false;
  /// LLVM IR text in place of an object, after optimization.
  bool llvmIr = false;
  /// Filled where given. Measuring changes no byte.
  EmitTimes *times = nullptr;
};

/// Bytes of machine code of each function of an object that emitObject made, by name.
llvm::StringMap<uint64_t> codeBytes(llvm::ArrayRef<char> object);

/// Lowers `module` (it is changed) and appends the object's bytes to `out`. Errors are diagnostics on the
/// module's context. The bytes depend only on the module's text and the target.
mlir::LogicalResult emitObject(mlir::ModuleOp module, const target::Target &target,
                               llvm::SmallVectorImpl<char> &out, const EmitOptions &options = {});

} // namespace ingot::cpu

#endif
