//===- Session.cpp - a model ready to compute
//-------------------------------------------------------------===//

#include "runtime/main/Session.h"

#include "runtime/core/ModuleCheck.h"
#include "runtime/device/cpu/CpuFeatures.h"

#include <algorithm>
#include <cstdlib>
#include <random>
#include <unistd.h>

namespace ingot::main_ {

uint32_t defaultPages(const ingot_module_v1 &module, uint32_t sequences) {
  uint64_t perSequence = (module.context + INGOT_KV_PAGE - 1) / INGOT_KV_PAGE;
  uint64_t pages = perSequence * std::max(1u, sequences);
  // Pages cost memory only once they are used, but a pool beyond half of the machine could not be used in
  // full.
  uint64_t half =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE)) / 2;
  uint64_t bytes = std::max<uint64_t>(1, kv::KvCache::bytesPerPage(module));
  pages = std::min(pages, std::max(perSequence, half / bytes));
  return static_cast<uint32_t>(std::min<uint64_t>(pages, 1u << 26));
}

std::unique_ptr<Session> Session::create(std::unique_ptr<Artefact> artefact, const LoadOptions &options,
                                         uint32_t sequences, std::string &error) {
  std::unique_ptr<Session> session(new Session());
  session->load = options;
  std::vector<cpu::Variant> variants;
  for (const VariantCode &variant : artefact->variants)
    variants.push_back({variant.isa, variant.features});
  int chosen =
      cpu::chooseVariant(variants, cpu::CpuFeatures::detect(/*requestAmx=*/true), options.isa, error);
  if (chosen < 0)
    return nullptr;
  const ingot_module_v1 *module = artefact->variants[chosen].query(error);
  if (!module || !core::checkModule(module, error))
    return nullptr;
  session->code = module;
  const std::string &name = artefact->pack->name();
  if (module->weight_hash != artefact->pack->header().weight_hash ||
      module->weight_bytes != artefact->pack->header().weight_bytes) {
    error = name + ": the weights were packed for other code";
    return nullptr;
  }
  weights::LoadMode mode = options.map ? weights::LoadMode::Map : weights::LoadMode::Read;
  if (!artefact->pack->loadWeights(mode, std::max(1u, options.threads ? options.threads : 2u),
                                   session->weights, error))
    return nullptr;
  core::ExecutorOptions executor;
  executor.threads = options.threads;
  executor.kvPages =
      options.kvPages ? static_cast<uint32_t>(options.kvPages) : defaultPages(*module, sequences);
  session->exec = core::Executor::create(*module, session->weights.data(), executor, error);
  if (!session->exec)
    return nullptr;
  session->artefact = std::move(artefact);
  if (!session->textModel.open(textParts(session->pack(), nullptr), options.chatTemplateFile, error))
    return nullptr;
  return session;
}

namespace {

class Text final : public batch::TextStream {
public:
  explicit Text(const token::Tokenizer &tokenizer)
      : decoder(tokenizer, /*skipSpecial=*/true, /*atStart=*/false) {}
  std::string push(int32_t id) override { return decoder.push(id); }
  std::string flush() override { return decoder.flush(); }

private:
  token::StreamDecoder decoder;
};

} // namespace

std::unique_ptr<batch::Engine> Session::createEngine(bool endTokens) {
  batch::EngineOptions options;
  options.maxSeqs = static_cast<uint32_t>(load.maxSeqs);
  options.chunk = static_cast<uint32_t>(load.chunk);
  if (endTokens)
    options.eosIds = artefact->meta.generation.eosIds;
  std::string ignored;
  if (const token::Tokenizer *tokenizer = textModel.tokenizer(ignored)) {
    for (int32_t id : tokenizer->endIds())
      if (endTokens && std::find(options.eosIds.begin(), options.eosIds.end(), id) == options.eosIds.end())
        options.eosIds.push_back(id);
    options.textStreams = [tokenizer] { return std::make_unique<Text>(*tokenizer); };
  }
  return std::make_unique<batch::Engine>(*exec, std::move(options));
}

bool Session::requestOptions(const SamplingOptions &sampling, batch::RequestOptions &out,
                             std::string &error) const {
  const weights::GenerationConfig &model = artefact->meta.generation;
  sample::SamplingParams &params = out.sampling;
  params.temperature = sampling.temperature.value_or(model.temperature.value_or(0.0));
  params.topK = static_cast<int32_t>(sampling.topK.value_or(model.topK.value_or(0)));
  params.topP = sampling.topP.value_or(model.topP.value_or(1.0));
  params.minP = sampling.minP.value_or(model.minP.value_or(0.0));
  params.repetitionPenalty = sampling.repetitionPenalty.value_or(model.repetitionPenalty.value_or(1.0));
  params.presencePenalty = sampling.presencePenalty;
  params.frequencyPenalty = sampling.frequencyPenalty;
  params.penaltyWindow = static_cast<int32_t>(sampling.penaltyWindow);
  params.logprobs = static_cast<int32_t>(sampling.logprobs);
  params.seed =
      sampling.seed ? *sampling.seed : (uint64_t(std::random_device{}()) << 32 | std::random_device{}());
  for (const std::string &text : sampling.logitBias) {
    char *end = nullptr;
    long id = std::strtol(text.c_str(), &end, 10);
    if (end == text.c_str() || *end != '=') {
      error = "--logit-bias: '" + text + "' is not ID=VALUE";
      return false;
    }
    const char *number = end + 1;
    float value = std::strtof(number, &end);
    if (end == number || *end) {
      error = "--logit-bias: '" + text + "' is not ID=VALUE";
      return false;
    }
    params.logitBias.emplace_back(static_cast<int32_t>(id), value);
  }
  out.maxTokens = sampling.maxTokens;
  out.stopStrings = sampling.stop;
  for (int64_t id : sampling.stopIds)
    out.stopIds.push_back(static_cast<int32_t>(id));
  out.ignoreEos = sampling.ignoreEos;
  return sample::checkParams(params, code->vocab, error);
}

} // namespace ingot::main_
