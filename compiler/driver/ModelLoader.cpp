//===- ModelLoader.cpp - models by path: compiled in this process, or loaded from a pack ----------------===//

#include "compiler/driver/ModelLoader.h"

#include "compiler/api/ModelText.h"

#include <cstdio>

namespace ingot::driver {
namespace {

/// The C API takes 0 for its default; a 0 that somebody typed is an error that the compiler words.
int64_t typed(int64_t value) { return value ? value : -1; }
double typed(double value) { return value != 0 ? value : -1; }

void showDiagnostic(void *, int32_t severity, const char *text) {
  // Errors are the message of the call that failed.
  if (severity != INGOT_ERROR)
    std::fprintf(stderr, "%s: %s\n", severity == INGOT_WARNING ? "warning" : "note", text);
}

class ModelLoader final : public main_::ArtefactLoader {
public:
  explicit ModelLoader(Progress &progress) : progress(progress) {}

  std::unique_ptr<main_::Artefact> open(const main_::LoadOptions &load, bool quiet,
                                        std::string &error) override {
    bool reference = load.kernels == "ref", isPack = api::classifyPath(load.model) == api::PathKind::Pack;
    if (isPack && reference) {
      error = "--kernels=ref needs the model file: a pack carries its own kernels alone";
      return nullptr;
    }
    if (load.isa == "ref") {
      error = "--isa=ref: the reference is no CPU variant; use --kernels=ref";
      return nullptr;
    }
    Message message;
    ingot_jit *jit = nullptr;
    int32_t status;
    if (isPack) {
      status = ingot_jit_load(load.model.c_str(), load.isa.empty() ? nullptr : load.isa.c_str(), &jit,
                              message.text, sizeof(message.text));
    } else {
      std::string target = reference ? "ref" : load.isa.empty() ? "native" : load.isa;
      ingot_compile_options options = compileOptions(load, target, quiet, progress);
      status = ingot_jit_compile(load.model.c_str(), &options, &jit, message.text, sizeof(message.text));
    }
    if (status != INGOT_OK) {
      error = message.text;
      return nullptr;
    }
    auto artefact = std::make_unique<main_::Artefact>();
    artefact->owner = std::shared_ptr<ingot_jit>(jit, ingot_jit_destroy);
    ingot_jit_info info = {};
    info.struct_size = sizeof(info);
    ingot_jit_get_info(jit, &info);
    for (uint32_t i = 0; i < info.n_variants; ++i)
      artefact->variants.push_back({info.variants[i].isa, info.variants[i].query});
    artefact->inMemory = info.pack != nullptr;
    artefact->pack = info.pack ? weights::Pack::fromMemory(static_cast<const uint8_t *>(info.pack),
                                                           info.pack_bytes, load.model, error)
                               : weights::Pack::open(info.pack_path, error);
    return artefact->pack ? std::move(artefact) : nullptr;
  }

  bool openText(const main_::LoadOptions &load, main_::TextParts &out, std::string &error) override {
    if (api::classifyPath(load.model) == api::PathKind::Pack) {
      std::shared_ptr<weights::Pack> pack = weights::Pack::open(load.model, error);
      if (pack)
        out = main_::textParts(*pack, pack);
      return pack != nullptr;
    }
    api::ModelText text;
    if (!api::readModelText(load.model, load.configFile, text, error))
      return false;
    out.name = load.model;
    out.meta = std::move(text.meta);
    out.tokenizer = text.tokenizer;
    out.tokenizerBytes = text.tokenizerBytes;
    out.owner = std::move(text.owner);
    return true;
  }

  bool describe(const main_::Options &options, std::string &meta, std::string &error) override {
    Message message;
    ingot_compile_options compile =
        compileOptions(options.load, options.compile.target, options.quiet, progress);
    auto take = [](void *user, const char *text, uint64_t bytes) {
      static_cast<std::string *>(user)->assign(text, bytes);
    };
    if (ingot_inspect(options.load.model.c_str(), &compile, take, &meta, message.text,
                      sizeof(message.text)) == INGOT_OK)
      return true;
    error = message.text;
    return false;
  }

private:
  Progress &progress;
};

} // namespace

std::unique_ptr<main_::ArtefactLoader> createModelLoader(Progress &progress) {
  return std::make_unique<ModelLoader>(progress);
}

ingot_compile_options compileOptions(const main_::LoadOptions &load, const std::string &target, bool quiet,
                                     Progress &progress) {
  ingot_compile_options options;
  ingot_compile_options_init(&options);
  options.target = target.c_str();
  options.kv = load.kvDtype.c_str();
  options.numerics = load.numerics.c_str();
  options.config_file = load.configFile.c_str();
  options.context = load.context ? typed(*load.context) : 0;
  options.max_seqs = typed(load.maxSeqs);
  options.on_diagnostic = showDiagnostic;
  options.tune_file = load.tuneFile.c_str();
  options.timings_file = load.timingsFile.c_str();
  options.kernel_seconds = load.kernelSeconds ? typed(*load.kernelSeconds) : 0;
  options.verbose = load.verbose;
  if (!quiet) {
    options.user = &progress;
    options.on_progress = [](void *user, const char *what, const char *unit, uint64_t done, uint64_t total) {
      static_cast<Progress *>(user)->update(what, unit, done, total);
    };
  }
  return options;
}

} // namespace ingot::driver
