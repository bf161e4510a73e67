//===- ThreadState.h - the floating-point mode and affinity of a thread, for a while --------------------===//
//
// Kernels need round-to-nearest, IEEE denormals and masked exceptions; the thread of a host program may have
// something else, which it gets back.
//
//===------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_RUNTIME_DEVICE_CPU_THREADSTATE_H
#define INGOT_RUNTIME_DEVICE_CPU_THREADSTATE_H

#include <cstdint>
#include <sched.h>

namespace ingot::cpu {

/// MXCSR of generated code: all exceptions masked, nearest, neither FTZ nor DAZ.
constexpr uint32_t KernelMxcsr = 0x1F80;

/// Sets KernelMxcsr for its lifetime and restores the caller's word.
class MxcsrScope {
public:
  MxcsrScope();
  ~MxcsrScope();
  MxcsrScope(const MxcsrScope &) = delete;
  MxcsrScope &operator=(const MxcsrScope &) = delete;

private:
  uint32_t saved;
};

/// Moves the calling thread to one CPU for its lifetime; does nothing where `cpu` is negative or refused.
class AffinityScope {
public:
  explicit AffinityScope(int cpu);
  ~AffinityScope();
  AffinityScope(const AffinityScope &) = delete;
  AffinityScope &operator=(const AffinityScope &) = delete;

private:
  cpu_set_t saved;
  bool changed = false;
};

} // namespace ingot::cpu
#endif
