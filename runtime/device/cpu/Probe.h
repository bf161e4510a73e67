//===- Probe.h - what this machine can do ---------------------------------------------------------------===//
//
// The limits that measured rates are compared with, found on the same threads and in the same run. The only
// computing loops of the runtime; no model uses them.
//
//===------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_RUNTIME_DEVICE_CPU_PROBE_H
#define INGOT_RUNTIME_DEVICE_CPU_PROBE_H

#include "runtime/device/cpu/WorkerPool.h"

#include <cstddef>
#include <string>

namespace ingot::cpu {

/// Of all workers together.
struct MachineLimits {
  size_t bytes = 0;      ///< that were read
  double readBytes = 0;  ///< bytes per second
  size_t prefetch = 0;   ///< distance that gave it, in bytes
  double int8Ops = 0;    ///< per second; a multiplication and an addition are two
  double f32Ops = 0;     ///< likewise, fused multiply-adds
  double bf16Ops = 0;    ///< likewise, AVX512-BF16 dots; 0 unless the variant has them
  const char *int8 = ""; ///< instruction behind int8Ops
};

/// Reading: the best over prefetch distances (a plain loop is no limit where the data lie in a shared cache)
/// of a buffer of `bytes`, at least 1 MB, in huge pages where there are some, each worker its share. Peaks:
/// independent instructions on registers; `isa` "avx2", "avx512", "vnni" or "avx512bf16" says which (avx2
/// where the machine lacks it; amx is rated by its vnni). False and a message where there is no memory. Takes
/// about a second.
bool probeMachine(WorkerPool &pool, const std::string &isa, size_t bytes, MachineLimits &out,
                  std::string &error);

} // namespace ingot::cpu
#endif
