//===- Ticks.h - the processor's time stamp counter -----------------------------------------------------===//
//
// Cheaper than a system clock, and one scale for all cores: every CPU with AVX2 counts at a constant rate.
//
//===------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_RUNTIME_DEVICE_CPU_TICKS_H
#define INGOT_RUNTIME_DEVICE_CPU_TICKS_H

#include <chrono>
#include <cstdint>
#include <x86intrin.h>

namespace ingot::cpu {

/// The counter once everything before has been executed.
inline uint64_t ticks() {
  unsigned core;
  return __rdtscp(&core);
}

/// Finds the counter's rate: the longer between construction and the question, the more exact.
class TickRate {
public:
  TickRate() : clock(std::chrono::steady_clock::now()), counter(ticks()) {}
  /// Seconds of one tick, over the time since construction (which must not be nothing).
  double secondsPerTick() const {
    std::chrono::duration<double> passed = std::chrono::steady_clock::now() - clock;
    return passed.count() / static_cast<double>(ticks() - counter);
  }

private:
  std::chrono::steady_clock::time_point clock;
  uint64_t counter;
};

} // namespace ingot::cpu
#endif
