//===- Quantize.cpp - f32 rows to int8 activations ------------------------------------------------------===//
#include "codegen/cpu/Quantize.h"
#include "codegen/cpu/Lanes.h"
#include "codegen/cpu/spec/Math.h"
#include "codegen/cpu/spec/MathConstants.h"

using namespace ingot;
using namespace ingot::cpu;

ActRow::ActRow(KernelBuilder &k, const spec::ActLayout &layout, Value base, Value row)
    : k(k), layout(layout) {
  if (layout.R == 1) {
    at = k.gep(base, k.mul(row, layout.regionBytes()));
    return;
  }
  Value block = k.div(row, k.c64(layout.R));
  Value inBlock = k.sub(row, k.mul(block, layout.R));
  at = k.gep(base, k.add(k.mul(block, layout.regionBytes()), k.mul(inBlock, 4)));
}

Value ActRow::magnitude(KernelBuilder &k, Value lo, Value hi) {
  return k.treeMax16(k.maxF(k.abs(lo), k.abs(hi)));
}

std::pair<Value, Value> ActRow::scales(KernelBuilder &k, Value amax) {
  Type type = amax.getType();
  Value zero = k.splat(type, 0), most = k.splat(type, 127);
  Value none = k.cmp(KernelBuilder::FPred::OLT, amax, k.splat(type, double(1e-30f)));
  return {k.select(none, zero, k.div(amax, most)), k.select(none, zero, k.div(most, amax))};
}

void ActRow::writeGroup(Value group, Value lo, Value hi) {
  auto [scale, inverse] = scales(k, magnitude(k, lo, hi));
  writeScaled(group, lo, hi, scale, k.broadcast(inverse, 16));
}

void ActRow::writeScaled(Value group, Value lo, Value hi, Value scale, Value inverse) {
  const int64_t R = layout.R;
  Type ints = k.vec(16, k.i32());
  // Adding 1.5 * 2^23 rounds to an integer, ties to even; its low bits are the integer.
  Value magic = k.splat(k.f32v(), spec::kRoundMagic);
  Value magicBits = k.splatInt(ints, int32_t(spec::bitsOf(spec::kRoundMagic)));
  auto round = [&](Value x) {
    Value q = k.sub(k.bitcast(k.add(k.mul(x, inverse), magic), ints), magicBits);
    q = k.maxS(k.minS(q, k.splatInt(ints, 127)), k.splatInt(ints, -127));
    return k.trunc(q, k.vec(16, k.i8()));
  };
  Value bytes = k.concat(round(lo), round(hi));
  // Sums of 8 bytes each as unsigned with an offset of 128: exact, and one instruction.
  Type i8x32 = k.vec(32, k.i8());
  Value sums = k.intrinsic("llvm.x86.avx2.psad.bw", k.vec(4, k.i64()),
                           ValueRange{k.xor_(bytes, k.splatInt(i8x32, -128)), k.splatInt(i8x32, 0)});
  sums = k.bitcast(k.add(sums, k.shuffle(sums, sums, {1, 0, 3, 2})), k.vec(8, k.i32()));
  Value s0 = k.sub(k.extract(sums, 0), k.c32(16 * 128)), s1 = k.sub(k.extract(sums, 4), k.c32(16 * 128));
  Value ds = k.mul(scale, k.sToF(k.add(s0, s1), k.f32()));
  Value words = k.bitcast(bytes, k.vec(8, k.i32()));
  Value q = k.gep(at, k.mul(group, 32 * R));
  if (R == 1) {
    k.store(words, q);
  } else {
    for (int64_t w = 0; w < 8; ++w)
      k.storeAt(k.extract(words, w), q, w * 4 * R);
  }
  Value perGroup = k.gep(at, k.mul(group, 4 * R));
  k.storeAt(scale, perGroup, layout.daOffset());
  k.storeAt(ds, perGroup, layout.dsOffset());
  Value perHalf = k.gep(at, k.mul(group, 8 * R));
  k.storeAt(s0, perHalf, layout.s16Offset());
  k.storeAt(s1, perHalf, layout.s16Offset() + 4 * R);
}

int64_t cpu::quantizeStack(int64_t D) { return 2 * roundUp((D + 31) / 32, 16) * 4; }

void cpu::quantizeColumns(KernelBuilder &k, ActRow &row, int64_t D, Value stack,
                          llvm::function_ref<Value(Value, int64_t, bool)> values) {
  const int64_t groups = (D + 31) / 32, tail = D % 32;
  auto pair = [&](Value group, bool last, bool isTail) {
    Value first = k.mul(group, 32);
    Value lo = values(first, isTail ? std::min<int64_t>(tail, 16) : 16, last);
    Value hi = !isTail     ? values(k.add(first, 16), 16, last)
               : tail > 16 ? values(k.add(first, 16), tail - 16, last)
                           : k.splat(k.f32v(), 0);
    return std::make_pair(lo, hi);
  };
  auto forGroups = [&](llvm::function_ref<void(Value, bool)> f) {
    k.forLoop(0, D / 32, 1, [&](Value g) { f(g, false); });
    if (tail)
      f(k.c64(D / 32), true);
  };
  // Magnitudes of all groups first: their divisions then take 16 groups at once.
  const int64_t inverses = roundUp(groups, 16) * 4;
  forGroups([&](Value g, bool isTail) {
    auto v = pair(g, false, isTail);
    k.storeAt(ActRow::magnitude(k, v.first, v.second), stack, k.mul(g, 4));
  });
  for (int64_t g = groups; g < roundUp(groups, 16); ++g)
    k.storeAt(k.cf(0), stack, g * 4);
  k.forLoop(0, inverses, 64, [&](Value at) {
    auto s = ActRow::scales(k, k.loadAt(k.f32v(), stack, at, 64));
    k.storeAt(s.first, stack, at, 64);
    k.storeAt(s.second, k.gep(stack, inverses), at, 64);
  });
  forGroups([&](Value g, bool isTail) {
    auto v = pair(g, true, isTail);
    Value at = k.mul(g, 4);
    row.writeScaled(g, v.first, v.second, k.loadAt(k.f32(), stack, at),
                    k.broadcast(k.loadAt(k.f32(), k.gep(stack, inverses), at), 16));
  });
}

void cpu::emitQuantize(KernelBuilder &k, const QuantizeSpec &s) {
  assert(s.act.K == s.D && "width of the packed rows");
  Value x = k.slot(s.x.slot), out = k.slot(s.out), stack = k.stack(quantizeStack(s.D));
  forRows(k, s.domain, [&](Value row) {
    Value px = rowPointer(k, s.x, x, row);
    ActRow act(k, s.act, out, row);
    quantizeColumns(k, act, s.D, stack, [&](Value first, int64_t n, bool) {
      return loadLanes(k, k.f32(), px, k.mul(first, 4), n);
    });
  });
}
