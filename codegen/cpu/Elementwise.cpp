//===- Elementwise.cpp - gate, add, scale, softcap, select on rows --------------------------------------===//
#include "codegen/cpu/Elementwise.h"
#include "codegen/cpu/Lanes.h"

using namespace ingot;
using namespace ingot::cpu;

static bool binary(const ElementwiseSpec &s) {
  return s.kind == ElementwiseSpec::Kind::Gate || s.kind == ElementwiseSpec::Kind::Add;
}

static Value compute(KernelBuilder &k, const ElementwiseSpec &s, Value a, Value b) {
  switch (s.kind) {
  case ElementwiseSpec::Kind::Gate:
    return emitGate(k, s.gate, a, b);
  case ElementwiseSpec::Kind::Add:
    return k.add(a, b);
  case ElementwiseSpec::Kind::Scale:
    return k.mul(a, k.splat(a.getType(), double(s.constant)));
  case ElementwiseSpec::Kind::Softcap:
    return emitSoftcap(k, a, s.constant);
  case ElementwiseSpec::Kind::Copy:
    return a;
  }
  llvm_unreachable("elementwise kind");
}

void cpu::emitElementwise(KernelBuilder &k, const ElementwiseSpec &s) {
  Value a = k.slot(s.a.slot), out = k.slot(s.out.slot);
  Value b = binary(s) ? k.slot(s.b.slot) : Value();
  bool flat =
      s.a.whole(s.D) && !s.a.selected && s.out.whole(s.D) && (!b || (s.b.whole(s.D) && !s.b.selected));
  if (flat) {
    // Equal strides: one long array, padding included, so that even one row is divided among the parts.
    auto [lo, hi] = k.share(k.mul(domainRows(k, s.domain), roundUp(s.D, 16) / 16));
    k.forLoop(lo, hi, 1, [&](Value i) {
      Value at = k.mul(i, 64);
      Value vb = b ? k.loadAt(k.f32v(), b, at, 64) : Value();
      k.storeAt(compute(k, s, k.loadAt(k.f32v(), a, at, 64), vb), out, at, 64);
    });
    return;
  }
  forRows(k, s.domain, [&](Value row) {
    Value pa = rowPointer(k, s.a, a, row), po = rowPointer(k, s.out, out, row);
    Value pb = b ? rowPointer(k, s.b, b, row) : Value();
    forVectors(k, s.D, 2, [&](Value first, int64_t n) {
      Value at = k.mul(first, 4);
      Value vb = b ? loadLanes(k, k.f32(), pb, at, n) : Value();
      storeLanes(k, k.f32(), compute(k, s, loadLanes(k, k.f32(), pa, at, n), vb), po, at, n);
    });
  });
}
