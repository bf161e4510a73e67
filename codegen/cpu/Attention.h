//===- Attention.h - attention over the paged cache -----------------------------------------------------===//
//
// Emission of spec/Attention.h in three families. `attention` (many rows): an item is a tile of query rows of
// one sequence times the query heads of one kv head; all segments inside. `attn_split` (few rows): an item is
// (row, kv head, segment of 512 positions), whose state goes to a slot of partials; `attn_merge` combines a
// row's segments. All query heads of a kv head share each load of K and V. Items are dealt to parts by
// estimated work; no result depends on that, nor on the tile that a row falls into: a masked key adds exact
// zeros.
//
//===----------------------------------------------------------------------------------------------------===//
#ifndef INGOT_CODEGEN_CPU_ATTENTION_H
#define INGOT_CODEGEN_CPU_ATTENTION_H

#include "codegen/cpu/Quantize.h"
#include "codegen/cpu/Rows.h"
#include "codegen/cpu/spec/Attention.h"

#include <optional>
#include <string>

namespace ingot::cpu {

/// What one query row of one head computes.
struct AttentionCore {
  spec::KvLayout kv;
  int64_t qHeads = 0;
  float scale = 1;
  int64_t window = 0;
  float softcap = 0;
  int64_t group() const { return qHeads / kv.heads; }
};

/// Partial states: entry (row, q head, segment) is 16 + round_up(vDim, 16) floats: m, l, 14 unused, O.
struct PartialsLayout {
  int64_t heads = 0;
  int64_t dim = 0;
  int64_t segments = 0; ///< of the context
  int64_t entryBytes() const { return (16 + roundUp(dim, 16)) * 4; }
};

struct AttentionSpec {
  AttentionCore core;
  RowsRef q;                      ///< qHeads * kv.dim columns
  std::optional<RowsRef> outRows; ///< qHeads * vDim columns; one of the two results
  std::optional<unsigned> outAct;
  spec::ActLayout act;
  /// Query vectors (rows times heads of a group) of an item, a bound.
  int64_t itemVectors = 48;
};

struct AttnSplitSpec {
  AttentionCore core;
  RowsRef q;
  unsigned partials = 1;
  PartialsLayout layout;
};

struct AttnMergeSpec {
  PartialsLayout layout;
  int64_t window = 0;
  unsigned partials = 0;
  std::optional<RowsRef> outRows;
  std::optional<unsigned> outAct;
  spec::ActLayout act;
};

/// Empty when it can be emitted, else the reason.
std::string refuseAttention(const AttentionCore &core, bool act);

/// Scratch bytes per worker.
int64_t attentionScratch(const target::Target &target, const AttentionSpec &spec);
int64_t attnSplitScratch(const target::Target &target, const AttnSplitSpec &spec);

void emitAttention(KernelBuilder &k, const AttentionSpec &spec);
void emitAttnSplit(KernelBuilder &k, const AttnSplitSpec &spec);
void emitAttnMerge(KernelBuilder &k, const AttnMergeSpec &spec);

} // namespace ingot::cpu

#endif
