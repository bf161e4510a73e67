//===- Families.h - what each kernel family offers to the emitter and the registry ----------------===//
#ifndef INGOT_CODEGEN_CPU_FAMILIES_H
#define INGOT_CODEGEN_CPU_FAMILIES_H

#include "codegen/cpu/KernelBuilder.h"
#include "codegen/cpu/KernelFacts.h"
#include "codegen/cpu/RopeKv.h"
#include "compiler/support/KernelRegistry.h"
#include "dialects/tile/Describe.h"

namespace ingot::cpu {

// emit<name>Family: reads the body, emits it with its schedule, sets the facts that are
// not their defaults. What it cannot do is an error at the kernel. answer<name>: appends candidates and
// refusals for a query of the family.
#define INGOT_FAMILY(name)                                                                                   \
  mlir::LogicalResult emit##name##Family(tile::KernelOp kernel, KernelBuilder &k, KernelFacts &facts);       \
  void answer##name(const KernelQuery &query, const target::Target &target, KernelAnswer &answer);
#include "codegen/cpu/Families.def"

/// Shared by the families that rotate and append: the spec without the norms, and that of a query.
RopeKvSpec ropeKvSpec(const tile::RopeKvDesc &desc);
RopeKvSpec ropeKvSpec(const KernelQuery &query);

} // namespace ingot::cpu

#endif
