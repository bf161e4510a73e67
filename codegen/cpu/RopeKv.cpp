//===- RopeKv.cpp - rotary embedding, per-head norms and the KV cache append ----------------------------===//
#include "codegen/cpu/RopeKv.h"
#include "codegen/cpu/Lanes.h"
#include "codegen/cpu/Norm.h"
#include "codegen/cpu/spec/Math.h"
#include "codegen/cpu/spec/MathConstants.h"

#include "runtime/abi/ingot_abi.h"

#include <cstddef>
#include <limits>

using namespace ingot;
using namespace ingot::cpu;

Type cpu::kvElement(KernelBuilder &k, spec::KvType type) {
  switch (type) {
  case spec::KvType::F32:
    return k.f32();
  case spec::KvType::F16:
    return k.f16();
  case spec::KvType::Bf16:
    return k.bf16();
  case spec::KvType::Int8:
    return k.i8();
  }
  llvm_unreachable("type of a cache");
}

std::string cpu::refuseRopeKv(const RopeKvSpec &s) {
  if (s.qHeads + s.kv.heads < 1)
    return "no heads";
  for (const RopeParams &r : {s.qRope, s.kRope})
    if (r.rotaryDim % 2 != 0 || r.rotaryDim > s.headDim)
      return "the rotated part is odd or wider than a head";
  if (s.kv.heads > 0 && s.kv.dim != s.headDim)
    return "heads of q and k differ in width";
  return "";
}

/// Lanes 2i and 2i + 1 of `v` are pair i, those of `table` its (cos, sin): the rotated pairs.
static Value rotatePairs(KernelBuilder &k, Value v, Value table) {
  const int64_t lanes = mlir::cast<mlir::VectorType>(v.getType()).getNumElements();
  llvm::SmallVector<int64_t> even, odd, swapped, alternate;
  for (int64_t l = 0; l < lanes; ++l) {
    even.push_back(l & ~1);
    odd.push_back(l | 1);
    swapped.push_back(l ^ 1);
    alternate.push_back(l & 1 ? l : lanes + l);
  }
  Value a = k.shuffle(v, v, even), b = k.shuffle(v, v, odd);
  Value m = k.mul(b, k.shuffle(table, table, swapped)); // (b s, b c)
  return k.fma(a, table, k.shuffle(m, k.neg(m), alternate));
}

KvPages::KvPages(KernelBuilder &k, const spec::KvLayout &layout)
    : k(k), layout(layout), stored(kvElement(k, layout.type)), elem(spec::kvElemBytes(layout.type)),
      cache(k.kv()), stride(k.kvStride()), rowSeq(k.stepPointer(offsetof(ingot_step_v1, row_seq))),
      blockTable(k.stepPointer(offsetof(ingot_step_v1, block_table))),
      blockStride(k.stepU32(offsetof(ingot_step_v1, block_stride))) {}

KvPages::Token KvPages::token(Value row, Value pos) {
  Value seq = k.extU(k.loadAt(k.i32(), rowSeq, k.mul(row, 4)), k.i64());
  Value entry = k.add(k.mul(seq, blockStride), k.shrU(pos, 4));
  Value page = k.extU(k.loadAt(k.i32(), blockTable, k.mul(entry, 4)), k.i64());
  return {k.kvPage(cache, stride, page, layout.pageBytes()), k.and_(pos, k.c64(spec::kKvPage - 1))};
}

Value KvPages::headOf(const Token &token, Value head) { return k.gep(token.page, k.mul(head, headBytes())); }

Value KvPages::keys(const Token &token, Value head) {
  return k.gep(headOf(token, head), k.mul(token.slot, elem));
}

Value KvPages::values(const Token &token, Value head) {
  int64_t base = layout.dim * spec::kKvPage * elem;
  return k.gep(headOf(token, head), k.add(k.mul(token.slot, layout.vDim * elem), base));
}

Value KvPages::scales(const Token &token, Value head) {
  return k.gep(headOf(token, head), k.add(k.mul(token.slot, 4), layout.kScales()));
}

