#include "compiler/arch/Build.h"
#include "compiler/arch/Architecture.h"
#include "compiler/arch/ModelBuilder.h"
#include "compiler/import/Fault.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

using namespace ingot::import_;

namespace ingot::arch {

namespace {

struct Entry {
  llvm::StringRef name, hf, gguf;
  const Architecture &(*get)();
};

constexpr Entry kArchitectures[] = {
#define ARCHITECTURE(name, hf, gguf) {#name, hf, gguf, name##Architecture},
#include "compiler/arch/Architectures.def"
};

const Entry *findEntry(const ModelSource &model, std::string &error) {
  llvm::StringRef wanted = model.architecture();
  bool isGguf = model.kind() == ModelSource::Kind::Gguf;
  std::string known;
  for (const Entry &entry : kArchitectures) {
    llvm::StringRef name = isGguf ? entry.gguf : entry.hf;
    if (!name.empty() && name == wanted)
      return &entry;
    if (!name.empty())
      known += (known.empty() ? "" : ", ") + name.str();
  }
  error = (model.configPath() + ": " + (isGguf ? "general.architecture" : "model_type") + " '" +
           printable(wanted) + "' is not supported (known: " + known + ")")
              .str();
  return nullptr;
}

bool readConfig(const Entry &entry, const ModelSource &model, const BuildOptions &options,
                ModelConfig &config, std::string &error) {
  Fields fields(model);
  entry.get().readConfig(fields, options, config);
  fields.finish();
  error = fields.error();
  if (!fields.ok())
    return false;
  // An id without a row in the embedding table must never reach the model.
  if (model.tokenizerSize() > config.vocab) {
    error = (model.path() + ": the tokenizer has token ids up to " + llvm::Twine(model.tokenizerSize() - 1) +
             ", but the vocabulary (embedding table) has " + llvm::Twine(config.vocab) + " rows")
                .str();
    return false;
  }
  return true;
}

} // namespace

std::vector<std::string> knownArchitectures() {
  std::vector<std::string> names;
  for (const Entry &entry : kArchitectures)
    names.push_back(entry.name.str());
  return names;
}

bool readModelConfig(const ModelSource &model, const BuildOptions &options, ModelConfig &config,
                     std::string &error) {
  const Entry *entry = findEntry(model, error);
  return entry && readConfig(*entry, model, options, config, error);
}

mlir::OwningOpRef<mlir::ModuleOp> buildModel(mlir::MLIRContext *context, const ModelSource &model,
                                             const BuildOptions &options, std::string &error) {
  context->loadDialect<llm::LlmDialect, qfmt::QfmtDialect>();
  const Entry *entry = findEntry(model, error);
  ModelConfig config;
  if (!entry || !readConfig(*entry, model, options, config, error))
    return nullptr;
  auto module = ModelBuilder(context, model, entry->get(), entry->name, config, options).build(error);
  if (!module)
    return nullptr;
  // Whatever the verifiers find now is a contradiction that the checks above should have named.
  std::string text;
  mlir::ScopedDiagnosticHandler handler(context, [&](mlir::Diagnostic &diagnostic) {
    if (text.empty())
      text = diagnostic.str();
    return mlir::success();
  });
  if (mlir::failed(mlir::verify(*module))) {
    error = (model.path() + ": " + text).str();
    return nullptr;
  }
  return module;
}

} // namespace ingot::arch
