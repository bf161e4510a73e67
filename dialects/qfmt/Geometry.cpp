//===- Geometry.cpp - block geometry and packed sizes of weight formats ----------------------------===//
//
// The one table of sizes. All products are checked: shapes come from model files.
//
//===----------------------------------------------------------------------------------------------------===//
#include "dialects/qfmt/Geometry.h"

#include <cassert>
#include <cstddef>

namespace ingot::qfmt {
namespace {

// Order of the enum. Columns: name, block elements, block bytes, sub-block, float, min, payload, side, K
// step.
constexpr SchemeGeometry kTable[] = {
    {"f32", 1, 4, 1, true, false, 64, 0, 1},
    {"f16", 1, 2, 1, true, false, 32, 0, 1},
    {"bf16", 1, 2, 1, true, false, 32, 0, 1},
    {"q8_0", 32, 34, 32, false, false, 512, 32, 32},
    {"q4_0", 32, 18, 32, false, false, 256, 32, 32},
    {"q4_1", 32, 20, 32, false, true, 256, 64, 32},
    {"q5_0", 32, 22, 32, false, false, 320, 32, 32},
    {"q5_1", 32, 24, 32, false, true, 320, 64, 32},
    {"q4_k", 256, 144, 32, false, true, 8 * 256, 320, 256},
    {"q5_k", 256, 176, 32, false, true, 8 * 320, 320, 256},
    {"q6_k", 256, 210, 16, false, false, 8 * 384, 320, 256},
};
constexpr size_t kSchemes = sizeof(kTable) / sizeof(kTable[0]);
static_assert(kSchemes == static_cast<size_t>(Scheme::Q6_K) + 1);

std::optional<int64_t> mul(int64_t a, int64_t b) {
  int64_t r;
  if (__builtin_mul_overflow(a, b, &r))
    return std::nullopt;
  return r;
}

std::optional<int64_t> roundUp(int64_t a, int64_t unit) {
  int64_t r;
  if (__builtin_add_overflow(a, unit - 1, &r))
    return std::nullopt;
  return r / unit * unit;
}

} // namespace

const SchemeGeometry &geometry(Scheme scheme) {
  assert(static_cast<size_t>(scheme) < kSchemes && "scheme outside the enum");
  return kTable[static_cast<size_t>(scheme)];
}

const char *schemeName(Scheme scheme) { return geometry(scheme).name; }

std::optional<Scheme> parseScheme(std::string_view name) {
  for (size_t i = 0; i < kSchemes; ++i)
    if (name == kTable[i].name)
      return static_cast<Scheme>(i);
  return std::nullopt;
}

const char *layoutName(Layout layout) { return layout == Layout::Row ? "row" : "n16"; }

std::optional<Layout> parseLayout(std::string_view name) {
  if (name == "row")
    return Layout::Row;
  if (name == "n16")
    return Layout::N16;
  return std::nullopt;
}

std::optional<int64_t> fileBytes(Scheme scheme, int64_t n, int64_t k) {
  const SchemeGeometry &g = geometry(scheme);
  if (n <= 0 || k <= 0 || k % g.blockElems != 0)
    return std::nullopt;
  std::optional<int64_t> row = mul(k / g.blockElems, g.blockBytes);
  return row ? mul(*row, n) : std::nullopt;
}

std::optional<PanelSize> panelSize(Scheme scheme, int64_t k) {
  const SchemeGeometry &g = geometry(scheme);
  if (k <= 0 || k % g.blockElems != 0)
    return std::nullopt;
  std::optional<int64_t> kp = roundUp(k, g.kStep);
  if (!kp)
    return std::nullopt;
  PanelSize size{0, 1, g.panelSide, g.panelPayload};
  while (size.steps * size.sideBytes % 64 != 0)
    ++size.steps;
  const int64_t steps = *kp / g.kStep, rest = steps % size.steps;
  std::optional<int64_t> units = mul(steps / size.steps, size.unitBytes());
  if (!units)
    return std::nullopt;
  const int64_t last = rest ? size.payloadOffset() + rest * size.payloadBytes : 0;
  int64_t total;
  if (__builtin_add_overflow(*units, last, &total))
    return std::nullopt;
  std::optional<int64_t> bytes = roundUp(total, 64);
  if (!bytes)
    return std::nullopt;
  size.bytes = *bytes;
  return size;
}

std::optional<int64_t> packedBytes(Scheme scheme, Layout layout, int64_t n, int64_t k) {
  std::optional<int64_t> plain = fileBytes(scheme, n, k);
  if (!plain)
    return std::nullopt;
  if (layout == Layout::Row) {
    if (n == 1 && scheme == Scheme::F32) {
      std::optional<int64_t> padded = roundUp(k, 16);
      return padded ? mul(*padded, 4) : std::nullopt;
    }
    return plain;
  }
  std::optional<PanelSize> panel = panelSize(scheme, k);
  std::optional<int64_t> rows = roundUp(n, 16);
  return panel && rows ? mul(*rows / 16, panel->bytes) : std::nullopt;
}

std::optional<int64_t> actBlockBytes(int64_t k, int64_t block) {
  if (k <= 0 || block <= 0)
    return std::nullopt;
  std::optional<int64_t> kp = roundUp(k, 32);
  if (!kp)
    return std::nullopt;
  // Bytes per row and 32 columns: 8 words of q, one da, one ds, two sums of 16.
  std::optional<int64_t> bytes = mul(*kp / 32, 4 * (8 + 1 + 1 + 2));
  if (bytes)
    bytes = mul(*bytes, block);
  return bytes ? roundUp(*bytes, 64) : std::nullopt;
}

} // namespace ingot::qfmt
