//===- MeasureCommand.cpp - explain --measure: where the time of real steps goes ------------------------===//
//
// Runs generation and prompt steps as `bench` does, with the executor's times attached, and puts the time of
// each kernel beside what the same run's probe finds possible.
//
//===------------------------------------------------------------------------------------------------------===//

#include "runtime/main/Commands.h"
#include "runtime/main/ProfileText.h"
#include "runtime/main/Session.h"
#include "runtime/main/Stepper.h"

#include "runtime/device/cpu/ThreadState.h"
#include "runtime/device/cpu/Ticks.h"

#include <algorithm>
#include <cstdio>

namespace ingot::main_ {
namespace {

/// One kind of step: `prompt` rows of one sequence, or one row of each of `batch` sequences.
struct Test {
  int64_t prompt = 0, generate = 0, batch = 1, depth = 0, repetitions = 0;
  int64_t positions() const { return depth + prompt + generate; }
  int64_t stepRows() const { return prompt ? prompt : batch; }
  std::string name() const {
    std::string text = prompt ? "prompt of " + std::to_string(prompt) : "generation";
    if (batch > 1)
      text += " of " + std::to_string(batch) + " sequences";
    return text + " at depth " + std::to_string(depth);
  }
};

/// Above this every cache is passed, and reading more tells nothing.
constexpr double mostProbed = 1 << 30;

class Measuring {
public:
  Measuring(Session &session, const KernelTable &kernels, const Test &test)
      : session(session), executor(session.executor()), kernels(kernels), test(test),
        stepper(executor, test.batch, test.positions()) {}

  bool run(MeasuredTest &out, std::string &error) {
    cpu::AffinityScope affinity(executor.callerCpu());
    uint32_t index = 0;
    const ingot_module_v1 &module = session.module();
    while (module.programs[index].max_rows < test.stepRows())
      ++index;
    ProfileBuilder builder(module, kernels, index, executor.threads());
    out.test = test.name();
    out.isa = module.isa;
    out.prompt = test.prompt, out.batch = test.batch, out.depth = test.depth;
    out.mClass = module.programs[index].m_class;
    if (test.depth && !stepper.prompt(test.batch, 0, test.depth, session.options().chunk, error))
      return false;
    Work read;
    for (uint32_t l = 0; l < module.programs[index].n_launches; ++l)
      read += kernels.at(module.kernels[module.programs[index].launches[l].kernel].name).of(shape(0));
    auto bytes = static_cast<size_t>(std::min(mostProbed, read.weightBytes + read.kvBytes));
    cpu::MachineLimits after;
    if (!cpu::probeMachine(executor.workers(), module.isa, bytes, out.limits, error) ||
        !steps(builder, out.profile, error) ||
        !cpu::probeMachine(executor.workers(), module.isa, bytes, after, error))
      return false;
    // Other work on the machine only lowers them.
    if (after.readBytes > out.limits.readBytes) {
      out.limits.readBytes = after.readBytes;
      out.limits.prefetch = after.prefetch;
    }
    out.limits.int8Ops = std::max(out.limits.int8Ops, after.int8Ops);
    out.limits.f32Ops = std::max(out.limits.f32Ops, after.f32Ops);
    out.limits.bf16Ops = std::max(out.limits.bf16Ops, after.bf16Ops);
    return true;
  }

private:
  StepShape shape(int64_t step) const {
    StepShape shape;
    for (int64_t s = 0; s < test.batch; ++s)
      shape.sequences.push_back({test.depth + (test.prompt ? 0 : step), test.prompt ? test.prompt : 1});
    shape.outRows = test.batch;
    return shape;
  }

  bool steps(ProfileBuilder &builder, Profile &out, std::string &error) {
    cpu::TickRate rate;
    core::StepTimes times;
    struct Detach {
      core::Executor &executor;
      ~Detach() { executor.attach(nullptr); }
    } detach{executor};
    // The first steps touch memory and caches for the first time.
    int64_t count = test.prompt ? test.repetitions : test.generate;
    for (int64_t i = test.prompt ? -1 : -std::min<int64_t>(8, count); i < count; ++i) {
      executor.attach(i < 0 ? nullptr : &times);
      bool ok = test.prompt ? stepper.prompt(1, test.depth, test.prompt, test.prompt, error)
                            : stepper.generate(test.batch, test.depth + std::max<int64_t>(i, 0), error);
      if (!ok)
        return false;
      if (i >= 0)
        builder.add(times.split(), shape(i));
    }
    out = builder.finish(rate.secondsPerTick());
    return true;
  }

