//===- RopeKv.h - scalar specification of rotary embedding and the KV cache layout ----------------------===//
//
// Rotation of a pair (a, b) by (c, s): (fma(a, c, -(b * s)), fma(a, s, b * c)).
// A KV page holds 16 tokens: per kv head K as [dim][16], then V as [16][v_dim]; heads follow each other. In
// int8 a token's K of a head has one f32 scale, and its V another: K's of 16 tokens lie behind V, then V's.
//
//===----------------------------------------------------------------------------------------------------===//
#ifndef INGOT_CODEGEN_CPU_SPEC_ROPEKV_H
#define INGOT_CODEGEN_CPU_SPEC_ROPEKV_H

#include "runtime/abi/ingot_abi.h"

#include <cstdint>

namespace ingot::spec {

enum class RopeStyle {
  Half,       ///< pairs (i, i + rotary_dim / 2)
  Interleaved ///< pairs (2i, 2i + 1)
};

enum class KvType { F32 = INGOT_KV_F32, F16 = INGOT_KV_F16, Bf16 = INGOT_KV_BF16, Int8 = INGOT_KV_INT8 };

inline int64_t kvElemBytes(KvType t) { return t == KvType::F32 ? 4 : t == KvType::Int8 ? 1 : 2; }

/// Tokens per page, keys per attention block, positions per attention segment: absolute boundaries.
inline constexpr int64_t kKvPage = 16;
inline constexpr int64_t kAttnBlock = 64;
inline constexpr int64_t kAttnSegment = 512;

/// Geometry of one layer's cache. Indices are in elements inside a page.
struct KvLayout {
  int64_t heads = 0;
  int64_t dim = 0;
  int64_t vDim = 0;
  KvType type = KvType::F16;
  bool scaled() const { return type == KvType::Int8; }
  int64_t headBytes() const {
    return int64_t(ingot_kv_head_bytes(uint32_t(type), uint64_t(dim), uint64_t(vDim)));
  }
  int64_t headElems() const { return headBytes() / kvElemBytes(type); }
  int64_t pageBytes() const { return heads * headBytes(); }
  /// int8: bytes from a head to the scales of K and to those of V.
  int64_t kScales() const { return (dim + vDim) * kKvPage; }
  int64_t vScales() const { return kScales() + 4 * kKvPage; }
  int64_t kIndex(int64_t head, int64_t d, int64_t slot) const {
    return head * headElems() + d * kKvPage + slot;
  }
  int64_t vIndex(int64_t head, int64_t d, int64_t slot) const {
    return head * headElems() + dim * kKvPage + slot * vDim + d;
  }
};

/// Rotates x[0 .. rotaryDim-1] in place; `table` has rotaryDim / 2 pairs (cos, sin) of the row's position.
void rope(float *x, int64_t rotaryDim, RopeStyle style, const float *table);

/// The value as a cache of floats stores it.
float kvRound(float x, KvType type);

/// Stores element `index` of a page of floats, rounding to nearest even.
void kvStore(uint8_t *page, int64_t index, float x, KvType type);
/// Loads it; int8: the code.
float kvLoad(const uint8_t *page, int64_t index, KvType type);

/// int8 codes of a token's K or V of one head and their scale. amax = max |x|: scale = amax / 127, codes =
/// roundeven(fl(x * (127 / amax))) clamped to -127 .. 127. amax < 1e-30: all zero. A value that is not
/// finite: scale NaN, codes 0.
float kvQuantize(const float *x, int64_t n, int8_t *codes);

/// Stores K (dim values) or V (vDim values) of a head of the token in place `slot`.
void kvStoreK(uint8_t *page, const KvLayout &kv, int64_t head, int64_t slot, const float *x);
void kvStoreV(uint8_t *page, const KvLayout &kv, int64_t head, int64_t slot, const float *x);
/// int8: the scales.
float kvScaleK(const uint8_t *page, const KvLayout &kv, int64_t head, int64_t slot);
float kvScaleV(const uint8_t *page, const KvLayout &kv, int64_t head, int64_t slot);

} // namespace ingot::spec
#endif
