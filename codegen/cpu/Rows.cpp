//===- Rows.cpp - how kernels address rows of activations -----------------------------------------------===//
#include "codegen/cpu/Rows.h"

#include "runtime/abi/ingot_abi.h"

#include <cstddef>

using namespace ingot;
using namespace ingot::cpu;

Value cpu::domainRows(KernelBuilder &k, RowDomain domain) {
  return domain == RowDomain::Rows ? k.nRows() : k.nOut();
}

Value cpu::rowPointer(KernelBuilder &k, const RowsRef &ref, Value base, Value row) {
  if (ref.selected)
    row = k.extU(k.loadAt(k.i32(), k.stepPointer(offsetof(ingot_step_v1, out_rows)), k.mul(row, 4)), k.i64());
  return k.gep(k.gep(base, k.mul(row, ref.strideBytes())), ref.offset * 4);
}

void cpu::forRows(KernelBuilder &k, RowDomain domain, llvm::function_ref<void(Value)> f) {
  auto [lo, hi] = k.share(domainRows(k, domain));
  k.forLoop(lo, hi, 1, f);
}
