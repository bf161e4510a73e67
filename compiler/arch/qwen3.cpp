//===- qwen3.cpp - Qwen 3: norms on q and k instead of biases -------------===//
#include "compiler/arch/Architecture.h"
#include "compiler/arch/Config.h"
#include "compiler/arch/ModelBuilder.h"
#include "compiler/arch/Qwen.h"

namespace ingot::arch {

namespace {

void readConfig(Fields &fields, const BuildOptions &options, ModelConfig &config) {
  FamilyDefaults defaults;
  defaults.headDim = 128;
  defaults.maxPositions = 32768;
  readSizes(fields, options, defaults, config);
  readActivation(fields, {"hidden_act", nullptr}, Activation::Silu, config);
  config.qBias = config.oBias = fields.boolean({"attention_bias", nullptr}, false);
  config.qkNorm = true;
  readQwenWindow(fields, config);
  readRope(fields, RopeStyle::Half, config);
}

constexpr TensorName kNames[] = {
    {"attn_norm", "input_layernorm"},    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},      {"attn_v", "self_attn.v_proj"},
    {"attn_q_norm", "self_attn.q_norm"}, {"attn_k_norm", "self_attn.k_norm"},
    {"attn_output", "self_attn.o_proj"}, {"ffn_norm", "post_attention_layernorm"},
    {"ffn_gate", "mlp.gate_proj"},       {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"}};

} // namespace

const Architecture &qwen3Architecture() {
  static const Architecture architecture{readConfig, kNames, llamaArchitecture().buildBlock};
  return architecture;
}

} // namespace ingot::arch
