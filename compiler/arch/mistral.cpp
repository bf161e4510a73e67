//===- mistral.cpp - Mistral: Llama with a sliding window -----------------===//
//
// Only as a Hugging Face directory: GGUF files of these models say `llama`.
//
//===----------------------------------------------------------------------===//
#include "compiler/arch/Architecture.h"
#include "compiler/arch/Config.h"
#include "compiler/arch/ModelBuilder.h"

namespace ingot::arch {

namespace {

void readConfig(Fields &fields, const BuildOptions &options, ModelConfig &config) {
  FamilyDefaults defaults;
  defaults.kvHeads = 8;
  defaults.maxPositions = 4096 * 32;
  readSizes(fields, options, defaults, config);
  readActivation(fields, {"hidden_act", nullptr}, Activation::Silu, config);
  // Absent means the first model's 4096; null means no window.
  const Key windowKey{"sliding_window", nullptr};
  bool isAbsent = fields.model().config()->get(windowKey.hf) == nullptr;
  int64_t window = fields.integer(windowKey, 1, INT32_MAX, isAbsent ? 4096 : 0);
  if (!readLayerTypes(fields, window, config))
    for (LayerConfig &layer : config.layers)
      layer.window = window;
  readRope(fields, RopeStyle::Half, config);
}

} // namespace

const Architecture &mistralArchitecture() {
  static const Architecture architecture{readConfig, llamaArchitecture().names,
                                         llamaArchitecture().buildBlock};
  return architecture;
}

} // namespace ingot::arch
