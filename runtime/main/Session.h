//===- Session.h - a model ready to compute -------------------------------------------------------------===//
//
// Chooses the variant, brings the weights into memory and binds the executor. What every command starts from.
//
//===------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_RUNTIME_MAIN_SESSION_H
#define INGOT_RUNTIME_MAIN_SESSION_H

#include "runtime/batch/Engine.h"
#include "runtime/core/Executor.h"
#include "runtime/main/Artefact.h"
#include "runtime/main/TextModel.h"

namespace ingot::main_ {

class Session {
public:
  /// Null and a message on failure. `sequences`: how many run at the same time, for the size of the KV pool
  /// where the options do not give one.
  static std::unique_ptr<Session> create(std::unique_ptr<Artefact> artefact, const LoadOptions &options,
                                         uint32_t sequences, std::string &error);

  const weights::ModelMeta &meta() const { return model->meta(); }
  const weights::Pack &pack() const { return model->pack(); }
  const ingot_module_v1 &module() const { return model->module(); }
  core::Executor &executor() { return *exec; }
  const LoadOptions &options() const { return load; }

  /// Tokenizer and chat template.
  TextModel &text() { return textModel; }
  /// A batching engine over the executor. `endTokens` false: the model's end tokens are tokens like any
  /// other.
  std::unique_ptr<batch::Engine> createEngine(bool endTokens = true);

  /// Sampling defaults: the model's own where the user gave none. False and a message on a bad value.
  bool requestOptions(const SamplingOptions &sampling, batch::RequestOptions &out, std::string &error) const;

private:
  Session() = default;

  std::shared_ptr<void> owner; ///< of code and memory, destroyed last
  std::shared_ptr<core::Model> model;
  LoadOptions load;
  std::unique_ptr<core::Executor> exec;
  TextModel textModel;
};

} // namespace ingot::main_

#endif // INGOT_RUNTIME_MAIN_SESSION_H