/// spec::kvQuantize: sink(codes of 16 values, first, how many); `n` values at `x`.
void KvPages::quantize(Value x, int64_t n, Value scaleAt,
                       llvm::function_ref<void(Value, Value, int64_t)> sink) {
  Type ints = k.vec(16, k.i32());
  auto magnitude = [&](Value first, int64_t count) {
    Value bits = k.bitcast(loadLanes(k, k.f32(), x, k.mul(first, 4), count), ints);
    return k.and_(bits, k.splatInt(ints, 0x7fffffff));
  };
  // As integers: a NaN is above all numbers, whatever the order.
  const int64_t whole = n / 16 * 16;
  Value most = k.splatInt(ints, 0);
  if (whole > 64)
    most = k.forLoop(0, whole, 16, ValueRange{most}, [&](Value first, ValueRange carried) {
      return KernelBuilder::Values{k.maxS(carried[0], magnitude(first, 16))};
    })[0];
  else
    for (int64_t first = 0; first < whole; first += 16)
      most = k.maxS(most, magnitude(k.c64(first), 16));
  if (n % 16)
    most = k.maxS(most, magnitude(k.c64(whole), n % 16));
  for (int64_t half : {8, 4, 2, 1})
    most = k.maxS(k.slice(most, 0, half), k.slice(most, half, half));
  Value bits = k.extract(most, 0), amax = k.bitcast(bits, k.f32());
  Value bad = k.cmp(KernelBuilder::Pred::sge, bits, k.c32(0x7f800000));
  Value none = k.cmp(KernelBuilder::FPred::OLT, amax, k.cf(1e-30f));
  Value scale = k.select(none, k.cf(0), k.div(amax, k.cf(127)));
  scale = k.select(bad, k.cf(std::numeric_limits<float>::quiet_NaN()), scale);
  k.storeAt(scale, scaleAt, 0);
  Value inverse = k.broadcast(k.select(none, k.cf(0), k.div(k.cf(127), amax)), 16);
  Value keep = k.broadcast(k.select(bad, k.c32(0), k.c32(-1)), 16);
  // Adding 1.5 * 2^23 rounds to an integer, ties to even; its low bits are the integer.
  Value magic = k.splat(k.f32v(), spec::kRoundMagic);
  Value magicBits = k.splatInt(ints, int32_t(spec::bitsOf(spec::kRoundMagic)));
  forVectors(k, n, 4, [&](Value first, int64_t count) {
    Value v = loadLanes(k, k.f32(), x, k.mul(first, 4), count);
    Value q = k.sub(k.bitcast(k.add(k.mul(v, inverse), magic), ints), magicBits);
    q = k.and_(k.maxS(k.minS(q, k.splatInt(ints, 127)), k.splatInt(ints, -127)), keep);
    sink(k.trunc(q, k.vec(16, k.i8())), first, count);
  });
}

void KvPages::quantizeKeys(Value x, Value to, Value scale) {
  quantize(x, layout.dim, scale, [&](Value codes, Value first, int64_t n) {
    Value at = k.gep(to, k.mul(first, keyStride()));
    for (int64_t l = 0; l < n; ++l)
      k.storeAt(k.extract(codes, l), at, l * keyStride());
  });
}

void KvPages::quantizeValues(Value x, Value to, Value scale) {
  quantize(x, layout.vDim, k.gep(scale, scaleStride()),
           [&](Value codes, Value first, int64_t n) { storePieces(k, codes, k.gep(to, first), 0, n); });
}

/// Values first .. first + n - 1 of a head at `x`, normalised when `scale` is set.
Value HeadEmitter::value(Value x, int64_t first, int64_t n) {
  Value v = loadLanes(k, k.f32(), x, first * 4, n);
  if (!scale)
    return v;
  return k.mul(k.mul(v, scale), loadLanes(k, k.f32(), gamma, first * 4, n));
}

void HeadEmitter::normalize(Value x, Value gammaPtr, float eps) {
  gamma = gammaPtr;
  scale = k.broadcast(emitRmsScale(k, x, dim, eps), 16);
}

void HeadEmitter::rotate(Value x, const RopeParams &r, Value table, Sink sink) {
  int64_t rotated = r.rotaryDim;
  if (r.style == spec::RopeStyle::Half)
    rotateHalf(x, rotated / 2, table, sink);
  else
    rotateInterleaved(x, rotated, table, sink);
  for (int64_t first = rotated; first < dim; first += 16) {
    int64_t n = std::min<int64_t>(16, dim - first);
    sink(value(x, first, n), first, n);
  }
}

void HeadEmitter::rotateHalf(Value x, int64_t pairs, Value table, Sink sink) {
  for (int64_t i = 0; i < pairs; i += 16) {
    int64_t n = std::min<int64_t>(16, pairs - i);
    // (c, s) pairs of 16 angles lie in two vectors.
    Value t0 = loadLanes(k, k.f32(), table, i * 8, std::min<int64_t>(16, 2 * n));
    Value t1 = 2 * n > 16 ? loadLanes(k, k.f32(), table, i * 8 + 64, 2 * n - 16) : k.splat(k.f32v(), 0);
    llvm::SmallVector<int64_t> even(16), odd(16);
    for (int64_t l = 0; l < 16; ++l) {
      even[l] = 2 * l;
      odd[l] = 2 * l + 1;
    }
    Value c = k.shuffle(t0, t1, even), s = k.shuffle(t0, t1, odd);
    Value a = value(x, i, n), b = value(x, i + pairs, n);
    Value ra = k.fma(a, c, k.neg(k.mul(b, s)));
    Value rb = k.fma(a, s, k.mul(b, c));
    sink(ra, i, n);
    sink(rb, i + pairs, n);
  }
}

void HeadEmitter::rotateInterleaved(Value x, int64_t rotated, Value table, Sink sink) {
  for (int64_t i = 0; i < rotated; i += 16) {
    int64_t n = std::min<int64_t>(16, rotated - i);
    Value v = value(x, i, n), t = loadLanes(k, k.f32(), table, i * 4, n);
    sink(rotatePairs(k, v, t), i, n);
  }
}

