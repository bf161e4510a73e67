// A stable order that stays memory-safe whatever the comparison answers (it may fail half-way).
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace ingot::chat {

/// Indices 0..n-1 in stable ascending order of `less(i, j)`. Bottom-up merge sort.
template <class Less> std::vector<size_t> stableOrder(size_t n, Less less) {
  std::vector<size_t> from(n), to(n);
  for (size_t i = 0; i < n; ++i)
    from[i] = i;
  for (size_t width = 1; width < n; width *= 2) {
    for (size_t begin = 0; begin < n; begin += 2 * width) {
      size_t middle = std::min(begin + width, n), end = std::min(begin + 2 * width, n);
      size_t a = begin, b = middle;
      for (size_t k = begin; k < end; ++k)
        to[k] = b < end && (a >= middle || less(from[b], from[a])) ? from[b++] : from[a++];
    }
    from.swap(to);
  }
  return from;
}

} // namespace ingot::chat
