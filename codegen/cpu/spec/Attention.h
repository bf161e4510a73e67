//===- Attention.h - scalar specification of attention --------------------------------------------------===//
//
// One query row of one head at position p with window W sees keys max(0, p - W + 1) .. p (W = 0: all up to
// p). q is multiplied by the scale first. Keys are walked in segments of 512 and blocks of 64 absolute
// positions; those without a visible key are skipped. Inside a segment, online softmax in block order from a
// fresh state; segments are merged in ascending order; the result is fl(O / L) + 0 (the addition turns -0
// into +0, so that the sign of a zero does not tell how many masked keys a kernel visited). In an int8 cache
// the chains run over codes: a finished score is multiplied by the scale of the key's K (before softcap), a
// probability by that of its V (the sum of probabilities is of those not multiplied).
//
//===----------------------------------------------------------------------------------------------------===//
#ifndef INGOT_CODEGEN_CPU_SPEC_ATTENTION_H
#define INGOT_CODEGEN_CPU_SPEC_ATTENTION_H

#include "codegen/cpu/spec/RopeKv.h"

#include <cstdint>
#include <vector>

namespace ingot::spec {

struct AttentionSpecParams {
  KvLayout kv;
  int64_t qHeads = 0;
  float scale = 1.0f;
  int64_t window = 0;   ///< 0: none
  float softcap = 0.0f; ///< 0: none
};

/// Running state of one (row, head): maximum score, sum of exponentials, weighted sum of values.
struct AttentionState {
  float m;
  float l;
  std::vector<float> o;
};

/// First visible key of position p.
inline int64_t firstKey(int64_t p, int64_t window) { return window > 0 && p >= window ? p - window + 1 : 0; }

/// State after segment `segment` for q (kv.dim values, not scaled yet) of kv head `head` at position `p`.
/// `pages[i]` is the page of positions 16 i .. 16 i + 15. A segment without a visible key gives m = -inf.
AttentionState attendSegment(const AttentionSpecParams &s, const float *q, int64_t head, int64_t p,
                             int64_t segment, const std::vector<const uint8_t *> &pages);

/// Merges `next` into `acc` (ascending segments).
void mergeSegment(AttentionState &acc, const AttentionState &next);

/// The whole row: q and out have qHeads * kv.dim and qHeads * kv.vDim values.
void attendRow(const AttentionSpecParams &s, const float *q, int64_t p,
               const std::vector<const uint8_t *> &pages, float *out);

} // namespace ingot::spec
#endif
