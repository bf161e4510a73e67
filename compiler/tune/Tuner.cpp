//===- Tuner.cpp - which schedule of each kernel is fastest in real steps -------------------------------===//

#include "compiler/tune/Tuner.h"

#include "runtime/device/cpu/ThreadState.h"
#include "runtime/device/cpu/Ticks.h"
#include "runtime/main/Stepper.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

namespace ingot::tune {
namespace {

using Outcome = Tuner::Outcome;

double median(std::vector<double> values) {
  assert(!values.empty());
  auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

struct Candidate {
  KernelCandidate schedule;
  std::vector<ingot_kernel_fn> functions; ///< of each kernel of the group; null: the module's own
  // One of each round: ticks of a launch, the median of a step's; and beside the group's own schedule.
  std::vector<double> times, ratios;

  double ratio() const { return median(ratios); }
  /// Faster by more than noise, and not by a few lucky rounds.
  bool isBetter() const {
    auto below = std::count_if(ratios.begin(), ratios.end(), [](double r) { return r < 1; });
    return ratio() < 1 - leastGain && 3 * static_cast<size_t>(below) >= 2 * ratios.size();
  }
};

/// Kernels of one prototype.
struct Group {
  const pipeline::TunableKernel *kernel; ///< the first of them
  std::vector<std::string> names;
  std::vector<uint32_t> indices;     ///< in the module
  std::vector<Candidate> candidates; ///< the first is the own schedule
  size_t chosen = 0;
};

/// In which respects a schedule differs from another: bits of dot, tile, unrolling, prefetch, chunk.
unsigned differences(const KernelCandidate &a, const KernelCandidate &b) {
  return unsigned(a.dot != b.dot || a.vector != b.vector) |
         unsigned(a.panels != b.panels || a.rows != b.rows) << 1 | unsigned(a.unroll != b.unroll) << 2 |
         unsigned(a.prefetch != b.prefetch) << 3 | unsigned(a.chunk != b.chunk) << 4;
}

/// `a` with those respects as `b` has them.
KernelCandidate mixed(KernelCandidate a, const KernelCandidate &b, unsigned respects) {
  if (respects & 1)
    a.dot = b.dot, a.vector = b.vector;
  if (respects & 2)
    a.panels = b.panels, a.rows = b.rows;
  if (respects & 4)
    a.unroll = b.unroll;
  if (respects & 8)
    a.prefetch = b.prefetch;
  if (respects & 16)
    a.chunk = b.chunk;
  return a;
}

/// The steps of one class of rows, and the groups that are tuned in it.
class Class {
public:
  Class(Workbench &bench, const Hooks &hooks, uint32_t program, const TuneProfile &profile)
      : bench(bench), hooks(hooks), executor(bench.session().executor()), number(program),
        program(executor.module().programs[program]), isPrompt(this->program.m_class > 8) {
    const ingot_module_v1 &module = executor.module();
    std::map<std::string, const pipeline::TunableKernel *> byName;
    for (const pipeline::TunableKernel &kernel : bench.kernels())
      byName[kernel.name] = &kernel;
    std::map<std::string, size_t> byKey;
    std::map<uint32_t, size_t> byIndex;
    for (uint32_t l = 0; l < this->program.n_launches; ++l) {
      uint32_t index = this->program.launches[l].kernel;
      groupOf.push_back(npos);
      auto known = byName.find(module.kernels[index].name);
      if (known == byName.end() || profile.find(known->second->key))
        continue;
      auto [at, isNew] = byKey.try_emplace(known->second->key, groups.size());
      if (isNew)
        groups.push_back({known->second, {}, {}, {}, 0});
      Group &group = groups[at->second];
      groupOf.back() = at->second;
      if (byIndex.try_emplace(index, at->second).second) {
        group.indices.push_back(index);
        group.names.push_back(known->second->name);
      }
    }
    for (Group &group : groups)
      group.candidates.push_back(
          {group.kernel->own, std::vector<ingot_kernel_fn>(group.indices.size(), nullptr), {}, {}});
  }
  ~Class() {
    executor.attach(nullptr);
    for (Group &group : groups)
      use(group, 0);
  }

  std::vector<Group> groups;

  /// Ready to run steps: the cache is filled. Steps of prompts are as long as the time allows.
  bool prepare(double seconds, ClassResult &result, std::string &error) {
    int64_t context = executor.module().context;
    rows = isPrompt ? std::min<int64_t>({Tuner::promptRows, program.max_rows, context}) : program.max_rows;
    before = isPrompt ? 0 : std::min<int64_t>(Tuner::depth, context - 1);
    stepper = std::make_unique<main_::Stepper>(executor, isPrompt ? 1 : rows, isPrompt ? rows : before + 1);
    if (before && !stepper->prompt(rows, 0, before, Tuner::promptRows, error))
      return false;
    // A round of the first pass has some ten steps, and there should be some rounds.
    if (!time(3, error))
      return false;
    while (isPrompt && stepSeconds * 100 > seconds && rows / 2 >= std::max<int64_t>(program.min_rows, 96)) {
      rows /= 2;
      if (!time(2, error))
        return false;
    }
    result.rows = rows;
    return true;
  }

  /// Compiles the candidates that have no functions yet.
  bool build(const std::string &what, std::string &error) {
    std::vector<pipeline::Rescheduled> list;
    std::vector<ingot_kernel_fn *> places;
    for (Group &group : groups)
      for (size_t c = 1; c < group.candidates.size(); ++c)
        for (size_t k = 0; k < group.names.size() && group.candidates[c].functions.size() <= k; ++k)
          list.push_back({group.names[k], group.names[k] + "_s" + std::to_string(symbols++),
                          group.candidates[c].schedule});
    if (list.empty())
      return true;
    size_t total = list.size(), next = 0;
    std::vector<ingot_kernel_fn> functions;
    if (!bench.build(
            std::move(list), [&](size_t done) { hooks.progress(what.c_str(), "kernels", done, total); },
            functions, error))
      return false;
    for (Group &group : groups)
      for (size_t c = 1; c < group.candidates.size(); ++c)
        while (group.candidates[c].functions.size() < group.names.size())
          group.candidates[c].functions.push_back(functions[next++]);
    return true;
  }

  /// Rounds of steps over the candidates of all groups for that long, at least five.
  Outcome measure(const std::string &what, double seconds, std::string &error) {
    size_t most = 1;
    for (Group &group : groups) {
      most = std::max(most, group.candidates.size());
      for (Candidate &candidate : group.candidates)
        candidate.times.clear(), candidate.ratios.clear();
    }
    if (most == 1)
      return Outcome::Done;
    auto rounds =
        static_cast<size_t>(std::clamp(seconds / (static_cast<double>(most) * stepSeconds), 5.0, 300.0));
    std::vector<std::vector<size_t>> order(groups.size());
    for (size_t g = 0; g < groups.size(); ++g)
      for (size_t c = 0; c < groups[g].candidates.size(); ++c)
        order[g].push_back(c);
    std::vector<std::vector<double>> sums(groups.size()), launches(groups.size());
    for (size_t round = 0; round < rounds; ++round) {
      for (size_t g = 0; g < groups.size(); ++g) {
        std::shuffle(order[g].begin(), order[g].end(), random);
        sums[g].assign(order[g].size(), 0);
      }
      for (size_t i = 0; i < most; ++i) {
        // Groups with fewer candidates begin again; each step's number says how often one was in.
        for (size_t g = 0; g < groups.size(); ++g)
          use(groups[g], order[g][i % order[g].size()]);
        hooks.progress(what.c_str(), "steps", round * most + i, rounds * most);
        if (hooks.stopped())
          return Outcome::Stopped;
        if (!step(error))
          return Outcome::Failed;
        core::StepSplit split = times.split();
        for (std::vector<double> &one : launches)
          one.clear();
        for (size_t l = 0; l < groupOf.size(); ++l)
          if (size_t g = groupOf[l]; g != npos)
            launches[g].push_back(static_cast<double>(split.launches[l].most));
        for (size_t g = 0; g < groups.size(); ++g)
          sums[g][order[g][i % order[g].size()]] += median(launches[g]);
      }
      for (size_t g = 0; g < groups.size(); ++g)
        for (size_t at = 0; at < order[g].size(); ++at) {
          size_t n = order[g].size(), count = most / n + (at < most % n);
          sums[g][order[g][at]] /= static_cast<double>(count);
        }
      for (size_t g = 0; g < groups.size(); ++g)
        for (size_t c = 0; c < groups[g].candidates.size(); ++c) {
          groups[g].candidates[c].times.push_back(sums[g][c]);
          groups[g].candidates[c].ratios.push_back(sums[g][c] / sums[g][0]);
        }
    }
    hooks.progress(what.c_str(), "steps", rounds * most, rounds * most);
    return Outcome::Done;
  }

  /// Whole steps with the own schedules against whole steps with the chosen ones.
  Outcome compare(const std::string &what, double seconds, ClassResult &result, std::string &error) {
    auto pairs = static_cast<size_t>(std::clamp(seconds / (2 * stepSeconds), 5.0, 300.0));
    std::vector<double> walls[2], ratios;
    for (size_t pair = 0; pair < pairs; ++pair) {
      double wall[2];
      for (size_t half = 0; half < 2; ++half) {
        bool tuned = half != pair % 2;
        for (Group &group : groups)
          use(group, tuned ? group.chosen : 0);
        hooks.progress(what.c_str(), "steps", 2 * pair + half, 2 * pairs);
        if (hooks.stopped())
          return Outcome::Stopped;
        if (!step(error))
          return Outcome::Failed;
        wall[tuned] = static_cast<double>(times.split().wall);
        walls[tuned].push_back(wall[tuned]);
      }
      ratios.push_back(wall[1] / wall[0]);
    }
    hooks.progress(what.c_str(), "steps", 2 * pairs, 2 * pairs);
    double tick = rate.secondsPerTick();
    result.ownMs = median(walls[0]) * tick * 1e3;
    result.tunedMs = median(walls[1]) * tick * 1e3;
    result.ratio = median(ratios);
    return Outcome::Done;
  }

  double nanoseconds(const Group &group, size_t candidate) const {
    return median(group.candidates[candidate].times) * rate.secondsPerTick() * 1e9;
  }

private:
  static constexpr size_t npos = ~size_t(0);

  void use(Group &group, size_t candidate) {
    for (size_t k = 0; k < group.indices.size(); ++k)
      executor.substitute(number, group.indices[k], group.candidates[candidate].functions[k]);
  }

  bool step(std::string &error) {
    executor.attach(&times);
    bool ok = isPrompt ? stepper->prompt(1, 0, rows, rows, error) : stepper->generate(rows, before, error);
    executor.attach(nullptr);
    return ok;
  }

  /// Seconds of a step as the model chooses.
  bool time(int steps, std::string &error) {
    std::vector<double> walls;
    for (int i = 0; i <= steps; ++i) { // the first touches memory for the first time
      if (!step(error))
        return false;
      if (i > 0)
        walls.push_back(static_cast<double>(times.split().wall));
    }
    stepSeconds = std::max(1e-6, median(walls) * rate.secondsPerTick());
    return true;
  }

  Workbench &bench;
  const Hooks &hooks;
  core::Executor &executor;
  uint32_t number;
  const ingot_program_v1 &program;
  bool isPrompt;
  std::vector<size_t> groupOf; ///< launch -> place in groups, or npos
  std::unique_ptr<main_::Stepper> stepper;
  int64_t rows = 1, before = 0;
  double stepSeconds = 0;
  core::StepTimes times;
  cpu::TickRate rate;
  std::minstd_rand random{1}; // any order does; this one is the same in every run
  size_t symbols = 0;
};

/// The candidates of the first pass.
void addSingle(Group &group) {
  bool isLinear = group.kernel->key.rfind("linear ", 0) == 0;
  for (const KernelCandidate &other : group.kernel->others) {
    unsigned bits = differences(other, group.kernel->own);
    if (!isLinear || (bits & (bits - 1)) == 0)
      group.candidates.push_back({other, {}, {}, {}});
  }
}

/// Those of the second: the own one, the best, and what joins the best in each respect.
void addJoined(Group &group) {
  std::vector<Candidate> old = std::move(group.candidates);
  group.candidates.clear();
  const KernelCandidate own = old.front().schedule;
  std::vector<size_t> promising;
  for (size_t c = 1; c < old.size(); ++c)
    if (old[c].ratio() < 1 - leastGain / 4)
      promising.push_back(c);
  std::sort(promising.begin(), promising.end(),
            [&](size_t a, size_t b) { return old[a].ratio() < old[b].ratio(); });
  std::vector<KernelCandidate> joined;
  KernelCandidate all = own;
  unsigned taken = 0;
  for (size_t c : promising) {
    unsigned bits = differences(old[c].schedule, own);
    if (taken & bits)
      continue;
    taken |= bits;
    all = mixed(all, old[c].schedule, bits);
    if (taken != bits)
      joined.push_back(all);
  }
  group.candidates.push_back(std::move(old.front()));
  for (size_t i = 0; i < promising.size() && i < 3; ++i)
    group.candidates.push_back(std::move(old[promising[i]]));
  for (const KernelCandidate &schedule : joined)
    for (const KernelCandidate &other : group.kernel->others)
      if (tuneSchedule(other) == tuneSchedule(schedule))
        group.candidates.push_back({other, {}, {}, {}});
}

} // namespace

int64_t Tuner::pages() {
  return std::max(main_::Stepper::pages(8, depth + 1), main_::Stepper::pages(1, promptRows));
}

// Steps of prompts are long, and their kernels have the most schedules.
double Tuner::weight(uint32_t program) const {
  return bench.session().executor().module().programs[program].m_class > 8 ? 6 : 1;
}

std::string Tuner::nameOf(uint32_t program) const {
  uint32_t rows = bench.session().executor().module().programs[program].m_class;
  return rows > 8 ? "prompts" : std::to_string(rows) + (rows == 1 ? " row" : " rows");
}

size_t Tuner::missing(uint32_t program, const TuneProfile &profile) const {
  return Class(bench, hooks, program, profile).groups.size();
}

Outcome Tuner::tune(uint32_t program, double seconds, TuneProfile &profile, ClassResult &result,
                    std::string &error) {
  cpu::AffinityScope affinity(bench.session().executor().callerCpu());
  Class steps(bench, hooks, program, profile);
  const std::string name = nameOf(program);
  if (!steps.prepare(seconds, result, error))
    return Outcome::Failed;
  for (Group &group : steps.groups)
    addSingle(group);
  if (!steps.build(name + ": compiling schedules", error))
    return Outcome::Failed;
  Outcome outcome = steps.measure(name + ": timing schedules", seconds * 0.5, error);
  if (outcome != Outcome::Done)
    return outcome;
  for (Group &group : steps.groups) {
    for (size_t c = 0; c < group.candidates.size(); ++c)
      result.timed.push_back({group.kernel->key, tuneSchedule(group.candidates[c].schedule),
                              steps.nanoseconds(group, c), group.candidates[c].ratio()});
    addJoined(group);
  }
  if (!steps.build(name + ": compiling combinations", error))
    return Outcome::Failed;
  std::vector<double> first; // the times of groups that are through
  for (Group &group : steps.groups)
    first.push_back(steps.nanoseconds(group, 0));
  outcome = steps.measure(name + ": timing the best", seconds * 0.35, error);
  if (outcome != Outcome::Done)
    return outcome;
  std::vector<TuneEntry> entries;
  for (size_t g = 0; g < steps.groups.size(); ++g) {
    Group &group = steps.groups[g];
    for (size_t c = 1; c < group.candidates.size(); ++c)
      if (group.candidates[c].isBetter() &&
          (group.chosen == 0 || group.candidates[c].ratio() < group.candidates[group.chosen].ratio()))
        group.chosen = c;
    bool again = !group.candidates[0].times.empty();
    double own = again ? steps.nanoseconds(group, 0) : first[g];
    double chosen = again ? steps.nanoseconds(group, group.chosen) : own;
    TuneEntry entry;
    entry.key = group.kernel->key;
    entry.isa = bench.session().module().isa;
    entry.schedule = tuneSchedule(group.candidates[group.chosen].schedule);
    entry.threads = bench.session().executor().threads();
    entry.defaultNs = std::llround(own);
    entry.chosenNs = std::llround(chosen);
    if (group.chosen)
      result.changes.push_back({entry.key, tuneSchedule(group.candidates[0].schedule), entry.schedule, own,
                                chosen, group.candidates[group.chosen].ratio()});
    entries.push_back(std::move(entry));
  }
  result.kernels = steps.groups.size();
  if (!result.changes.empty()) {
    outcome = steps.compare(name + ": whole steps", seconds * 0.15, result, error);
    if (outcome != Outcome::Done)
      return outcome;
    if (result.ratio >= 1) {
      result.changes.clear();
      for (size_t g = 0; g < entries.size(); ++g)
        if (steps.groups[g].chosen) {
          entries[g].schedule = tuneSchedule(steps.groups[g].candidates[0].schedule);
          entries[g].chosenNs = entries[g].defaultNs;
        }
    }
  }
  for (TuneEntry &entry : entries)
    profile.add(std::move(entry));
  return Outcome::Done;
}

} // namespace ingot::tune
