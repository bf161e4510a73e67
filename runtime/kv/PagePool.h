//===- PagePool.h - exact accounting of KV pages --------------------------------------------------------===//
//
// A page is INGOT_KV_PAGE tokens of every layer. Page 0 is never handed out: it stays zero and fills the
// unused entries of block tables, so that kernels may load whole blocks of pages and mask.
//
//===------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_RUNTIME_KV_PAGEPOOL_H
#define INGOT_RUNTIME_KV_PAGEPOOL_H

#include "runtime/abi/ingot_abi.h"

#include <cstdint>
#include <vector>

namespace ingot::kv {

/// Pages that `tokens` tokens occupy.
inline uint64_t pagesFor(uint64_t tokens) { return (tokens + INGOT_KV_PAGE - 1) / INGOT_KV_PAGE; }

/// A page as the pool hands it out.
struct Page {
  int32_t index = 0;
  bool used = false; ///< It has held another sequence's values.
};

class PagePool {
public:
  /// Pages 1 .. `pages`; fewer than 2^31.
  explicit PagePool(uint32_t pages);

  uint32_t total() const { return count; }
  uint32_t free() const { return count - taken; }
  uint32_t inUse() const { return taken; }
  uint32_t peak() const { return highest; }

  /// Takes `n` pages or none.
  bool take(uint32_t n, std::vector<Page> &out);
  /// Returns pages that take() gave.
  void give(const std::vector<int32_t> &pages);

private:
  uint32_t count, taken = 0, highest = 0;
  uint32_t nextFresh = 1; ///< Pages from here on have never been used.
  std::vector<int32_t> returned;
  std::vector<bool> held;
};

} // namespace ingot::kv
#endif
