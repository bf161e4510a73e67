//===- Registry.h - the kernel registry of the code generators ------------------------------------===//
#ifndef INGOT_CODEGEN_TARGET_REGISTRY_H
#define INGOT_CODEGEN_TARGET_REGISTRY_H

#include "compiler/support/KernelRegistry.h"

#include <memory>

namespace ingot::target {

/// Answers for all targets of Targets.def and for "ref" (plain f32, any op, layout row).
std::unique_ptr<KernelRegistry> createKernelRegistry();

} // namespace ingot::target

#endif
