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

/// Where tokens lie in the pages of the launch's layer.
class KvPages {
public:
  KvPages(KernelBuilder &k, const spec::KvLayout &layout);
  struct Token {
    Value page; ///< address of the page
    Value slot; ///< place in the page, 0 .. 15
  };
  /// Of the step's row `row`, which has position `pos` (both i64).
  Token token(Value row, Value pos);
  /// K of a head is [dim][16]: address of the token's first value; the next one is keyStride() bytes on.
  Value keys(const Token &token, Value head);
  int64_t keyStride() const { return spec::kKvPage * elem; }
  /// V of a head is [16][vDim]: address of the token's values.
  Value values(const Token &token, Value head);
  /// From one head's place to the next head's.
  int64_t headBytes() const { return layout.headBytes(); }
  /// int8: address of the scale of the token's K of a head; that of its V is at scaleStride().
  Value scales(const Token &token, Value head);
  int64_t scaleStride() const { return layout.vScales() - layout.kScales(); }
  bool scaled() const { return layout.scaled(); }
  /// int8: quantizes K (V) of a head, f32 values at `x`, to `to` (an address that keys() (values()) gives)
  /// and stores the scale.
  void quantizeKeys(Value x, Value to, Value scale);
  void quantizeValues(Value x, Value to, Value scale);
  Type element() const { return stored; }
  int64_t elementBytes() const { return elem; }

private:
  Value headOf(const Token &token, Value head);
  void quantize(Value x, int64_t n, Value scale, llvm::function_ref<void(Value, Value, int64_t)> sink);
  KernelBuilder &k;
  spec::KvLayout layout;
  Type stored;
  int64_t elem;
  Value cache, stride, rowSeq, blockTable, blockStride;
};

/// Emits what is done with one head, or with a piece of one that holds whole pairs.
class HeadEmitter {
public:
  /// `dim` values; without normalize() they are taken as they are.
  HeadEmitter(KernelBuilder &k, int64_t dim) : k(k), dim(dim) {}
  /// From here on values are normalised: `dim` values at `x`, weights at `gamma`.
  void normalize(Value x, Value gamma, float eps);
  /// Reads the values at `x`, rotates those before r.rotaryDim by the (cos, sin) pairs at `table`, hands
  /// vectors to sink(values, first, n). Every vector is read before its columns are handed over, so sink may
  /// write to `x`.
  void rotate(Value x, const RopeParams &r, Value table,
              llvm::function_ref<void(Value, int64_t, int64_t)> sink);

private:
  KernelBuilder &k;
  int64_t dim;
  Value scale, gamma;
  using Sink = llvm::function_ref<void(Value, int64_t, int64_t)>;
  Value value(Value x, int64_t first, int64_t n);
  void rotateHalf(Value x, int64_t pairs, Value table, Sink sink);
  void rotateInterleaved(Value x, int64_t rotated, Value table, Sink sink);
};

/// Stored type of a cache.
Type kvElement(KernelBuilder &k, spec::KvType type);

} // namespace ingot::cpu

#endif
