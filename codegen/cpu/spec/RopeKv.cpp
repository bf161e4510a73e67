//===- RopeKv.cpp - scalar specification of rotary embedding and the KV cache ---------------------------===//
#include "codegen/cpu/spec/RopeKv.h"
#include "codegen/cpu/spec/Math.h"

#include <cmath>
#include <cstring>

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
  uint16_t h;
  std::memcpy(&h, page + index * 2, 2);
  return type == KvType::F16 ? f16ToF32(h) : bf16ToF32(h);
}

} // namespace ingot::spec
