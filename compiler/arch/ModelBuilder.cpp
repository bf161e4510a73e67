#include "compiler/arch/ModelBuilder.h"
#include "compiler/import/Fault.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace mlir;
using namespace ingot::import_;

namespace ingot::arch {

namespace {

/// Names outside the layers, the same in every family here.
constexpr TensorName kGlobalNames[] = {
    {"token_embd", "model.embed_tokens"}, {"output_norm", "model.norm"}, {"output", "lm_head"}};

llm::GateKind gateKind(Activation activation) {
  switch (activation) {
  case Activation::Silu:
    return llm::GateKind::Silu;
  case Activation::Gelu:
    return llm::GateKind::Gelu;
  case Activation::GeluTanh:
    return llm::GateKind::GeluTanh;
  }
  return llm::GateKind::Silu;
}

llm::KvDtype kvDtype(KvDtype dtype) {
  switch (dtype) {
  case KvDtype::F32:
    return llm::KvDtype::F32;
  case KvDtype::F16:
    return llm::KvDtype::F16;
  case KvDtype::BF16:
    return llm::KvDtype::BF16;
  case KvDtype::Int8:
    return llm::KvDtype::Int8;
  }
  return llm::KvDtype::F16;
}

std::string shapeText(llvm::ArrayRef<int64_t> shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    out += (i ? ", " : "") + std::to_string(shape[i]);
  return out + "]";
}

} // namespace

ModelBuilder::ModelBuilder(MLIRContext *context, const ModelSource &model, const Architecture &architecture,
                           llvm::StringRef architectureName, const ModelConfig &config,
                           const BuildOptions &options)
    : context(context), model(model), architecture(architecture), architectureName(architectureName.str()),
      config_(config), options(options), params(context), body(context) {}

void ModelBuilder::fail(std::string text) {
  if (error_.empty())
    error_ = std::move(text);
}

Location ModelBuilder::loc(const std::string &path) { return NameLoc::get(StringAttr::get(context, path)); }

std::string ModelBuilder::layerPath(int64_t layer, llvm::StringRef role) const {
  return layer < 0 ? role.str() : "blk." + std::to_string(layer) + "." + role.str();
}

std::string ModelBuilder::fileName(int64_t layer, llvm::StringRef role, llvm::StringRef kind) const {
  std::string suffix = "." + kind.str();
  if (model.kind() == ModelSource::Kind::Gguf)
    return layerPath(layer, role) + suffix;
  for (const TensorName &name : layer < 0 ? llvm::ArrayRef(kGlobalNames) : architecture.names)
    if (role == name.role)
      return (layer < 0 ? "" : "model.layers." + std::to_string(layer) + ".") + name.hf + suffix;
  assert(false && "the architecture names every role that it uses");
  return role.str() + suffix;
}

llm::ParamOp ModelBuilder::param(int64_t layer, llvm::StringRef role, llvm::StringRef kind,
                                 llvm::ArrayRef<int64_t> shape) {
  std::string symbol = layerPath(layer, role) + (kind == "bias" ? ".bias" : "");
  llm::ParamOp &slot = made[symbol];
  if (slot)
    return slot;
  bool isVector = shape.size() == 1;
  int64_t n = isVector ? 1 : shape[0], k = shape.back();
  auto create = [&](qfmt::Scheme type, qfmt::Scheme source, llm::ExtAttr ext, llvm::StringRef tensor) {
    auto packed = qfmt::PackedType::get(context, n, k, type, qfmt::Layout::Row);
    slot = llm::ParamOp::create(params, loc(symbol), symbol, packed, source, ext, tensor);
    return slot;
  };
  // What stands in for a tensor that is missing or wrong, so that building can go on to its end.
  auto refuse = [&](std::string text) {
    fail(std::move(text));
    int64_t bytes = 4 * n * k;
    return create(qfmt::Scheme::F32, qfmt::Scheme::F32, llm::ExtAttr::get(context, 0, 0, bytes), symbol);
  };

  std::string name = fileName(layer, role, kind);
  const TensorInfo *tensor = model.find(name);
  if (!tensor)
    return refuse((model.path() + ": tensor '" + name + "' is missing").str());
  used.insert(name);
  std::string what = model.files()[tensor->file] + ": tensor '" + printable(name) + "': ";
  if (llvm::ArrayRef<int64_t>(tensor->shape) != shape)
    return refuse(what + "shape " + shapeText(tensor->shape) + ", expected " + shapeText(shape));
  auto scheme = qfmt::parseScheme(tensor->scheme);
  if (!scheme)
    return refuse(what + "element type '" + llvm::StringRef(tensor->scheme).upper() + "' is not supported");
  if (isVector && !qfmt::geometry(*scheme).isFloat)
    return refuse(what + "a vector of element type '" + llvm::StringRef(tensor->scheme).upper() +
                  "' is not supported");
  auto ext = llm::ExtAttr::get(context, tensor->file, static_cast<int64_t>(tensor->offset),
                               static_cast<int64_t>(tensor->bytes));
  return create(isVector ? qfmt::Scheme::F32 : *scheme, *scheme, ext, name);
}

Value ModelBuilder::linear(int64_t layer, llvm::StringRef role, Value x, int64_t n, bool bias) {
  llm::ParamOp weight = param(layer, role, "weight", {n, llm::widthOf(x)});
  llm::ParamOp biasParam;
  if (bias || (config_.optionalBias && model.find(fileName(layer, role, "bias"))))
    biasParam = param(layer, role, "bias", {n});
  return llm::LinearOp::create(body, loc(layerPath(layer, role)), x, weight, biasParam);
}

Value ModelBuilder::norm(int64_t layer, llvm::StringRef role, Value x) {
  llm::ParamOp gamma = param(layer, role, "weight", {llm::widthOf(x)});
  return llm::RmsNormOp::create(body, loc(layerPath(layer, role)), x, gamma,
                                static_cast<float>(config_.normEps), static_cast<float>(config_.normOffset));
}

Value ModelBuilder::headNorm(int64_t layer, llvm::StringRef role, Value x, int64_t heads) {
  llm::ParamOp gamma = param(layer, role, "weight", {config_.headDim});
  return llm::RmsNormOp::create(body, loc(layerPath(layer, role)), x, gamma,
                                static_cast<float>(config_.normEps), static_cast<float>(config_.normOffset),
                                heads);
}

llm::RopeAttr ModelBuilder::ropeAttr(const RopeConfig &rope) {
  auto style = rope.style == RopeStyle::Half ? llm::RopeStyle::Half : llm::RopeStyle::Interleaved;
  return llm::RopeAttr::get(context, style, config_.headDim, rope.rotaryDim, rope.factor, rope.invFreq,
                            rope.name);
}

Value ModelBuilder::attention(int64_t layer, Value x) {
  const LayerConfig &choice = config_.layers[layer];
  Value q = linear(layer, "attn_q", x, config_.qWidth(), config_.qBias);
  Value k = linear(layer, "attn_k", x, config_.kvWidth(), config_.qBias);
  Value v = linear(layer, "attn_v", x, config_.kvWidth(), config_.qBias);
  if (config_.qkNorm) {
    q = headNorm(layer, "attn_q_norm", q, config_.heads);
    k = headNorm(layer, "attn_k_norm", k, config_.kvHeads);
  }
  llm::RopeAttr rope = ropeAttr(config_.ropes[choice.rope]);
  q = llm::RopeOp::create(body, loc(layerPath(layer, "rope_q")), q, batch, rope, config_.heads);
  k = llm::RopeOp::create(body, loc(layerPath(layer, "rope_k")), k, batch, rope, config_.kvHeads);
  auto kvType = llm::KvType::get(context, layer, config_.kvHeads, config_.headDim, config_.headDim,
                                 kvDtype(options.kvDtype));
  Value kv = llm::KvAppendOp::create(body, loc(layerPath(layer, "kv")), kvType, k, v, batch);
  Value a = llm::AttentionOp::create(body, loc(layerPath(layer, "attn")), q, kv, batch, config_.heads,
                                     static_cast<float>(config_.attnScale), choice.window,
                                     static_cast<float>(config_.attnSoftcap));
  return linear(layer, "attn_output", a, config_.hidden, config_.oBias);
}

Value ModelBuilder::gatedMlp(int64_t layer, Value x) {
  Value gate = linear(layer, "ffn_gate", x, config_.ffn, config_.mlpBias);
  Value up = linear(layer, "ffn_up", x, config_.ffn, config_.mlpBias);
  Value act =
      llm::GateOp::create(body, loc(layerPath(layer, "ffn_act")), gate, up, gateKind(config_.activation));
  return linear(layer, "ffn_down", act, config_.hidden, config_.mlpBias);
}

Value ModelBuilder::add(int64_t layer, llvm::StringRef role, Value residual, Value x) {
  return llm::AddOp::create(body, loc(layerPath(layer, role)), residual, x);
}

void ModelBuilder::checkUnused() {
  for (const TensorInfo &tensor : model.tensors()) {
    llvm::StringRef name = tensor.name;
    if (used.contains(name))
      continue;
    // Constants that follow from the configuration, which has been read; and a head stored beside a tied one,
    // which the tie overrules.
    bool isHf = model.kind() == ModelSource::Kind::HuggingFace;
    if (isHf && (name.ends_with("rotary_emb.inv_freq") || (config_.tied && name == "lm_head.weight")))
      continue;
    if (!isHf && (name == "rope_freqs.weight" || name == "rope_factors_long.weight" ||
                  name == "rope_factors_short.weight"))
      continue;
    return fail(model.files()[tensor.file] + ": tensor '" + printable(name) + "' has no place in a " +
                architectureName + " model of " + std::to_string(config_.layers.size()) + " layers");
  }
}

OwningOpRef<ModuleOp> ModelBuilder::build(std::string &error) {
  Location top = loc(model.displayName().str());
  module = ModuleOp::create(top);
  body.setInsertionPointToStart(module->getBody());
  llm::ConfigOp::create(body, top, model.displayName(), architectureName, config_.vocab, config_.hidden,
                        static_cast<int64_t>(config_.layers.size()), config_.context, options.maxSeqs,
                        kvDtype(options.kvDtype));
  auto step = llm::StepOp::create(body, top, "step", config_.vocab);
  params.setInsertionPoint(step);
  mlir::Block &block = step->getRegion(0).front();
  body.setInsertionPointToStart(&block);
  Value ids = block.getArgument(0);
  batch = block.getArgument(1);

  llm::ParamOp embedding = param(-1, "token_embd", "weight", {config_.vocab, config_.hidden});
  Value x =
      llm::EmbedOp::create(body, loc("token_embd"), ids, embedding, static_cast<float>(config_.embedScale));
  for (int64_t layer = 0, n = config_.layers.size(); layer < n && error_.empty(); ++layer) {
    x = architecture.buildBlock(*this, layer, x);
    x = llm::LayerEndOp::create(body, loc(layerPath(layer, "end")), x, body.getI64IntegerAttr(layer));
  }
  x = llm::SelectRowsOp::create(body, loc("select_rows"), x, batch);
  x = norm(-1, "output_norm", x);
  llm::ParamOp head =
      config_.tied ? embedding : param(-1, "output", "weight", {config_.vocab, config_.hidden});
  Value logits =
      llm::LogitsOp::create(body, loc("output"), x, head, static_cast<float>(config_.logitSoftcap));
  llm::ReturnOp::create(body, top, logits);
  checkUnused();
  error = error_;
  if (!error.empty())
    return nullptr;
  return std::move(module);
}

} // namespace ingot::arch
