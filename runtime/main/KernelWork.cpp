//===- KernelWork.cpp - what a launch of each kernel computes and reads ---------------------------------===//

#include "runtime/main/KernelWork.h"

#include <algorithm>

namespace ingot::main_ {

using Json = nlohmann::ordered_json;

int64_t StepShape::rows() const {
  int64_t sum = 0;
  for (const Part &part : sequences)
    sum += part.rows;
  return sum;
}

Work &Work::operator+=(const Work &other) {
  weightBytes += other.weightBytes;
  rowBytes += other.rowBytes;
  kvBytes += other.kvBytes;
  int8Ops += other.int8Ops;
  f32Ops += other.f32Ops;
  bf16Ops += other.bf16Ops;
  return *this;
}

Work Work::operator*(double factor) const {
  return {weightBytes * factor, rowBytes * factor, kvBytes * factor,
          int8Ops * factor,     f32Ops * factor,   bf16Ops * factor};
}

Work KernelWork::of(const StepShape &step) const {
  Work work;
  auto rows = static_cast<double>(out ? step.outRows : step.rows());
  if (rows == 0)
    return work;
  // A lookup reads the rows of its tokens, everything else the whole matrix once.
  work.weightBytes = gather ? weightBytes / n * std::min(rows, n) : weightBytes;
  work.rowBytes = rowBytes * rows;
  work.*ops = opsPerRow * rows;
  if (opsPerKey != 0)
    for (const StepShape::Part &part : step.sequences) {
      int64_t end = part.position + part.rows;
      for (int64_t p = part.position; p < end; ++p)
        work.f32Ops += opsPerKey * static_cast<double>(window ? std::min(window, p + 1) : p + 1);
      int64_t first = window ? std::max<int64_t>(0, part.position + 1 - window) : 0;
      work.kvBytes += kvBytesPerKey * static_cast<double>(end - first);
    }
  return work;
}

double KernelWork::largestPart(unsigned workers, int64_t rows) const {
  int64_t count = panels ? units : std::max<int64_t>(units, 1) * std::max<int64_t>(rows, 1);
  int64_t most = (count + workers - 1) / workers;
  return static_cast<double>(most) / static_cast<double>(count);
}

bool readKernelWork(const Json &variant, KernelTable &out, std::string &error) {
  out.clear();
  for (const Json &kernel : variant.value("kernels", Json::array())) {
    KernelWork work;
    auto number = [](const Json &object, const char *key) {
      auto it = object.find(key);
      return it != object.end() && it->is_number() ? it->get<double>() : 0.0;
    };
    auto text = [](const Json &object, const char *key) {
      auto it = object.find(key);
      return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
    };
    work.name = text(kernel, "name");
    work.family = text(kernel, "family");
    if (work.name.empty() || !kernel.contains("row_bytes") || !kernel.contains("grid")) {
      error = "its description does not say what kernels compute: compile it again";
      return false;
    }
    work.out = text(kernel, "domain") == "out";
    work.gather = work.family == "embed";
    if (text(kernel, "dot") == "int8")
      work.ops = &Work::int8Ops;
    else if (text(kernel, "dot") == "bf16")
      work.ops = &Work::bf16Ops;
    work.n = std::max(number(kernel, "n"), 1.0);
    work.weightBytes = number(kernel, "weight_bytes");
    work.opsPerRow = number(kernel, "flops_per_row");
    work.rowBytes = number(kernel, "row_bytes");
    work.panels = text(kernel["grid"], "unit") == "panels";
    work.units = static_cast<int64_t>(number(kernel["grid"], "count"));
    if (auto it = kernel.find("attention"); it != kernel.end()) {
      work.window = static_cast<int64_t>(number(*it, "window"));
      work.opsPerKey = number(*it, "flops_per_key");
      work.kvBytesPerKey = number(*it, "kv_bytes_per_key");
    }
    if (kernel.contains("n"))
      work.shape = kernel["n"].dump() + " x " + kernel["k"].dump() + " " + text(kernel, "scheme");
    out.emplace(work.name, std::move(work));
  }
  return true;
}

} // namespace ingot::main_
