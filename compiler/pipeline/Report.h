//===- Report.h - what a compile took -------------------------------------------------------------------===//
//
// Times and memory of one compile, apart from the artefact: that depends on its input alone.
//
//===------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_COMPILER_PIPELINE_REPORT_H
#define INGOT_COMPILER_PIPELINE_REPORT_H

#include <cstdint>
#include <string>
#include <vector>

namespace ingot::pipeline {

/// Seconds of a kernel: its code built, optimized and turned to bytes. What LLVM does for all functions of an
/// object at once belongs to none.
struct KernelCost {
  std::string name, family;
  std::string use; ///< "rows 9..512, e.g. blk.0.attn_q": the step and the parameter of its first launch
  double build = 0, optimize = 0, generate = 0;
  uint64_t codeBytes = 0;
  double seconds() const { return build + optimize + generate; }
};

/// One variant's emission in its child process.
struct EmitCost {
  std::string isa;
  double seconds = 0, build = 0, lower = 0, optimize = 0, generate = 0;
  uint64_t objectBytes = 0;
  uint64_t peakBytes = 0; ///< of the child's resident memory
  std::vector<KernelCost> kernels;
};

struct PhaseCost {
  std::string phase, isa; ///< no isa: shared by the variants
  double seconds = 0;
};

struct PassCost {
  std::string phase, isa, pass;
  double seconds = 0;
};

struct CompileReport {
  std::string compiler, model, options;
  double seconds = 0;
  uint64_t peakBytes = 0; ///< of this process
  std::vector<PhaseCost> phases;
  std::vector<PassCost> passes;
  std::vector<EmitCost> variants;

  /// JSON, one object; docs/target-cpu.md lists the members.
  std::string json() const;
  /// One line a variant that names its slowest kernels.
  std::string slowest() const;
  /// A line for each kernel that took more than `limit` seconds.
  std::vector<std::string> above(double limit) const;
};

} // namespace ingot::pipeline

#endif // INGOT_COMPILER_PIPELINE_REPORT_H
