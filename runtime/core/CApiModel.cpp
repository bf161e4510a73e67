//===- CApiModel.cpp - models, tokenizer and chat of the C API ------------------------------------------===//
#include "runtime/core/CApiSupport.h"
#include "runtime/kv/KvCache.h"

using namespace ingot;
using namespace ingot::core;

namespace ingot::core {

bool parseJsonArgument(const char *text, const char *what, nlohmann::ordered_json &out, std::string &error) {
  if (!text) {
    out = nullptr;
    return true;
  }
  if (chat::parseJson(text, out, error))
    return true;
  error = std::string(what) + ": " + error;
  return false;
}

static int32_t rendered(const Model &model, const char *messages, const char *extra, bool generationPrompt,
                        chat::Rendered &out, std::string &error) {
  nlohmann::ordered_json list, more;
  if (!messages) {
    error = "messages must not be NULL";
    return INGOT_RT_INVALID;
  }
  if (!parseJsonArgument(messages, "messages", list, error) ||
      !parseJsonArgument(extra, "extra", more, error))
    return INGOT_RT_INVALID;
  if (!list.is_array()) {
    error = "messages must be a JSON array";
    return INGOT_RT_INVALID;
  }
  if (!more.is_null() && !more.is_object()) {
    error = "extra must be a JSON object";
    return INGOT_RT_INVALID;
  }
  if (model.renderChat(list, more, generationPrompt, out, error))
    return INGOT_RT_OK;
  return model.hasTemplate() ? INGOT_RT_INVALID : INGOT_RT_UNSUPPORTED;
}

int32_t chatIds(const Model &model, const char *messages, const char *extra, bool generationPrompt,
                std::vector<int32_t> &ids, std::string &error) {
  chat::Rendered text;
  if (int32_t status = rendered(model, messages, extra, generationPrompt, text, error))
    return status;
  return model.encodeChat(text, ids, error) ? INGOT_RT_OK : INGOT_RT_UNSUPPORTED;
}

/// Gives an array to the caller by the conventions of the header.
template <typename T>
static int32_t giveArray(const T *data, uint64_t n, T *out, uint64_t capacity, uint64_t *count,
                         std::string &error) {
  if (count)
    *count = n;
  if (n > capacity || (n && !out)) {
    error = "the buffer holds " + std::to_string(capacity) + ", " + std::to_string(n) + " are needed";
    return INGOT_RT_TOO_SMALL;
  }
  if (n)
    std::memcpy(out, data, n * sizeof(T));
  return INGOT_RT_OK;
}

static int32_t openPack(std::unique_ptr<weights::Pack> pack, const ingot_rt_model_options *given,
                        ingot_rt_model **out, std::string &error) {
  ingot_rt_model_options o;
  ingot_rt_model_options_init(&o);
  if (!takeStruct(given, o)) {
    error = "options have a bad struct_size";
    return INGOT_RT_INVALID;
  }
  if (!pack)
    return INGOT_RT_FILE;
  ModelOptions options;
  options.isa = o.isa ? o.isa : "";
  options.mode = o.map_weights ? weights::LoadMode::Map : weights::LoadMode::Read;
  options.loadThreads = o.load_threads;
  options.verify = o.verify != 0;
  for (uint32_t i = 0; i < o.n_variants; ++i) {
    if (!o.variants || !o.variants[i].isa || !o.variants[i].query) {
      error = "variant " + std::to_string(i) + " is incomplete";
      return INGOT_RT_INVALID;
    }
    options.variants.push_back({o.variants[i].isa, o.variants[i].query});
  }
  if (options.variants.empty())
    options.variants = linkedVariants();
  OpenFault fault = OpenFault::None;
  std::shared_ptr<Model> model = Model::open(std::move(pack), options, fault, error);
  if (!model)
    return fault == OpenFault::Unsupported ? INGOT_RT_UNSUPPORTED : INGOT_RT_FILE;
  *out = new ingot_rt_model{std::move(model)};
  return INGOT_RT_OK;
}

} // namespace ingot::core

