//===- probe.cpp - what this machine can do, in the run that is compared --------------------------------===//
//
// Prints one JSON object: read bandwidth at a working set's size, int8 dot-product and f32 FMA peaks of the
// registers (runtime/device/cpu/Probe.h).
//
//   bench_probe [--threads N] [--bytes WORKING_SET] [--isa avx2|avx512|vnni|avx512bf16]
//
//===------------------------------------------------------------------------------------------------------===//

#include "runtime/device/cpu/Probe.h"
#include "runtime/device/cpu/ThreadState.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace ingot;

int main(int argc, char **argv) {
  int threads = 1;
  size_t bytes = size_t(1) << 30;
  std::string isa = "vnni", error;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!std::strcmp(argv[i], "--threads"))
      threads = std::atoi(argv[i + 1]);
    else if (!std::strcmp(argv[i], "--bytes"))
      bytes = std::strtoull(argv[i + 1], nullptr, 10);
    else if (!std::strcmp(argv[i], "--isa"))
      isa = argv[i + 1];
  }
  if (threads < 1 || threads > 256 || bytes < (1u << 20)) {
    std::fprintf(stderr, "usage: bench_probe [--threads N] [--bytes AT_LEAST_A_MEGABYTE] [--isa NAME]\n");
    return 2;
  }
  std::unique_ptr<cpu::WorkerPool> pool =
      cpu::WorkerPool::create(static_cast<unsigned>(threads), cpu::Pinning::On, error);
  cpu::MachineLimits limits;
  if (pool) {
    cpu::AffinityScope affinity(pool->callerCpu());
    if (!cpu::probeMachine(*pool, isa, bytes, limits, error))
      pool = nullptr;
  }
  if (!pool) {
    std::fprintf(stderr, "error: %s\n", error.c_str());
    return 1;
  }
  std::printf("{\"threads\": %d, \"bytes\": %zu, \"read_gbs\": %.2f, \"prefetch\": %zu, \"int8_gops\": %.1f, "
              "\"fma_gflops\": %.1f, \"bf16_gflops\": %.1f, \"int8\": \"%s\"}\n",
              threads, limits.bytes, limits.readBytes / 1e9, limits.prefetch, limits.int8Ops / 1e9,
              limits.f32Ops / 1e9, limits.bf16Ops / 1e9, limits.int8);
  return 0;
}
