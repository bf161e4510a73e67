//===- Profile.h - timed steps summed up by kernel and barrier ------------------------------------------===//
//
// Medians over the steps of a test. A kernel's time is the mean over workers of what its launches took, a
// barrier's the mean of what they waited there; with the rest (waking workers, rope tables) they add up to
// the step's time.
//
//===------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_RUNTIME_MAIN_PROFILE_H
#define INGOT_RUNTIME_MAIN_PROFILE_H

#include "runtime/core/StepTimes.h"
#include "runtime/device/cpu/Probe.h"
#include "runtime/main/KernelWork.h"

#include "runtime/abi/ingot_abi.h"

namespace ingot::main_ {

/// Seconds and work of one step.
struct KernelProfile {
  std::string name, family, shape;
  uint32_t launches = 0;
  double seconds = 0; ///< mean over workers
  double slowest = 0; ///< of the slowest worker of each launch
  double barrier = 0; ///< its share, by time, of the waits after its stages
  Work work;
};

/// Stages that launch the same kernels.
struct StageProfile {
  std::string label;
  uint32_t count = 0;
  double wait = 0;    ///< mean over workers
  double latency = 0; ///< the part after the last worker's arrival
};

struct Profile {
  unsigned threads = 0;
  size_t steps = 0;
  double wall = 0;
  double kernelSeconds = 0, waitSeconds = 0, latencySeconds = 0, restSeconds = 0;
  std::vector<KernelProfile> kernels;  ///< longest first
  std::vector<KernelProfile> families; ///< likewise; no shape
  std::vector<StageProfile> stages;    ///< longest first
  Work work;
  /// Kernels and barriers, as a share of the step.
  double explained() const { return (kernelSeconds + waitSeconds) / wall; }
};

/// How near a kernel comes to what the machine can do. Shares may pass 1: data that stay in a core's own
/// cache are read faster than the limit says.
struct Nearness {
  double read = 0, int8 = 0, f32 = 0, bf16 = 0, barrier = 0;
  const char *limit = ""; ///< the largest: "read", "int8", "f32", "bf16" or "barrier"
};
Nearness nearness(const KernelProfile &kernel, const cpu::MachineLimits &limits);

class ProfileBuilder {
public:
  /// All steps run the program `index` of the module, whose kernels `table` knows. They live as long.
  ProfileBuilder(const ingot_module_v1 &module, const KernelTable &table, uint32_t index, unsigned threads);
  void add(const core::StepSplit &split, const StepShape &shape);
  Profile finish(double secondsPerTick) const;

private:
  const ingot_program_v1 &program;
  unsigned threads;
  std::vector<const KernelWork *> works; ///< of each kernel that the program launches
  std::vector<size_t> kernelOf;          ///< launch -> place in works
  std::vector<size_t> stageOf;           ///< stage -> place in labels
  std::vector<std::string> labels;
  std::vector<Work> work; ///< summed over steps
  // Per step, in ticks of all workers together.
  struct Step {
    double wall, kernel, wait, latency, rest;
    std::vector<double> time, slowest, barrier; ///< of each kernel
    std::vector<double> waits, latencies;       ///< of each label
  };
  std::vector<Step> steps;
};

} // namespace ingot::main_

#endif // INGOT_RUNTIME_MAIN_PROFILE_H
