//===- ModelConfig.h - What a model computes --------------------*- C++ -*-===//
//
// The common result of every architecture's config reader, whatever file it
// came from: sizes, and one entry per choice that changes the numbers. Defaults
// are the neutral element, so that a reader states only what its family does.
//
// Invariants after a reader succeeded: every size is positive and bounded;
// kvHeads divides heads; headDim is even; layers.size() is the layer count;
// every rope index is within ropes.
//
//===----------------------------------------------------------------------===//
#ifndef INGOT_COMPILER_ARCH_MODELCONFIG_H
#define INGOT_COMPILER_ARCH_MODELCONFIG_H

#include <cstdint>
#include <string>
#include <vector>

namespace ingot::arch {

enum class Activation { Silu, Gelu, GeluTanh };
enum class RopeStyle { Half, Interleaved };

/// Rotary position embedding: pair i of a head turns by position * invFreq[i];
/// cos and sin are multiplied by `factor`.
struct RopeConfig {
  std::string name; // "default", "llama3", ...: for messages and dumps only
  RopeStyle style = RopeStyle::Half;
  int64_t rotaryDim = 0;
  std::vector<double> invFreq; // rotaryDim / 2 entries, radians per position
  double factor = 1.0;
};

struct LayerConfig {
  int64_t window = 0; // tokens that a token sees, itself included; 0: all
  unsigned rope = 0;  // index into ModelConfig::ropes
};

struct ModelConfig {
  int64_t vocab = 0, hidden = 0, ffn = 0, heads = 0, kvHeads = 0, headDim = 0;
  int64_t modelContext = 0; // positions that the model was made for
  int64_t context = 0;      // positions to compile for, at most modelContext
  double normEps = 0;
  double normOffset = 0; // added to every norm weight
  double embedScale = 1;
  double attnScale = 0;
  double attnSoftcap = 0, logitSoftcap = 0; // 0: none
  Activation activation = Activation::Silu;
  bool qkNorm = false;                                // RMSNorm of each q and k head before rope
  bool qBias = false, oBias = false, mlpBias = false; // qBias: q, k and v
  bool optionalBias = false;                          // GGUF: a bias counts if its tensor is there
  bool tied = false;                                  // the head is the embedding table
  std::vector<RopeConfig> ropes;
  std::vector<LayerConfig> layers;

  int64_t qWidth() const { return heads * headDim; }
  int64_t kvWidth() const { return kvHeads * headDim; }
};

} // namespace ingot::arch

#endif // INGOT_COMPILER_ARCH_MODELCONFIG_H
