//===- RopeTables.cpp -----------------------------------------------------------------------------------===//
#include "runtime/core/RopeTables.h"

#include <algorithm>
#include <cmath>

namespace ingot::core {

bool RopeTables::create(const ingot_module_v1 &m, std::string &error) {
  module = &m;
  memory.resize(m.n_ropes);
  for (uint32_t i = 0; i < m.n_ropes; ++i) {
    uint64_t bytes = uint64_t(m.context) * m.ropes[i].pairs * 2 * sizeof(float);
    if (!memory[i].allocate(bytes, false)) {
      error = "no memory for a rope table of " + std::to_string(bytes) + " bytes";
      return false;
    }
    pointers.push_back(reinterpret_cast<const float *>(memory[i].data()));
  }
  pointers.push_back(nullptr);
  return true;
}

void RopeTables::fill(uint32_t position) {
  if (position < filled)
    return;
  // In blocks, so that generation does not come here at every token.
  uint32_t end = std::min(module->context, (position / 64 + 1) * 64);
  for (uint32_t t = 0; t < module->n_ropes; ++t) {
    const ingot_rope_v1 &rope = module->ropes[t];
    auto *table = reinterpret_cast<float *>(memory[t].data());
    for (uint32_t p = filled; p < end; ++p)
      for (uint32_t i = 0; i < rope.pairs; ++i) {
        double angle = double(p) * rope.inv_freq[i];
        float *out = table + (uint64_t(p) * rope.pairs + i) * 2;
        out[0] = float(std::cos(angle) * rope.scale);
        out[1] = float(std::sin(angle) * rope.scale);
      }
  }
  filled = end;
}

} // namespace ingot::core
