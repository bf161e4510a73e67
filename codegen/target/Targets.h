//===- Targets.h - the CPU variants that code is generated for ------------------------------------===//
//
// A target is a row of Targets.def: what LLVM may use, how wide vectors are, what the machine must have. Rows
// are ordered from the least to the most demanding. Nothing here depends on the machine that compiles.
//
//===----------------------------------------------------------------------------------------------------===//
#ifndef INGOT_CODEGEN_TARGET_TARGETS_H
#define INGOT_CODEGEN_TARGET_TARGETS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace ingot::target {

struct Target {
  llvm::StringRef name;     ///< value of --isa, suffix of the module's query function
  llvm::StringRef cpu;      ///< value of --target
  llvm::StringRef llvmCpu;  ///< target-cpu of every function
  llvm::StringRef features; ///< target-features of every function
  unsigned vectorBits;      ///< 256 or 512
  bool fastOnly;            ///< differs from the target before it under --numerics=fast alone
  llvm::StringRef required; ///< comma-separated features, LLVM's names: ingot_module_v1::features

  bool hasFeature(llvm::StringRef feature) const;
  bool hasAvx512() const { return hasFeature("avx512f"); }
  bool hasVnni() const { return hasFeature("avx512vnni"); }
  bool hasBf16Dot() const { return hasFeature("avx512bf16"); }
  bool hasAmxBf16() const { return hasFeature("amx-bf16"); }
  bool hasAmx() const { return hasFeature("amx-int8"); }
};

/// All targets, ascending.
llvm::ArrayRef<Target> allTargets();

/// The target of that --isa name, or nullptr.
const Target *findTarget(llvm::StringRef name);

} // namespace ingot::target

#endif
