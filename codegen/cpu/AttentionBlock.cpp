//===- AttentionBlock.cpp - one block of 64 keys against a few query vectors ----------------------------===//
#include "codegen/cpu/AttentionBlock.h"
#include "codegen/cpu/Lanes.h"
#include "codegen/cpu/Math.h"
#include "codegen/cpu/RopeKv.h"

#include <limits>

using namespace ingot;
using namespace ingot::cpu;
using FPred = KernelBuilder::FPred;
using Pred = KernelBuilder::Pred;

static constexpr double kNegInf = -std::numeric_limits<double>::infinity();

AttentionTile AttentionTile::choose(const target::Target &target, int64_t vectors) {
  // Sums: rows * pages (scores) and rows * vecs (values) vectors of 16 lanes. The rest of the 32 registers,
  // or of AVX2's 16 of half the width, holds K or V and a broadcast. At least 4 chains cover the latency of
  // an fma, and more rows share each conversion of K and V.
  int64_t tiles = (vectors + 5) / 6;
  int64_t rows = (vectors + tiles - 1) / tiles;
  int64_t wide = target.vectorBits >= 512 ? 4 : rows >= 3 ? 1 : rows == 2 ? 2 : 4;
  // One vector's softmax is a chain of some 100 cycles (two reductions, an exponential between them) and far
  // from filling the ports. Four hold their scores in 16 of 32 registers.
  int64_t most = target.vectorBits >= 512 ? 4 : 1, times = (rows + most - 1) / most;
  return {rows, wide, wide, (rows + times - 1) / times};
}

AttentionScratch::AttentionScratch(const AttentionCore &core, const AttentionTile &tile, int64_t count,
                                   bool total) {
  vectors = roundUp(count, tile.rows);
  qStride = roundUp(core.kv.dim, 16) * 4;
  oStride = roundUp(core.kv.vDim, 16) * 4;
  int64_t end = 0;
  auto take = [&](int64_t size) {
    int64_t at = end;
    end += roundUp(size, 64);
    return at;
  };
  q = take(vectors * qStride);
  o = take(vectors * oStride);
  oTotal = total ? take(vectors * oStride) : 0;
  m = take(vectors * 4);
  l = take(vectors * 4);
  mTotal = total ? take(vectors * 4) : 0;
  lTotal = total ? take(vectors * 4) : 0;
  pos = take(vectors * 4);
  prob = take(tile.rows * spec::kAttnBlock * 4);
  alpha = take(tile.rows * 4);
  next = take(4 * 8);
  bytes = end;
}

AttentionBlock::AttentionBlock(KernelBuilder &k, const AttentionCore &core, const AttentionTile &tile,
                               const AttentionScratch &scratch)
    : k(k), core(core), tile(tile), s(scratch), base(k.scratch()), cache(k.kv()), stride(k.kvStride()) {}

void AttentionBlock::loadQuery(Value src, Value index, Value position) {
  Value dst = k.gep(at(s.q), k.mul(index, s.qStride));
  Value scale = k.splat(k.f32v(), double(core.scale));
  forVectors(k, core.kv.dim, 4, [&](Value first, int64_t n) {
    Value off = k.mul(first, 4);
    k.storeAt(k.mul(loadLanes(k, k.f32(), src, off, n), scale), dst, off);
  });
  k.storeAt(k.trunc(position, k.i32()), at(s.pos), k.mul(index, 4));
}

void AttentionBlock::padQueries(Value first, Value last, Value position) {
  Value p = k.trunc(position, k.i32());
  k.forLoop(first, last, 1, [&](Value index) {
    Value dst = k.gep(at(s.q), k.mul(index, s.qStride));
    forVectors(k, roundUp(core.kv.dim, 16), 4,
               [&](Value c, int64_t) { k.storeAt(k.splat(k.f32v(), 0), dst, k.mul(c, 4)); });
    k.storeAt(p, at(s.pos), k.mul(index, 4));
  });
}

void AttentionBlock::reset(Value count, bool total) {
  Value o = at(total ? s.oTotal : s.o), m = at(total ? s.mTotal : s.m), l = at(total ? s.lTotal : s.l);
  k.forLoop(k.c64(0), count, 1, [&](Value index) {
    Value dst = k.gep(o, k.mul(index, s.oStride));
    forVectors(k, roundUp(core.kv.vDim, 16), 4,
               [&](Value c, int64_t) { k.storeAt(k.splat(k.f32v(), 0), dst, k.mul(c, 4)); });
    Value off = k.mul(index, 4);
    k.storeAt(k.splat(k.f32(), kNegInf), m, off);
    k.storeAt(k.cf(0), l, off);
  });
}

