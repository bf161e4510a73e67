//===- ExplainCommand.cpp - kernels, their choice, stages and critical paths ----------------------------===//

#include "runtime/main/Commands.h"
#include "runtime/main/Info.h"
#include "runtime/main/KernelWork.h"

#include <algorithm>
#include <cstdio>

namespace ingot::main_ {
namespace {

/// Tokens in the cache before a step of few rows, for what attention costs on the critical path.
constexpr int64_t pathDepth = 512;
constexpr unsigned pathWorkers[] = {1, 2, 4};

/// A full step of a program: a prompt chunk, or one row of each of few sequences.
StepShape fullStep(const Json &program, int64_t context) {
  auto rows = static_cast<int64_t>(number(program, "max_rows"));
  StepShape shape;
  if (rows > 8) {
    shape.sequences.push_back({0, rows});
    shape.outRows = 1;
    return shape;
  }
  shape.sequences.assign(rows, {std::max<int64_t>(0, std::min(pathDepth, context - 1)), 1});
  shape.outRows = rows;
  return shape;
}

/// What the busiest worker does from the first stage to the last: of a launch that is shared the largest
/// part, of one that each worker does for itself all of it.
Work criticalPath(const Json &program, const KernelTable &kernels, const StepShape &shape, unsigned workers) {
  Work sum;
  for (const Json &run : program.value("plan", Json::array()))
    for (const Json &stage : run.value("stages", Json::array()))
      for (const Json &launch : stage) {
        auto known = kernels.find(textOf(launch, "kernel"));
        if (known == kernels.end())
          continue;
        const KernelWork &kernel = known->second;
        int64_t rows = kernel.out ? shape.outRows : shape.rows();
        double part = launch.contains("replicated") ? 1 : kernel.largestPart(workers, rows);
        sum += kernel.of(shape) * (part * number(run, "repeat"));
      }
  return sum;
}

Json pathJson(const Work &work, unsigned workers) {
  return {{"workers", workers},       {"weight_bytes", work.weightBytes}, {"activation_bytes", work.rowBytes},
          {"kv_bytes", work.kvBytes}, {"int8_ops", work.int8Ops},         {"f32_ops", work.f32Ops}};
}

/// Adds to each program what follows from the plan and the kernels' work.
void addPaths(Json &variant, int64_t context) {
  KernelTable kernels;
  std::string ignored;
  if (!readKernelWork(variant, kernels, ignored))
    return;
  for (Json &program : variant["programs"]) {
    Json paths = Json::array();
    StepShape shape = fullStep(program, context);
    for (unsigned workers : pathWorkers)
      paths.push_back(pathJson(criticalPath(program, kernels, shape, workers), workers));
    program["barriers"] = std::max<int64_t>(0, static_cast<int64_t>(number(program, "stages")) - 1);
    program["critical_path"] = std::move(paths);
  }
}

/// "norm* + linear 960 x 576 q4_1"; a star: each worker does all of it.
std::string stageText(const Json &stage, const KernelTable &kernels) {
  std::string text;
  for (const Json &launch : stage) {
    auto known = kernels.find(textOf(launch, "kernel"));
    if (known == kernels.end())
      continue;
    text += (text.empty() ? "" : " + ") + known->second.family + (launch.contains("replicated") ? "*" : "") +
            (known->second.shape.empty() ? "" : " " + known->second.shape);
  }
  return text;
}

void printProgram(const Json &program, const KernelTable &kernels) {
  std::printf("  program for up to %.0f rows: %.0f launches in %.0f stages", number(program, "max_rows"),
              number(program, "launches"), number(program, "stages"));
  if (!program.contains("critical_path")) {
    std::printf(" (a barrier follows each)\n");
    return;
  }
  std::printf(", %.0f barriers\n", number(program, "barriers"));
  for (const Json &run : program.value("plan", Json::array())) {
    std::printf("    %4.0f x", number(run, "repeat"));
    const char *separator = " ";
    for (const Json &stage : run.value("stages", Json::array())) {
      std::printf("%s%s", separator, stageText(stage, kernels).c_str());
      separator = " | ";
    }
    std::printf("\n");
  }
  for (const Json &path : program["critical_path"])
    std::printf(
        "    critical path of %.0f workers: weights %s, activations %s, KV %s; %.4g int8 and %.4g f32 "
        "operations\n",
        number(path, "workers"), bytesText(number(path, "weight_bytes")).c_str(),
        bytesText(number(path, "activation_bytes")).c_str(), bytesText(number(path, "kv_bytes")).c_str(),
        number(path, "int8_ops"), number(path, "f32_ops"));
}

void printKernel(const Json &kernel) {
  std::printf("  %s\n    family %s, rows %s, launched %s times\n", textOf(kernel, "name").c_str(),
              textOf(kernel, "family").c_str(),
              number(kernel, "rows") == 0 ? "at run time" : textOf(kernel, "rows").c_str(),
              textOf(kernel, "launches").c_str());
  if (kernel.contains("n"))
    std::printf("    %s x %s, %s in layout %s, %s a launch%s\n", textOf(kernel, "n").c_str(),
                textOf(kernel, "k").c_str(), textOf(kernel, "scheme").c_str(),
                textOf(kernel, "layout").c_str(), bytesText(number(kernel, "weight_bytes")).c_str(),
                kernel.contains("flops_per_row")
                    ? (", " + std::to_string(static_cast<int64_t>(number(kernel, "flops_per_row"))) +
                       " operations a row")
                          .c_str()
                    : "");
  std::string body;
  for (const Json &step : kernel.value("body", Json::array()))
    body += (body.empty() ? "" : " -> ") + step.get<std::string>();
  std::printf("    %s\n", body.c_str());
  if (kernel.contains("schedule"))
    std::printf("    schedule %s\n", textOf(kernel, "schedule").c_str());
  if (kernel.contains("code_bytes"))
    std::printf("    code %s\n", bytesText(number(kernel, "code_bytes")).c_str());
  if (kernel.contains("reason"))
    std::printf("    chosen: %s\n", textOf(kernel, "reason").c_str());
  for (const Json &refused : kernel.value("refused", Json::array()))
    std::printf("    refused: %s\n",
                refused.is_string() ? refused.get<std::string>().c_str() : refused.dump().c_str());
  if (kernel.contains("example"))
    std::printf("    for example %s\n", textOf(kernel, "example").c_str());
}

} // namespace

int commandExplain(const Options &options, ArtefactLoader &loader) {
  Json meta;
  std::string error;
  if (!loadMeta(options, loader, meta, error))
    return fail(error);
  Json explain = meta.value("explain", Json::array());
  for (Json &variant : explain)
    addPaths(variant, static_cast<int64_t>(number(meta, "context")));
  if (options.json) {
    std::printf("%s\n", explain.dump(2).c_str());
    return ExitOk;
  }
  std::printf("A star: each worker computes all of it for itself. Critical paths are those of a full step, "
              "prompts from the start, others %lld tokens deep.\n",
              static_cast<long long>(pathDepth));
  for (const Json &variant : explain) {
    std::printf("variant %s\n", textOf(variant, "isa").c_str());
    KernelTable kernels;
    readKernelWork(variant, kernels, error);
    for (const Json &program : variant.value("programs", Json::array()))
      printProgram(program, kernels);
    for (const Json &kernel : variant.value("kernels", Json::array()))
      printKernel(kernel);
  }
  return ExitOk;
}

} // namespace ingot::main_
