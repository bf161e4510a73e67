//===- BenchCommand.cpp - prompt, generation, batched and mixed rates -----------------------------------===//
//
// Measures what llama-bench measures: steps of the model on given ids, no tokenizing and, without --draw, no
// sampling; one warm-up run comes first. A mixed test times three kinds of step in turn: prompt rows beside
// one row of each running sequence, and either part alone, so that noise of the machine hits all three alike.
//
//===------------------------------------------------------------------------------------------------------===//

#include "runtime/main/Commands.h"
#include "runtime/main/Session.h"
#include "runtime/main/Stepper.h"

#include "runtime/device/cpu/ThreadState.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <tuple>

namespace ingot::main_ {
namespace {

/// Steps of each kind in one repetition of a mixed test.
constexpr int64_t mixedSteps = 4;

struct Test {
  int64_t prompt = 0, generate = 0, batch = 1, depth = 0;
  bool mixed = false; ///< steps of `prompt` rows of one sequence and one row of each of `batch` others

  std::string name() const {
    std::string text = mixed    ? "mix" + std::to_string(prompt) + "+" + std::to_string(batch)
                       : prompt ? "pp" + std::to_string(prompt)
                                : "tg" + std::to_string(generate);
    if (batch > 1 && !mixed)
      text += " x" + std::to_string(batch);
    if (depth)
      text += " @ d" + std::to_string(depth);
    return text;
  }
  int64_t positions() const {
    return mixed ? std::max(prompt, depth + mixedSteps) : depth + prompt + generate;
  }
  int64_t tokens() const { return (prompt + generate) * batch; }
  int64_t sequences() const { return batch + mixed; }
  int64_t stepRows() const { return mixed ? prompt + batch : batch; }
  int64_t pages() const { return Stepper::pages(sequences(), positions()); }
};

/// Seconds of one repetition of a mixed test: `mixedSteps` steps of each kind.
struct MixedTimes {
  double mixed = 0, prompt = 0, generate = 0;
};

/// One step of a mixed test: the last sequence's first tokens, after them one token of every other sequence.
/// Logits of each sequence's last row.
bool mixedStep(Stepper &stepper, const Test &test, int64_t position, bool withPrompt, bool withRunning,
               std::string &error) {
  stepper.begin();
  if (withPrompt)
    stepper.add(test.batch, 0, test.prompt);
  for (int64_t s = 0; s < test.batch && withRunning; ++s)
    stepper.add(s, position, 1);
  return stepper.run(static_cast<uint32_t>(withPrompt + (withRunning ? test.batch : 0)), error);
}

/// The tokens of a step, drawn as the engine draws them and thrown away.
class Draws {
public:
  Draws(core::Executor &executor, const std::string &kind)
      : executor(executor), samplers(executor.threads()), any(kind != "none") {
    params.temperature = kind == "sampled" || kind == "random" ? 0.8 : 0;
    params.topK = kind == "sampled" ? 40 : 0;
    flags = kind == "greedy" ? INGOT_STEP_ARGMAX : 0;
  }

  bool step(uint32_t rows, uint32_t had, std::string &error) {
    if (!any)
      return true;
    auto start = std::chrono::steady_clock::now();
    drawn.resize(rows);
    errors.assign(rows, {});
    if (had & INGOT_STEP_ARGMAX)
      for (uint32_t r = 0; r < rows; ++r) {
        ingot_argmax_v1 best = executor.best(r);
        sample::Sampler::drawBest(best.value, best.index, index, drawn[r], errors[r]);
      }
    else
      executor.forEach(rows, [&](uint32_t r, unsigned worker) {
        samplers[worker].draw(executor.logits(r), executor.module().vocab, params, {}, index, drawn[r],
                              errors[r]);
      });
    ++index;
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    for (const std::string &e : errors)
      if (!e.empty()) {
        error = e;
        return false;
      }
    return true;
  }