Value AttentionBlock::pagePointer(Value tableRow, Value entry, Value headOffset, Value firstPage,
                                  Value lastPage) {
  // Beyond the item's keys the table holds nothing: take a page that is there, its keys are masked.
  entry = k.maxS(k.minS(entry, lastPage), firstPage);
  Value index = k.extU(k.loadAt(k.i32(), tableRow, k.mul(entry, 4)), k.i64());
  return k.gep(k.kvPage(cache, stride, index, core.kv.pageBytes()), headOffset);
}

void AttentionBlock::setBlock(Value tableRow, Value blockStart, Value head, Value firstPage, Value lastPage) {
  block = blockStart;
  Value headOffset = k.mul(head, core.kv.headBytes()), first = k.shrU(blockStart, 4);
  for (int64_t j = 0; j < 4; ++j)
    page[j] = pagePointer(tableRow, k.add(first, j), headOffset, firstPage, lastPage);
}

void AttentionBlock::setNext(Value tableRow, Value blockStart, Value head, Value firstPage, Value lastPage) {
  hasNext = true;
  Value headOffset = k.mul(head, core.kv.headBytes()), first = k.shrU(blockStart, 4);
  for (int64_t j = 0; j < 4; ++j)
    k.storeAt(pagePointer(tableRow, k.add(first, j), headOffset, firstPage, lastPage), at(s.next), j * 8);
}

void AttentionBlock::fetchNext(Value offset, int64_t bytes) {
  // One page after the other: memory answers a third faster than when all four are asked in turn.
  Value index = k.div(offset, k.c64(core.kv.headBytes()));
  Value page = k.loadAt(k.ptrType(), at(s.next), k.mul(index, 8));
  Value from = k.gep(page, k.sub(offset, k.mul(index, core.kv.headBytes())));
  for (int64_t i = 0; i < bytes; i += 64)
    k.prefetch(k.gep(from, i), 2);
}

/// scores[r][key] = chain over d of fma(q, k): lanes are keys. Written to the probabilities' array.
void AttentionBlock::scores(Value qBase) {
  const int64_t rows = tile.rows, pages = tile.pages;
  Type stored = kvElement(k, core.kv.type);
  int64_t elem = spec::kvElemBytes(core.kv.type);
  Value prob = at(s.prob);
  // A cache line of K at a time, for as much to prefetch.
  const int64_t line = std::max<int64_t>(1, 64 / (spec::kKvPage * elem));
  const int64_t dims = core.kv.dim % line ? 1 : line, bytes = spec::kKvPage * elem;
  for (int64_t j0 = 0; j0 < 4; j0 += pages) {
    KernelBuilder::Values acc(rows * pages, k.splat(k.f32v(), 0));
    KernelBuilder::Values sum = k.forLoop(0, core.kv.dim, dims, acc, [&](Value d, ValueRange carried) {
      Value kOff = k.mul(d, bytes), qAt = k.gep(qBase, k.mul(d, 4));
      if (fetch)
        fetchNext(k.add(k.mul(d, bytes * pages), j0 * core.kv.dim * bytes), dims * bytes * pages);
      KernelBuilder::Values sums(carried);
      for (int64_t i = 0; i < dims; ++i) {
        KernelBuilder::Values keys;
        for (int64_t j = 0; j < pages; ++j)
          keys.push_back(loadLanes(k, stored, k.gep(page[j0 + j], i * bytes), kOff));
        for (int64_t r = 0; r < rows; ++r) {
          Value q = k.loadBroadcast(k.f32(), qAt, r * s.qStride + i * 4);
          for (int64_t j = 0; j < pages; ++j)
            sums[r * pages + j] = k.fma(q, keys[j], sums[r * pages + j]);
        }
      }
      return sums;
    });
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t j = 0; j < pages; ++j)
        k.storeAt(sum[r * pages + j], prob, r * 256 + (j0 + j) * 64, 64);
  }
}

void AttentionBlock::softmax(Value index) {
  const int64_t rest = tile.rows % tile.side, whole = tile.rows - rest;
  k.forLoop(0, whole, tile.side, [&](Value r) { softmaxRows(index, r, tile.side); });
  if (rest)
    softmaxRows(index, k.c64(whole), rest);
}

