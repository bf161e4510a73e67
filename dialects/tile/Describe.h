//===- Describe.h - a kernel's body as plain structs -----------------------------------------------===//
//
// Emitters do not walk ops: each family has a struct with everything its code depends on. `describe*` reads
// it from a verified kernel; the kernel's verifier runs the same reader, so a verified kernel always
// describes. Slot indices are those of ingot_args_v1::slot, weight indices those of ::weight; -1 means
// absent.
//
//===----------------------------------------------------------------------------------------------------===//
#ifndef INGOT_DIALECTS_TILE_DESCRIBE_H
#define INGOT_DIALECTS_TILE_DESCRIBE_H

#include "dialects/tile/Tile.h"

#include <optional>

namespace ingot::tile {

/// Dots that round f32 activations to bf16 (--numerics=fast).
inline bool roundsActivations(DotKind kind) { return kind == DotKind::Bf16 || kind == DotKind::AmxBf16; }

/// Columns offset .. offset + width - 1 of f32 rows in a slot; stride in floats.
struct Columns {
  int slot = -1;
  int64_t offset = 0, width = 0, stride = 0;
};

/// Where a result goes: f32 rows and/or quantized rows (at least one).
struct Outputs {
  int64_t width = 0;
  int rowsSlot = -1;
  int64_t rowsStride = 0; ///< floats
  int actSlot = -1;
  qfmt::ActAttr act; ///< null if actSlot is -1
};

struct EmbedDesc {
  qfmt::PackedType table;
  int tableWeight = 0;
  float scale = 1.0f;
  Outputs out;
};

/// y = [residual +] (x * 1/sqrt(mean(x^2) + eps)) * gamma, per group.
struct NormDesc {
  Columns x, residual;
  int gammaWeight = 0;
  float eps = 0;
  int64_t groups = 1;
  Outputs out;
};

struct QuantizeDesc {
  Columns x;
  Outputs out;
};

struct RopeDesc {
  RopeStyle style = RopeStyle::Half;
  int64_t heads = 0, headDim = 0, rotaryDim = 0;
  int64_t table = -1; ///< index into step->rope; -1: no rotation
  int gammaWeight = -1;
  float eps = 0; ///< of the per-head norm that comes first, if gammaWeight >= 0
};

/// Norm and rotate q and k, write q to a slot and k, v to the cache. q or (k, v) may be absent (slot -1).
struct RopeKvDesc {
  Columns q, k, v;
  RopeDesc qRope, kRope;
  KvAttr kv;   ///< null where k and v are absent
  Outputs out; ///< of q
};

/// y = dot(x, w) [+ bias] [gate] [softcap] [+ residual], in this order. `n` counts the weight's rows; with a
/// gate the result has n / 2 columns (out.width). Instead of gate, softcap and residual there may be rope_kv;
/// instead of gate and residual there may be argmax.
struct LinearDesc {
  qfmt::PackedType w;
  int64_t n = 0, k = 0;
  int xSlot = 0;
  qfmt::ActAttr act;   ///< null where x is f32 rows
  int64_t xStride = 0; ///< floats, for f32 rows
  DotKind kind = DotKind::Undecided;
  int wWeight = 0, biasWeight = -1;
  std::optional<GateKind> gate; ///< over [16 gate | 16 up] columns
  float softcap = 0;            ///< 0: none
  Columns residual;
  bool argmax = false;              ///< a step may ask for the best column of each part alone
  std::optional<RopeKvDesc> ropeKv; ///< q, k, v follow each other in the product (slot -1); out is of q
  Outputs out;
};

/// Attention; with `partials` each segment's state is stored instead of the merged result.
struct AttentionDesc {
  Columns q;
  KvAttr kv;
  int64_t qHeads = 0, block = 0, segment = 0, window = 0;
  float scale = 0, softcap = 0;
  int partialsSlot = -1;
  PartialsType partials;
  Outputs out;
};

struct MergeDesc {
  int partialsSlot = 0;
  PartialsType partials;
  int64_t segment = 0, window = 0;
  Outputs out;
};

/// gate, add, select, softcap, scale: one or two inputs.
struct ElementwiseDesc {
  Columns a, b;
  bool selected = false; ///< row i reads row out_rows[i]
  GateKind gate = GateKind::Silu;
  float value = 0; ///< cap or factor
  Outputs out;
};

mlir::FailureOr<EmbedDesc> describeEmbed(KernelOp kernel);
mlir::FailureOr<NormDesc> describeNorm(KernelOp kernel);
mlir::FailureOr<QuantizeDesc> describeQuantize(KernelOp kernel);
mlir::FailureOr<LinearDesc> describeLinear(KernelOp kernel);
mlir::FailureOr<RopeKvDesc> describeRopeKv(KernelOp kernel);
mlir::FailureOr<AttentionDesc> describeAttention(KernelOp kernel); ///< families attention and attn_split
mlir::FailureOr<MergeDesc> describeMerge(KernelOp kernel);
mlir::FailureOr<ElementwiseDesc> describeElementwise(KernelOp kernel);

/// Whether the body is one of its family; emits an error on the op that does not fit.
mlir::LogicalResult verifyFamily(KernelOp kernel);

} // namespace ingot::tile

#endif
