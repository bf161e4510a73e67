//===- CApiEngine.cpp - engines and requests of the C API -----------------------------------------------===//
#include "runtime/batch/Engine.h"
#include "runtime/core/CApiSupport.h"
#include "runtime/core/Executor.h"

#include <algorithm>

using namespace ingot;
using namespace ingot::core;

struct ingot_rt_engine {
  // Destroyed last to first: the engine before its executor, that before the model.
  std::shared_ptr<Model> model;
  std::unique_ptr<Executor> executor;
  std::unique_ptr<batch::Engine> engine;
};

namespace {

/// Pages of the KV pool by the caller's wishes; 0 and a message where they make no sense.
uint32_t kvPages(const ingot_module_v1 &module, const ingot_rt_engine_options &o, std::string &error) {
  if (o.kv_pages)
    return o.kv_pages;
  if (!o.kv_bytes) {
    uint32_t most = module.max_seqs;
    return kv::defaultPages(module, o.max_seqs ? std::min(o.max_seqs, most) : most);
  }
  uint64_t pageBytes = std::max<uint64_t>(1, kv::KvCache::bytesPerPage(module));
  // The zero page is part of what the caller pays for.
  uint64_t pages = o.kv_bytes / pageBytes;
  if (pages < 2) {
    error =
        "kv_bytes " + std::to_string(o.kv_bytes) + " hold no page of " + std::to_string(pageBytes) + " bytes";
    return 0;
  }
  return uint32_t(std::min<uint64_t>(pages - 1, (UINT64_C(1) << 31) - 2));
}

int32_t createEngine(const ingot_rt_model *model, const ingot_rt_engine_options *given, ingot_rt_engine **out,
                     std::string &error) {
  ingot_rt_engine_options o;
  ingot_rt_engine_options_init(&o);
  if (!model || !out || !takeStruct(given, o) || o.pinning > INGOT_RT_PIN_OFF) {
    error = "model, engine or options are not valid";
    return INGOT_RT_INVALID;
  }
  *out = nullptr;
  auto e = std::make_unique<ingot_rt_engine>();
  e->model = model->model;
  const ingot_module_v1 &module = e->model->module();
  ExecutorOptions exec;
  exec.threads = o.threads;
  exec.pinning = o.pinning == INGOT_RT_PIN_ON    ? cpu::Pinning::On
                 : o.pinning == INGOT_RT_PIN_OFF ? cpu::Pinning::Off
                                                 : cpu::Pinning::Auto;
  exec.kvPages = kvPages(module, o, error);
  if (!exec.kvPages)
    return INGOT_RT_INVALID;
  if (o.threads > cpu::WorkerPool::MaxWorkers) {
    error = "threads must be at most " + std::to_string(cpu::WorkerPool::MaxWorkers);
    return INGOT_RT_INVALID;
  }
  e->executor = Executor::create(module, e->model->weights(), exec, error);
  if (!e->executor)
    return INGOT_RT_OUT_OF_MEMORY;
  batch::EngineOptions options;
  options.maxSeqs = o.max_seqs;
  options.chunk = o.chunk ? o.chunk : 512;
  options.eosIds = e->model->eosIds();
  options.textStreams = e->model->textStreams();
  e->engine = std::make_unique<batch::Engine>(*e->executor, std::move(options));
  *out = e.release();
  return INGOT_RT_OK;
}

/// Ids of the request's prompt; a status.
int32_t promptOf(const Model &model, const ingot_rt_request &r, std::vector<int32_t> &ids,
                 std::string &error) {
  if ((r.ids != nullptr) + (r.text != nullptr) + (r.messages != nullptr) != 1) {
    error = "exactly one of ids, text and messages must be given";
    return INGOT_RT_INVALID;
  }
  if (r.messages)
    return chatIds(model, r.messages, r.extra, true, ids, error);
  if (r.ids) {
    ids.assign(r.ids, r.ids + r.n_ids);
    return INGOT_RT_OK;
  }
  if (!model.tokenizer()) {
    error = "the model has no tokenizer: give ids";
    return INGOT_RT_UNSUPPORTED;
  }
  ids = model.tokenizer()->encode(std::string_view(r.text, r.text_bytes), true, r.parse_special != 0);
  if (ids.empty() && model.tokenizer()->bos() >= 0)
    ids.push_back(model.tokenizer()->bos());
  return INGOT_RT_OK;
}

bool optionsOf(const ingot_rt_request &r, batch::RequestOptions &o, std::string &error) {
  if ((!r.logit_bias && r.n_logit_bias) || (!r.stop_ids && r.n_stop_ids) ||
      (!r.stop_strings && r.n_stop_strings)) {
    error = "logit_bias, stop_ids or stop_strings is NULL with a count";
    return false;
  }
  sample::SamplingParams &p = o.sampling;
  p.temperature = r.temperature;
  p.topK = r.top_k;
  p.topP = r.top_p;
  p.minP = r.min_p;
  p.repetitionPenalty = r.repetition_penalty;
  p.presencePenalty = r.presence_penalty;
  p.frequencyPenalty = r.frequency_penalty;
  p.penaltyWindow = r.penalty_window;
  p.seed = r.seed;
  p.logprobs = r.logprobs;
  for (uint64_t i = 0; i < r.n_logit_bias; ++i)
    p.logitBias.emplace_back(r.logit_bias[i].id, r.logit_bias[i].bias);
  o.maxTokens = r.max_tokens;
  o.ignoreEos = r.ignore_eos != 0;
  o.stopIds.assign(r.stop_ids, r.stop_ids + r.n_stop_ids);
  for (uint64_t i = 0; i < r.n_stop_strings; ++i) {
    if (!r.stop_strings[i]) {
      error = "stop string " + std::to_string(i) + " is NULL";
      return false;
    }
    o.stopStrings.emplace_back(r.stop_strings[i]);
  }
  return true;
}

batch::Callbacks callbacksOf(const ingot_rt_request &r) {
  batch::Callbacks c;
  if (r.on_token)
    c.token = [fn = r.on_token, user = r.user](const batch::TokenEvent &e) {
      ingot_rt_token t = {};
      t.struct_size = sizeof(t);
      t.id = e.id;
      t.request = e.request;
      t.text = e.text.data() ? e.text.data() : "";
      t.text_bytes = e.text.size();
      t.logprob = e.drawn->logprob;
      static_assert(sizeof(ingot_rt_logprob) == sizeof(sample::TokenLogprob), "the same layout");
      t.top = reinterpret_cast<const ingot_rt_logprob *>(e.drawn->top.data());
      t.n_top = uint32_t(e.drawn->top.size());
      t.last = e.last;
      return fn(user, &t) == 0;
    };
  if (r.on_done)
    c.done = [fn = r.on_done, user = r.user](const batch::Answer &a) {
      ingot_rt_answer out = {};
      out.struct_size = sizeof(out);
      out.finish = int32_t(a.finish);
      out.request = a.request;
      out.tokens = a.tokens.data();
      out.n_tokens = a.tokens.size();
      out.text = a.text.c_str();
      out.text_bytes = a.text.size();
      out.stop_string = a.stopString.c_str();
      out.error = a.error.c_str();
      out.prompt_tokens = a.promptTokens;
      out.preemptions = a.preemptions;
      out.queued_ms = a.timings.queued;
      out.prompt_ms = a.timings.prompt;
      out.generation_ms = a.timings.generation;
      fn(user, &out);
    };
  return c;
}

static_assert(int(batch::Finish::StopId) == INGOT_RT_FINISH_STOP_ID &&
                  int(batch::Finish::StopString) == INGOT_RT_FINISH_STOP_STRING &&
                  int(batch::Finish::Length) == INGOT_RT_FINISH_LENGTH &&
                  int(batch::Finish::Cancelled) == INGOT_RT_FINISH_CANCELLED &&
                  int(batch::Finish::Error) == INGOT_RT_FINISH_ERROR,
              "the two enumerations are one");

int32_t missingEngine(std::string &error) {
  error = "engine must not be NULL";
  return INGOT_RT_INVALID;
}

} // namespace

