//===- Norm.cpp - RMS normalisation of rows -------------------------------------------------------------===//
#include "codegen/cpu/Norm.h"
#include "codegen/cpu/Lanes.h"

using namespace ingot;
using namespace ingot::cpu;

Value cpu::emitRmsScale(KernelBuilder &k, Value x, int64_t width, float eps) {
  // One chain of fma in each lane, ascending: several chains would be another sum.
  int64_t full = width / 16, tail = width % 16;
  Value acc = k.splat(k.f32v(), 0);
  if (full > 0)
    acc = k.forLoop(0, full * 64, 64, ValueRange{acc}, [&](Value at, ValueRange carried) {
      Value v = loadLanes(k, k.f32(), x, at);
      return KernelBuilder::Values{k.fma(v, v, carried[0])};
    })[0];
  if (tail) {
    // Absent lanes add +0, which changes nothing: a sum of squares is never -0.
    Value v = loadLanes(k, k.f32(), x, full * 64, tail);
    acc = k.fma(v, v, acc);
  }
  Value mean = k.div(k.treeSum16(acc), k.cf(float(width)));
  return k.div(k.cf(1), k.sqrt(k.add(mean, k.cf(eps))));
}

std::string cpu::refuseNorm(const NormSpec &s) {
  if (s.groups < 1 || s.D < 1 || s.D % s.groups != 0)
    return "the width is no multiple of the number of groups";
  if (s.outAct && s.groups > 1)
    return "a norm in groups has no int8 result";
  if (!s.outAct && !s.outRows)
    return "no result";
  return "";
}

void cpu::emitNorm(KernelBuilder &k, const NormSpec &s) {
  assert(refuseNorm(s).empty() && "legality is checked before emission");
  const int64_t width = s.D / s.groups;
  Value x = k.slot(s.x.slot), gamma = k.weight(s.gamma);
  Value residual = s.residual ? k.slot(s.residual->slot) : Value();
  Value outRows = s.outRows ? k.slot(s.outRows->slot) : Value();
  Value outAct = s.outAct ? k.slot(*s.outAct) : Value();
  Value stack = s.outAct ? k.stack(quantizeStack(s.D)) : Value();
  forRows(k, s.domain, [&](Value row) {
    Value px = rowPointer(k, s.x, x, row);
    Value pr = residual ? rowPointer(k, *s.residual, residual, row) : Value();
    Value py = outRows ? rowPointer(k, *s.outRows, outRows, row) : Value();
    auto group = [&](Value start) { // byte offset of the piece
      Value pxg = k.gep(px, start);
      Value scale = k.broadcast(emitRmsScale(k, pxg, width, s.eps), 16);
      auto values = [&](Value first, int64_t n, bool last) {
        Value at = k.mul(first, 4);
        Value v = k.mul(loadLanes(k, k.f32(), pxg, at, n), scale);
        v = k.mul(v, loadLanes(k, k.f32(), gamma, at, n));
        if (pr)
          v = k.add(loadLanes(k, k.f32(), k.gep(pr, start), at, n), v);
        if (py && last)
          storeLanes(k, k.f32(), v, k.gep(py, start), at, n);
        return v;
      };
      if (outAct) {
        ActRow act(k, s.act, outAct, row);
        quantizeColumns(k, act, width, stack, values);
      } else {
        forVectors(k, width, 2, [&](Value first, int64_t n) { values(first, n, true); });
      }
    };
    if (s.groups == 1)
      group(k.c64(0));
    else
      k.forLoop(0, s.D * 4, width * 4, group);
  });
}
