//===- Schemes.h - what the bytes of each weight format mean --------------------------------------===//
//
// Scalar reference code, one file a format: dequantization of file rows, packing into n16 panels, reading a
// packed row back, and the specification of the dot product that every kernel equals bit for bit. Plain C++.
//
// Panel layout n16 (16 rows; lane n = row n of the panel; see Geometry.h for sizes). Sub-block = 32 columns.
//   payload region, sub-block after sub-block:
//     nibbles, 256 B: byte 64 j + 4 n + t holds column 8 j + t in its low and 8 j + 4 + t in its high nibble
//     5-bit formats, 64 B behind them: "vector" v = 2 j (low nibbles) or 2 j + 1 (high nibbles) has 8 bytes
//     at 8 v;
//       bit i of them (little-endian) is bit 4 of the code at byte i of that vector
//     6-bit format, 128 B behind them: for v = 4 h + s, bits 2 s .. 2 s + 1 of byte 64 h + i are bits 4..5 of
//     the
//       code at byte i of vector v
//     q8_0, 512 B: byte 64 j + 4 n + t (j = 0..7) holds column 4 j + t as q + 128
//     floats: [column][16] values
//   side region: q4_0 q5_0 q8_0: 16 f16 d per sub-block; q4_1 q5_1: 16 d, 16 m per sub-block;
//     q4_k q5_k per 256 columns: 16 d, 16 dmin, scales [8][16] u8, minimums [8][16] u8;
//     q6_k per 256 columns: 16 d, scales [16][16] i8
//   each region is padded with zeros to 64 bytes. A row that does not exist is all zero bytes.
//
// Dot (acc and acc2 start at +0, sub-blocks ascend, S exact integers, da and ds of the activation's group of
// 32):
//   q4_0 q5_0 q8_0   acc = fma(f32(S), fl(d da), acc)                                       y = acc
//   q4_1 q5_1        the same, acc2 = fma(m, ds, acc2)                                      y = acc + acc2
//   q4_k q5_k        D = fl(d sc), M = fl(dmin mn): acc = fma(f32(S), fl(D da), acc), acc2 = fma(-M, ds,
//   acc2) q6_k             per 16 columns: D = fl(d sc), acc = fma(f32(S), fl(D da), acc)         y = acc
//   floats           acc = fma(w, x, acc), columns ascending                                y = acc
//
//===----------------------------------------------------------------------------------------------------===//
#ifndef INGOT_DIALECTS_QFMT_SCHEMES_SCHEMES_H
#define INGOT_DIALECTS_QFMT_SCHEMES_SCHEMES_H

#include "dialects/qfmt/Geometry.h"

#include <cstdint>

namespace ingot::qfmt {

/// One activation row quantized per 32: codes q[K], scales da[K/32], ds[K/32] = fl(da f32(sum of q)).
struct ActRow {
  const int8_t *q;
  const float *da;
  const float *ds;
};

struct SchemeOps {
  /// Values of `k` columns of one file row; k is a multiple of the scheme's block. Bit-equal to the format's
  /// definition: every multiplication and addition rounds to f32.
  void (*dequantRow)(const uint8_t *row, int64_t k, float *out);
  /// One n16 panel of panelSize(scheme, k).bytes from 16 file rows; a null row gives zero bytes.
  void (*packPanel)(const uint8_t *const rows[16], int64_t k, uint8_t *panel);
  /// Row `lane` of a panel, bit-equal to dequantRow of the file row.
  void (*dequantPanelRow)(const uint8_t *panel, int64_t k, int lane, float *out);
  /// The specification: row dot activations. Null for float formats.
  float (*dotRow)(const uint8_t *row, int64_t k, const ActRow &act);
  /// The specification for float formats: row dot f32 values. Null for the others.
  float (*dotRowF32)(const uint8_t *row, int64_t k, const float *x);
};

/// Total over the enum.
const SchemeOps &schemeOps(Scheme scheme);

/// Quantizes k values (k a multiple of 32): per 32, amax = max |x|; below 1e-30: da = 0 and codes 0; else
/// da = amax / 127, id = 127 / amax, q = round-to-even(x id) clamped to +-127. ds as in ActRow.
void quantizeActRow(const float *x, int64_t k, int8_t *q, float *da, float *ds);

/// IEEE half to float, exact.
float halfToFloat(uint16_t h);
/// Float to IEEE half, round to nearest even; NaN stays NaN.
uint16_t floatToHalf(float f);

} // namespace ingot::qfmt

#endif
