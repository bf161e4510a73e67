//===- LinearTestUtil.h - what the tests of linear kernels share --------------------------------------===//
#ifndef INGOT_TEST_UNIT_KERNELS_LINEARTESTUTIL_H
#define INGOT_TEST_UNIT_KERNELS_LINEARTESTUTIL_H

#include "codegen/cpu/Linear.h"
#include "test/unit/kernels/Harness.h"

#include <gtest/gtest.h>

namespace ingot::test {

/// Emits the kernel of each case (`name`, `spec`) into `set`; a refusal is a fatal failure.
template <typename Case>
void emitLinears(KernelSet &set, const target::Target &t, const std::vector<Case> &cases) {
  for (const Case &c : cases) {
    ASSERT_EQ(cpu::refuseLinear(c.spec, t), "") << c.name;
    cpu::KernelBuilder k(set.module(), c.name, t);
    cpu::emitLinear(k, c.spec);
    k.finish();
  }
}

} // namespace ingot::test

#endif
