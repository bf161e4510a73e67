//===- Rope.h - Frequencies of rotary position embeddings -------*- C++ -*-===//
//
// Turns the rope fields of a configuration into inverse frequencies, in double
// precision, so that kernels know nothing of scaling methods.
//
// Methods (names as in config.json): default; linear (positions divided by a
// factor); llama3 (three frequency bands); yarn (Peng et al. 2023, NTK by
// parts); longrope (Ding et al. 2024, a factor per frequency). `dynamic`
// depends on the length of the text so far and is refused: a token's result
// must not change when others follow.
//
//===----------------------------------------------------------------------===//
#ifndef INGOT_COMPILER_ARCH_ROPE_H
#define INGOT_COMPILER_ARCH_ROPE_H

#include "compiler/arch/Fields.h"
#include "compiler/arch/ModelConfig.h"

namespace ingot::arch {

struct RopeRequest {
  int64_t headDim = 0;
  double defaultBase = 10000;
  /// The model's maximum context, and the one to compile for: longrope picks
  /// its short or long factors by the latter, once for all positions.
  int64_t modelContext = 0;
  int64_t context = 0;
  RopeStyle style = RopeStyle::Half;
};

/// Base frequency list of `rotaryDim` dimensions: base^(-2i/rotaryDim).
std::vector<double> inverseFrequencies(double base, int64_t rotaryDim);

/// The rope of a Hugging Face config from `parameters` (rope_parameters of
/// style 5, or rope_scaling of style 4; may be null) with the frequency base
/// `base` for where `parameters` has none. `path` names the object in messages.
RopeConfig hfRope(Fields &fields, llvm::StringRef path, const import_::JsonValue *parameters, double base,
                  const RopeRequest &request);

/// The only rope of a Hugging Face config: rope_parameters or rope_theta and
/// rope_scaling.
RopeConfig hfDefaultRope(Fields &fields, const RopeRequest &request);

/// The rope of GGUF metadata: rope.freq_base, rope.scaling.*, and the factor
/// tensors rope_freqs / rope_factors_long / rope_factors_short.
RopeConfig ggufRope(Fields &fields, const RopeRequest &request);

} // namespace ingot::arch

#endif // INGOT_COMPILER_ARCH_ROPE_H
