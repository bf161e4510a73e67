//===- FiniteCheck.cpp - weights that are no numbers ----------------------------------------------------===//

#include "codegen/package/FiniteCheck.h"

#include <cstring>

namespace ingot::package {
namespace {

uint16_t half(const uint8_t *bytes) {
  uint16_t value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

bool finiteHalf(const uint8_t *bytes) { return (half(bytes) & 0x7c00) != 0x7c00; }

} // namespace

bool isFinite(qfmt::Scheme scheme, const uint8_t *row, int64_t cols) {
  using qfmt::Scheme;
  // Offsets of the scale and the minimum in a block; equal where there is one.
  unsigned scale = 0, minimum = 0;
  switch (scheme) {
  case Scheme::F32:
    for (int64_t i = 0; i < cols; ++i) {
      uint32_t bits;
      std::memcpy(&bits, row + 4 * i, sizeof(bits));
      if ((bits & 0x7f800000) == 0x7f800000)
        return false;
    }
    return true;
  case Scheme::F16:
    for (int64_t i = 0; i < cols; ++i)
      if (!finiteHalf(row + 2 * i))
        return false;
    return true;
  case Scheme::BF16:
    for (int64_t i = 0; i < cols; ++i)
      if ((half(row + 2 * i) & 0x7f80) == 0x7f80)
        return false;
    return true;
  case Scheme::Q4_1:
  case Scheme::Q5_1:
  case Scheme::Q4_K:
  case Scheme::Q5_K:
    minimum = 2;
    break;
  case Scheme::Q6_K:
    scale = minimum = 208;
    break;
  case Scheme::Q8_0:
  case Scheme::Q4_0:
  case Scheme::Q5_0:
    break;
  }
  const qfmt::SchemeGeometry &geometry = qfmt::geometry(scheme);
  for (int64_t block = 0; block < cols / geometry.blockElems; ++block) {
    const uint8_t *bytes = row + block * geometry.blockBytes;
    if (!finiteHalf(bytes + scale) || !finiteHalf(bytes + minimum))
      return false;
  }
  return true;
}

} // namespace ingot::package
