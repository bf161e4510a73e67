//===- Profile.cpp - timed steps summed up by kernel and barrier ----------------------------------------===//

#include "runtime/main/Profile.h"

#include <algorithm>
#include <cassert>

namespace ingot::main_ {

Nearness nearness(const KernelProfile &kernel, const cpu::MachineLimits &limits) {
  Nearness near;
  auto share = [&](double amount, double limit) {
    return limit > 0 && kernel.seconds > 0 ? amount / kernel.seconds / limit : 0;
  };
  near.read = share(kernel.work.bytes(), limits.readBytes);
  near.int8 = share(kernel.work.int8Ops, limits.int8Ops);
  near.f32 = share(kernel.work.f32Ops, limits.f32Ops);
  near.bf16 = share(kernel.work.bf16Ops, limits.bf16Ops);
  double both = kernel.barrier + kernel.seconds;
  near.barrier = both > 0 ? kernel.barrier / both : 0;
  double most = std::max({near.read, near.int8, near.f32, near.bf16, near.barrier});
  near.limit = most == near.read   ? "read"
               : most == near.int8 ? "int8"
               : most == near.f32  ? "f32"
               : most == near.bf16 ? "bf16"
                                   : "barrier";
  return near;
}

ProfileBuilder::ProfileBuilder(const ingot_module_v1 &module, const KernelTable &table, uint32_t index,
                               unsigned threads)
    : program(module.programs[index]), threads(threads) {
  std::map<std::string, size_t> places, stagePlaces;
  std::string label, key;
  for (uint32_t l = 0; l < program.n_launches; ++l) {
    const ingot_launch_v1 &launch = program.launches[l];
    const std::string name = module.kernels[launch.kernel].name;
    auto known = table.find(name);
    assert(known != table.end() && "the description is of this module");
    const KernelWork &kernel = known->second;
    auto [place, isNew] = places.emplace(name, works.size());
    if (isNew)
      works.push_back(&kernel);
    kernelOf.push_back(place->second);
    key += name + " ";
    label += (label.empty() ? "" : " + ") + kernel.family + (kernel.shape.empty() ? "" : " " + kernel.shape);
    if (l + 1 == program.n_launches || program.launches[l + 1].stage != launch.stage) {
      auto [stage, newStage] = stagePlaces.emplace(key, labels.size());
      if (newStage)
        labels.push_back(label);
      stageOf.push_back(stage->second);
      label.clear();
      key.clear();
    }
  }
  work.resize(works.size());
}

void ProfileBuilder::add(const core::StepSplit &split, const StepShape &shape) {
  Step step;
  step.wall = static_cast<double>(split.wall) * threads;
  step.kernel = step.wait = step.latency = 0;
  step.time.assign(works.size(), 0);
  step.slowest = step.barrier = step.time;
  step.waits.assign(labels.size(), 0);
  step.latencies = step.waits;
  assert(split.launches.size() == kernelOf.size() && split.waits.size() == stageOf.size());
  for (uint32_t l = 0, stage = 0, first = 0; l < split.launches.size(); ++l) {
    size_t kernel = kernelOf[l];
    step.time[kernel] += static_cast<double>(split.launches[l].sum);
    step.slowest[kernel] += static_cast<double>(split.launches[l].most) * threads;
    step.kernel += static_cast<double>(split.launches[l].sum);
    work[kernel] += works[kernel]->of(shape);
    if (l + 1 < split.launches.size() && program.launches[l + 1].stage == program.launches[l].stage)
      continue;
    auto wait = static_cast<double>(split.waits[stage].sum);
    auto latency = static_cast<double>(split.waits[stage].latency);
    step.waits[stageOf[stage]] += wait;
    step.latencies[stageOf[stage]] += latency;
    step.wait += wait;
    step.latency += latency;
    double all = 0;
    for (uint32_t i = first; i <= l; ++i)
      all += static_cast<double>(split.launches[i].sum);
    for (uint32_t i = first; i <= l && all > 0; ++i)
      step.barrier[kernelOf[i]] += wait * static_cast<double>(split.launches[i].sum) / all;
    first = l + 1;
    ++stage;
  }
  step.rest = step.wall - step.kernel - step.wait;
  steps.push_back(std::move(step));
}

Profile ProfileBuilder::finish(double secondsPerTick) const {
  Profile profile;
  profile.threads = threads;
  profile.steps = steps.size();
  if (steps.empty())
    return profile;
  auto median = [&](auto value) {
    std::vector<double> values;
    for (const Step &step : steps)
      values.push_back(value(step) * secondsPerTick / threads);
    auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
  };
  profile.wall = median([](const Step &s) { return s.wall; });
  profile.kernelSeconds = median([](const Step &s) { return s.kernel; });
  profile.waitSeconds = median([](const Step &s) { return s.wait; });
  profile.latencySeconds = median([](const Step &s) { return s.latency; });
  profile.restSeconds = median([](const Step &s) { return s.rest; });
  std::map<std::string, KernelProfile> families;
  for (size_t k = 0; k < works.size(); ++k) {
    KernelProfile kernel;
    kernel.name = works[k]->name;
    kernel.family = works[k]->family;
    kernel.shape = works[k]->shape;
    kernel.launches = static_cast<uint32_t>(std::count(kernelOf.begin(), kernelOf.end(), k));
    kernel.seconds = median([k](const Step &s) { return s.time[k]; });
    kernel.slowest = median([k](const Step &s) { return s.slowest[k]; });
    kernel.barrier = median([k](const Step &s) { return s.barrier[k]; });
    kernel.work = work[k] * (1.0 / static_cast<double>(steps.size()));
    profile.work += kernel.work;
    KernelProfile &family = families[kernel.family];
    family.name = family.family = kernel.family;
    family.launches += kernel.launches;
    family.seconds += kernel.seconds;
    family.slowest += kernel.slowest;
    family.barrier += kernel.barrier;
    family.work += kernel.work;
    profile.kernels.push_back(std::move(kernel));
  }
  for (auto &[name, family] : families)
    profile.families.push_back(std::move(family));
  for (size_t i = 0; i < labels.size(); ++i) {
    StageProfile stage;
    stage.label = labels[i];
    stage.count = static_cast<uint32_t>(std::count(stageOf.begin(), stageOf.end(), i));
    stage.wait = median([i](const Step &s) { return s.waits[i]; });
    stage.latency = median([i](const Step &s) { return s.latencies[i]; });
    profile.stages.push_back(std::move(stage));
  }
  auto longer = [](const auto &a, const auto &b) { return a.seconds > b.seconds; };
  std::sort(profile.kernels.begin(), profile.kernels.end(), longer);
  std::sort(profile.families.begin(), profile.families.end(), longer);
  std::sort(profile.stages.begin(), profile.stages.end(),
            [](const auto &a, const auto &b) { return a.wait > b.wait; });
  return profile;
}

} // namespace ingot::main_