  uint32_t flags = 0; ///< of the steps
  double seconds = 0; ///< in step()
  uint64_t index = 0; ///< steps so far

private:
  core::Executor &executor;
  std::vector<sample::Sampler> samplers;
  sample::SamplingParams params;
  std::vector<sample::Drawn> drawn;
  std::vector<std::string> errors;
  bool any;
};

bool runTest(core::Executor &executor, const Test &test, uint32_t chunk, int64_t repetitions, Draws &draws,
             std::vector<double> &rates, std::string &error) {
  Stepper stepper(executor, test.sequences(), test.positions());
  cpu::AffinityScope affinity(executor.callerCpu());
  if (test.depth && !stepper.prompt(test.batch, 0, test.depth, chunk, error))
    return false;
  for (int64_t repetition = -1; repetition < repetitions; ++repetition) {
    auto start = std::chrono::steady_clock::now();
    if (test.prompt && !stepper.prompt(test.batch, test.depth, test.prompt, chunk, error))
      return false;
    // The warm-up needs no full length.
    int64_t steps = repetition < 0 ? std::min<int64_t>(test.generate, 8) : test.generate;
    if (repetition == 0)
      draws.seconds = 0, draws.index = 0;
    for (int64_t i = 0; i < steps; ++i) {
      stepper.flags = draws.flags;
      if (!stepper.generate(test.batch, test.depth + test.prompt + i, error) ||
          !draws.step(static_cast<uint32_t>(test.batch), stepper.flags, error))
        return false;
    }
    std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    if (repetition >= 0)
      rates.push_back(static_cast<double>(test.tokens()) / elapsed.count());
  }
  return true;
}

bool runMixed(core::Executor &executor, const Test &test, uint32_t chunk, int64_t repetitions,
              std::vector<MixedTimes> &times, std::string &error) {
  Stepper stepper(executor, test.sequences(), test.positions());
  cpu::AffinityScope affinity(executor.callerCpu());
  if (test.depth && !stepper.prompt(test.batch, 0, test.depth, chunk, error))
    return false;
  for (int64_t repetition = -1; repetition < repetitions; ++repetition) {
    MixedTimes sums;
    for (int64_t i = 0; i < (repetition < 0 ? 1 : mixedSteps); ++i)
      for (auto [withPrompt, withRunning, sum] : {std::tuple{true, true, &sums.mixed},
                                                  {true, false, &sums.prompt},
                                                  {false, true, &sums.generate}}) {
        auto start = std::chrono::steady_clock::now();
        if (!mixedStep(stepper, test, test.depth + i, withPrompt, withRunning, error))
          return false;
        *sum += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      }
    if (repetition >= 0)
      times.push_back(sums);
  }
  return true;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  size_t n = values.size();
  return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/// Medians per step in milliseconds, and the mixed step as a share of its parts' sum.
nlohmann::json mixedSummary(const std::vector<MixedTimes> &times) {
  std::vector<double> mixed, prompt, generate, ratio;
  for (const MixedTimes &t : times) {
    mixed.push_back(1e3 * t.mixed / mixedSteps);
    prompt.push_back(1e3 * t.prompt / mixedSteps);
    generate.push_back(1e3 * t.generate / mixedSteps);
    ratio.push_back(t.mixed / (t.prompt + t.generate));
  }
  return {{"mixed_ms", median(mixed)},
          {"prompt_ms", median(prompt)},
          {"generate_ms", median(generate)},
          {"share_of_parts", median(ratio)}};
}

} // namespace

int commandBench(const Options &options, ArtefactLoader &loader) {
  const BenchCommand &bench = options.bench;
  std::vector<Test> tests;
  for (int64_t depth : bench.depth) {
    for (int64_t prompt : bench.prompt)
      if (prompt > 0)
        tests.push_back({prompt, 0, 1, depth});
    for (int64_t generate : bench.generate)
      for (int64_t batch : bench.batch)
        if (generate > 0)
          tests.push_back({0, generate, batch, depth});
    for (int64_t prompt : bench.mix)
      for (int64_t batch : bench.batch)
        if (prompt > 0)
          tests.push_back({prompt, 0, batch, depth, /*mixed=*/true});
  }
  auto negative = [](const std::vector<int64_t> &values) {
    return std::any_of(values.begin(), values.end(), [](int64_t value) { return value < 0; });
  };
  if (negative(bench.prompt) || negative(bench.generate) || negative(bench.mix) || tests.empty()) {
    std::fprintf(stderr, "error: -p, -n and --mix must not be negative, and one of them above 0\n");
    return ExitUsage;
  }
  int64_t positions = 1, sequences = 1, room = 0;
  for (const Test &test : tests) {
    if (test.batch < 1 || test.depth < 0) {
      std::fprintf(stderr, "error: -b must be above 0, -d must not be negative\n");
      return ExitUsage;
    }
    positions = std::max(positions, test.positions());
    sequences = std::max(sequences, test.sequences());
    room = std::max(room, test.pages());
  }
  for (int64_t threads : bench.threads)
    if (threads < 1 || threads > 256) {
      std::fprintf(stderr, "error: -t must be between 1 and 256\n");
      return ExitUsage;
    }
  LoadOptions load = options.load;
  load.kvPages = std::max<int64_t>(room, 1);
  load.maxSeqs = std::max(load.maxSeqs, sequences);
  if (!load.context || *load.context < positions)
    if (!load.model.empty() && positions > 4096)
      load.context = positions;

  nlohmann::json results = nlohmann::json::array();
  bool header = false;
  std::vector<int64_t> threadCounts = bench.threads.empty() ? std::vector<int64_t>{0} : bench.threads;
  for (int64_t threads : threadCounts) {
    std::string error;
    load.threads = static_cast<unsigned>(threads);
    std::unique_ptr<Artefact> artefact = loader.open(load, options.quiet, error);
    if (!artefact)
      return fail(error);
    std::unique_ptr<Session> session = Session::create(std::move(artefact), load, 1, error);
    if (!session)
      return fail(error);
    for (const Test &test : tests) {
      if (test.positions() > session->module().context)
        return fail(test.name() + ": the context has " + std::to_string(session->module().context) +
                    " positions");
      if (test.stepRows() > session->executor().maxRows())
        return fail(test.name() + ": one step has at most " + std::to_string(session->executor().maxRows()) +
                    " rows");
      std::vector<double> rates;
      nlohmann::json more = nlohmann::json::object();
      std::string note;
      if (test.mixed) {
        std::vector<MixedTimes> times;
        if (!runMixed(session->executor(), test, static_cast<uint32_t>(load.chunk), bench.repetitions, times,
                      error))
          return fail(error);
        more = mixedSummary(times);
        for (const MixedTimes &t : times)
          rates.push_back(static_cast<double>(test.stepRows() * mixedSteps) / t.mixed);
        char line[80];
        std::snprintf(line, sizeof(line), " (step %.2f ms, parts %.2f + %.2f)",
                      more["mixed_ms"].get<double>(), more["prompt_ms"].get<double>(),
                      more["generate_ms"].get<double>());
        note = line;
      } else {
        Draws draws(session->executor(), bench.draw);
        if (!runTest(session->executor(), test, static_cast<uint32_t>(load.chunk), bench.repetitions, draws,
                     rates, error))
          return fail(error);
        if (bench.draw != "none" && test.generate) {
          more = {{"draw", bench.draw}, {"draw_us", 1e6 * draws.seconds / static_cast<double>(draws.index)}};
          char line[80];
          std::snprintf(line, sizeof(line), " (%s, %.1f us a step)", bench.draw.c_str(),
                        more["draw_us"].get<double>());
          note = line;
        }
      }
      auto [low, high] = std::minmax_element(rates.begin(), rates.end());
      if (options.json) {
        more.update({{"test", test.name()},
                     {"n_prompt", test.prompt},
                     {"n_gen", test.generate},
                     {"n_batch", test.batch},
                     {"n_depth", test.depth},
                     {"n_threads", session->executor().threads()},
                     {"isa", session->module().isa},
                     {"median_ts", median(rates)},
                     {"min_ts", *low},
                     {"max_ts", *high},
                     {"samples_ts", rates}});
        results.push_back(more);
      } else {
        if (!std::exchange(header, true))
          std::printf("| test | threads | t/s (median) | min | max |\n|---|---|---|---|---|\n");
        std::printf("| %s%s | %u | %.1f | %.1f | %.1f |\n", test.name().c_str(), note.c_str(),
                    session->executor().threads(), median(rates), *low, *high);
      }
      std::fflush(stdout);
    }
  }
  if (options.json)
    std::printf("%s\n", results.dump(2).c_str());
  return ExitOk;
}

} // namespace ingot::main_
