//===- RopeKv.h - scalar specification of rotary embedding and the KV cache layout ----------------------===//
//
// Rotation of a pair (a, b) by (c, s): (fma(a, c, -(b * s)), fma(a, s, b * c)).
// A KV page holds 16 tokens: per kv head K as [dim][16], then V as [16][v_dim]; heads follow each other.
//
//===----------------------------------------------------------------------------------------------------===//
#ifndef INGOT_CODEGEN_CPU_SPEC_ROPEKV_H
#define INGOT_CODEGEN_CPU_SPEC_ROPEKV_H

#include <cstdint>

namespace ingot::spec {

enum class RopeStyle {
  Half,       ///< pairs (i, i + rotary_dim / 2)
  Interleaved ///< pairs (2i, 2i + 1)
};

enum class KvType { F32, F16, Bf16 };

inline int64_t kvElemBytes(KvType t) { return t == KvType::F32 ? 4 : 2; }

/// Tokens per page, keys per attention block, positions per attention segment: absolute boundaries.
inline constexpr int64_t kKvPage = 16;
inline constexpr int64_t kAttnBlock = 64;
inline constexpr int64_t kAttnSegment = 512;

/// Geometry of one layer's cache. Offsets are in elements inside a page.
struct KvLayout {
  int64_t heads = 0;
  int64_t dim = 0;
  int64_t vDim = 0;
  KvType type = KvType::F16;
  int64_t headElems() const { return (dim + vDim) * kKvPage; }
  int64_t pageBytes() const { return heads * headElems() * kvElemBytes(type); }
  int64_t kIndex(int64_t head, int64_t d, int64_t slot) const {
    return head * headElems() + d * kKvPage + slot;
  }
  int64_t vIndex(int64_t head, int64_t d, int64_t slot) const {
    return head * headElems() + dim * kKvPage + slot * vDim + d;
  }
};

/// Rotates x[0 .. rotaryDim-1] in place; `table` has rotaryDim / 2 pairs (cos, sin) of the row's position.
void rope(float *x, int64_t rotaryDim, RopeStyle style, const float *table);

/// The value as the cache stores it.
float kvRound(float x, KvType type);

/// Stores element `index` of a page, rounding to nearest even; loads it back.
void kvStore(uint8_t *page, int64_t index, float x, KvType type);
float kvLoad(const uint8_t *page, int64_t index, KvType type);

} // namespace ingot::spec
#endif
