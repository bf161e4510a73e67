//===- Geometry.h - block geometry and packed sizes of weight formats ------------------------------===//
//
// Plain C++ (no MLIR): sizes of a scheme's blocks in the file and of a matrix in each packed layout. The enum
// values are also those of the dialect's attributes. Everything that computes a byte count of a parameter
// (memory plan, pack writer, verifiers) goes through `packedBytes`, so that the plan and the pack cannot
// differ.
//
//===----------------------------------------------------------------------------------------------------===//
#ifndef INGOT_DIALECTS_QFMT_GEOMETRY_H
#define INGOT_DIALECTS_QFMT_GEOMETRY_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace ingot::qfmt {

/// How the values of a weight matrix are encoded. Blocks run along a row (the K direction).
enum class Scheme : uint32_t { F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K };

/// Where the bytes of a packed matrix lie. `Row`: as in the file, row after row. `N16`: CPU panels of 16
/// rows.
enum class Layout : uint32_t { Row, N16 };

/// Element kind of an activation row as a linear reads it.
enum class ActKind : uint32_t { F32, I8 };

/// Geometry of one scheme; all sizes in elements or bytes.
struct SchemeGeometry {
  const char *name;
  uint32_t blockElems;   ///< elements of one block in the file (1 for floats)
  uint32_t blockBytes;   ///< bytes of one block in the file
  uint32_t subBlock;     ///< elements that share one scale (1 for floats)
  bool isFloat;          ///< no scales: the dot is a plain fma chain
  bool hasMin;           ///< a minimum (or offset) is stored beside the scale
  uint32_t panelPayload; ///< n16: payload bytes of 16 rows x one K step
  uint32_t panelSide;    ///< n16: side bytes (scales, minima) of 16 rows x one K step
  uint32_t kStep;        ///< n16: K is padded to a multiple of this
};

/// Geometry of `scheme`; total over the enum.
const SchemeGeometry &geometry(Scheme scheme);

/// Lower-case name as written in the IR and in packs ("q4_k"), and its inverse.
const char *schemeName(Scheme scheme);
std::optional<Scheme> parseScheme(std::string_view name);
const char *layoutName(Layout layout);
std::optional<Layout> parseLayout(std::string_view name);

/// Bytes of N rows and K columns as a model file holds them; none on overflow, on non-positive sizes or where
/// K is no multiple of the scheme's block.
std::optional<int64_t> fileBytes(Scheme scheme, int64_t n, int64_t k);

/// Bytes of an NxK parameter in a pack; none on overflow or on an illegal shape (see `fileBytes`).
/// Row: file bytes; a float32 vector (N = 1) is padded to 16 elements. N16: panels of 16 rows (PanelSize).
std::optional<int64_t> packedBytes(Scheme scheme, Layout layout, int64_t n, int64_t k);

/// One 16-row panel of K columns: a sequence of units. A unit is the side data of `steps` K steps, the fewest
/// that fill 64-byte lines, then the payloads of these steps, so that a panel is read as one linear stream.
/// In the last unit the payloads of missing steps are left out. A panel ends on a multiple of 64 bytes.
struct PanelSize {
  int64_t bytes;                                              ///< of the panel
  int64_t steps;                                              ///< K steps of a unit
  int64_t sideBytes, payloadBytes;                            ///< of one K step
  int64_t payloadOffset() const { return steps * sideBytes; } ///< of a unit's first payload
  int64_t unitBytes() const { return steps * (sideBytes + payloadBytes); }
  /// Offsets in the panel of the side data and of the payload of K step `step`.
  int64_t side(int64_t step) const { return step / steps * unitBytes() + step % steps * sideBytes; }
  int64_t payload(int64_t step) const {
    return step / steps * unitBytes() + payloadOffset() + step % steps * payloadBytes;
  }
};
std::optional<PanelSize> panelSize(Scheme scheme, int64_t k);

/// In the payload of a sub-block, the line with the nibbles of columns 4 v .. 4 v + 3 (codes of 4, 5 and 6
/// bits; low ones for even v, high ones for odd v) and, of 6-bit codes, the one with their upper two bits (at
/// bit 2 (v % 4)). Lines of 6-bit codes ascend in the order of their use: prefetchers were seen not to follow
/// a stream that goes back.
constexpr int64_t nibbleLine(int bits, int64_t v) {
  return 64 * (v / 2) + (bits == 6 ? 64 * (v / 4 + 1) : 0);
}
constexpr int64_t upperTwoLine(int64_t v) { return 192 * (v / 4); }

/// Bytes of one act<i8, 32, block> region: `block` rows of K columns quantized per 32, with their scales and
/// sums: q [Kp/4][R] i32, da [Kp/32][R] f32, ds [Kp/32][R] f32, s16 [Kp/16][R] i32; rounded up to 64 bytes.
std::optional<int64_t> actBlockBytes(int64_t k, int64_t block);

} // namespace ingot::qfmt

#endif
