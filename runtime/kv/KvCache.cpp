//===- KvCache.cpp --------------------------------------------------------------------------------------===//
#include "runtime/kv/KvCache.h"
#include "runtime/kv/PagePool.h"

#include <algorithm>
#include <cstring>
#include <unistd.h>

namespace ingot::kv {

uint64_t KvCache::bytesPerPage(const ingot_module_v1 &module) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < module.n_kv_layers; ++i)
    if (__builtin_add_overflow(sum, module.kv_layers[i].page_bytes, &sum))
      return 0;
  return sum;
}

uint32_t defaultPages(const ingot_module_v1 &module, uint32_t sequences) {
  uint64_t one = pagesFor(module.context), bytes = std::max<uint64_t>(1, KvCache::bytesPerPage(module));
  long physical = ::sysconf(_SC_PHYS_PAGES), size = ::sysconf(_SC_PAGESIZE);
  uint64_t half = physical > 0 && size > 0 ? uint64_t(physical) / 2 * uint64_t(size) : UINT64_MAX;
  uint64_t pages = std::min(one * std::max(1u, sequences), std::max(one, half / bytes));
  return uint32_t(std::min<uint64_t>(pages, (UINT64_C(1) << 31) - 2));
}

std::unique_ptr<KvCache> KvCache::create(const ingot_module_v1 &module, uint32_t pages, std::string &error) {
  std::unique_ptr<KvCache> cache(new KvCache());
  cache->count = pages;
  uint64_t groups = uint64_t(pages) / INGOT_KV_GROUP + 1, page = bytesPerPage(module), total = 0;
  bool fits = (page > 0 || module.n_kv_layers == 0) &&
              !__builtin_mul_overflow(page, INGOT_KV_GROUP * groups, &total) && total <= (UINT64_C(1) << 46);
  for (uint32_t i = 0; fits && i < module.n_kv_layers; ++i) {
    cache->offsets.push_back(cache->groupBytes);
    cache->pageBytes.push_back(module.kv_layers[i].page_bytes);
    cache->groupBytes += INGOT_KV_GROUP * module.kv_layers[i].page_bytes;
  }
  // Less than a huge page of the system is not worth one.
  if (!fits || !cache->memory.allocate(total, /*huge=*/total >= (UINT64_C(2) << 20))) {
    error = "no memory for a KV cache of " + std::to_string(pages) + " pages (" + std::to_string(page) +
            " bytes each)";
    return nullptr;
  }
  return cache;
}

void KvCache::clear(int32_t page) {
  uint8_t *group = memory.data() + uint64_t(page) / INGOT_KV_GROUP * groupBytes;
  for (size_t i = 0; i < offsets.size(); ++i)
    std::memset(group + offsets[i] + uint64_t(page) % INGOT_KV_GROUP * pageBytes[i], 0, pageBytes[i]);
}

} // namespace ingot::kv
