//===- EmitVariant.h - a planned module -> object bytes -------------------------------------------------===//
#ifndef INGOT_COMPILER_PIPELINE_EMITVARIANT_H
#define INGOT_COMPILER_PIPELINE_EMITVARIANT_H

#include "compiler/pipeline/Compiler.h"
#include "compiler/pipeline/Report.h"

#include "mlir/IR/BuiltinOps.h"

namespace ingot::pipeline {

/// Result of one variant's emission.
struct EmittedVariant {
  ObjectCode code;
  uint64_t scratchBytes = 0; ///< of the kernel that needs most
  EmitCost cost;
};

/// Emits the object of each module (after the program phase; all of one context). Each variant is emitted in
/// a process of its own, as many at a time as `options.threads`: LLVM ends its process on what it cannot
/// select, and then the error names the kernel. A module without programs has its kernels alone, no tables.
llvm::Expected<std::vector<EmittedVariant>>
emitVariants(llvm::ArrayRef<std::pair<std::string, mlir::ModuleOp>> modules, const CompileOptions &options);

} // namespace ingot::pipeline

#endif // INGOT_COMPILER_PIPELINE_EMITVARIANT_H
