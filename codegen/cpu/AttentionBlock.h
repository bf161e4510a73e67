//===- AttentionBlock.h - one block of 64 keys against a few query vectors ------------------------------===//
//
// The inner part that the attention families share. "Vectors" are (row, head) pairs that read the same kv
// head. They live in the worker's scratch, padded to a multiple of the register tile: scaled q, positions,
// and the running state m, l, O of each.
//
//===----------------------------------------------------------------------------------------------------===//
#ifndef INGOT_CODEGEN_CPU_ATTENTIONBLOCK_H
#define INGOT_CODEGEN_CPU_ATTENTIONBLOCK_H

#include "codegen/cpu/Attention.h"

namespace ingot::cpu {

/// Register tile of a target for `vectors` query vectors at most.
struct AttentionTile {
  int64_t rows;  ///< query vectors at once
  int64_t pages; ///< pages of 16 keys at once in scores: 4, 2 or 1
  int64_t vecs;  ///< vectors of 16 output columns at once
  int64_t side;  ///< query vectors side by side in the softmax
  static AttentionTile choose(const target::Target &target, int64_t vectors);
};

/// Offsets in bytes of the arrays in scratch for `vectors` query vectors.
struct AttentionScratch {
  AttentionScratch(const AttentionCore &core, const AttentionTile &tile, int64_t vectors, bool total);
  int64_t vectors; ///< rounded up to the register tile
  int64_t qStride, oStride;
  int64_t q, o, oTotal, m, l, mTotal, lTotal, pos, prob, alpha;
  int64_t next; ///< addresses of the four pages to prefetch
  int64_t bytes;
};

class AttentionBlock {
public:
  AttentionBlock(KernelBuilder &k, const AttentionCore &core, const AttentionTile &tile,
                 const AttentionScratch &scratch);

  /// Copies one head of q at `src`, scaled, to vector `index`; sets its position (i64).
  void loadQuery(Value src, Value index, Value position);
  /// Fills vectors first .. last - 1 with zeros at position `position`.
  void padQueries(Value first, Value last, Value position);
  /// Fresh state (total: of the whole row) for vectors 0 .. count - 1.
  void reset(Value count, bool total);

  /// Pages of the block's 64 positions from `block` (i64 multiple of 64), clamped to the pages firstPage ..
  /// lastPage that hold keys of this item, at kv head `head`.
  void setBlock(Value tableRow, Value block, Value head, Value firstPage, Value lastPage);
  /// What is read after this: run() prefetches it into L2, page by page, at the pace at which it reads. For
  /// kernels that see each key once.
  void setNext(Value tableRow, Value block, Value head, Value firstPage, Value lastPage);

  /// Scores, softmax and values of the current block for vectors index .. index + tile.rows - 1. Keys outside
  /// keyLow .. keyHigh - 1 (inside the block, i64 0 .. 64) are seen by none of them.
  /// `first`: the block's first run, which prefetches.
  void run(Value index, Value keyLow, Value keyHigh, bool first = false);

  /// total = total merged with the segment's state, for vectors 0 .. count - 1.
  void mergeTotals(Value count);

  /// Results O / L + 0 of vector `index`: columns first .. of its head.
  Value result(Value index, Value first, int64_t n, bool total);
  Value stateSum(Value index, bool total);

  Value at(int64_t array) { return k.gep(base, array); }
  const AttentionScratch &layout() const { return s; }

private:
  KernelBuilder &k;
  const AttentionCore &core;
  AttentionTile tile;
  AttentionScratch s;
  Value base, cache, stride;
  Value block;
  Value page[4]; ///< K of the head, V follows
  bool hasNext = false;
  bool fetch = false; ///< in the current run()

  /// Prefetches `bytes` bytes of what comes next from `offset` (i64) on, counted over its four pages.
  void fetchNext(Value offset, int64_t bytes);
  Value pagePointer(Value tableRow, Value entry, Value headOffset, Value firstPage, Value lastPage);
  void scores(Value qBase);
  void softmax(Value index);
  void softmaxRows(Value index, Value first, int64_t count);
  void values(Value index, Value keyLow, Value keyHigh);
  void valueColumns(Value index, Value column, int64_t vecs, int64_t tail, Value keyLow, Value keyHigh);
};

/// Merges state (m, l) into (M, L): returns new M, new L, factor of the old O, factor of the added O.
struct MergeFactors {
  Value m, l, a, b;
};
MergeFactors emitMergeFactors(KernelBuilder &k, Value mTotal, Value lTotal, Value m, Value l);

} // namespace ingot::cpu

#endif
