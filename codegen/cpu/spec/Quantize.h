//===- Quantize.h - scalar specification of the int8 activation format ----------------------------------===//
//
// #qfmt.act<i8, group = 32, block = R>: rows are packed in blocks of R. One block is a region of
//   q   [Kp / 4][R]  32-bit words, four consecutive int8 values of one row each
//   da  [Kp / 32][R] f32 scales
//   ds  [Kp / 32][R] f32, fl(da * f32(sum of the group's q))
//   s16 [Kp / 16][R] i32, exact sums of 16 values
// with Kp = K rounded up to 32 (values beyond K are zeros) and the region's size rounded up to 64 bytes.
// Rows of a block beyond the step's rows hold anything: no row reads another row.
//
//===-------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_CODEGEN_CPU_SPEC_QUANTIZE_H
#define INGOT_CODEGEN_CPU_SPEC_QUANTIZE_H

#include <cstdint>

namespace ingot::spec {

/// Offsets in bytes of one block of packed activations. K >= 1, R >= 1.
struct ActLayout {
  int64_t K = 0;
  int64_t R = 1;
  int64_t kp() const { return (K + 31) / 32 * 32; }
  int64_t daOffset() const { return kp() * R; }
  int64_t dsOffset() const { return daOffset() + kp() / 32 * R * 4; }
  int64_t s16Offset() const { return dsOffset() + kp() / 32 * R * 4; }
  int64_t regionBytes() const { return (s16Offset() + kp() / 16 * R * 4 + 63) / 64 * 64; }
  /// Bytes of a buffer for `rows` rows.
  int64_t bytes(int64_t rows) const { return (rows + R - 1) / R * regionBytes(); }
};

/// One group of 32 values.
struct ActGroup {
  int8_t q[32];
  float da;
  float ds;
  int32_t s16[2];
};

/// Quantizes x[0 .. 31]: amax = max |x|, da = amax / 127; all zero when amax < 1e-30; else
/// q = roundeven(x * (127 / amax)) clamped to +-127.
ActGroup quantizeGroup(const float x[32]);

/// Quantizes x[0 .. K-1] as row `row` of the packed buffer `act`.
void quantizeRow(const ActLayout &layout, const float *x, int64_t row, uint8_t *act);

/// Reads group `group` of row `row` back.
ActGroup readGroup(const ActLayout &layout, const uint8_t *act, int64_t row, int64_t group);

} // namespace ingot::spec
#endif
