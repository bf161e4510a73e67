//===- PagePool.cpp -------------------------------------------------------------------------------------===//
#include "runtime/kv/PagePool.h"

#include <algorithm>
#include <cassert>

namespace ingot::kv {

PagePool::PagePool(uint32_t pages) : count(pages), held(size_t(pages) + 1, false) {}

bool PagePool::take(uint32_t n, std::vector<Page> &out) {
  if (n > free())
    return false;
  for (uint32_t i = 0; i < n; ++i) {
    Page page;
    // Used pages first: the process touches no more memory than its peak needs.
    if (!returned.empty()) {
      page.index = returned.back();
      page.used = true;
      returned.pop_back();
    } else {
      page.index = int32_t(nextFresh++);
    }
    assert(!held[page.index] && "a page is handed out twice");
    held[page.index] = true;
    out.push_back(page);
  }
  taken += n;
  highest = std::max(highest, taken);
  return true;
}

void PagePool::give(const std::vector<int32_t> &pages) {
  // Backwards, so that the same sequence of requests meets the same pages again.
  for (auto it = pages.rbegin(); it != pages.rend(); ++it) {
    assert(*it > 0 && uint32_t(*it) <= count && held[*it] && "not a page of this pool, or given twice");
    held[*it] = false;
    returned.push_back(*it);
  }
  taken -= uint32_t(pages.size());
}

} // namespace ingot::kv
