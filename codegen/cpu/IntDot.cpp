//===- IntDot.cpp - exact int32 dot products of unsigned codes and signed activations -------------===//
#include "codegen/cpu/IntDot.h"

using namespace ingot::cpu;

IntDot::IntDot(KernelBuilder &k, const LinearSchedule &schedule, int bits, int64_t rows, int64_t steps,
               llvm::ArrayRef<Value> start)
    : k(k), schedule(schedule), bits(bits), rows(rows), steps(steps), stepsPerWiden(bits == 4   ? 8
                                                                                    : bits == 5 ? 4
                                                                                    : bits == 6 ? 2
                                                                                                : 1),
      // Few rows: two chains a row hide the latency of vpdpbusd.
      chains(schedule.dot == DotKind::Vnni && rows <= 2 ? 2 : 1), bytes(k.vec(4 * schedule.lanes, k.i8())),
      words(k.vec(2 * schedule.lanes, k.i16())), ints(k.vec(schedule.lanes, k.i32())) {
  sums.assign(size_t(rows * chains), Value());
  pending.assign(size_t(rows), Value());
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < chains; ++c)
      if (c == 0 && !start.empty())
        sums[size_t(r * chains)] = start[size_t(r)];
      else if (schedule.dot == DotKind::Vnni)
        sums[size_t(r * chains + c)] = k.splatInt(ints, 0);
}

void IntDot::step(Value codes, Value act) {
  bool wide = schedule.lanes == 16;
  Value negative;
  if (takesOffset(schedule, bits)) {
    codes = k.xor_(codes, k.splatInt(bytes, 0x80));
    if (wide)
      negative = k.cmp(KernelBuilder::Pred::slt, codes, k.splatInt(bytes, 0));
  }
  Value magnitude = takesOffset(schedule, bits) ? k.abs(codes) : codes;
  for (int64_t r = 0; r < rows; ++r) {
    Value a = k.bitcast(k.loadBroadcast(k.i32(), act, 4 * r, schedule.lanes), bytes);
    if (schedule.dot == DotKind::Vnni) {
      Value &s = sums[size_t(r * chains + done % chains)];
      s = k.intrinsic("llvm.x86.avx512.vpdpbusd.512", ints, {s, codes, a});
      continue;
    }
    if (takesOffset(schedule, bits))
      a = wide ? k.select(negative, k.neg(a), a) : k.intrinsic("llvm.x86.avx2.psign.b", bytes, {a, codes});
    Value t = k.intrinsic(wide ? "llvm.x86.avx512.pmaddubs.w.512" : "llvm.x86.avx2.pmadd.ub.sw", words,
                          {magnitude, a});
    Value &p = pending[size_t(r)];
    p = p ? k.add(p, t) : t;
  }
  ++done;
  if (schedule.dot == DotKind::Maddubs && (++pendingSteps == stepsPerWiden || done == steps))
    widen();
}

void IntDot::widen() {
  for (int64_t r = 0; r < rows; ++r) {
    Value &s = sums[size_t(r)], &p = pending[size_t(r)];
    Value t = k.intrinsic(schedule.lanes == 16 ? "llvm.x86.avx512.pmaddw.d.512" : "llvm.x86.avx2.pmadd.wd",
                          ints, {p, k.splatInt(words, 1)});
    s = s ? k.add(s, t) : t;
    p = Value();
  }
  pendingSteps = 0;
}

llvm::SmallVector<Value, 12> IntDot::finish() {
  assert(done == steps && "steps");
  llvm::SmallVector<Value, 12> out;
  for (int64_t r = 0; r < rows; ++r) {
    Value s = sums[size_t(r * chains)];
    for (int64_t c = 1; c < chains; ++c)
      s = k.add(s, sums[size_t(r * chains + c)]);
    out.push_back(s);
  }
  return out;
}