void AttentionBlock::softmaxRows(Value index, Value first, int64_t count) {
  Value ms = at(s.m), ls = at(s.l), positions = at(s.pos);
  Type ints = k.vec(16, k.i32());
  Value start = k.trunc(block, k.i32());
  Value lane = k.denseI32({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
  Value key0 = k.add(k.broadcast(start, 16), lane);
  Value negInf = k.splat(k.f32v(), kNegInf);
  Value state = k.mul(k.add(index, first), 4), rows = k.gep(at(s.prob), k.mul(first, spec::kAttnBlock * 4));
  struct Row {
    KernelBuilder::Values score, visible;
    Value m, mNew, shift, alpha, sum;
  };
  llvm::SmallVector<Row, 4> all(count);
  for (int64_t r = 0; r < count; ++r) {
    Row &row = all[r];
    Value pos = k.loadAt(k.i32(), k.gep(positions, state), r * 4);
    Value posV = k.broadcast(pos, 16);
    Value low = core.window > 0 ? k.broadcast(k.sub(pos, k.c32(core.window)), 16) : Value();
    for (int64_t j = 0; j < 4; ++j) {
      Value v = k.loadAt(k.f32v(), rows, r * 256 + j * 64, 64);
      if (core.kv.scaled())
        v = k.mul(v, k.loadAt(k.f32v(), page[j], core.kv.kScales()));
      if (core.softcap > 0)
        v = emitSoftcap(k, v, core.softcap);
      Value key = k.add(key0, k.splatInt(ints, j * 16));
      Value seen = k.cmp(Pred::sle, key, posV);
      if (low)
        seen = k.and_(seen, k.cmp(Pred::sgt, key, low));
      row.score.push_back(k.select(seen, v, negInf));
      row.visible.push_back(seen);
    }
  }
  for (int64_t r = 0; r < count; ++r) {
    Row &row = all[r];
    row.m = k.loadAt(k.f32(), k.gep(ms, state), r * 4);
    Value most = k.treeMax16(k.maxF(k.maxF(row.score[0], row.score[1]), k.maxF(row.score[2], row.score[3])));
    row.mNew = k.maxF(most, row.m);
    // No key so far and none here: subtract 0, so that exp(-inf) and not exp(NaN) gives the zeros.
    row.shift = k.select(k.cmp(FPred::OEQ, row.mNew, k.splat(k.f32(), kNegInf)), k.cf(0), row.mNew);
  }
  for (int64_t r = 0; r < count; ++r) {
    Row &row = all[r];
    row.alpha = emitExpNonPositive(k, k.sub(row.m, row.shift));
    Value shiftV = k.broadcast(row.shift, 16);
    for (int64_t j = 0; j < 4; ++j) {
      Value p = emitExpNonPositive(k, k.sub(row.score[j], shiftV));
      Value weight = p;
      if (core.kv.scaled()) // what lies behind the tokens, or in those to come, may be no number
        weight = k.select(row.visible[j], k.mul(p, k.loadAt(k.f32v(), page[j], core.kv.vScales())),
                          k.splat(k.f32v(), 0));
      k.storeAt(weight, rows, r * 256 + j * 64, 64);
      row.sum = row.sum ? k.add(row.sum, p) : p;
    }
  }
  for (int64_t r = 0; r < count; ++r) {
    Row &row = all[r];
    Value l = k.fma(k.loadAt(k.f32(), k.gep(ls, state), r * 4), row.alpha, k.treeSum16(row.sum));
    k.storeAt(row.mNew, k.gep(ms, state), r * 4);
    k.storeAt(l, k.gep(ls, state), r * 4);
    k.storeAt(row.alpha, k.gep(at(s.alpha), k.mul(first, 4)), r * 4);
  }
}

/// O[r][columns] = O * alpha, then one chain of fma over the keys: lanes are columns.
void AttentionBlock::valueColumns(Value index, Value column, int64_t vecs, int64_t tail, Value keyLow,
                                  Value keyHigh) {
  const int64_t rows = tile.rows;
  Type stored = kvElement(k, core.kv.type);
  int64_t elem = spec::kvElemBytes(core.kv.type);
  Value prob = at(s.prob), alphas = at(s.alpha);
  Value o = k.gep(k.gep(at(s.o), k.mul(index, s.oStride)), k.mul(column, 4));
  KernelBuilder::Values acc;
  for (int64_t r = 0; r < rows; ++r) {
    Value alpha = k.loadBroadcast(k.f32(), alphas, r * 4);
    for (int64_t v = 0; v < vecs; ++v)
      acc.push_back(k.mul(k.loadAt(k.f32v(), o, r * s.oStride + v * 64, 64), alpha));
  }
  // Bytes read before these columns, of K and of V.
  const int64_t width = vecs * 16 * elem;
  Value passed = k.mul(k.add(column, core.kv.dim), spec::kAttnBlock * elem);
  for (int64_t j = 0; j < 4; ++j) {
    Value first = k.maxS(k.sub(keyLow, k.c64(j * 16)), k.c64(0));
    Value last = k.minS(k.sub(keyHigh, k.c64(j * 16)), k.c64(16));
    Value vBase = k.gep(k.gep(page[j], core.kv.dim * spec::kKvPage * elem), k.mul(column, elem));
    acc = k.forLoop(first, last, k.c64(1), acc, [&](Value slot, ValueRange carried) {
      Value row = k.gep(vBase, k.mul(slot, core.kv.vDim * elem)), p = k.gep(prob, k.mul(slot, 4));
      KernelBuilder::Values v, sums;
      for (int64_t c = 0; c < vecs; ++c)
        v.push_back(loadLanes(k, stored, row, c * 16 * elem, c == vecs - 1 && tail ? tail : 16));
      if (fetch)
        fetchNext(k.add(k.mul(slot, width), k.add(passed, j * spec::kKvPage * width)), width);
      for (int64_t r = 0; r < rows; ++r) {
        Value weight = k.loadBroadcast(k.f32(), p, r * 256 + j * 64);
        for (int64_t c = 0; c < vecs; ++c)
          sums.push_back(k.fma(weight, v[c], carried[r * vecs + c]));
      }
      return sums;
    });
  }
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t v = 0; v < vecs; ++v)
      k.storeAt(acc[r * vecs + v], o, r * s.oStride + v * 64, 64);
}

void AttentionBlock::values(Value index, Value keyLow, Value keyHigh) {
  int64_t whole = core.kv.vDim / (tile.vecs * 16), width = tile.vecs * 16;
  if (whole == 1)
    valueColumns(index, k.c64(0), tile.vecs, 0, keyLow, keyHigh);
  else if (whole > 1)
    k.forLoop(0, whole * width, width,
              [&](Value column) { valueColumns(index, column, tile.vecs, 0, keyLow, keyHigh); });
  int64_t rest = core.kv.vDim - whole * width;
  if (rest)
    valueColumns(index, k.c64(whole * width), (rest + 15) / 16, rest % 16, keyLow, keyHigh);
}

void AttentionBlock::run(Value index, Value keyLow, Value keyHigh, bool first) {
  fetch = hasNext && first;
  // Behind what is read of K and V: the scales of int8.
  const int64_t head = core.kv.headBytes(), read = (core.kv.dim + core.kv.vDim) * spec::kKvPage;
  for (int64_t at = 4 * read * spec::kvElemBytes(core.kv.type); fetch && at < 4 * head; at += 64)
    fetchNext(k.c64(at), 64);
  scores(k.gep(at(s.q), k.mul(index, s.qStride)));
  softmax(index);
  values(index, keyLow, keyHigh);
}

MergeFactors cpu::emitMergeFactors(KernelBuilder &k, Value mTotal, Value lTotal, Value m, Value l) {
  Value top = k.maxF(m, mTotal);
  // Nothing seen on either side: all factors 0. Nothing seen yet: a = 0, b = 1 take the segment as it is.
  Value shift = k.select(k.cmp(FPred::OEQ, top, k.splat(k.f32(), kNegInf)), k.cf(0), top);
  Value a = emitExpNonPositive(k, k.sub(mTotal, shift));
  Value b = emitExpNonPositive(k, k.sub(m, shift));
  return {top, k.fma(l, b, k.mul(lTotal, a)), a, b};
}

void AttentionBlock::mergeTotals(Value count) {
  k.forLoop(k.c64(0), count, 1, [&](Value index) {
    Value off = k.mul(index, 4);
    MergeFactors f =
        emitMergeFactors(k, k.loadAt(k.f32(), at(s.mTotal), off), k.loadAt(k.f32(), at(s.lTotal), off),
                         k.loadAt(k.f32(), at(s.m), off), k.loadAt(k.f32(), at(s.l), off));
    k.storeAt(f.m, at(s.mTotal), off);
    k.storeAt(f.l, at(s.lTotal), off);
    Value a = k.broadcast(f.a, 16), b = k.broadcast(f.b, 16), row = k.mul(index, s.oStride);
    forVectors(k, roundUp(core.kv.vDim, 16), 4, [&](Value c, int64_t) {
      Value at16 = k.add(row, k.mul(c, 4));
      Value sum = k.fma(k.loadAt(k.f32v(), at(s.o), at16, 64), b,
                        k.mul(k.loadAt(k.f32v(), at(s.oTotal), at16, 64), a));
      k.storeAt(sum, at(s.oTotal), at16, 64);
    });
  });
}

Value AttentionBlock::stateSum(Value index, bool total) {
  return k.broadcast(k.loadAt(k.f32(), at(total ? s.lTotal : s.l), k.mul(index, 4)), 16);
}

Value AttentionBlock::result(Value index, Value first, int64_t n, bool total) {
  Value row = k.gep(at(total ? s.oTotal : s.o), k.mul(index, s.oStride));
  Value v = k.loadAt(k.f32v(), row, k.mul(first, 4), 64);
  // + 0: a zero is +0, however many masked keys were added to it.
  Value out = k.add(k.div(v, stateSum(index, total)), k.splat(k.f32v(), 0));
  return keepLanes(k, out, n);
}
