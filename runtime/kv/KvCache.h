//===- KvCache.h - the memory behind KV pages -----------------------------------------------------------===//
//
// One anonymous mapping of `pages + 1` pages (page 0 is the zero page) in groups of INGOT_KV_GROUP: a group
// has those of layer 0, then those of layer 1 and so on. So the mapping is committed as sequences grow,
// although in 2 MB pages of the system, and a layer's tokens still lie in runs that are long enough for the
// memory's full rate. The layout inside a page is the ABI's.
//
//===------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_RUNTIME_KV_KVCACHE_H
#define INGOT_RUNTIME_KV_KVCACHE_H

#include "runtime/abi/ingot_abi.h"
#include "runtime/weights/WeightMemory.h"

#include <memory>
#include <string>
#include <vector>

namespace ingot::kv {

class KvCache {
public:
  /// `pages` usable pages for every layer of the module. Null and a message where sizes overflow or memory is
  /// refused.
  static std::unique_ptr<KvCache> create(const ingot_module_v1 &module, uint32_t pages, std::string &error);

  /// Bytes of one page over all layers; 0 where the sum overflows.
  static uint64_t bytesPerPage(const ingot_module_v1 &module);

  uint32_t pages() const { return count; }
  uint64_t bytes() const { return memory.size(); }
  /// First page of layer `layer`.
  uint8_t *layer(uint32_t layer) { return memory.data() + offsets[layer]; }
  /// Bytes from a group to the next.
  uint64_t stride() const { return groupBytes; }
  /// Zeroes one page in all layers.
  void clear(int32_t page);

private:
  KvCache() = default;
  weights::Mapping memory;
  std::vector<uint64_t> offsets, pageBytes; ///< of the layers: in a group, of a page
  uint64_t groupBytes = 0;
  uint32_t count = 0;
};

/// Pages for the full context of `sequences` sequences. They cost memory only once they are used; the pool
/// has at most half of the machine's memory, but the pages of one sequence.
uint32_t defaultPages(const ingot_module_v1 &module, uint32_t sequences);

} // namespace ingot::kv
#endif
