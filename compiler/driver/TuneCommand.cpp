//===- TuneCommand.cpp - ingot tune ---------------------------------------------------------------------===//

#include "compiler/driver/TuneCommand.h"

#include "compiler/driver/ModelLoader.h"
#include "compiler/support/Support.h"
#include "compiler/tune/Tuner.h"
#include "runtime/main/Commands.h"
#include "runtime/main/Interrupt.h"
#include "runtime/weights/OutputPath.h"

#include <cstdio>
#include <sys/stat.h>

namespace ingot::driver {
namespace {

/// The profile that is there, or an empty one.
bool readProfile(const std::string &path, TuneProfile &out, std::string &error) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0)
    return true;
  llvm::Expected<TuneProfile> read = TuneProfile::read(path);
  if (!read) {
    error = llvm::toString(read.takeError());
    return false;
  }
  out = std::move(*read);
  return true;
}

void print(const std::string &name, const tune::ClassResult &result, bool all) {
  std::string steps = name + (result.rows > 8 ? " of " + std::to_string(result.rows) : "");
  std::printf("%s: %zu kernels, %zu schedules, %zu better than the model's choice", steps.c_str(),
              result.kernels, result.timed.size(), result.changes.size());
  if (!result.changes.empty())
    std::printf("; a step %.3f ms, tuned %.3f ms (%+.1f %%)", result.ownMs, result.tunedMs,
                (result.ratio - 1) * 100);
  std::printf("\n");
  for (const tune::Change &change : result.changes)
    std::printf("  %s\n    %s: %.0f ns\n    %s: %.0f ns (%+.1f %%)\n", change.key.c_str(),
                change.from.c_str(), change.fromNs, change.to.c_str(), change.toNs, (change.ratio - 1) * 100);
  const std::string *key = nullptr;
  for (const tune::Timed &one : result.timed) {
    if (!all)
      break;
    if (!key || *key != one.key)
      std::printf("  %s, all that was timed\n", one.key.c_str());
    key = &one.key;
    std::printf("    %-76s %10.0f ns %+7.1f %%\n", one.schedule.c_str(), one.ns, (one.ratio - 1) * 100);
  }
  std::fflush(stdout);
}

} // namespace

int tune(const main_::Options &options, Progress &progress) {
  std::string error, output;
  TuneProfile found;
  if (!readProfile(options.tune.output, found, error))
    return main_::fail(error);
  if (options.load.isa == "ref")
    return main_::fail("--isa=ref: the reference has no schedules");
  main_::LoadOptions load = options.load;
  load.kvPages = tune::Tuner::pages();
  std::string target = load.isa.empty() ? "native" : load.isa;
  ingot_compile_options compile = compileOptions(load, target, options.quiet, progress);
  std::unique_ptr<tune::Workbench> bench = tune::Workbench::open(load.model, compile, load, error);
  if (!bench)
    return main_::fail(error);
  std::vector<std::string> inputs = bench->files();
  inputs.push_back(load.model);
  if (!weights::resolveOutput(options.tune.output, inputs, output, error))
    return main_::fail(error);

  TuneProfile profile(bench->generation());
  if (found.generation() == bench->generation())
    profile = found;
  else if (!found.entries().empty())
    std::fprintf(stderr, "note: %s was made for other kernels than these; all are timed again\n",
                 options.tune.output.c_str());

  main_::InterruptScope interrupt;
  tune::Hooks hooks;
  hooks.stopped = [&] { return interrupt.raised(); };
  hooks.progress = [&](const char *what, const char *unit, uint64_t done, uint64_t total) {
    if (!options.quiet)
      progress.update(what, unit, done, total);
  };
  tune::Tuner tuner(*bench, hooks);
  uint32_t count = bench->session().module().n_programs;
  std::vector<uint32_t> wanted;
  for (uint32_t p = 0; p < count; ++p)
    if (tuner.missing(p, profile))
      wanted.push_back(p);
    else
      std::printf("%s: nothing to time that %s does not have\n", tuner.nameOf(p).c_str(),
                  options.tune.output.c_str());
  double shares = 0;
  for (uint32_t p : wanted)
    shares += tuner.weight(p);
  for (uint32_t p : wanted) {
    tune::ClassResult result;
    auto outcome = tuner.tune(p, options.tune.seconds * tuner.weight(p) / shares, profile, result, error);
    if (outcome == tune::Tuner::Outcome::Failed)
      return main_::fail(error);
    if (outcome == tune::Tuner::Outcome::Stopped) {
      std::fprintf(stderr,
                   "\ninterrupted: %s has what was finished, and the same command goes on from there\n",
                   options.tune.output.c_str());
      return main_::ExitInterrupted;
    }
    if (llvm::Error failure = support::writeFileAtomically(output, profile.print()))
      return main_::fail(llvm::toString(std::move(failure)));
    print(tuner.nameOf(p), result, options.tune.all);
  }
  return main_::ExitOk;
}

} // namespace ingot::driver