extern "C" {

void ingot_rt_model_options_init(ingot_rt_model_options *options) {
  if (!options)
    return;
  *options = {};
  options->struct_size = sizeof(*options);
}

int32_t ingot_rt_model_open(const char *path, const ingot_rt_model_options *options, ingot_rt_model **model,
                            char *message, size_t message_size) {
  return guarded(message, message_size, [&](std::string &error) -> int32_t {
    if (!model) {
      error = "model must not be NULL";
      return INGOT_RT_INVALID;
    }
    *model = nullptr;
    return openPack(path ? weights::Pack::open(path, error) : weights::Pack::openSelf(error), options, model,
                    error);
  });
}

int32_t ingot_rt_model_open_memory(const void *pack, uint64_t bytes, const ingot_rt_model_options *options,
                                   ingot_rt_model **model, char *message, size_t message_size) {
  return guarded(message, message_size, [&](std::string &error) -> int32_t {
    if (!model || !pack) {
      error = "model and pack must not be NULL";
      return INGOT_RT_INVALID;
    }
    *model = nullptr;
    return openPack(
        weights::Pack::fromMemory(static_cast<const uint8_t *>(pack), bytes, "pack in memory", error),
        options, model, error);
  });
}

void ingot_rt_model_close(ingot_rt_model *model) { delete model; }

int32_t ingot_rt_model_get_info(const ingot_rt_model *model, ingot_rt_model_info *info) {
  if (!model || !info)
    return INGOT_RT_INVALID;
  const Model &m = *model->model;
  const ingot_module_v1 &code = m.module();
  ingot_rt_model_info full = {};
  full.struct_size = sizeof(full);
  full.vocab = code.vocab;
  full.hidden = code.hidden;
  full.layers = code.layers;
  full.context = code.context;
  full.max_seqs = code.max_seqs;
  full.weight_bytes = code.weight_bytes;
  full.kv_page_bytes = kv::KvCache::bytesPerPage(code);
  full.name = m.meta().name.c_str();
  full.arch = m.meta().arch.c_str();
  full.isa = code.isa;
  full.build = code.build;
  full.meta = m.metaText().c_str();
  full.has_tokenizer = m.tokenizer() != nullptr;
  full.has_chat_template = m.hasTemplate();
  full.eos_ids = m.eosIds().data();
  full.n_eos_ids = m.eosIds().size();
  return giveStruct(full, info) ? INGOT_RT_OK : INGOT_RT_INVALID;
}

int32_t ingot_rt_tokenize(const ingot_rt_model *model, const char *text, uint64_t bytes, int32_t add_special,
                          int32_t parse_special, int32_t *ids, uint64_t capacity, uint64_t *count,
                          char *message, size_t message_size) {
  return guarded(message, message_size, [&](std::string &error) -> int32_t {
    if (!model || (!text && bytes)) {
      error = "model and text must not be NULL";
      return INGOT_RT_INVALID;
    }
    const token::Tokenizer *tok = model->model->tokenizer();
    if (!tok) {
      error = "the model has no tokenizer";
      return INGOT_RT_UNSUPPORTED;
    }
    std::vector<int32_t> result =
        tok->encode(std::string_view(text ? text : "", bytes), add_special != 0, parse_special != 0);
    return giveArray(result.data(), result.size(), ids, capacity, count, error);
  });
}

int32_t ingot_rt_detokenize(const ingot_rt_model *model, const int32_t *ids, uint64_t n, int32_t skip_special,
                            char *text, uint64_t capacity, uint64_t *bytes, char *message,
                            size_t message_size) {
  return guarded(message, message_size, [&](std::string &error) -> int32_t {
    if (!model || (!ids && n)) {
      error = "model and ids must not be NULL";
      return INGOT_RT_INVALID;
    }
    const token::Tokenizer *tok = model->model->tokenizer();
    if (!tok) {
      error = "the model has no tokenizer";
      return INGOT_RT_UNSUPPORTED;
    }
    std::string result = tok->decode(ids, n, skip_special != 0);
    return giveArray(result.data(), result.size(), text, capacity, bytes, error);
  });
}

int32_t ingot_rt_chat_render(const ingot_rt_model *model, const char *messages, const char *extra,
                             int32_t add_generation_prompt, char *text, uint64_t capacity, uint64_t *bytes,
                             char *message, size_t message_size) {
  return guarded(message, message_size, [&](std::string &error) -> int32_t {
    if (!model) {
      error = "model must not be NULL";
      return INGOT_RT_INVALID;
    }
    chat::Rendered out;
    if (int32_t status = rendered(*model->model, messages, extra, add_generation_prompt != 0, out, error))
      return status;
    std::string joined = out.text();
    return giveArray(joined.data(), joined.size(), text, capacity, bytes, error);
  });
}

int32_t ingot_rt_chat_tokenize(const ingot_rt_model *model, const char *messages, const char *extra,
                               int32_t add_generation_prompt, int32_t *ids, uint64_t capacity,
                               uint64_t *count, char *message, size_t message_size) {
  return guarded(message, message_size, [&](std::string &error) -> int32_t {
    if (!model) {
      error = "model must not be NULL";
      return INGOT_RT_INVALID;
    }
    std::vector<int32_t> result;
    if (int32_t status = chatIds(*model->model, messages, extra, add_generation_prompt != 0, result, error))
      return status;
    return giveArray(result.data(), result.size(), ids, capacity, count, error);
  });
}

} // extern "C"