void cpu::emitRopeKv(KernelBuilder &k, const RopeKvSpec &s) {
  assert(refuseRopeKv(s).empty() && "legality is checked before emission");
  const int64_t dim = s.headDim, kvHeads = s.kv.heads, unitsPerRow = s.qHeads + kvHeads;
  Value q = s.qHeads ? k.slot(s.q.slot) : Value(), out = s.qHeads ? k.slot(s.out.slot) : Value();
  Value kk = kvHeads ? k.slot(s.k.slot) : Value(), vv = kvHeads ? k.slot(s.v.slot) : Value();
  Value qGamma = s.qGamma ? k.weight(*s.qGamma) : Value(), kGamma = s.kGamma ? k.weight(*s.kGamma) : Value();
  std::optional<KvPages> pages;
  if (kvHeads)
    pages.emplace(k, s.kv);
  // int8: a head is rotated whole before its scale is known.
  Value rotated = kvHeads && s.kv.scaled() ? k.stack(roundUp(dim, 16) * 4) : Value();
  Value positions = k.stepPointer(offsetof(ingot_step_v1, positions));
  Value tables = k.stepPointer(offsetof(ingot_step_v1, rope));
  auto tableBase = [&](const RopeParams &r) {
    return r.rotaryDim ? k.loadAt(k.ptrType(), tables, 8 * int64_t(r.table)) : Value();
  };
  Value qTable = s.qHeads ? tableBase(s.qRope) : Value(), kTable = kvHeads ? tableBase(s.kRope) : Value();
  auto tableRow = [&](const RopeParams &r, Value base, Value pos) {
    return base ? k.gep(base, k.mul(pos, r.rotaryDim * 4)) : Value();
  };

  auto queryHead = [&](Value row, Value head, Value pos) {
    Value column = k.mul(head, dim * 4);
    Value x = k.gep(rowPointer(k, s.q, q, row), column);
    Value y = k.gep(rowPointer(k, s.out, out, row), column);
    HeadEmitter h(k, dim);
    if (qGamma)
      h.normalize(x, qGamma, s.qEps);
    h.rotate(x, s.qRope, tableRow(s.qRope, qTable, pos),
             [&](Value v, int64_t first, int64_t n) { storeLanes(k, k.f32(), v, y, first * 4, n); });
  };

  auto keyHead = [&](Value row, Value head, Value pos) {
    KvPages::Token token = pages->token(row, pos);
    Value x = k.gep(rowPointer(k, s.k, kk, row), k.mul(head, dim * 4));
    HeadEmitter h(k, dim);
    if (kGamma)
      h.normalize(x, kGamma, s.kEps);
    Value kAt = pages->keys(token, head);
    if (pages->scaled()) {
      Value scales = pages->scales(token, head);
      h.rotate(x, s.kRope, tableRow(s.kRope, kTable, pos),
               [&](Value v, int64_t first, int64_t n) { storeLanes(k, k.f32(), v, rotated, first * 4, n); });
      pages->quantizeKeys(rotated, kAt, scales);
      Value pv = k.gep(rowPointer(k, s.v, vv, row), k.mul(head, s.kv.vDim * 4));
      return pages->quantizeValues(pv, pages->values(token, head), scales);
    }
    h.rotate(x, s.kRope, tableRow(s.kRope, kTable, pos), [&](Value v, int64_t first, int64_t n) {
      Value r = k.fromF32(v, pages->element());
      for (int64_t l = 0; l < n; ++l)
        k.storeAt(k.extract(r, l), kAt, (first + l) * pages->keyStride());
    });
    Value pv = k.gep(rowPointer(k, s.v, vv, row), k.mul(head, s.kv.vDim * 4));
    Value vAt = pages->values(token, head);
    for (int64_t first = 0; first < s.kv.vDim; first += 16) {
      int64_t n = std::min<int64_t>(16, s.kv.vDim - first);
      storeLanes(k, pages->element(), loadLanes(k, k.f32(), pv, first * 4, n), vAt,
                 first * pages->elementBytes(), n);
    }
  };

  auto [lo, hi] = k.share(k.mul(k.nRows(), unitsPerRow));
  k.forLoop(lo, hi, 1, [&](Value unit) {
    Value row = k.div(unit, k.c64(unitsPerRow));
    Value head = k.sub(unit, k.mul(row, unitsPerRow));
    Value pos = k.extU(k.loadAt(k.i32(), positions, k.mul(row, 4)), k.i64());
    if (kvHeads == 0)
      return queryHead(row, head, pos);
    if (s.qHeads == 0)
      return keyHead(row, head, pos);
    k.ifElse(
        k.cmp(KernelBuilder::Pred::slt, head, k.c64(s.qHeads)),
        [&] {
          queryHead(row, head, pos);
          return KernelBuilder::Values{};
        },
        [&] {
          keyHead(row, k.sub(head, k.c64(s.qHeads)), pos);
          return KernelBuilder::Values{};
        });
  });
}
