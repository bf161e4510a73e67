//===- gemma3.cpp - Gemma 3, text only ------------------------------------===//
//
// Norms before and after attention and MLP, norms on q and k, tanh-GELU gate,
// embeddings times sqrt(hidden). Every sixth layer sees everything and has a
// rope of its own; the others see a window. Hugging Face files store norm
// weights as w - 1, GGUF files as w.
//
//===----------------------------------------------------------------------===//
#include "compiler/arch/Architecture.h"
#include "compiler/arch/Config.h"
#include "compiler/arch/ModelBuilder.h"
#include <cmath>

using namespace ingot::import_;

namespace ingot::arch {

namespace {

constexpr double kGlobalBase = 1e6, kLocalBase = 1e4;
constexpr int64_t kPattern = 6;
constexpr unsigned kGlobalRope = 0, kLocalRope = 1;

/// Marks all layers but every `pattern`-th as sliding.
void applyPattern(int64_t pattern, int64_t window, ModelConfig &config) {
  for (size_t i = 0; i < config.layers.size(); ++i)
    config.layers[i].window = (i + 1) % pattern ? window : 0;
}

void readHfRopes(Fields &fields, ModelConfig &config) {
  const JsonValue *parameters = fields.model().config()->get("rope_parameters");
  double globalBase = fields.number({"rope_theta", nullptr}, 1e-3, 1e12, kGlobalBase);
  double localBase = fields.number({"rope_local_base_freq", nullptr}, 1e-3, 1e12, kLocalBase);
  RopeRequest request = ropeRequest(config, RopeStyle::Half);
  auto nested = [&](const char *key) {
    const JsonValue *value = parameters ? parameters->get(key) : nullptr;
    return value && !value->isNull() ? value : nullptr;
  };
  if (nested("full_attention") || nested("sliding_attention")) {
    config.ropes = {
        hfRope(fields, "rope_parameters.full_attention", nested("full_attention"), globalBase, request),
        hfRope(fields, "rope_parameters.sliding_attention", nested("sliding_attention"), localBase, request)};
    for (const auto &[key, value] : *parameters->object())
      if (key != "full_attention" && key != "sliding_attention" && !value.isNull())
        fields.fail("field 'rope_parameters." + llvm::Twine(key) +
                    "' is not supported beside those of layer types");
    return;
  }
  // The older style: rope_scaling concerns the global layers only.
  request.defaultBase = kGlobalBase;
  config.ropes.push_back(hfDefaultRope(fields, request));
  config.ropes.push_back(hfRope(fields, "rope_local_base_freq", nullptr, localBase, request));
}

void readGgufRopes(Fields &fields, ModelConfig &config) {
  RopeRequest request = ropeRequest(config, RopeStyle::Half, kGlobalBase);
  config.ropes.push_back(ggufRope(fields, request));
  RopeConfig local;
  local.name = "default";
  local.rotaryDim = config.ropes[0].rotaryDim;
  local.invFreq = inverseFrequencies(fields.number({nullptr, "rope.freq_base_swa"}, 1e-3, 1e12, kLocalBase),
                                     local.rotaryDim);
  config.ropes.push_back(std::move(local));
}

/// GGUF: a number (every n-th layer is global) or one flag per layer (true: sliding); rarely written at all.
void readGgufPattern(Fields &fields, int64_t window, ModelConfig &config) {
  const Key key{nullptr, "attention.sliding_window_pattern"};
  const GgufFile &gguf = *fields.model().gguf();
  const GgufValue *value = gguf.find(fields.name(key));
  if (!value || value->type != GgufType::Array)
    return applyPattern(fields.integer(key, 1, INT32_MAX, kPattern), window, config);
  fields.markUsed(key);
  auto flags = gguf.getBools(fields.name(key));
  if (!flags)
    return fields.failRaw(llvm::toString(flags.takeError()));
  if ((*flags)->size() != config.layers.size())
    return fields.fail(key, "expected one entry per layer");
  for (size_t i = 0; i < config.layers.size(); ++i)
    config.layers[i].window = (**flags)[i] ? window : 0;
}

void readConfig(Fields &fields, const BuildOptions &options, ModelConfig &config) {
  FamilyDefaults defaults;
  defaults.headDim = 256;
  defaults.kvHeads = 4;
  defaults.maxPositions = 131072;
  defaults.tied = true;
  readSizes(fields, options, defaults, config);
  readActivation(fields, {"hidden_activation", nullptr}, Activation::GeluTanh, config);
  config.qBias = config.oBias = fields.boolean({"attention_bias", nullptr}, false);
  config.qkNorm = true;
  config.normOffset = fields.isGguf() ? 0.0 : 1.0;
  config.embedScale = std::sqrt(static_cast<double>(config.hidden));
  config.attnSoftcap = fields.number({"attn_logit_softcapping", "attn_logit_softcapping"}, 0, 1e6, 0);
  config.logitSoftcap = fields.number({"final_logit_softcapping", "final_logit_softcapping"}, 0, 1e6, 0);
  int64_t window = fields.integer({"sliding_window", "attention.sliding_window"}, 1, INT32_MAX, 4096);
  if (!fields.ok())
    return;
  if (fields.isGguf()) {
    // The 27B model scales by its hidden width per head; nothing in the metadata says so.
    constexpr size_t kLayersOf27B = 62;
    if (config.layers.size() == kLayersOf27B && !fields.has({nullptr, "attention.scale"}))
      config.attnScale =
          1.0 / std::sqrt(static_cast<double>(config.hidden) / static_cast<double>(config.heads));
    readGgufPattern(fields, window, config);
    readGgufRopes(fields, config);
  } else {
    double scalar = fields.number({"query_pre_attn_scalar", nullptr}, 1e-6, 1e9, 256);
    config.attnScale = 1.0 / std::sqrt(scalar);
    int64_t pattern =
        fields.integer({"sliding_window_pattern", nullptr}, 1, INT32_MAX,
                       fields.integer({"_sliding_window_pattern", nullptr}, 1, INT32_MAX, kPattern));
    if (!readLayerTypes(fields, window, config))
      applyPattern(pattern, window, config);
    readHfRopes(fields, config);
  }
  for (LayerConfig &layer : config.layers)
    layer.rope = layer.window ? kLocalRope : kGlobalRope;
}

constexpr TensorName kNames[] = {{"attn_norm", "input_layernorm"},
                                 {"attn_q", "self_attn.q_proj"},
                                 {"attn_k", "self_attn.k_proj"},
                                 {"attn_v", "self_attn.v_proj"},
                                 {"attn_q_norm", "self_attn.q_norm"},
                                 {"attn_k_norm", "self_attn.k_norm"},
                                 {"attn_output", "self_attn.o_proj"},
                                 {"post_attention_norm", "post_attention_layernorm"},
                                 {"ffn_norm", "pre_feedforward_layernorm"},
                                 {"ffn_gate", "mlp.gate_proj"},
                                 {"ffn_up", "mlp.up_proj"},
                                 {"ffn_down", "mlp.down_proj"},
                                 {"post_ffw_norm", "post_feedforward_layernorm"}};

mlir::Value buildBlock(ModelBuilder &b, int64_t layer, mlir::Value x) {
  mlir::Value a = b.attention(layer, b.norm(layer, "attn_norm", x));
  x = b.add(layer, "attn_add", x, b.norm(layer, "post_attention_norm", a));
  mlir::Value m = b.gatedMlp(layer, b.norm(layer, "ffn_norm", x));
  return b.add(layer, "ffn_add", x, b.norm(layer, "post_ffw_norm", m));
}

} // namespace

const Architecture &gemma3Architecture() {
  static const Architecture architecture{readConfig, kNames, buildBlock};
  return architecture;
}

} // namespace ingot::arch
