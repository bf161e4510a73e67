//===- RopeTables.h - cos and sin per position, filled as far as steps have come ------------------------===//
//
// Tables of [context][pairs][2] floats: angle p * inv_freq[i] and its cosine and sine in double precision,
// times the module's scale, rounded once. Anonymous memory: rows never reached cost nothing.
//
//===------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_RUNTIME_CORE_ROPETABLES_H
#define INGOT_RUNTIME_CORE_ROPETABLES_H

#include "runtime/abi/ingot_abi.h"
#include "runtime/weights/WeightMemory.h"

#include <string>
#include <vector>

namespace ingot::core {

class RopeTables {
public:
  bool create(const ingot_module_v1 &module, std::string &error);
  /// Fills rows 0 .. position; position < context.
  void fill(uint32_t position);
  /// As ingot_step_v1.rope wants it; stable for the lifetime.
  const float *const *tables() const { return pointers.data(); }

private:
  const ingot_module_v1 *module = nullptr;
  std::vector<weights::Mapping> memory;
  std::vector<const float *> pointers;
  uint32_t filled = 0;
};

} // namespace ingot::core
#endif
