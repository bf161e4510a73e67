//===- StepTimes.cpp - where the time of a step went ----------------------------------------------------===//
#include "runtime/core/StepTimes.h"

#include <algorithm>
#include <utility>

namespace ingot::core {

void StepTimes::begin(uint32_t index, unsigned workers, const std::vector<uint32_t> &launchesOfStages,
                      uint64_t now) {
  program = index;
  count = workers;
  stages = launchesOfStages;
  size_t needed = 1 + stages.size();
  for (uint32_t launches : stages)
    needed += launches;
  // A line between the workers, whatever the alignment of the vector.
  stride = (needed + 7) / 8 * 8 + 8;
  if (stamps.size() < stride * workers)
    stamps.resize(stride * workers);
  first = now;
}

StepSplit StepTimes::split() const {
  StepSplit result;
  result.program = program;
  result.wall = finish - first;
  std::vector<const uint64_t *> at(count);
  std::vector<uint64_t> last(count);
  auto passed = [&](unsigned w, uint64_t until) {
    uint64_t from = std::exchange(last[w], until);
    // Counters of two cores may differ by less than a barrier takes; time does not run backwards.
    return until > from ? until - from : 0;
  };
  for (unsigned w = 0; w < count; ++w) {
    at[w] = stamps.data() + w * stride;
    last[w] = first;
    result.start += passed(w, *at[w]++);
  }
  for (size_t s = 0; s < stages.size(); ++s) {
    for (uint32_t l = 0; l < stages[s]; ++l) {
      StepSplit::Launch launch;
      for (unsigned w = 0; w < count; ++w) {
        uint64_t time = passed(w, *at[w]++);
        launch.sum += time;
        launch.most = std::max(launch.most, time);
      }
      result.launches.push_back(launch);
    }
    StepSplit::Wait wait;
    uint64_t arrival = *std::max_element(last.begin(), last.end());
    for (unsigned w = 0; w < count; ++w) {
      uint64_t release = s + 1 < stages.size() ? *at[w]++ : finish;
      wait.latency += release > arrival ? release - arrival : 0;
      wait.sum += passed(w, release);
    }
    wait.latency = std::min(wait.latency, wait.sum);
    result.waits.push_back(wait);
  }
  return result;
}

} // namespace ingot::core
