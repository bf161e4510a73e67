//===- ModuleTables.h - planned programs to the tables of ingot_abi.h ------------------------------===//
//
// Turns the rt dialect of a planned module into globals of the LLVM dialect: kernels, launches, taps,
// programs, params, KV layers, rope tables, and the exported function `ingot_module_query_<isa>`. Each rt op
// is one entry, in order; rt-verify-abi has run.
//
//===----------------------------------------------------------------------------------------------------===//
#ifndef INGOT_CODEGEN_CPU_MODULETABLES_H
#define INGOT_CODEGEN_CPU_MODULETABLES_H

#include "codegen/cpu/KernelFacts.h"
#include "codegen/target/Targets.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"

namespace ingot::cpu {

/// Appends the tables of `planned` (after rt-verify-abi) to `into`, which holds a function for every
/// tile.kernel. `facts` are those of each kernel, by name. `isa` names the query function and
/// the module; `target` says the CPU features it needs. `build` is the text that `info` shows. An unplanned
/// module, a kernel without a function or without facts, and values that do not fit their field are
/// errors.
mlir::LogicalResult emitModuleTables(mlir::ModuleOp planned, mlir::ModuleOp into,
                                     const llvm::StringMap<KernelFacts> &facts, const target::Target &target,
                                     llvm::StringRef isa, llvm::StringRef build = "ingot");

/// "struct field offset" lines of every ABI struct as the tables lay it out, "struct size" last: compared by
/// a test with what a C compiler makes of ingot_abi.h.
void printAbiLayout(llvm::raw_ostream &os);

} // namespace ingot::cpu

#endif
