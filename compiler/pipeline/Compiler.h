//===- Compiler.h - a model file in, native code and packed weights out ---------------------------------===//
//
// Runs the phases import -> model -> quant -> shape -> kernel -> program -> target -> package. One object per
// compile; no state outside it.
//
//===------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_COMPILER_PIPELINE_COMPILER_H
#define INGOT_COMPILER_PIPELINE_COMPILER_H

#include "compiler/import/Model.h"
#include "compiler/pipeline/CompileOptions.h"
#include "compiler/support/KernelRegistry.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ingot::package {
class MemorySink;
}

namespace ingot::pipeline {

/// Relocatable code of one variant.
struct ObjectCode {
  std::string isa;
  llvm::SmallVector<char, 0> bytes;
};

/// A compiled model that was not written to a file.
struct CompiledModel {
  CompiledModel();
  CompiledModel(CompiledModel &&);
  CompiledModel &operator=(CompiledModel &&);
  ~CompiledModel();
  std::vector<ObjectCode> objects;
  std::unique_ptr<package::MemorySink> pack; ///< with META, TOKENIZER, PARAMS and WEIGHTS
  const uint8_t *packData() const;
  uint64_t packBytes() const;
};

/// A kernel of a compiled model that has other schedules than its own.
struct TunableKernel {
  std::string name, key; ///< symbol; prototype as profiles spell it (tuneKey)
  KernelCandidate own;
  std::vector<KernelCandidate> others; ///< all that the registry offers in the kernel's layout
};

/// A kernel of a compiled model with another schedule, as a function of that name.
struct Rescheduled {
  std::string kernel, symbol;
  KernelCandidate schedule;
};

/// Kernels without a module: functions of one object.
struct KernelObject {
  std::vector<std::string> symbols;
  llvm::SmallVector<char, 0> bytes;
  uint64_t scratchBytes = 0; ///< of the kernel that needs most
};

/// What is wrong with the options alone, before any file is opened.
llvm::Error checkOptions(const CompileOptions &options);

class Compiler {
public:
  /// Opens the model and checks the options. Errors name the file and what is wrong with it, or the option.
  static llvm::Expected<std::unique_ptr<Compiler>> create(llvm::StringRef modelPath, CompileOptions options);
  ~Compiler();

  const import_::ModelSource &source() const;
  const CompileOptions &options() const;

  /// Replaces options().timingsFile.
  void setTimingsFile(std::string path);

  /// Writes what `options.emit` says to `output`, or, with `options.stopAfter`, the IR as text
  /// (output "": to `options.onText`). Nothing is left under that name unless all went well.
  llvm::Error compileToFile(llvm::StringRef output);
  llvm::Expected<CompiledModel> compileToMemory();
  /// The META text of a compile without its weights, for `inspect` and `explain` on a model file.
  llvm::Expected<std::string> describe();

  // For `ingot tune`, after compileToMemory() for one target.
  /// The kernels with a choice, in the module's order.
  std::vector<TunableKernel> tunable() const;
  /// Code of those kernels in their order, spread over objects. `progress` hears how many are done.
  llvm::Expected<std::vector<KernelObject>> emitSchedules(llvm::ArrayRef<Rescheduled> list,
                                                          const std::function<void(size_t)> &progress);
  /// KernelRegistry::generation.
  int64_t kernelGeneration() const;

private:
  struct Implementation;
  explicit Compiler(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> self;
};

/// Version of the compiler as artefacts carry it.
const char *compilerVersion();

} // namespace ingot::pipeline

#endif // INGOT_COMPILER_PIPELINE_COMPILER_H
