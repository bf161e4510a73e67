//===- Model.cpp ----------------------------------------------------------------------------------------===//
#include "runtime/core/Model.h"
#include "runtime/core/ChatText.h"
#include "runtime/core/ModuleCheck.h"
#include "runtime/device/cpu/CpuFeatures.h"
#include "runtime/device/cpu/Topology.h"

#include <algorithm>

// Each is null unless an object of that variant is linked in.
extern "C" {
__attribute__((weak)) const ingot_module_v1 *ingot_module_query_avx2(uint32_t);
__attribute__((weak)) const ingot_module_v1 *ingot_module_query_avx512(uint32_t);
__attribute__((weak)) const ingot_module_v1 *ingot_module_query_vnni(uint32_t);
__attribute__((weak)) const ingot_module_v1 *ingot_module_query_avx512bf16(uint32_t);
__attribute__((weak)) const ingot_module_v1 *ingot_module_query_amx(uint32_t);
__attribute__((weak)) const ingot_module_v1 *ingot_module_query_amxbf16(uint32_t);
__attribute__((weak)) const ingot_module_v1 *ingot_module_query_ref(uint32_t);
}

namespace ingot::core {

std::vector<VariantQuery> linkedVariants() {
  std::vector<VariantQuery> result;
  const VariantQuery known[] = {
      {"avx2", ingot_module_query_avx2}, {"avx512", ingot_module_query_avx512},
      {"vnni", ingot_module_query_vnni}, {"avx512bf16", ingot_module_query_avx512bf16},
      {"amx", ingot_module_query_amx},   {"amxbf16", ingot_module_query_amxbf16},
      {"ref", ingot_module_query_ref}};
  for (const VariantQuery &v : known)
    if (v.query)
      result.push_back(v);
  return result;
}

bool Model::bind(const ModelOptions &options, OpenFault &fault, std::string &error) {
  fault = OpenFault::Unsupported;
  std::vector<const ingot_module_v1 *> modules;
  std::vector<cpu::Variant> variants;
  for (const VariantQuery &v : options.variants) {
    // The query function only returns an address: it runs on any CPU.
    const ingot_module_v1 *m = v.query ? v.query(INGOT_ABI_VERSION) : nullptr;
    if (!checkModule(m, error)) {
      error = packFile->name() + ": variant " + v.isa + ": " + error;
      return false;
    }
    modules.push_back(m);
    variants.push_back({v.isa, m->features});
  }
  int chosen =
      cpu::chooseVariant(variants, cpu::CpuFeatures::detect(/*requestAmx=*/false), options.isa, error);
  // The grant of AMX holds for the process: ask only where it would change the choice.
  bool wantsAmx = std::any_of(variants.begin(), variants.end(), [](const cpu::Variant &v) {
    return v.features.find("amx-") != std::string::npos;
  });
  if (wantsAmx && (options.isa.empty() || options.isa.rfind("amx", 0) == 0))
    chosen = cpu::chooseVariant(variants, cpu::CpuFeatures::detect(/*requestAmx=*/true), options.isa, error);
  if (chosen < 0)
    return false;
  code = modules[size_t(chosen)];
  fault = OpenFault::File;
  const ingot_pack_header_v1 &header = packFile->header();
  if (code->weight_hash != header.weight_hash || code->weight_bytes != header.weight_bytes) {
    error = packFile->name() + ": section WEIGHTS was packed for other code than variant " + code->isa;
    return false;
  }
  return true;
}

std::shared_ptr<Model> Model::open(std::unique_ptr<weights::Pack> pack, const ModelOptions &options,
                                   OpenFault &fault, std::string &error) {
  std::shared_ptr<Model> model(new Model());
  model->packFile = std::move(pack);
  model->metaJson = std::string(model->packFile->meta());
  const std::string &name = model->packFile->name();
  fault = OpenFault::File;
  if (!weights::parseMeta(model->metaJson, name, model->modelMeta, error) ||
      !model->bind(options, fault, error))
    return nullptr;
  fault = OpenFault::File;
  unsigned threads = options.loadThreads ? options.loadThreads : cpu::readTopology().usable();
  if (!model->packFile->loadWeights(options.mode, threads, model->memory, error) ||
      (options.verify && !model->packFile->verifyWeights(model->memory, error)))
    return nullptr;
  model->ends = model->modelMeta.generation.eosIds;
  weights::ByteView bytes = model->packFile->tokenizer();
  if (bytes.size) {
    model->tok = token::Tokenizer::load(bytes.data, bytes.size, error);
    if (!model->tok) {
      error = name + ": section TOKENIZER: " + error;
      return nullptr;
    }
    for (int32_t id : model->tok->endIds())
      model->ends.push_back(id);
  }
  std::sort(model->ends.begin(), model->ends.end());
  model->ends.erase(std::unique(model->ends.begin(), model->ends.end()), model->ends.end());
  if (model->modelMeta.chatTemplate) {
    // A template beyond the subset does not keep the model from completing text.
    model->chatTemplate = chat::Template::parse(*model->modelMeta.chatTemplate, model->templateError);
  }
  fault = OpenFault::None;
  return model;
}

bool Model::renderChat(const nlohmann::ordered_json &messages, const nlohmann::ordered_json &extra,
                       bool generationPrompt, chat::Rendered &out, std::string &error) const {
  if (!chatTemplate) {
    error = packFile->name() +
            (templateError.empty() ? ": the model has no chat template" : ": " + templateError);
    return false;
  }
  return core::renderChat(*chatTemplate, tok.get(), modelMeta, messages, extra, generationPrompt, out, error);
}

bool Model::encodeChat(const chat::Rendered &rendered, std::vector<int32_t> &ids, std::string &error) const {
  if (!tok) {
    error = packFile->name() + ": the model has no tokenizer";
    return false;
  }
  ids = core::encodeChat(*tok, rendered);
  return true;
}

namespace {

class ModelText final : public batch::TextStream {
public:
  ModelText(std::shared_ptr<const Model> model)
      : model(std::move(model)), decoder(*this->model->tokenizer(), /*skipSpecial=*/true, /*atStart=*/false) {
  }
  std::string push(int32_t id) override { return decoder.push(id); }
  std::string flush() override { return decoder.flush(); }

private:
  std::shared_ptr<const Model> model;
  token::StreamDecoder decoder;
};

} // namespace

batch::TextStreamFactory Model::textStreams() const {
  if (!tok)
    return {};
  return [self = shared_from_this()] { return std::make_unique<ModelText>(self); };
}

} // namespace ingot::core
