//===- Tuner.h - which schedule of each kernel is fastest in real steps ---------------------------------===//
//
// A kernel is timed where it runs: in whole steps of the model, on its weights and threads, so that caches
// and memory are as they will be. In each step every kernel of the step has one of its schedules, drawn anew;
// all give the same bits, so the steps stay right, and the kernels are tuned at the same time. A schedule's
// time is compared with that of the model's choice in the same round of steps; medians over rounds decide.
//
// Three passes for the steps of one class of rows: schedules that differ from the model's choice in one
// respect; the best of them and combinations; whole steps as the model chooses against whole steps tuned.
//
//===------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_COMPILER_TUNE_TUNER_H
#define INGOT_COMPILER_TUNE_TUNER_H

#include "compiler/support/TuneProfile.h"
#include "compiler/tune/Workbench.h"

namespace ingot::tune {

/// A schedule that is not faster than the model's choice by more than this share of its time is noise.
constexpr double leastGain = 0.02;

struct Hooks {
  /// As ingot_progress_fn.
  std::function<void(const char *what, const char *unit, uint64_t done, uint64_t total)> progress;
  /// Whether to give up; asked between steps.
  std::function<bool()> stopped;
};

/// What was found for a kernel that has another schedule than the model's choice.
struct Change {
  std::string key;
  std::string from, to; ///< tuneSchedule
  double fromNs, toNs;  ///< of one launch, medians
  double ratio;         ///< median over rounds of the new time to the old
};

/// A schedule that was timed in the first pass.
struct Timed {
  std::string key, schedule;
  double ns;    ///< of one launch, median
  double ratio; ///< median over rounds of its time to that of the model's choice
};

/// What was found for one class of rows.
struct ClassResult {
  size_t kernels = 0;       ///< prototypes that were timed
  std::vector<Timed> timed; ///< the model's choice first of each kernel
  int64_t rows = 0;         ///< of the steps
  std::vector<Change> changes;
  double ownMs = 0, tunedMs = 0; ///< of a whole step
  double ratio = 1;              ///< median over pairs of steps of tuned to own
};

class Tuner {
public:
  Tuner(Workbench &bench, Hooks hooks) : bench(bench), hooks(std::move(hooks)) {}

  /// Tokens in the cache before generation steps, positions that any step needs, KV pages.
  static constexpr int64_t depth = 128, promptRows = 512;
  static int64_t pages();

  /// How many prototypes of that program of the module have a choice and no entry in `profile`.
  size_t missing(uint32_t program, const TuneProfile &profile) const;
  enum class Outcome { Done, Stopped, Failed };
  /// Times them for about that long, and adds an entry for each to the profile; none unless Done. What does
  /// not make whole steps faster is dropped.
  Outcome tune(uint32_t program, double seconds, TuneProfile &profile, ClassResult &result,
               std::string &error);
  /// Share of the time that steps of that program should get.
  double weight(uint32_t program) const;
  /// "1 row", "prompts" ...
  std::string nameOf(uint32_t program) const;

private:
  Workbench &bench;
  Hooks hooks;
};

} // namespace ingot::tune

#endif // INGOT_COMPILER_TUNE_TUNER_H
