//===- RopeKv.h - rotary embedding, per-head norms and the KV cache append ------------------------------===//
//
// Emission of spec/RopeKv.h for one launch: q heads are (normalised and) rotated into an f32 slot; k heads
// are (normalised and) rotated and, with v, rounded into the pages. Parts divide the (row, head) pairs.
//
//===----------------------------------------------------------------------------------------------------===//
#ifndef INGOT_CODEGEN_CPU_ROPEKV_H
#define INGOT_CODEGEN_CPU_ROPEKV_H

#include "codegen/cpu/Rows.h"
#include "codegen/cpu/spec/RopeKv.h"

#include <optional>
#include <string>

namespace ingot::cpu {

/// Rotation of the first rotaryDim values of a head by table `table` of the step.
struct RopeParams {
  spec::RopeStyle style = spec::RopeStyle::Half;
  int64_t rotaryDim = 0; ///< 0: none
  unsigned table = 0;
};

struct RopeKvSpec {
  int64_t qHeads = 0;  ///< 0: k and v only
  int64_t headDim = 0; ///< of q; equals kv.dim
  spec::KvLayout kv;   ///< heads 0: no cache, q only
  RopeParams qRope, kRope;
  RowsRef q, k, v; ///< columns of one slot or slots of their own; q has qHeads * headDim columns
  RowsRef out;     ///< rotated q; may be the memory of q
  std::optional<unsigned> qGamma, kGamma; ///< weights of headDim floats
  float qEps = 0, kEps = 0;
};

/// Empty when emitRopeKv can do it, else the reason.
std::string refuseRopeKv(const RopeKvSpec &spec);
void emitRopeKv(KernelBuilder &k, const RopeKvSpec &spec);

/// Stored type of a cache.
Type kvElement(KernelBuilder &k, spec::KvType type);

} // namespace ingot::cpu

#endif
