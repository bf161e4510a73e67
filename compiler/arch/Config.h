//===- Config.h - Fields that decoder families share ------------*- C++ -*-===//
#ifndef INGOT_COMPILER_ARCH_CONFIG_H
#define INGOT_COMPILER_ARCH_CONFIG_H

#include "compiler/arch/Build.h"
#include "compiler/arch/Fields.h"
#include "compiler/arch/ModelConfig.h"
#include "compiler/arch/Rope.h"

namespace ingot::arch {

/// What a family's configuration means where the file says nothing. The Hugging
/// Face values are those of the library's config classes.
struct FamilyDefaults {
  int64_t headDim = 0; // 0: hidden / heads
  int64_t kvHeads = 0; // 0: as many as heads
  int64_t maxPositions = 2048;
  double normEps = 1e-6;
  bool tied = false;
};

/// Sizes, epsilon, tied head and context. `config.layers` gets its size.
void readSizes(Fields &fields, const BuildOptions &options, const FamilyDefaults &defaults,
               ModelConfig &config);

/// hidden_act (or `key`): every family here has a gated MLP.
void readActivation(Fields &fields, Key key, Activation fallback, ModelConfig &config);

/// The request for a rope over whole heads.
RopeRequest ropeRequest(const ModelConfig &config, RopeStyle style, double defaultBase = 10000);

/// One rope for all layers.
void readRope(Fields &fields, RopeStyle ggufStyle, ModelConfig &config);

/// layer_types, where the file has it: "full_attention" or "sliding_attention"
/// per layer. Sets the windows and returns true; false if absent.
bool readLayerTypes(Fields &fields, int64_t window, ModelConfig &config);

} // namespace ingot::arch

#endif // INGOT_COMPILER_ARCH_CONFIG_H
