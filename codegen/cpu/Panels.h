//===- Panels.h - where the data of a K step lie in an n16 panel ----------------------------------------===//
#ifndef INGOT_CODEGEN_CPU_PANELS_H
#define INGOT_CODEGEN_CPU_PANELS_H

#include "codegen/cpu/KernelBuilder.h"
#include "dialects/qfmt/Geometry.h"

namespace ingot::cpu {

/// Addresses of one K step's side data and payload.
struct PanelStep {
  Value side, payload;
};

/// Emits them for K step `step` (i64) of the panel at `panel`: qfmt::PanelSize::side() and payload().
inline PanelStep panelStep(KernelBuilder &k, const qfmt::PanelSize &size, Value panel, Value step) {
  if (size.steps == 1) {
    Value unit = k.gep(panel, k.mul(step, size.unitBytes()));
    return {unit, k.gep(unit, size.payloadOffset())};
  }
  assert(size.steps == 2 && "side data of one or two K steps fill whole lines");
  Value unit = k.gep(panel, k.mul(k.shrU(step, 1), size.unitBytes())), in = k.and_(step, k.c64(1));
  return {k.gep(unit, k.mul(in, size.sideBytes)),
          k.gep(unit, k.add(k.mul(in, size.payloadBytes), size.payloadOffset()))};
}

} // namespace ingot::cpu

#endif
