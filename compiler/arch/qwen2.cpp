//===- qwen2.cpp - Qwen 2 and 2.5: Llama with q, k, v biases --------------===//
#include "compiler/arch/Architecture.h"
#include "compiler/arch/Config.h"
#include "compiler/arch/ModelBuilder.h"
#include "compiler/arch/Qwen.h"

namespace ingot::arch {

void readQwenWindow(Fields &fields, ModelConfig &config) {
  bool uses = fields.boolean({"use_sliding_window", nullptr}, false);
  int64_t window = fields.integer({"sliding_window", nullptr}, 1, INT32_MAX, 4096);
  int64_t first = fields.integer({"max_window_layers", nullptr}, 0, INT32_MAX, 28);
  if (readLayerTypes(fields, uses ? window : 0, config) || !uses)
    return;
  for (size_t i = first; i < config.layers.size(); ++i)
    config.layers[i].window = window;
}

namespace {

void readConfig(Fields &fields, const BuildOptions &options, ModelConfig &config) {
  FamilyDefaults defaults;
  defaults.maxPositions = 32768;
  readSizes(fields, options, defaults, config);
  readActivation(fields, {"hidden_act", nullptr}, Activation::Silu, config);
  config.qBias = true;
  readQwenWindow(fields, config);
  readRope(fields, RopeStyle::Half, config);
}

} // namespace

const Architecture &qwen2Architecture() {
  static const Architecture architecture{readConfig, llamaArchitecture().names,
                                         llamaArchitecture().buildBlock};
  return architecture;
}

} // namespace ingot::arch
