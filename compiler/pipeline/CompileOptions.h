//===- CompileOptions.h - every knob of one compile -----------------------------------------------------===//
//
// One value per compile, no process-global options. Everything that changes the artefact is printed into it
// (`describe`).
//
//===------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_COMPILER_PIPELINE_COMPILEOPTIONS_H
#define INGOT_COMPILER_PIPELINE_COMPILEOPTIONS_H

#include "compiler/support/TuneProfile.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ingot::pipeline {

/// The phases in order. A compile can stop after any but the last and start from any but the first.
enum class Phase { Import, Model, Quant, Shape, Kernel, Program, Target, Package };

/// Name of a phase as the options spell it: "import" .. "package".
const char *phaseName(Phase phase);
std::optional<Phase> parsePhase(const std::string &name);

enum class Emit { Executable, Object, Pack };

/// A CPU variant as callers choose it.
struct TargetInfo {
  std::string name;     ///< value of --isa
  std::string cpu;      ///< value of --target
  std::string features; ///< what the machine must have, comma-separated
  bool fastOnly;        ///< differs from the one before it under `numerics` fast alone
};

/// All variants, from the least to the most demanding one.
std::vector<TargetInfo> knownTargets();

/// Progress of one long piece of work. `total` is 0 where it is unknown; `unit` is "bytes" or "kernels".
struct Progress {
  const char *what;
  const char *unit;
  uint64_t done;
  uint64_t total;
};

enum class Severity { Error, Warning, Remark };

struct CompileOptions {
  /// CPU variants by name (knownTargets). "ref" stands alone.
  std::vector<std::string> targets;
  Emit emit = Emit::Executable;
  /// Positions per sequence; unset: the model's own, at most 4096.
  std::optional<int64_t> context;
  int64_t maxSeqs = 32;
  std::string kvDtype = "f16";
  int64_t chunk = 512;
  /// exact: every row's bits depend on its own tokens alone; fast: see docs/numerics.md.
  std::string numerics = "exact";
  /// config.json or another file of the directory.
  std::string configFile = "config.json";
  /// Profile of `ingot tune` whose schedules win over the cost model; empty: none. Read into `tune` when the
  /// compiler is made.
  std::string tuneFile;
  std::shared_ptr<const TuneProfile> tune;
  std::optional<Phase> stopAfter;
  std::optional<Phase> startFrom;
  /// The text to resume from, with `startFrom`.
  std::string irFile;
  /// Argument names of passes after which the IR is given to `onIr`; "all": every pass.
  std::vector<std::string> printIrAfter;
  /// Folder with ingot_rt.o and the start files, for Emit::Executable.
  std::string runtimeDir;
  unsigned threads = 2;
  /// File for the times of phases, passes and kernels as JSON (Report.h); empty: none. No option below
  /// changes the artefact.
  std::string timingsFile;
  /// A remark at the end names the slowest kernels.
  bool verbose = false;
  /// A kernel that takes longer to compile is named by a warning.
  double kernelSeconds = defaultKernelSeconds;
  /// Some fifty times what the slowest kernel of SmolLM2-135M or Gemma-3-270M takes.
  static constexpr double defaultKernelSeconds = 20;
  /// Called from the compiling thread; each may be empty.
  std::function<void(const Progress &)> onProgress;
  std::function<void(const std::string &)> onIr;
  /// Text of `stopAfter` where no output is named.
  std::function<void(const std::string &)> onText;
  /// Errors also make up the message of the failed call; warnings are seen here alone.
  std::function<void(Severity, const std::string &)> onDiagnostic;

  bool isRef() const { return targets.size() == 1 && targets.front() == "ref"; }
  /// One line: the options that shape the artefact.
  std::string describe() const;
};

} // namespace ingot::pipeline

#endif // INGOT_COMPILER_PIPELINE_COMPILEOPTIONS_H
