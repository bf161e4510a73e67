//===- KernelFacts.h - what the runtime must know of an emitted kernel
//------------------------------------===//
#ifndef INGOT_CODEGEN_CPU_KERNELFACTS_H
#define INGOT_CODEGEN_CPU_KERNELFACTS_H

#include <cstdint>

namespace ingot::cpu {

/// Fields of ingot_kernel_v1 that come from the schedule.
struct KernelFacts {
  int64_t scratchBytes = 0; ///< of a worker, for any number of rows
  int64_t maxParts = 1;     ///< ingot_kernel_v1::max_parts
};

} // namespace ingot::cpu

#endif
