//===- llama.cpp - Llama 1 to 3 and models of the same shape --------------===//
//
// Pre-norm blocks, grouped-query attention, SiLU-gated MLP. GGUF files store
// the rows of attn_q and attn_k permuted so that rope turns adjacent pairs;
// Hugging Face files keep the halves.
//
//===----------------------------------------------------------------------===//
#include "compiler/arch/Architecture.h"
#include "compiler/arch/Config.h"
#include "compiler/arch/ModelBuilder.h"

namespace ingot::arch {

namespace {

void readConfig(Fields &fields, const BuildOptions &options, ModelConfig &config) {
  FamilyDefaults defaults;
  readSizes(fields, options, defaults, config);
  readActivation(fields, {"hidden_act", nullptr}, Activation::Silu, config);
  config.qBias = config.oBias = fields.boolean({"attention_bias", nullptr}, false);
  config.mlpBias = fields.boolean({"mlp_bias", nullptr}, false);
  readLayerTypes(fields, 0, config);
  readRope(fields, RopeStyle::Interleaved, config);
}

constexpr TensorName kNames[] = {
    {"attn_norm", "input_layernorm"},    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},      {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.o_proj"}, {"ffn_norm", "post_attention_layernorm"},
    {"ffn_gate", "mlp.gate_proj"},       {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"}};

mlir::Value buildBlock(ModelBuilder &b, int64_t layer, mlir::Value x) {
  x = b.add(layer, "attn_add", x, b.attention(layer, b.norm(layer, "attn_norm", x)));
  return b.add(layer, "ffn_add", x, b.gatedMlp(layer, b.norm(layer, "ffn_norm", x)));
}

} // namespace

const Architecture &llamaArchitecture() {
  static const Architecture architecture{readConfig, kNames, buildBlock};
  return architecture;
}

} // namespace ingot::arch
