//===- RopeKv.cpp - scalar specification of rotary embedding and the KV cache ---------------------------===//
#include "codegen/cpu/spec/RopeKv.h"
#include "codegen/cpu/spec/Math.h"
#include "codegen/cpu/spec/MathConstants.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace ingot::spec {

void rope(float *x, int64_t rotaryDim, RopeStyle style, const float *table) {
  int64_t pairs = rotaryDim / 2;
  for (int64_t i = 0; i < pairs; ++i) {
    float *pa = style == RopeStyle::Half ? x + i : x + 2 * i;
    float *pb = style == RopeStyle::Half ? x + i + pairs : x + 2 * i + 1;
    float a = *pa, b = *pb, c = table[2 * i], s = table[2 * i + 1];
    *pa = std::fma(a, c, -(b * s));
    *pb = std::fma(a, s, b * c);
  }
}

float kvRound(float x, KvType type) {
  if (type == KvType::F16)
    return f16ToF32(f32ToF16(x));
  if (type == KvType::Bf16)
    return bf16ToF32(f32ToBf16(x));
  return x;
}

void kvStore(uint8_t *page, int64_t index, float x, KvType type) {
  assert(type != KvType::Int8 && "a code needs the whole head");
  if (type == KvType::F32) {
    std::memcpy(page + index * 4, &x, 4);
    return;
  }
  uint16_t h = type == KvType::F16 ? f32ToF16(x) : f32ToBf16(x);
  std::memcpy(page + index * 2, &h, 2);
}

float kvLoad(const uint8_t *page, int64_t index, KvType type) {
  if (type == KvType::F32) {
    float x;
    std::memcpy(&x, page + index * 4, 4);
    return x;
  }
  if (type == KvType::Int8)
    return float(int8_t(page[index]));
  uint16_t h;
  std::memcpy(&h, page + index * 2, 2);
  return type == KvType::F16 ? f16ToF32(h) : bf16ToF32(h);
}

float kvQuantize(const float *x, int64_t n, int8_t *codes) {
  // Magnitudes are compared as integers: a NaN is then above all numbers, whatever the order.
  uint32_t most = 0;
  for (int64_t i = 0; i < n; ++i)
    most = std::max(most, bitsOf(x[i]) & 0x7fffffffu);
  float amax = floatOf(most);
  bool bad = most >= 0x7f800000u, zero = bad || amax < 1e-30f;
  float inverse = zero ? 0.0f : 127.0f / amax;
  for (int64_t i = 0; i < n; ++i) {
    // |x * inverse| <= 127 (1 + 2^-22): the addition rounds to an integer, ties to even, into the low bits.
    int32_t q = int32_t(bitsOf(x[i] * inverse + kRoundMagic)) - int32_t(bitsOf(kRoundMagic));
    codes[i] = bad ? int8_t(0) : int8_t(std::clamp(q, -127, 127));
  }
  return bad ? std::numeric_limits<float>::quiet_NaN() : zero ? 0.0f : amax / 127.0f;
}

static void storeHead(uint8_t *page, const KvLayout &kv, const float *x, int64_t n, int64_t index,
                      int64_t step, int64_t scaleAt) {
  if (!kv.scaled()) {
    for (int64_t d = 0; d < n; ++d)
      kvStore(page, index + d * step, x[d], kv.type);
    return;
  }
  std::vector<int8_t> codes(size_t(n), 0);
  float scale = kvQuantize(x, n, codes.data());
  for (int64_t d = 0; d < n; ++d)
    page[index + d * step] = uint8_t(codes[size_t(d)]);
  std::memcpy(page + scaleAt, &scale, 4);
}

void kvStoreK(uint8_t *page, const KvLayout &kv, int64_t head, int64_t slot, const float *x) {
  storeHead(page, kv, x, kv.dim, kv.kIndex(head, 0, slot), kKvPage,
            head * kv.headBytes() + kv.kScales() + 4 * slot);
}

void kvStoreV(uint8_t *page, const KvLayout &kv, int64_t head, int64_t slot, const float *x) {
  storeHead(page, kv, x, kv.vDim, kv.vIndex(head, 0, slot), 1,
            head * kv.headBytes() + kv.vScales() + 4 * slot);
}

float kvScaleK(const uint8_t *page, const KvLayout &kv, int64_t head, int64_t slot) {
  return kvLoad(page + head * kv.headBytes() + kv.kScales(), slot, KvType::F32);
}

float kvScaleV(const uint8_t *page, const KvLayout &kv, int64_t head, int64_t slot) {
  return kvLoad(page + head * kv.headBytes() + kv.vScales(), slot, KvType::F32);
}

} // namespace ingot::spec
