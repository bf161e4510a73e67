//===- q6_k.cpp - 256 columns: 128 bytes of nibbles, 64 of 2-bit parts, 16 signed scales, f16 d ---===//
//
// Value (q - 32) fl(d sc), one scale per 16 columns. In each half of 128 columns, nibble byte 64 h + 32 (g %
// 2) + i holds column 32 g + i of group g = 0..3 (low nibble for g < 2), and bits 2 g .. 2 g + 1 of part byte
// 32 h + i go on top.
//
//===----------------------------------------------------------------------------------------------------===//
#include "dialects/qfmt/schemes/Blocks.h"

using namespace ingot::qfmt;

static constexpr int64_t kBytes = 210, kPayload = payloadBytes(6);

static void codes(const uint8_t *block, int s, uint8_t c[32]) {
  int h = s / 4, g = s % 4;
  const uint8_t *low = block + 64 * h + 32 * (g % 2), *high = block + 128 + 32 * h;
  for (int i = 0; i < 32; ++i)
    c[i] = uint8_t((g < 2 ? low[i] & 15 : low[i] >> 4) | (high[i] >> 2 * g & 3) << 4);
}

static void dequantRow(const uint8_t *row, int64_t k, float *out) {
  uint8_t c[32];
  for (int64_t b = 0; b < k / 256; ++b, row += kBytes)
    for (int s = 0; s < 8; ++s) {
      codes(row, s, c);
      for (int i = 0; i < 32; ++i) {
        float d = half(row + 208) * float(int8_t(row[192 + 2 * s + i / 16]));
        *out++ = d * float(c[i] - 32);
      }
    }
}

static void packPanel(const uint8_t *const rows[16], int64_t k, uint8_t *panel) {
  PanelSize size = *panelSize(Scheme::Q6_K, k);
  std::memset(panel, 0, size_t(size.bytes));
  uint8_t c[32];
  for (int n = 0; n < 16; ++n) {
    if (!rows[n])
      continue;
    for (int64_t b = 0; b < k / 256; ++b) {
      const uint8_t *block = rows[n] + b * kBytes;
      uint8_t *side = panel + size.side(b), *payload = panel + size.payload(b);
      std::memcpy(side + 2 * n, block + 208, 2);
      for (int i = 0; i < 16; ++i)
        side[32 + 16 * i + n] = block[192 + i];
      for (int s = 0; s < 8; ++s) {
        codes(block, s, c);
        putCodes<6>(payload + s * kPayload, n, c);
      }
    }
  }
}

static void dequantPanelRow(const uint8_t *panel, int64_t k, int lane, float *out) {
  PanelSize size = *panelSize(Scheme::Q6_K, k);
  uint8_t c[32];
  for (int64_t g = 0; g < k / 32; ++g) {
    const uint8_t *side = panel + size.side(g / 8);
    getCodes<6>(panel + size.payload(g / 8) + g % 8 * kPayload, lane, c);
    for (int i = 0; i < 32; ++i) {
      float d = half(side + 2 * lane) * float(int8_t(side[32 + 16 * (2 * (g % 8) + i / 16) + lane]));
      *out++ = d * float(c[i] - 32);
    }
  }
}

static float dotRow(const uint8_t *row, int64_t k, const ActRow &a) {
  uint8_t c[32];
  float acc = 0;
  for (int64_t g = 0; g < k / 32; ++g) {
    const uint8_t *block = row + g / 8 * kBytes;
    codes(block, int(g % 8), c);
    for (int h = 0; h < 2; ++h) {
      int32_t sum = 0;
      for (int i = 16 * h; i < 16 * h + 16; ++i)
        sum += (c[i] - 32) * a.q[32 * g + i];
      float d = half(block + 208) * float(int8_t(block[192 + 2 * (g % 8) + h]));
      acc = std::fma(float(sum), d * a.da[g], acc);
    }
  }
  return acc;
}

const SchemeOps ingot::qfmt::ops_q6_k = {dequantRow, packPanel, dequantPanelRow, dotRow, nullptr};
