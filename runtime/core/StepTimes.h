//===- StepTimes.h - where the time of a step went ------------------------------------------------------===//
//
// Filled by an Executor that it is attached to. A worker writes the counter when it enters the step, after
// each launch and after each barrier, so the pieces between stamps are all of its time. Nothing is averaged
// here: what one step gave is split once the step is over.
//
//===------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_RUNTIME_CORE_STEPTIMES_H
#define INGOT_RUNTIME_CORE_STEPTIMES_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ingot::core {

/// A step in ticks. Sums are over workers: divided by their number they add up to the step's time.
struct StepSplit {
  struct Launch {
    uint64_t sum = 0;  ///< of the workers' times
    uint64_t most = 0; ///< of the slowest worker
  };
  struct Wait {
    uint64_t sum = 0;     ///< of the workers' waits
    uint64_t latency = 0; ///< the part of it after the last worker had arrived; the rest is imbalance
  };
  uint32_t program = 0;
  uint64_t wall = 0;            ///< of Executor::run
  uint64_t start = 0;           ///< sum of the times until the workers entered: rope tables, waking
  std::vector<Launch> launches; ///< as in the program
  std::vector<Wait> waits;      ///< after each stage; the last is the end of the step
};

class StepTimes {
public:
  /// The executor's side: begin(), then every worker writes from of(worker) on, then end().
  void begin(uint32_t program, unsigned workers, const std::vector<uint32_t> &launchesOfStages, uint64_t now);
  uint64_t *of(unsigned worker) { return stamps.data() + worker * stride; }
  void end(uint64_t now) { finish = now; }

  unsigned workers() const { return count; }
  /// The last step that ran and did not fail.
  StepSplit split() const;

private:
  uint32_t program = 0;
  unsigned count = 0;
  size_t stride = 0; ///< stamps of a worker, in whole cache lines
  uint64_t first = 0, finish = 0;
  std::vector<uint32_t> stages; ///< launches of each
  std::vector<uint64_t>
      stamps; ///< [worker][entry, then per stage its launches and its barrier; none at the end]
};

} // namespace ingot::core
#endif
