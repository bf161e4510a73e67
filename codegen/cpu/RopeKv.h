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

/// Lanes 2i and 2i + 1 of `v` are pair i, those of `table` its (cos, sin): the rotated pairs.
Value rotatePairs(KernelBuilder &k, Value v, Value table);

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
  int64_t headBytes() const { return layout.headElems() * elem; }
  Type element() const { return stored; }
  int64_t elementBytes() const { return elem; }

private:
  Value headOf(const Token &token, Value head);
  KernelBuilder &k;
  spec::KvLayout layout;
  Type stored;
  int64_t elem;
  Value cache, rowSeq, blockTable, blockStride;
};

/// Stored type of a cache.
Type kvElement(KernelBuilder &k, spec::KvType type);

} // namespace ingot::cpu

#endif
