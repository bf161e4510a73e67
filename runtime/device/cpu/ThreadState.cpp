//===- ThreadState.cpp ----------------------------------------------------------------------------------===//
#include "runtime/device/cpu/ThreadState.h"

#include <xmmintrin.h>

namespace ingot::cpu {

MxcsrScope::MxcsrScope() : saved(_mm_getcsr()) { _mm_setcsr(KernelMxcsr); }
MxcsrScope::~MxcsrScope() { _mm_setcsr(saved); }

AffinityScope::AffinityScope(int cpu) {
  if (cpu < 0 || cpu >= CPU_SETSIZE || sched_getaffinity(0, sizeof(saved), &saved) != 0)
    return;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  changed = sched_setaffinity(0, sizeof(one), &one) == 0;
}

AffinityScope::~AffinityScope() {
  if (changed)
    (void)sched_setaffinity(0, sizeof(saved), &saved);
}

} // namespace ingot::cpu
