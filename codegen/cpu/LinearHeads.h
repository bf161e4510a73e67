//===- LinearHeads.h - rope_kv behind a projection (private to the linear family) -----------------===//
//
// The product is q, k and v side by side. A unit of work is a group of panels that holds everything its
// values need: one panel where rotated pairs are neighbours, a panel of each half where pairs are halves of a
// head, all panels of a head where a norm, a rotation of a part of the head or an int8 cache needs them.
// Parts share units, so no value waits for another part. The results of a tile lie in a buffer until its unit
// is complete; then each row is normalised, rotated and stored by the code of RopeKv.h. The panels keep their
// places in the weights: a unit gathers those it needs, so q and k need no order of rows of their own.
//
//===----------------------------------------------------------------------------------------------------===//
#ifndef INGOT_CODEGEN_CPU_LINEARHEADS_H
#define INGOT_CODEGEN_CPU_LINEARHEADS_H

#include "codegen/cpu/RopeKv.h"

namespace ingot::cpu {

/// How the panels of a product form units; refuseHeadUnits says whether they do.
struct HeadUnits {
  explicit HeadUnits(const RopeKvSpec &spec);
  int64_t panels;  ///< of one unit
  int64_t perHead; ///< units of a head of q or k
  int64_t q, k, v; ///< units of all heads

  /// Of panel 0 to panel 1 of a unit of q or k; those of v follow each other.
  int64_t stride() const { return perHead; }
  int64_t rowBytes() const { return 64 * panels; }
};

/// This part's units, first and behind the last. `columns`: what a row of a unit costs besides its rope and
/// its places in the cache, in columns of K of an int8 product.
std::pair<Value, Value> shareHeadUnits(KernelBuilder &k, const HeadUnits &units, int64_t columns);

/// Empty when the heads of `spec` divide into units, else the reason.
std::string refuseHeadUnits(const RopeKvSpec &spec);

class LinearHeads {
public:
  /// `rows`: M class, 0 for any number; a tile has at most `tileRows`. `bias` may be null.
  LinearHeads(KernelBuilder &k, const RopeKvSpec &spec, int64_t rows, int64_t tileRows, Value out,
              Value bias);
  const HeadUnits units;
  Value tile; ///< buffer for the rows of one tile

  /// Panel `i` of unit `unit` in the weights (all i64).
  Value panel(Value unit, Value i);
  /// Puts results of one panel (values[r]: its 16 columns or, with `half`, 8 of them) with their bias into
  /// rows `first`.. of a buffer of units.rowBytes() per row; `i` is the panel's place in the unit.
  void keep(llvm::ArrayRef<Value> values, Value buffer, Value first, Value panel, Value i, Value half);
  /// Whole units at once: results[p][r] of their panels, `unit` is the first.
  void store(llvm::ArrayRef<llvm::SmallVector<Value, 12>> results, Value unit, Value row0);
  /// Finishes rows row0.. of the step, `count` of them but none beyond the step, from the buffer's row 0 on.
  void finish(Value buffer, Value unit, Value row0, Value count);

private:
  /// What is needed of a row: the pairs of its position for q and k, and where its k and v of head 0, and in
  /// an int8 cache their scales, go.
  enum Place { QTable, KTable, Key, Val, Scales };
  int64_t placesPerRow() const { return pages.scaled() ? 5 : 4; }
  Value computePlace(Place which, Value row);
  Value placeOf(Place which, Value row);
  void emitHead(Value x, const RopeParams &rope, Value gamma, float eps, Value table, Value inHead,
                llvm::function_ref<void(Value, Value, int64_t)> sink);

  KernelBuilder &k;
  const RopeKvSpec &spec;
  Value out, bias, rows, positions, qTable, kTable, qGamma, kGamma;
  KvPages pages;
  Value places; ///< of the rows of an M class, found once
};

} // namespace ingot::cpu

#endif
