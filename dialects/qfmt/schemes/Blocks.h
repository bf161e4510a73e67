//===- Blocks.h - shared parts of the block formats (private to this folder) ----------------------===//
//
// A format with one scale per 32 columns is a traits struct for Block32: its codes are unsigned (the code
// minus kZero is the value). A K-quant is a traits struct for Super256.
//
//===----------------------------------------------------------------------------------------------------===//
#ifndef INGOT_DIALECTS_QFMT_SCHEMES_BLOCKS_H
#define INGOT_DIALECTS_QFMT_SCHEMES_BLOCKS_H

#include "dialects/qfmt/schemes/Schemes.h"

#include <cassert>
#include <cmath>
#include <cstring>

namespace ingot::qfmt {

#define INGOT_SCHEME(enumerator, name) extern const SchemeOps ops_##name;
#include "dialects/qfmt/schemes/Schemes.def"

inline uint16_t read16(const uint8_t *p) { return uint16_t(p[0] | p[1] << 8); }
inline void write16(uint8_t *p, uint16_t v) {
  p[0] = uint8_t(v);
  p[1] = uint8_t(v >> 8);
}
inline float half(const uint8_t *p) { return halfToFloat(read16(p)); }

/// Payload bytes of one sub-block of 32 columns with codes of that many bits.
constexpr int64_t payloadBytes(int bits) { return bits == 8 ? 512 : bits == 6 ? 384 : bits == 5 ? 320 : 256; }

/// Writes the codes of one row's sub-block into a zeroed payload.
template <int Bits> void putCodes(uint8_t *payload, int lane, const uint8_t c[32]) {
  if constexpr (Bits == 8) {
    for (int k = 0; k < 32; ++k)
      payload[64 * (k / 4) + 4 * lane + k % 4] = c[k];
    return;
  }
  for (int j = 0; j < 4; ++j)
    for (int t = 0; t < 4; ++t)
      payload[nibbleLine(Bits, 2 * j) + 4 * lane + t] =
          uint8_t((c[8 * j + t] & 15) | (c[8 * j + 4 + t] & 15) << 4);
  for (int k = 0; k < 32 && Bits > 4; ++k) {
    int v = k / 4, byte = 4 * lane + k % 4;
    if constexpr (Bits == 5)
      payload[256 + 8 * v + byte / 8] |= uint8_t((c[k] >> 4) << (byte % 8));
    else
      payload[upperTwoLine(v) + byte] |= uint8_t((c[k] >> 4) << 2 * (v % 4));
  }
}

/// Inverse of putCodes.
template <int Bits> void getCodes(const uint8_t *payload, int lane, uint8_t c[32]) {
  for (int k = 0; k < 32; ++k) {
    int v = k / 4, byte = 4 * lane + k % 4;
    if constexpr (Bits == 8) {
      c[k] = payload[64 * v + byte];
      continue;
    }
    uint8_t w = payload[nibbleLine(Bits, v) + byte];
    c[k] = v % 2 ? w >> 4 : w & 15;
    if constexpr (Bits == 5)
      c[k] |= uint8_t((payload[256 + 8 * v + byte / 8] >> (byte % 8) & 1) << 4);
    if constexpr (Bits == 6)
      c[k] |= uint8_t((payload[upperTwoLine(v) + byte] >> 2 * (v % 4) & 3) << 4);
  }
}

/// Traits: kScheme, kBytes, kBits, kZero, kHasMin, d(block), m(block) as file bytes, codes(block, c[32]).
template <class T> struct Block32 {
  static float value(int code, float d, float m) {
    float v = float(code - T::kZero) * d;
    return T::kHasMin ? v + m : v;
  }
  static void dequantRow(const uint8_t *row, int64_t k, float *out) {
    uint8_t c[32];
    for (int64_t b = 0; b < k / 32; ++b, row += T::kBytes) {
      T::codes(row, c);
      float d = half(T::d(row)), m = T::kHasMin ? half(T::m(row)) : 0;
      for (int i = 0; i < 32; ++i)
        *out++ = value(c[i], d, m);
    }
  }
  static void packPanel(const uint8_t *const rows[16], int64_t k, uint8_t *panel) {
    PanelSize size = *panelSize(T::kScheme, k);
    std::memset(panel, 0, size_t(size.bytes));
    uint8_t c[32];
    for (int n = 0; n < 16; ++n) {
      if (!rows[n])
        continue;
      for (int64_t b = 0; b < k / 32; ++b) {
        const uint8_t *block = rows[n] + b * T::kBytes;
        T::codes(block, c);
        putCodes<T::kBits>(panel + size.payload(b), n, c);
        uint8_t *side = panel + size.side(b) + 2 * n;
        std::memcpy(side, T::d(block), 2);
        if (T::kHasMin)
          std::memcpy(side + 32, T::m(block), 2);
      }
    }
  }
  static void dequantPanelRow(const uint8_t *panel, int64_t k, int lane, float *out) {
    PanelSize size = *panelSize(T::kScheme, k);
    uint8_t c[32];
    for (int64_t b = 0; b < k / 32; ++b) {
      getCodes<T::kBits>(panel + size.payload(b), lane, c);
      const uint8_t *side = panel + size.side(b) + 2 * lane;
      float d = half(side), m = T::kHasMin ? half(side + 32) : 0;
      for (int i = 0; i < 32; ++i)
        *out++ = value(c[i], d, m);
    }
  }
  static float dotRow(const uint8_t *row, int64_t k, const ActRow &a) {
    uint8_t c[32];
    float acc = 0, acc2 = 0;
    for (int64_t b = 0; b < k / 32; ++b, row += T::kBytes) {
      T::codes(row, c);
      int32_t s = 0;
      for (int i = 0; i < 32; ++i)
        s += (c[i] - T::kZero) * a.q[32 * b + i];
      acc = std::fma(float(s), half(T::d(row)) * a.da[b], acc);
      if (T::kHasMin)
        acc2 = std::fma(half(T::m(row)), a.ds[b], acc2);
    }
    return T::kHasMin ? acc + acc2 : acc;
  }
  static constexpr SchemeOps ops() { return {dequantRow, packPanel, dequantPanelRow, dotRow, nullptr}; }
};

/// Scale and minimum of sub-block `s` (0..7) from the 12 packed bytes of a K-quant.
inline void scaleMin(const uint8_t *q, int s, uint8_t &scale, uint8_t &min) {
  if (s < 4) {
    scale = q[s] & 63;
    min = q[s + 4] & 63;
    return;
  }
  scale = uint8_t((q[s + 4] & 15) | (q[s - 4] >> 6) << 4);
  min = uint8_t((q[s + 4] >> 4) | (q[s] >> 6) << 4);
}

/// q4_k and q5_k. Traits: kScheme, kBytes, kBits, codes(block, s, c[32]); d, dmin, scales lie at 0, 2, 4.
template <class T> struct Super256 {
  static void dequantRow(const uint8_t *row, int64_t k, float *out) {
    uint8_t c[32], sc, mn;
    for (int64_t b = 0; b < k / 256; ++b, row += T::kBytes)
      for (int s = 0; s < 8; ++s) {
        T::codes(row, s, c);
        scaleMin(row + 4, s, sc, mn);
        float d = half(row) * float(sc), m = half(row + 2) * float(mn);
        for (int i = 0; i < 32; ++i)
          *out++ = d * float(c[i]) - m;
      }
  }
  static void packPanel(const uint8_t *const rows[16], int64_t k, uint8_t *panel) {
    PanelSize size = *panelSize(T::kScheme, k);
    std::memset(panel, 0, size_t(size.bytes));
    uint8_t c[32];
    for (int n = 0; n < 16; ++n) {
      if (!rows[n])
        continue;
      for (int64_t b = 0; b < k / 256; ++b) {
        const uint8_t *block = rows[n] + b * T::kBytes;
        uint8_t *side = panel + size.side(b), *payload = panel + size.payload(b);
        std::memcpy(side + 2 * n, block, 2);
        std::memcpy(side + 32 + 2 * n, block + 2, 2);
        for (int s = 0; s < 8; ++s) {
          T::codes(block, s, c);
          putCodes<T::kBits>(payload + s * payloadBytes(T::kBits), n, c);
          scaleMin(block + 4, s, side[64 + 16 * s + n], side[192 + 16 * s + n]);
        }
      }
    }
  }
  static void dequantPanelRow(const uint8_t *panel, int64_t k, int lane, float *out) {
    PanelSize size = *panelSize(T::kScheme, k);
    uint8_t c[32];
    for (int64_t b = 0; b < k / 256; ++b) {
      const uint8_t *side = panel + size.side(b), *payload = panel + size.payload(b);
      for (int s = 0; s < 8; ++s) {
        getCodes<T::kBits>(payload + s * payloadBytes(T::kBits), lane, c);
        float d = half(side + 2 * lane) * float(side[64 + 16 * s + lane]);
        float m = half(side + 32 + 2 * lane) * float(side[192 + 16 * s + lane]);
        for (int i = 0; i < 32; ++i)
          *out++ = d * float(c[i]) - m;
      }
    }
  }
  static float dotRow(const uint8_t *row, int64_t k, const ActRow &a) {
    uint8_t c[32], sc, mn;
    float acc = 0, acc2 = 0;
    for (int64_t g = 0; g < k / 32; ++g) {
      const uint8_t *block = row + g / 8 * T::kBytes;
      T::codes(block, int(g % 8), c);
      scaleMin(block + 4, int(g % 8), sc, mn);
      int32_t sum = 0;
      for (int i = 0; i < 32; ++i)
        sum += c[i] * a.q[32 * g + i];
      float d = half(block) * float(sc), m = half(block + 2) * float(mn);
      acc = std::fma(float(sum), d * a.da[g], acc);
      acc2 = std::fma(-m, a.ds[g], acc2);
    }
    return acc + acc2;
  }
  static constexpr SchemeOps ops() { return {dequantRow, packPanel, dequantPanelRow, dotRow, nullptr}; }
};

/// 16 bytes of nibbles: low nibbles are columns 0..15, high nibbles 16..31.
inline void nibbles16(const uint8_t *p, uint8_t c[32]) {
  for (int i = 0; i < 16; ++i) {
    c[i] = p[i] & 15;
    c[i + 16] = p[i] >> 4;
  }
}
/// Adds bit 4 of each code from 32 bits, bit i for column i.
inline void fifthBits(const uint8_t *p, uint8_t c[32]) {
  for (int i = 0; i < 32; ++i)
    c[i] |= uint8_t((p[i / 8] >> (i % 8) & 1) << 4);
}

} // namespace ingot::qfmt

#endif
