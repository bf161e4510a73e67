//===- Workbench.h - a model whose kernels can be exchanged ---------------------------------------------===//
//
// Compiles a model in this process, binds it to threads and weights, and makes functions of its kernels with
// other schedules, which the executor can call in their place.
//
//===------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_COMPILER_TUNE_WORKBENCH_H
#define INGOT_COMPILER_TUNE_WORKBENCH_H

#include "compiler/api/ingot.h"
#include "compiler/pipeline/Compiler.h"
#include "runtime/main/Session.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ingot::api {
class Jit;
}

namespace ingot::tune {

class Workbench {
public:
  /// `options` names one target. Null and a message that names file or option.
  static std::unique_ptr<Workbench> open(const std::string &model, const ingot_compile_options &options,
                                         const main_::LoadOptions &load, std::string &error);
  ~Workbench();

  main_::Session &session() { return *running; }
  /// Files that the model is read from.
  std::vector<std::string> files() const { return compiler->source().files(); }
  int64_t generation() const { return compiler->kernelGeneration(); }
  const std::vector<pipeline::TunableKernel> &kernels() const { return tunable; }

  /// Compiles kernels with other schedules; `functions` has one for each of `list`, and the executor has
  /// their scratch. `progress` hears how many are done.
  bool build(std::vector<pipeline::Rescheduled> list, const std::function<void(size_t)> &progress,
             std::vector<ingot_kernel_fn> &functions, std::string &error);

private:
  Workbench() = default;

  std::unique_ptr<pipeline::Compiler> compiler;
  std::shared_ptr<void> code; ///< objects and pack of the model, and `jit`
  api::Jit *jit = nullptr;
  std::vector<pipeline::TunableKernel> tunable;
  std::unique_ptr<main_::Session> running;
  size_t built = 0; ///< objects so far
};

} // namespace ingot::tune

#endif // INGOT_COMPILER_TUNE_WORKBENCH_H
