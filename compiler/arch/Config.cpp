#include "compiler/arch/Config.h"
#include "compiler/import/Fault.h"
#include <cmath>

using namespace ingot::import_;

namespace ingot::arch {

namespace {
constexpr int64_t kMaxWidth = 1 << 20, kMaxHeads = 1 << 16, kMaxHeadDim = 1 << 12, kMaxVocab = 1 << 24;
constexpr int64_t kMaxContext = int64_t(1) << 40;
/// Context to compile for where nobody asked for one: enough for a conversation
/// without claiming the memory of a model's whole range.
constexpr int64_t kDefaultContext = 4096;
} // namespace

void readSizes(Fields &fields, const BuildOptions &options, const FamilyDefaults &defaults,
               ModelConfig &config) {
  const ModelSource &model = fields.model();
  const Key headsKey{"num_attention_heads", "attention.head_count"},
      headDimKey{"head_dim", "attention.key_length"}, layersKey{"num_hidden_layers", "block_count"},
      kvKey{"num_key_value_heads", "attention.head_count_kv"};
  int64_t layers = fields.integer(layersKey, 1, INT32_MAX);
  // Each layer has tensors of its own, so this bounds all work and memory that depends on the layer count.
  if (static_cast<uint64_t>(layers) > model.tensors().size()) {
    fields.fail(layersKey, llvm::Twine(layers) + " layers, but the files hold " +
                               llvm::Twine(model.tensors().size()) + " tensors");
    layers = 1;
  }
  config.layers.resize(layers);
  config.hidden = fields.integer({"hidden_size", "embedding_length"}, 1, kMaxWidth);
  config.ffn = fields.uniformInteger({"intermediate_size", "feed_forward_length"}, 1, kMaxWidth * 16);
  config.heads = fields.uniformInteger(headsKey, 1, kMaxHeads);
  config.kvHeads = fields.has(kvKey)  ? fields.uniformInteger(kvKey, 1, kMaxHeads)
                   : defaults.kvHeads ? defaults.kvHeads
                                      : config.heads;
  if (fields.ok() && config.heads % config.kvHeads)
    fields.fail(kvKey, llvm::Twine(config.kvHeads) + " key/value heads do not divide " +
                           llvm::Twine(config.heads) + " heads");
  bool derived = !fields.has(headDimKey) && (fields.isGguf() || !defaults.headDim);
  config.headDim =
      derived ? config.hidden / config.heads : fields.integer(headDimKey, 1, kMaxHeadDim, defaults.headDim);
  if (fields.ok() && derived && config.hidden % config.heads)
    fields.fail(headsKey,
                llvm::Twine(config.heads) + " heads do not divide the width " + llvm::Twine(config.hidden));
  if (fields.ok() && (config.headDim < 2 || config.headDim % 2 || config.headDim > kMaxHeadDim))
    fields.fail(headDimKey,
                "heads of " + llvm::Twine(config.headDim) + " dimensions cannot be rotated in pairs");
  if (auto valueLength = fields.optInteger({nullptr, "attention.value_length"}, 1, kMaxHeadDim);
      valueLength && *valueLength != config.headDim)
    fields.fail(Key{nullptr, "attention.value_length"},
                "differs from the key length, which is not supported");

  const Key epsKey{"rms_norm_eps", "attention.layer_norm_rms_epsilon"};
  config.normEps = fields.isGguf() ? fields.number(epsKey, 1e-30, 1.0)
                                   : fields.number(epsKey, 1e-30, 1.0, defaults.normEps);
  config.attnScale = 1.0 / std::sqrt(static_cast<double>(config.headDim));
  if (auto scale = fields.optNumber({nullptr, "attention.scale"}, 0, 1e6); scale && *scale > 0)
    config.attnScale = *scale;

  if (fields.isGguf()) {
    const TensorInfo *embedding = model.find("token_embd.weight");
    if (!embedding || embedding->shape.size() != 2)
      fields.fail(embedding ? "tensor 'token_embd.weight' is no matrix"
                            : "tensor 'token_embd.weight' is missing");
    else
      config.vocab = embedding->shape[0];
    auto said = fields.optInteger({nullptr, "vocab_size"}, 1, kMaxVocab);
    if (fields.ok() && said && *said != config.vocab)
      fields.fail(Key{nullptr, "vocab_size"}, llvm::Twine(*said) + " entries, but token_embd.weight has " +
                                                  llvm::Twine(config.vocab) + " rows");
    config.tied = model.find("output.weight") == nullptr;
    config.optionalBias = true;
  } else {
    config.vocab = fields.integer({"vocab_size", nullptr}, 1, kMaxVocab);
    config.tied = fields.boolean({"tie_word_embeddings", nullptr}, defaults.tied);
    // Said per checkpoint in some files, without effect on a causal decoder.
    if (!fields.boolean({"is_decoder", nullptr}, true) && fields.boolean({"is_encoder", nullptr}, false))
      fields.fail(Key{"is_encoder", nullptr}, "encoders are not supported");
  }
  if (fields.ok() && config.vocab > kMaxVocab)
    fields.fail("the vocabulary of " + llvm::Twine(config.vocab) + " entries exceeds the limit of " +
                llvm::Twine(kMaxVocab));

  const Key contextKey{"max_position_embeddings", "context_length"};
  int64_t modelContext = fields.integer(contextKey, 1, kMaxContext, defaults.maxPositions);
  config.modelContext = modelContext;
  config.context = options.context ? options.context : std::min(modelContext, kDefaultContext);
  if (fields.ok() && config.context > modelContext)
    fields.fail(contextKey, "the model has a context of " + llvm::Twine(modelContext) + " tokens, " +
                                llvm::Twine(config.context) + " were asked for");
}

void readActivation(Fields &fields, Key key, Activation fallback, ModelConfig &config) {
  config.activation = fallback;
  auto name = fields.optString(key);
  if (!name)
    return;
  if (*name == "silu" || *name == "swish")
    config.activation = Activation::Silu;
  else if (*name == "gelu_pytorch_tanh" || *name == "gelu_new")
    config.activation = Activation::GeluTanh;
  else if (*name == "gelu")
    config.activation = Activation::Gelu;
  else
    fields.fail(key, "activation '" + printable(*name) + "' is not supported");
}

RopeRequest ropeRequest(const ModelConfig &config, RopeStyle style, double defaultBase) {
  RopeRequest request;
  request.headDim = config.headDim;
  request.defaultBase = defaultBase;
  request.modelContext = config.modelContext;
  request.context = config.context;
  request.style = style;
  return request;
}

void readRope(Fields &fields, RopeStyle ggufStyle, ModelConfig &config) {
  if (!fields.ok())
    return;
  config.ropes.push_back(fields.isGguf() ? ggufRope(fields, ropeRequest(config, ggufStyle))
                                         : hfDefaultRope(fields, ropeRequest(config, RopeStyle::Half)));
}

bool readLayerTypes(Fields &fields, int64_t window, ModelConfig &config) {
  const Key key{"layer_types", nullptr};
  if (fields.isGguf() || !fields.has(key))
    return false;
  fields.markUsed(key);
  const JsonValue *value = fields.model().config()->get(key.hf);
  if (!value->array() || value->array()->size() != config.layers.size()) {
    fields.fail(key, "expected an array of " + llvm::Twine(config.layers.size()) + " entries");
    return true;
  }
  for (size_t i = 0; i < config.layers.size(); ++i) {
    const std::string *type = (*value->array())[i].string();
    if (type && *type == "sliding_attention" && window > 0)
      config.layers[i].window = window;
    else if (type && *type == "sliding_attention")
      fields.fail(key, "layer " + llvm::Twine(i) + " slides, but no sliding_window is in effect");
    else if (!type || *type != "full_attention")
      fields.fail(key, "layer " + llvm::Twine(i) + ": " +
                           (type ? "type '" + printable(*type) + "' is not supported" : "no string"));
  }
  return true;
}

} // namespace ingot::arch
