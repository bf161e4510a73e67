//===- Quantize.cpp - f32 rows to int8 activations -------------------------------------------------------===//
#include "codegen/cpu/Quantize.h"
#include "codegen/cpu/Lanes.h"
#include "codegen/cpu/spec/Math.h"
#include "codegen/cpu/spec/MathConstants.h"

using namespace ingot;
using namespace ingot::cpu;

/// Exact sum of 16 integers (any order).
static Value sumLanes(KernelBuilder &k, Value v) {
  for (int64_t half : {8, 4, 2, 1})
    v = k.add(k.slice(v, 0, half), k.slice(v, half, half));
  return k.extract(v, 0);
}

ActRow::ActRow(KernelBuilder &k, const spec::ActLayout &layout, Value base, Value row) : k(k), layout(layout) {
  if (layout.R == 1) {
    at = k.gep(base, k.mul(row, layout.regionBytes()));
    return;
  }
  Value block = k.div(row, k.c64(layout.R));
  Value inBlock = k.sub(row, k.mul(block, layout.R));
  at = k.gep(base, k.add(k.mul(block, layout.regionBytes()), k.mul(inBlock, 4)));
}

void ActRow::writeGroup(Value group, Value lo, Value hi) {
  using FPred = KernelBuilder::FPred;
  const int64_t R = layout.R;
  Value amax = k.treeMax16(k.maxF(k.abs(lo), k.abs(hi)));
  Value zero = k.cmp(FPred::OLT, amax, k.cf(1e-30f));
  Value da = k.select(zero, k.cf(0), k.div(amax, k.cf(127)));
  Value id = k.broadcast(k.select(zero, k.cf(0), k.div(k.cf(127), amax)), 16);
  Type ints = k.vec(16, k.i32());
  // Adding 1.5 * 2^23 rounds to an integer, ties to even; its low bits are the integer.
  Value magic = k.splat(k.f32v(), spec::kRoundMagic);
  Value magicBits = k.splatInt(ints, int32_t(spec::bitsOf(spec::kRoundMagic)));
  auto round = [&](Value x) {
    Value q = k.sub(k.bitcast(k.add(k.mul(x, id), magic), ints), magicBits);
    return k.maxS(k.minS(q, k.splatInt(ints, 127)), k.splatInt(ints, -127));
  };
  Value q0 = round(lo), q1 = round(hi);
  Value s0 = sumLanes(k, q0), s1 = sumLanes(k, q1);
  Value ds = k.mul(da, k.sToF(k.add(s0, s1), k.f32()));
  Value bytes = k.concat(k.trunc(q0, k.vec(16, k.i8())), k.trunc(q1, k.vec(16, k.i8())));
  Value words = k.bitcast(bytes, k.vec(8, k.i32()));
  Value q = k.gep(at, k.mul(group, 32 * R));
  if (R == 1) {
    k.store(words, q);
  } else {
    for (int64_t w = 0; w < 8; ++w)
      k.storeAt(k.extract(words, w), q, w * 4 * R);
  }
  Value perGroup = k.gep(at, k.mul(group, 4 * R));
  k.storeAt(da, perGroup, layout.daOffset());
  k.storeAt(ds, perGroup, layout.dsOffset());
  Value perHalf = k.gep(at, k.mul(group, 8 * R));
  k.storeAt(s0, perHalf, layout.s16Offset());
  k.storeAt(s1, perHalf, layout.s16Offset() + 4 * R);
}

void cpu::quantizeColumns(KernelBuilder &k, ActRow &row, int64_t D,
                          llvm::function_ref<Value(Value, int64_t)> values) {
  k.forLoop(0, D / 32, 1, [&](Value g) {
    Value first = k.mul(g, 32);
    Value lo = values(first, 16);
    Value hi = values(k.add(first, 16), 16);
    row.writeGroup(g, lo, hi);
  });
  int64_t tail = D % 32, first = D / 32 * 32;
  if (tail == 0)
    return;
  Value lo = values(k.c64(first), std::min<int64_t>(tail, 16));
  Value hi = tail > 16 ? values(k.c64(first + 16), tail - 16) : k.splat(k.f32v(), 0);
  row.writeGroup(k.c64(first / 32), lo, hi);
}

void cpu::emitQuantize(KernelBuilder &k, const QuantizeSpec &s) {
  assert(s.act.K == s.D && "width of the packed rows");
  Value x = k.slot(s.x.slot), out = k.slot(s.out);
  forRows(k, s.domain, [&](Value row) {
    Value px = rowPointer(k, s.x, x, row);
    ActRow act(k, s.act, out, row);
    quantizeColumns(k, act, s.D,
                    [&](Value first, int64_t n) { return loadLanes(k, k.f32(), px, k.mul(first, 4), n); });
  });
}
