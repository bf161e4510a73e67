//===- LinearAmxBf16.cpp - bf16 weights on AMX tiles ----------------------------------------------===//
#include "codegen/cpu/LinearAmxBf16.h"

#include <algorithm>

using namespace ingot;
using namespace ingot::cpu;
using Values = KernelBuilder::Values;

std::string ingot::cpu::refuseAmxBf16(const LinearSpec &s, const target::Target &t) {
  if (!s.fast)
    return "bf16 tiles round the activations: --numerics=fast allows it";
  if (!t.hasAmxBf16() && !s.amxInSoftware)
    return "target " + t.name.str() + " has no AMX-BF16";
  if (s.scheme != qfmt::Scheme::BF16)
    return "only bf16 weights are multiplied by bf16 tiles";
  if (s.schedule.panels < 1 || s.schedule.panels > 2)
    return "bf16 tiles hold the sums of one or two panels";
  if (s.rows > 16)
    return "a tile has 16 rows";
  return s.k % 32 == 0 ? "" : "bf16 tiles take 32 columns at a time";
}

int64_t AmxBf16Products::capacity(const LinearSpec &spec) {
  return spec.rows > 0 ? spec.rows : roundUp(spec.schedule.chunk, 32);
}

void AmxBf16Products::unpack(const Values &bases, Value to) {
  llvm::SmallVector<int64_t> lanes;
  for (int64_t i = 0; i < 16; ++i)
    lanes.append({i, 16 + i});
  for (size_t p = 0; p < bases.size(); ++p) {
    Value out = k.gep(to, int64_t(p) * panelBytes(spec));
    // Two columns of the panel are 64 bytes before and after.
    k.forLoop(0, spec.k * 32, 256, [&](Value at) {
      for (int64_t i = 0; i < 256; i += 64) {
        Value both = k.loadAt(k.vec(32, k.i16()), k.gep(bases[p], i), at, 64);
        k.storeAt(k.shuffle(both, both, lanes), k.gep(out, i), at, 64);
      }
    });
  }
}

void AmxBf16Products::run(Value a, int64_t stride, Value b, int64_t panels, Value sums, Value count) {
  const int64_t rows = tileRows(spec), together = spec.rows > 0 ? 1 : 2;
  k.forLoop(k.c64(0), count, rows * together, [&](Value row) {
    Value from = k.gep(a, k.mul(row, stride)), to = k.gep(sums, k.mul(row, 64 * panels));
    if (spec.amxInSoftware)
      inSoftware(from, stride, b, panels, to, rows * together);
    else
      tiles(from, stride, b, panels, to, together);
  });
}

void AmxBf16Products::tiles(Value a, int64_t stride, Value b, int64_t panels, Value sums, int64_t rowTiles) {
  Type tile = mlir::LLVM::LLVMX86AMXType::get(k.builder().getContext());
  auto i16 = [&](int64_t v) { return k.splatInt(k.i16(), v); };
  const int64_t rows = tileRows(spec), outStride = 64 * panels;
  Value tall = i16(rows), wide = i16(64), pairs = i16(16);
  auto load = [&](Value height, Value at, int64_t step) {
    return k.intrinsic("llvm.x86.tileloadd64.internal", tile, {height, wide, at, k.c64(step)});
  };
  auto sumAt = [&](int64_t t, int64_t p) { return k.gep(sums, t * rows * outStride + 64 * p); };
  // Loaded from the zeroed sums: zero tiles that are alike would be shared and then copied through memory.
  Values acc;
  for (int64_t t = 0; t < rowTiles; ++t)
    for (int64_t p = 0; p < panels; ++p)
      acc.push_back(load(tall, sumAt(t, p), outStride));
  acc = k.forLoop(0, spec.k / 32, 1, acc, [&](Value step, ValueRange in) {
    Values x, next(in.begin(), in.end());
    for (int64_t t = 0; t < rowTiles; ++t)
      x.push_back(load(tall, k.gep(k.gep(a, t * rows * stride), k.mul(step, 64)), stride));
    for (int64_t p = 0; p < panels; ++p) {
      Value w = load(pairs, k.gep(k.gep(b, p * panelBytes(spec)), k.mul(step, 1024)), 64);
      for (int64_t t = 0; t < rowTiles; ++t) {
        Value &sum = next[size_t(t * panels + p)];
        sum = k.intrinsic("llvm.x86.tdpbf16ps.internal", tile, {tall, wide, wide, sum, x[size_t(t)], w});
      }
    }
    return next;
  });
  for (int64_t t = 0; t < rowTiles; ++t)
    for (int64_t p = 0; p < panels; ++p)
      k.intrinsic("llvm.x86.tilestored64.internal", Type(),
                  {tall, wide, sumAt(t, p), k.c64(outStride), acc[size_t(t * panels + p)]});
}

void AmxBf16Products::inSoftware(Value a, int64_t stride, Value b, int64_t panels, Value sums, int64_t rows) {
  Type ints = k.vec(16, k.i32());
  Value high = k.splatInt(ints, int32_t(0xFFFF0000)), zero = k.splat(k.f32v(), 0);
  Value least = k.splat(k.f32v(), 0x1p-126);
  // Tiles count subnormal inputs as zero; activations have lost theirs when they were rounded.
  auto flushed = [&](Value v) {
    return k.select(k.cmp(KernelBuilder::FPred::OLT, k.abs(v), least), zero, v);
  };
  auto even = [&](Value pair) { return k.bitcast(k.shl(pair, 16), k.f32v()); };
  auto odd = [&](Value pair) { return k.bitcast(k.and_(pair, high), k.f32v()); };
  k.forLoop(0, rows, 1, [&](Value r) {
    Value x = k.gep(a, k.mul(r, stride)), to = k.gep(sums, k.mul(r, 64 * panels));
    for (int64_t p = 0; p < panels; ++p) {
      Value w = k.gep(b, p * panelBytes(spec));
      Values sum{k.loadAt(k.f32v(), to, 64 * p, 64)};
      sum = k.forLoop(0, spec.k / 32, 1, sum, [&](Value step, ValueRange in) {
        Values chains = k.forLoop(0, 16, 1, ValueRange{zero, zero}, [&](Value i, ValueRange c) {
          Value weights = k.loadAt(ints, w, k.add(k.mul(step, 1024), k.mul(i, 64)), 64);
          Value pair = k.loadAt(k.i32(), x, k.add(k.mul(step, 64), k.mul(i, 4)));
          Value values = k.broadcast(pair, 16);
          return Values{k.fma(flushed(even(weights)), even(values), c[0]),
                        k.fma(flushed(odd(weights)), odd(values), c[1])};
        });
        return Values{k.add(in[0], k.add(chains[0], chains[1]))};
      });
      k.storeAt(sum[0], to, 64 * p, 64);
    }
  });
}
