#include "compiler/arch/Fields.h"
#include "compiler/import/Fault.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace ingot::import_;

namespace ingot::arch {

namespace {

/// Fields of config.json that change what a model computes. A reader that
/// handles one asks for it; one that nobody asked for is refused, unless its
/// value is the neutral one. Everything else is free: files carry many keys
/// that concern training or serving only.
enum class Neutral { Null, False, Zero, One };
struct Meaningful {
  const char *key;
  Neutral neutral;
};
constexpr Meaningful kMeaningful[] = {
    {"quantization_config", Neutral::Null},
    {"compression_config", Neutral::Null},
    {"attn_logit_softcapping", Neutral::Null},
    {"final_logit_softcapping", Neutral::Null},
    {"logit_scale", Neutral::One},
    {"logits_scaling", Neutral::One},
    {"attention_multiplier", Neutral::Null},
    {"residual_multiplier", Neutral::One},
    {"embedding_multiplier", Neutral::One},
    {"query_pre_attn_scalar", Neutral::Null},
    {"partial_rotary_factor", Neutral::One},
    {"rotary_pct", Neutral::One},
    {"rope_interleaved", Neutral::False},
    {"no_rope_layers", Neutral::Null},
    {"no_rope_layer_interval", Neutral::Null},
    {"rope_local_base_freq", Neutral::Null},
    {"clip_qkv", Neutral::Null},
    {"use_qk_norm", Neutral::False},
    {"qk_layernorm", Neutral::False},
    {"alibi", Neutral::False},
    {"attention_bias", Neutral::False},
    {"qkv_bias", Neutral::False},
    {"use_bias", Neutral::False},
    {"mlp_bias", Neutral::False},
    {"lm_head_bias", Neutral::False},
    {"num_experts", Neutral::Zero},
    {"num_local_experts", Neutral::Zero},
    {"n_routed_experts", Neutral::Zero},
    {"num_experts_per_tok", Neutral::Zero},
    {"kv_lora_rank", Neutral::Null},
    {"layer_types", Neutral::Null},
    {"sliding_window", Neutral::Null},
    {"sliding_window_pattern", Neutral::Null},
    {"attention_chunk_size", Neutral::Null},
    {"use_bidirectional_attention", Neutral::False},
    {"is_encoder_decoder", Neutral::False},
    {"add_cross_attention", Neutral::False},
    {"parallel_attn", Neutral::False},
    {"use_parallel_residual", Neutral::False},
    {"vision_config", Neutral::Null},
    {"audio_config", Neutral::Null},
    {"text_config", Neutral::Null},
};

/// The same for GGUF, below the architecture's prefix. True stands for one.
constexpr Meaningful kMeaningfulGguf[] = {
    {"attention.causal", Neutral::One},
    {"attention.clamp_kqv", Neutral::Zero},
    {"attention.key_length_mla", Neutral::Zero},
    {"attention.key_length_swa", Neutral::Zero},
    {"attention.kv_lora_rank", Neutral::Zero},
    {"attention.max_alibi_bias", Neutral::Zero},
    {"attention.q_lora_rank", Neutral::Zero},
    {"attention.relative_buckets_count", Neutral::Zero},
    {"attention.scale", Neutral::Zero},
    {"attention.shared_kv_layers", Neutral::Zero},
    {"attention.sliding_window", Neutral::Zero},
    {"attention.sliding_window_pattern", Neutral::Zero},
    {"attention.temperature_length", Neutral::Zero},
    {"attention.temperature_scale", Neutral::Zero},
    {"attention.value_length_mla", Neutral::Zero},
    {"attention.value_length_swa", Neutral::Zero},
    {"attn_logit_softcapping", Neutral::Zero},
    {"embedding_length_per_layer_input", Neutral::Zero},
    {"embedding_scale", Neutral::One},
    {"expert_count", Neutral::Zero},
    {"final_logit_softcapping", Neutral::Zero},
    {"logit_scale", Neutral::One},
    {"nextn_predict_layers", Neutral::Zero},
    {"pooling_type", Neutral::Zero},
    {"residual_scale", Neutral::One},
    {"rope.dimension_sections", Neutral::Null},
    {"rope.freq_base_swa", Neutral::Zero},
    {"rope.scaling.yarn_log_multiplier", Neutral::Zero},
    {"use_parallel_residual", Neutral::Zero},
};

bool isNeutral(const JsonValue &value, Neutral neutral) {
  if (value.isNull())
    return true;
  switch (neutral) {
  case Neutral::Null:
    return false;
  case Neutral::False:
    return value.boolean() == false;
  case Neutral::Zero:
    return value.number() == 0.0;
  case Neutral::One:
    return value.number() == 1.0;
  }
  return false;
}

} // namespace

void Fields::failRaw(std::string text) {
  if (error_.empty())
    error_ = std::move(text);
}

void Fields::fail(const llvm::Twine &what) { failRaw((model_.configPath() + ": " + what).str()); }

std::string Fields::name(Key key) const {
  if (isGguf())
    return key.gguf ? gguf(key) : key.hf;
  return key.hf ? key.hf : key.gguf;
}

std::string Fields::gguf(Key key) const { return (model_.architecture() + "." + key.gguf).str(); }

const JsonValue *Fields::hf(Key key) const {
  if (isGguf() || !key.hf)
    return nullptr;
  const JsonValue *value = model_.config()->get(key.hf);
  return value && !value->isNull() ? value : nullptr;
}

void Fields::use(Key key) {
  if (isGguf() ? key.gguf != nullptr : key.hf != nullptr)
    used_.insert(name(key));
}

bool Fields::has(Key key) const {
  if (isGguf())
    return key.gguf && model_.gguf()->find(gguf(key));
  return hf(key) != nullptr;
}

template <typename T> std::optional<T> Fields::checkRange(Key key, std::optional<T> value, T low, T high) {
  // Written so that NaN fails too.
  if (value && !(*value >= low && *value <= high)) {
    fail(key, "value " + std::to_string(*value) + " is out of range [" + std::to_string(low) + ", " +
                  std::to_string(high) + "]");
    return std::nullopt;
  }
  return value;
}

std::optional<int64_t> Fields::optInteger(Key key, int64_t low, int64_t high) {
  use(key);
  std::optional<int64_t> value;
  if (isGguf()) {
    if (!key.gguf)
      return std::nullopt;
    auto read = model_.gguf()->getInt(gguf(key));
    if (!read) {
      failRaw(llvm::toString(read.takeError()));
      return std::nullopt;
    }
    value = *read;
  } else if (const JsonValue *json = hf(key)) {
    value = json->integer();
    if (!value)
      fail(key, "expected an integer, found " + json->kindName());
  }
  return checkRange(key, value, low, high);
}

std::optional<double> Fields::optNumber(Key key, double low, double high) {
  use(key);
  std::optional<double> value;
  if (isGguf()) {
    if (!key.gguf)
      return std::nullopt;
    auto read = model_.gguf()->getFloat(gguf(key));
    if (!read) {
      failRaw(llvm::toString(read.takeError()));
      return std::nullopt;
    }
    value = *read;
  } else if (const JsonValue *json = hf(key)) {
    value = json->number();
    if (!value)
      fail(key, "expected a number, found " + json->kindName());
  }
  return checkRange(key, value, low, high);
}

std::optional<bool> Fields::optBoolean(Key key) {
  use(key);
  if (isGguf()) {
    if (!key.gguf)
      return std::nullopt;
    auto read = model_.gguf()->getBool(gguf(key));
    if (!read) {
      failRaw(llvm::toString(read.takeError()));
      return std::nullopt;
    }
    return *read;
  }
  const JsonValue *json = hf(key);
  if (json && !json->boolean())
    fail(key, "expected true or false, found " + json->kindName());
  return json ? json->boolean() : std::nullopt;
}

std::optional<std::string> Fields::optString(Key key) {
  use(key);
  if (isGguf()) {
    if (!key.gguf)
      return std::nullopt;
    auto read = model_.gguf()->getString(gguf(key));
    if (!read) {
      failRaw(llvm::toString(read.takeError()));
      return std::nullopt;
    }
    return *read ? std::optional<std::string>((**read).str()) : std::nullopt;
  }
  const JsonValue *json = hf(key);
  if (json && !json->string())
    fail(key, "expected a string, found " + json->kindName());
  return json && json->string() ? std::optional<std::string>(*json->string()) : std::nullopt;
}

int64_t Fields::integer(Key key, int64_t low, int64_t high) {
  if (!has(key)) {
    fail(key, "is missing");
    return low;
  }
  return optInteger(key, low, high).value_or(low);
}

double Fields::number(Key key, double low, double high) {
  if (!has(key)) {
    fail(key, "is missing");
    return low;
  }
  return optNumber(key, low, high).value_or(low);
}

int64_t Fields::uniformInteger(Key key, int64_t low, int64_t high) {
  if (!isGguf() || !key.gguf || !has(key) || model_.gguf()->find(gguf(key))->type != GgufType::Array)
    return integer(key, low, high);
  use(key);
  auto values = model_.gguf()->getInts(gguf(key));
  if (!values) {
    failRaw(llvm::toString(values.takeError()));
    return low;
  }
  const std::vector<int64_t> &list = **values;
  if (list.empty()) {
    fail(key, "is an empty array");
    return low;
  }
  for (int64_t value : list)
    if (value != list.front()) {
      fail(key, "differs from layer to layer, which is not supported");
      return low;
    }
  return checkRange(key, std::optional<int64_t>(list.front()), low, high).value_or(low);
}

void Fields::finish() {
  if (!ok())
    return;
  if (!isGguf()) {
    for (const Meaningful &field : kMeaningful) {
      const JsonValue *value = model_.config()->get(field.key);
      if (value && !used_.contains(field.key) && !isNeutral(*value, field.neutral))
        return fail("field '" + llvm::Twine(field.key) + "' is not supported for " + model_.architecture() +
                    " models");
    }
    return;
  }
  for (const Meaningful &field : kMeaningfulGguf) {
    std::string key = gguf({nullptr, field.key});
    const GgufValue *value = model_.gguf()->find(key);
    if (!value || used_.contains(key))
      continue;
    double found = NAN;
    if (value->type == GgufType::Bool)
      found = *llvm::cantFail(model_.gguf()->getBool(key));
    else if (auto number = model_.gguf()->getFloat(key))
      found = **number;
    else
      llvm::consumeError(number.takeError());
    if (field.neutral == Neutral::Null || found != (field.neutral == Neutral::One ? 1.0 : 0.0))
      return fail("metadata key '" + printable(key) + "' is not supported for " + model_.architecture() +
                  " models");
  }
}

} // namespace ingot::arch
