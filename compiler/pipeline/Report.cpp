//===- Report.cpp - what a compile took -----------------------------------------------------------------===//

#include "compiler/pipeline/Report.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace llvm;
namespace json = llvm::json;

namespace ingot::pipeline {
namespace {

json::Object kernelJson(const KernelCost &kernel) {
  return json::Object{{"name", kernel.name},
                      {"family", kernel.family},
                      {"use", kernel.use},
                      {"seconds", kernel.seconds()},
                      {"build_seconds", kernel.build},
                      {"optimize_seconds", kernel.optimize},
                      {"generate_seconds", kernel.generate},
                      {"code_bytes", static_cast<int64_t>(kernel.codeBytes)}};
}

json::Object emitJson(const EmitCost &cost) {
  json::Array kernels;
  for (const KernelCost &kernel : cost.kernels)
    kernels.push_back(kernelJson(kernel));
  return json::Object{{"isa", cost.isa},
                      {"seconds", cost.seconds},
                      {"build_seconds", cost.build},
                      {"lower_seconds", cost.lower},
                      {"optimize_seconds", cost.optimize},
                      {"generate_seconds", cost.generate},
                      {"object_bytes", static_cast<int64_t>(cost.objectBytes)},
                      {"peak_bytes", static_cast<int64_t>(cost.peakBytes)},
                      {"kernels", std::move(kernels)}};
}

} // namespace

std::string CompileReport::json() const {
  json::Array phaseList, passList, variantList;
  for (const PhaseCost &cost : phases) {
    json::Object object{{"phase", cost.phase}, {"seconds", cost.seconds}};
    if (!cost.isa.empty())
      object["isa"] = cost.isa;
    phaseList.push_back(std::move(object));
  }
  for (const PassCost &cost : passes) {
    json::Object object{{"phase", cost.phase}, {"pass", cost.pass}, {"seconds", cost.seconds}};
    if (!cost.isa.empty())
      object["isa"] = cost.isa;
    passList.push_back(std::move(object));
  }
  for (const EmitCost &cost : variants)
    variantList.push_back(emitJson(cost));
  auto text = [](const std::string &value) { return json::isUTF8(value) ? value : json::fixUTF8(value); };
  json::Object object{{"compiler", compiler},
                      {"model", text(model)},
                      {"options", text(options)},
                      {"seconds", seconds},
                      {"peak_bytes", static_cast<int64_t>(peakBytes)},
                      {"phases", std::move(phaseList)},
                      {"passes", std::move(passList)},
                      {"variants", std::move(variantList)}};
  std::string result;
  raw_string_ostream stream(result);
  stream << formatv("{0:2}", json::Value(std::move(object))) << "\n";
  return result;
}

std::string CompileReport::slowest() const {
  constexpr size_t shown = 5;
  std::string result;
  for (const EmitCost &cost : variants) {
    std::vector<const KernelCost *> order;
    for (const KernelCost &kernel : cost.kernels)
      order.push_back(&kernel);
    std::sort(order.begin(), order.end(),
              [](const KernelCost *a, const KernelCost *b) { return a->seconds() > b->seconds(); });
    result += formatv(
        "{0}variant {1}: {2} kernels in {3:f2} s, {4:f1} MB of memory; slowest:", result.empty() ? "" : "\n",
        cost.isa, order.size(), cost.seconds, static_cast<double>(cost.peakBytes) / 1e6);
    for (size_t i = 0; i < std::min(shown, order.size()); ++i)
      result += formatv("{0} {1} {2:f2} s", i ? "," : "", order[i]->name, order[i]->seconds());
  }
  return result;
}

std::vector<std::string> CompileReport::above(double limit) const {
  std::vector<std::string> lines;
  for (const EmitCost &cost : variants)
    for (const KernelCost &kernel : cost.kernels)
      if (kernel.seconds() > limit)
        lines.push_back(
            formatv("target {0}: kernel {1} ({2}) took {3:f2} s to compile, more than the {4:f2} s of "
                    "--kernel-seconds",
                    cost.isa, kernel.name, kernel.use, kernel.seconds(), limit));
  return lines;
}

} // namespace ingot::pipeline
