//===- LinearAmxBf16.h - bf16 weights on AMX tiles (private to the linear family) -----------------===//
//
// Under --numerics=fast: A = rows of activations rounded to bf16, B = 32 columns of a panel as 16 pairs of
// columns, C = f32 sums that stay in tiles over all of K. The expression is dotBf16Tiles of spec/Math.h: per
// 32 columns a chain of the even and one of the odd columns, their sum added to the result. `amxInSoftware`
// lowers a tile product to loops on the same memory, so that everything else is tested on machines without
// AMX.
//
//===----------------------------------------------------------------------------------------------------===//
#ifndef INGOT_CODEGEN_CPU_LINEARAMXBF16_H
#define INGOT_CODEGEN_CPU_LINEARAMXBF16_H

#include "codegen/cpu/Linear.h"

namespace ingot::cpu {

/// Why the products of `spec` cannot be had from bf16 tiles, empty where they can.
std::string refuseAmxBf16(const LinearSpec &spec, const target::Target &target);

class AmxBf16Products {
public:
  /// For at most `panels` panels at once.
  AmxBf16Products(KernelBuilder &k, const LinearSpec &spec) : k(k), spec(spec) {}

  /// Rows of one tile.
  static int64_t tileRows(const LinearSpec &spec) { return spec.rows > 0 ? spec.rows : 16; }
  /// Rows that are computed together: those of the chunk, in whole pairs of tiles.
  static int64_t capacity(const LinearSpec &spec);
  /// Bytes of the B tiles of one panel.
  static int64_t panelBytes(const LinearSpec &spec) { return spec.k / 32 * 1024; }

  /// Brings the panels at `bases` into tile order at `to`, one after the other.
  void unpack(const KernelBuilder::Values &bases, Value to);
  /// sums[row][panel][16] += a[row] * panel for rows 0 .. count - 1 and up to capacity(), in whole tiles.
  /// `a`: bf16 rows, `stride` bytes apart; `b`: what unpack() wrote.
  void run(Value a, int64_t stride, Value b, int64_t panels, Value sums, Value count);

private:
  KernelBuilder &k;
  const LinearSpec &spec;

  void tiles(Value a, int64_t stride, Value b, int64_t panels, Value sums, int64_t rowTiles);
  void inSoftware(Value a, int64_t stride, Value b, int64_t panels, Value sums, int64_t rows);
};

} // namespace ingot::cpu

#endif