  Session &session;
  core::Executor &executor;
  const KernelTable &kernels;
  Test test;
  Stepper stepper;
};

/// The tests of the options; empty where they ask for none or the message was printed.
std::vector<Test> testsOf(const BenchCommand &bench) {
  std::vector<Test> tests;
  for (int64_t depth : bench.depth) {
    for (int64_t generate : bench.generate)
      for (int64_t batch : bench.batch)
        if (generate > 0)
          tests.push_back({0, generate, batch, depth, 0});
    for (int64_t prompt : bench.prompt)
      if (prompt > 0)
        tests.push_back({prompt, 0, 1, depth, bench.repetitions});
  }
  auto below = [](const std::vector<int64_t> &values, int64_t least) {
    return std::any_of(values.begin(), values.end(), [least](int64_t value) { return value < least; });
  };
  const char *fault =
      below(bench.prompt, 0) || below(bench.generate, 0) || tests.empty()
          ? "-p and -n must not be negative, and one of them above 0"
      : below(bench.batch, 1) || below(bench.depth, 0) ? "-b must be above 0, -d must not be negative"
      : below(bench.threads, 1) ||
              std::any_of(bench.threads.begin(), bench.threads.end(), [](int64_t t) { return t > 256; })
          ? "-t must be between 1 and 256"
          : nullptr;
  if (!fault)
    return tests;
  std::fprintf(stderr, "error: %s\n", fault);
  return {};
}

/// Why a test cannot run on the model, or nothing.
std::string unfit(const Test &test, Session &session) {
  int64_t context = session.module().context, rows = session.executor().maxRows();
  if (test.positions() > context)
    return test.name() + ": the context has " + std::to_string(context) + " positions";
  if (test.stepRows() > rows)
    return test.name() + ": one step has at most " + std::to_string(rows) + " rows";
  return "";
}

bool kernelTable(const Session &session, KernelTable &out, std::string &error) {
  auto meta = nlohmann::ordered_json::parse(session.pack().meta(), nullptr, /*allow_exceptions=*/false);
  if (meta.is_object())
    for (const auto &variant : meta.value("explain", nlohmann::ordered_json::array()))
      if (variant.value("isa", "") == session.module().isa) {
        if (!readKernelWork(variant, out, error)) {
          error = session.pack().name() + ": " + error;
          return false;
        }
        for (uint32_t k = 0; k < session.module().n_kernels; ++k)
          if (!out.count(session.module().kernels[k].name)) {
            error =
                session.pack().name() + ": its description lacks kernel " + session.module().kernels[k].name;
            return false;
          }
        return true;
      }
  error = session.pack().name() + ": its description lacks variant " + session.module().isa;
  return false;
}

} // namespace

int commandMeasure(const Options &options, ArtefactLoader &loader) {
  std::vector<Test> tests = testsOf(options.bench);
  if (tests.empty())
    return ExitUsage;
  int64_t positions = 1, sequences = 1, room = 1;
  for (const Test &test : tests) {
    positions = std::max(positions, test.positions());
    sequences = std::max(sequences, test.batch);
    room = std::max(room, Stepper::pages(test.batch, test.positions()));
  }
  LoadOptions load = options.load;
  load.kvPages = room;
  load.maxSeqs = std::max(load.maxSeqs, sequences);
  if (!load.context && !load.model.empty() && positions > 4096)
    load.context = positions;
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  for (int64_t threads : options.bench.threads.empty() ? std::vector<int64_t>{0} : options.bench.threads) {
    std::string error;
    load.threads = static_cast<unsigned>(threads);
    std::unique_ptr<Artefact> artefact = loader.open(load, options.quiet, error);
    std::unique_ptr<Session> session =
        artefact ? Session::create(std::move(artefact), load, 1, error) : nullptr;
    KernelTable kernels;
    if (!session || !kernelTable(*session, kernels, error))
      return fail(error);
    for (const Test &test : tests)
      if (std::string fault = unfit(test, *session); !fault.empty())
        return fail(fault);
    for (const Test &test : tests) {
      MeasuredTest measured;
      if (!Measuring(*session, kernels, test).run(measured, error))
        return fail(error);
      if (options.json)
        results.push_back(profileJson(measured));
      else
        printProfile(measured);
      std::fflush(stdout);
    }
  }
  if (options.json)
    std::printf("%s\n", results.dump(2).c_str());
  return ExitOk;
}

} // namespace ingot::main_
