//===- KernelWork.h - what a launch of each kernel computes and reads -----------------------------------===//
//
// From META's `explain` (docs/program.md). Operations are those of dot products, a multiplication and an
// addition each; bytes count once what all workers together must read and write: weights, activations, KV.
//
//===------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_RUNTIME_MAIN_KERNELWORK_H
#define INGOT_RUNTIME_MAIN_KERNELWORK_H

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ingot::main_ {

/// Rows of one step: of each sequence the position of its first row and their number.
struct StepShape {
  struct Part {
    int64_t position, rows;
  };
  std::vector<Part> sequences;
  int64_t outRows = 0;
  int64_t rows() const;
};

struct Work {
  double weightBytes = 0, rowBytes = 0, kvBytes = 0, int8Ops = 0, f32Ops = 0, bf16Ops = 0;
  double ops() const { return int8Ops + f32Ops + bf16Ops; }
  double bytes() const { return weightBytes + rowBytes + kvBytes; }
  Work &operator+=(const Work &other);
  Work operator*(double factor) const;
};

struct KernelWork {
  std::string name, family;
  std::string shape; ///< e.g. "960 x 576 q4_1", empty without a matrix
  bool out = false;  ///< rows are those of out_rows
  bool gather = false;
  double Work::*ops = &Work::f32Ops; ///< which of them its dots are
  double n = 0, weightBytes = 0, opsPerRow = 0, rowBytes = 0;
  int64_t window = 0;
  double opsPerKey = 0, kvBytesPerKey = 0;
  bool panels = false; ///< parts are whole panels, `units` of them
  int64_t units = 0;

  Work of(const StepShape &step) const;
  /// The largest part of a launch that one of `workers` gets, as a share; `rows` of the launch.
  double largestPart(unsigned workers, int64_t rows) const;
};

using KernelTable = std::map<std::string, KernelWork>;

/// The kernels of one variant's entry of `explain`. False and a message where the description lacks
/// something, as that of an older compiler does.
bool readKernelWork(const nlohmann::ordered_json &variant, KernelTable &out, std::string &error);

} // namespace ingot::main_

#endif // INGOT_RUNTIME_MAIN_KERNELWORK_H