extern "C" {

void ingot_rt_engine_options_init(ingot_rt_engine_options *options) {
  if (!options)
    return;
  *options = {};
  options->struct_size = sizeof(*options);
  options->chunk = 512;
}

int32_t ingot_rt_engine_create(const ingot_rt_model *model, const ingot_rt_engine_options *options,
                               ingot_rt_engine **engine, char *message, size_t message_size) {
  return guarded(message, message_size,
                 [&](std::string &error) { return createEngine(model, options, engine, error); });
}

void ingot_rt_engine_destroy(ingot_rt_engine *engine) {
  (void)guarded(nullptr, 0, [&](std::string &) -> int32_t {
    if (engine)
      engine->engine.reset();
    delete engine;
    return INGOT_RT_OK;
  });
}

void ingot_rt_request_init(const ingot_rt_model *model, ingot_rt_request *request) {
  if (!request)
    return;
  *request = {};
  request->struct_size = sizeof(*request);
  request->penalty_window = 64;
  request->top_p = 1;
  request->repetition_penalty = 1;
  request->max_tokens = -1;
  request->logprobs = -1;
  if (!model)
    return;
  const weights::GenerationConfig &g = model->model->meta().generation;
  request->temperature = g.temperature.value_or(0);
  request->top_k = int32_t(std::max<int64_t>(0, g.topK.value_or(0)));
  request->top_p = g.topP.value_or(1);
  request->min_p = g.minP.value_or(0);
  request->repetition_penalty = g.repetitionPenalty.value_or(1);
}

int32_t ingot_rt_submit(ingot_rt_engine *engine, const ingot_rt_request *request, uint64_t *id, char *message,
                        size_t message_size) {
  return guarded(message, message_size, [&](std::string &error) -> int32_t {
    uint64_t made = 0;
    if (id)
      *id = 0;
    if (!engine)
      return missingEngine(error);
    ingot_rt_request r;
    ingot_rt_request_init(nullptr, &r);
    if (!request || !takeStruct(request, r)) {
      error = "request is NULL or has a bad struct_size";
      return INGOT_RT_INVALID;
    }
    std::vector<int32_t> prompt;
    batch::RequestOptions options;
    if (int32_t status = promptOf(*engine->model, r, prompt, error))
      return status;
    if (!optionsOf(r, options, error))
      return INGOT_RT_INVALID;
    batch::SubmitStatus status =
        engine->engine->submit(std::move(prompt), std::move(options), callbacksOf(r), made, error);
    if (id)
      *id = made;
    return status == batch::SubmitStatus::Ok        ? INGOT_RT_OK
           : status == batch::SubmitStatus::TooLong ? INGOT_RT_TOO_LONG
                                                    : INGOT_RT_INVALID;
  });
}

int32_t ingot_rt_cancel(ingot_rt_engine *engine, uint64_t id) {
  return guarded(nullptr, 0, [&](std::string &error) -> int32_t {
    if (!engine)
      return missingEngine(error);
    return engine->engine->cancel(id) ? INGOT_RT_OK : INGOT_RT_NOT_FOUND;
  });
}

int32_t ingot_rt_step(ingot_rt_engine *engine, int32_t *more, char *message, size_t message_size) {
  return guarded(message, message_size, [&](std::string &error) -> int32_t {
    if (!engine)
      return missingEngine(error);
    bool left = engine->engine->step();
    if (more)
      *more = left;
    return INGOT_RT_OK;
  });
}

int32_t ingot_rt_run_until_idle(ingot_rt_engine *engine, char *message, size_t message_size) {
  return guarded(message, message_size, [&](std::string &error) -> int32_t {
    if (!engine)
      return missingEngine(error);
    engine->engine->runUntilIdle();
    return INGOT_RT_OK;
  });
}

int32_t ingot_rt_start(ingot_rt_engine *engine, char *message, size_t message_size) {
  return guarded(message, message_size, [&](std::string &error) -> int32_t {
    if (!engine)
      return missingEngine(error);
    return engine->engine->start(error) ? INGOT_RT_OK : INGOT_RT_OUT_OF_MEMORY;
  });
}

int32_t ingot_rt_stop(ingot_rt_engine *engine) {
  return guarded(nullptr, 0, [&](std::string &error) -> int32_t {
    if (!engine)
      return missingEngine(error);
    engine->engine->stop();
    return INGOT_RT_OK;
  });
}

int32_t ingot_rt_stats(const ingot_rt_engine *engine, ingot_rt_stats_v1 *stats) {
  if (!engine || !stats)
    return INGOT_RT_INVALID;
  batch::Stats s = engine->engine->stats();
  ingot_rt_stats_v1 full = {};
  full.struct_size = sizeof(full);
  full.running = s.running;
  full.waiting = s.waiting;
  full.kv_pages_total = s.pagesTotal;
  full.kv_pages_in_use = s.pagesInUse;
  full.kv_pages_peak = s.pagesPeak;
  full.steps = s.steps;
  full.rows = s.rows;
  full.prompt_tokens = s.promptTokens;
  full.recomputed_tokens = s.recomputedTokens;
  full.generated_tokens = s.generatedTokens;
  full.preemptions = s.preemptions;
  full.submitted = s.submitted;
  full.finished = s.finished;
  full.cancelled = s.cancelled;
  full.failed = s.failed;
  full.step_seconds = s.stepSeconds;
  return giveStruct(full, stats) ? INGOT_RT_OK : INGOT_RT_INVALID;
}

} // extern "C"
