//===- Session.cpp - a model ready to compute -----------------------------------------------------------===//

#include "runtime/main/Session.h"

#include <algorithm>
#include <cstdlib>
#include <random>

namespace ingot::main_ {

std::unique_ptr<Session> Session::create(std::unique_ptr<Artefact> artefact, const LoadOptions &options,
                                         uint32_t sequences, std::string &error) {
  std::unique_ptr<Session> session(new Session());
  session->load = options;
  core::ModelOptions open;
  open.variants = std::move(artefact->variants);
  open.isa = options.isa;
  open.verify = options.verifyWeights;
  open.mode = options.map || artefact->inMemory ? weights::LoadMode::Map : weights::LoadMode::Read;
  open.loadThreads = options.threads;
  core::OpenFault fault;
  session->owner = std::move(artefact->owner);
  session->model = core::Model::open(std::move(artefact->pack), open, fault, error);
  if (!session->model)
    return nullptr;
  const ingot_module_v1 &module = session->model->module();
  core::ExecutorOptions executor;
  executor.threads = options.threads;
  executor.kvPages =
      options.kvPages ? static_cast<uint32_t>(options.kvPages) : kv::defaultPages(module, sequences);
  session->exec = core::Executor::create(module, session->model->weights(), executor, error);
  if (!session->exec)
    return nullptr;
  if (!session->textModel.open(textParts(session->pack(), nullptr), options.chatTemplateFile, error,
                               session->model->tokenizer()))
    return nullptr;
  return session;
}

std::unique_ptr<batch::Engine> Session::createEngine(bool endTokens) {
  batch::EngineOptions options;
  options.maxSeqs = static_cast<uint32_t>(load.maxSeqs);
  options.chunk = static_cast<uint32_t>(load.chunk);
  if (endTokens)
    options.eosIds = model->eosIds();
  options.textStreams = model->textStreams();
  return std::make_unique<batch::Engine>(*exec, std::move(options));
}

bool Session::requestOptions(const SamplingOptions &sampling, batch::RequestOptions &out,
                             std::string &error) const {
  const weights::GenerationConfig &published = model->meta().generation;
  sample::SamplingParams &params = out.sampling;
  params.temperature = sampling.temperature.value_or(published.temperature.value_or(0.0));
  // A number that no vocabulary or history reaches means the same as the largest one; no bit is dropped.
  auto narrow = [](int64_t value) {
    return static_cast<int32_t>(std::clamp<int64_t>(value, INT32_MIN, INT32_MAX));
  };
  params.topK = narrow(sampling.topK.value_or(published.topK.value_or(0)));
  params.topP = sampling.topP.value_or(published.topP.value_or(1.0));
  params.minP = sampling.minP.value_or(published.minP.value_or(0.0));
  params.repetitionPenalty = sampling.repetitionPenalty.value_or(published.repetitionPenalty.value_or(1.0));
  params.presencePenalty = sampling.presencePenalty;
  params.frequencyPenalty = sampling.frequencyPenalty;
  params.penaltyWindow = narrow(sampling.penaltyWindow);
  params.logprobs = narrow(sampling.logprobs);
  params.seed =
      sampling.seed ? *sampling.seed : (uint64_t(std::random_device{}()) << 32 | std::random_device{}());
  for (const std::string &text : sampling.logitBias) {
    char *end = nullptr;
    long long id = std::strtoll(text.c_str(), &end, 10);
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
    if (id < 0 || id >= module().vocab) {
      error = "--logit-bias names token " + std::to_string(id) + ", the vocabulary has " +
              std::to_string(module().vocab);
      return false;
    }
    params.logitBias.emplace_back(static_cast<int32_t>(id), value);
  }
  out.maxTokens = sampling.maxTokens;
  out.stopStrings = sampling.stop;
  for (int64_t id : sampling.stopIds) {
    if (id < 0 || id >= module().vocab) {
      error = "stop token " + std::to_string(id) + ": the vocabulary has " + std::to_string(module().vocab);
      return false;
    }
    out.stopIds.push_back(static_cast<int32_t>(id));
  }
  out.ignoreEos = sampling.ignoreEos;
  return sample::checkParams(params, module().vocab, error);
}

} // namespace ingot::main_
