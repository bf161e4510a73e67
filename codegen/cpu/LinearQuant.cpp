//===- LinearQuant.cpp - quantized weights times int8 activations ---------------------------------===//
//
// Register tile: one vector of columns (a panel, or half of one on 256-bit registers) times `rows` rows of an
// activation block. A sub-block of 32 columns is unpacked once for all rows of the tile. Formats with
// minimums keep two chains; where registers do not hold both, the chain of the minimums runs first in a loop
// of its own (the order of the chains does not matter, each is ascending). The code offset of symmetric
// formats enters as the start value of the integer sums, computed once per launch from the activations' sums.
//
//===----------------------------------------------------------------------------------------------------===//
#include "codegen/cpu/LinearQuant.h"
#include "codegen/cpu/IntDot.h"
#include "codegen/cpu/Panels.h"

#include "llvm/ADT/STLExtras.h"

using namespace ingot;
using namespace ingot::cpu;
using Values = KernelBuilder::Values;

QuantWeights::QuantWeights(KernelBuilder &k, const LinearSpec &spec)
    : k(k), spec(spec), geometry(qfmt::geometry(spec.scheme)), size(*qfmt::panelSize(spec.scheme, spec.k)),
      bits(codeBits(spec.scheme)), lanes(spec.schedule.lanes), super(geometry.kStep == 256) {}

static Value at(KernelBuilder &k, Value base, Value half, int64_t bytesOfHalf) {
  return half ? k.gep(base, k.mul(half, bytesOfHalf)) : base;
}

Value QuantWeights::codes(Value sub, int64_t v, Value half) {
  auto bytes = k.vec(4 * lanes, k.i8());
  int64_t wide = 4 * lanes;
  if (bits == 8)
    return k.loadAt(bytes, at(k, sub, half, 32), 64 * v, wide);
  Value w = k.loadAt(bytes, at(k, sub, half, 32), qfmt::nibbleLine(bits, v), wide);
  Value low = v % 2 ? k.shrU(w, 4) : k.and_(w, k.splatInt(bytes, 15));
  if (bits == 5) {
    Type maskInt = k.builder().getIntegerType(unsigned(4 * lanes));
    Value mask = k.bitcast(k.loadAt(maskInt, at(k, sub, half, 4), 256 + 8 * v, 4), k.vec(4 * lanes, k.i1()));
    return k.select(mask, k.or_(low, k.splatInt(bytes, 16)), low);
  }
  if (bits == 6) {
    Value plane = k.loadAt(bytes, at(k, sub, half, 32), qfmt::upperTwoLine(v), wide);
    int64_t s = v % 4;
    // 16-bit shifts: bits that cross a byte are masked away.
    Type words = k.vec(2 * lanes, k.i16());
    Value p = k.bitcast(plane, words);
    p = s == 0 ? k.shl(p, 4) : s == 1 ? k.shl(p, 2) : s == 2 ? p : k.shrU(p, 2);
    return k.or_(low, k.and_(k.bitcast(p, bytes), k.splatInt(bytes, 0x30)));
  }
  return low;
}

Value QuantWeights::halfs(Value side, int64_t offset, Value half) {
  return k.toF32(k.loadAt(k.vec(lanes, k.f16()), at(k, side, half, 16), offset, 2 * lanes));
}

Value QuantWeights::byteScale(Value side, Value offset, Value half, bool isSigned) {
  Value b = k.load(k.vec(lanes, k.i8()), at(k, k.gep(side, offset), half, 8), lanes);
  Type ints = k.vec(lanes, k.i32());
  return k.sToF(isSigned ? k.extS(b, ints) : k.extU(b, ints), k.f32v(lanes));
}

Values QuantWeights::forSubBlocks(Value panel, Values carried,
                                  llvm::function_ref<Values(const SubBlock &, ValueRange)> body) {
  if (!super) {
    return k.forLoop(0, spec.k / 32, 1, carried, [&](Value b, ValueRange in) {
      PanelStep at = panelStep(k, size, panel, b);
      Value s = at.side;
      SubBlock sub{b, at.payload, {}, {}};
      sub.scale = [this, s](int64_t, Value half) { return halfs(s, 0, half); };
      sub.min = [this, s](Value half) { return halfs(s, 32, half); };
      return body(sub, in);
    });
  }
  return k.forLoop(0, spec.k / 256, 1, carried, [&](Value group, ValueRange outer) {
    PanelStep at = panelStep(k, size, panel, group);
    Value s = at.side;
    Values in(outer.begin(), outer.end());
    return k.forLoop(0, 8, 1, in, [&](Value j, ValueRange inner) {
      Value b = k.add(k.mul(group, 8), j);
      SubBlock sub{b, k.gep(at.payload, k.mul(j, size.payloadBytes / 8)), {}, {}};
      if (spec.scheme == qfmt::Scheme::Q6_K) {
        sub.scale = [this, s, j](int64_t part, Value half) {
          Value offset = k.add(k.mul(j, 32), 32 + 16 * part);
          return k.mul(halfs(s, 0, half), byteScale(s, offset, half, true));
        };
      } else {
        sub.scale = [this, s, j](int64_t, Value half) {
          return k.mul(halfs(s, 0, half), byteScale(s, k.add(k.mul(j, 16), 64), half, false));
        };
        sub.min = [this, s, j](Value half) {
          return k.neg(k.mul(halfs(s, 32, half), byteScale(s, k.add(k.mul(j, 16), 192), half, false)));
        };
      }
      return body(sub, inner);
    });
  });
}

QuantActs::QuantActs(KernelBuilder &k, const LinearSpec &spec, bool needStarts)
    : spec(spec), base(k.slot(0)), block(spec.block) {
  layout.K = spec.k;
  layout.R = block;
  parts = spec.scheme == qfmt::Scheme::Q6_K ? 2 : 1;
  startBytes = spec.k / 32 * parts * block * 4;
  if (needStarts && codeOffset(spec.scheme))
    starts = k.scratch();
}

void QuantActs::prepare(KernelBuilder &k, Value first, Value count) {
  if (!starts)
    return;
  int64_t offset = codeOffset(spec.scheme);
  int64_t step = block % 4 == 0 ? 4 : block % 2 == 0 ? 2 : 1;
  auto type = k.vec(step, k.i32());
  k.forLoop(k.c64(0), count, 1, [&](Value b) {
    Value from = k.gep(base, k.add(k.mul(k.add(first, b), layout.regionBytes()), layout.s16Offset()));
    Value to = k.gep(starts, k.mul(b, startBytes));
    k.forLoop(0, spec.k / 32 * parts, 1, [&](Value g) {
      for (int64_t r = 0; r < block; r += step) {
        Value src = k.gep(from, k.mul(g, 4 * block * (parts == 2 ? 1 : 2)));
        Value sum = k.loadAt(type, src, 4 * r);
        if (parts == 1)
          sum = k.add(sum, k.loadAt(type, src, 4 * (block + r)));
        k.storeAt(k.mul(sum, -offset), k.gep(to, k.mul(g, 4 * block)), 4 * r);
      }
    });
  });
}

namespace {

class QuantTiles {
public:
  QuantTiles(KernelBuilder &k, const LinearSpec &spec)
      : k(k), spec(spec), epilogue(k, spec), weights(k, spec),
        acts(k, spec, !IntDot::takesOffset(spec.schedule, codeBits(spec.scheme))) {}

  QuantActs &activations() { return acts; }

  /// Unit `unit` against `rows` rows of block `b` from its row `inBlock` on; the chunk began at block
  /// `chunk`.
  /// `stream` (i1; null: always): no tile before read these weights, so the next ones are prefetched.
  void tile(Value unit, Value b, Value chunk, Value inBlock, int64_t rows, Value stream) {
    Value region = k.gep(acts.base, k.add(k.mul(b, acts.layout.regionBytes()), k.mul(inBlock, 4)));
    Value start = acts.starts
                      ? k.gep(acts.starts, k.add(k.mul(k.sub(b, chunk), acts.startBytes), k.mul(inBlock, 4)))
                      : Value();
    Value row0 = k.add(k.mul(b, spec.block), inBlock);
    // With 256-bit registers a panel has two halves: read together where their accumulators fit, so that
    // memory sees one stream, else one after the other. The masks of 5-bit codes leave no registers for two.
    auto halves = [&](llvm::function_ref<void(llvm::ArrayRef<Value>)> some) {
      if (spec.schedule.lanes == 16)
        some({Value()});
      else if (weights.bits != 5 && rows * (weights.geometry.hasMin ? 2 : 1) <= 2)
        some({k.c64(0), k.c64(1)});
      else
        k.forLoop(0, 2, 1, [&](Value half) { some({half}); });
    };
    if (LinearHeads *heads = epilogue.heads()) {
      auto panelOf = [&](Value i) {
        Value panel = heads->panel(unit, i);
        halves([&](llvm::ArrayRef<Value> which) {
          TileResults ys = dot(k.gep(epilogue.weights(), k.mul(panel, weights.size.bytes)), region, start,
                               rows, which, stream);
          for (auto [half, y] : llvm::zip_equal(which, ys))
            heads->keep(y, heads->tile, k.c64(0), panel, i, half);
        });
      };
      if (heads->units.panels == 1)
        panelOf(k.c64(0));
      else
        k.forLoop(0, heads->units.panels, 1, panelOf);
      return heads->finish(heads->tile, unit, row0, k.c64(rows));
    }
    halves([&](llvm::ArrayRef<Value> which) {
      int64_t per = spec.gate ? 2 : 1;
      llvm::SmallVector<TileResults, 2> results(which.size());
      for (int64_t p = 0; p < per; ++p) {
        Value panel = k.add(k.mul(unit, per), p);
        TileResults ys = dot(k.gep(epilogue.weights(), k.mul(panel, weights.size.bytes)), region, start, rows,
                             which, stream);
        for (auto [result, y] : llvm::zip_equal(results, ys))
          result.push_back(y);
      }
      for (auto [half, result] : llvm::zip_equal(which, results))
        epilogue.store(result, unit, row0, half);
    });
  }

private:
  /// The products of a panel's `halves` (a null one: of the whole panel), `rows` values each.
  TileResults dot(Value panel, Value region, Value start, int64_t rows, llvm::ArrayRef<Value> halves,
                  Value stream) {
    const int64_t lanes = spec.schedule.lanes, block = spec.block, chains = rows * int64_t(halves.size());
    auto type = k.f32v(lanes);
    bool hasMin = weights.geometry.hasMin;
    // Both chains in one loop need 3 registers a row beside codes, scale, minimum and constants.
    bool minsFirst = hasMin && chains * 3 > (lanes == 16 ? 24 : 8);
    Value daBase = k.gep(region, acts.layout.daOffset()), dsBase = k.gep(region, acts.layout.dsOffset());
    Values mins;
    auto addMins = [&](const SubBlock &sub, ValueRange in) {
      Values next;
      for (Value half : halves) {
        Value m = sub.min(half);
        for (int64_t r = 0; r < rows; ++r)
          next.push_back(
              k.fma(m, k.loadBroadcast(k.f32(), k.gep(dsBase, k.mul(sub.index, 4 * block)), 4 * r, lanes),
                    in[next.size()]));
      }
      return next;
    };
    Values zeros(size_t(chains), k.splat(type, 0));
    if (minsFirst)
      mins = weights.forSubBlocks(panel, zeros, addMins);
    Values carried = zeros;
    if (hasMin && !minsFirst)
      carried.append(zeros.begin(), zeros.end());
    // Without a branch, which would cost registers: who does not stream asks for what it reads anyway.
    Value ahead = k.gep(panel, stream ? k.select(stream, k.c64(spec.schedule.prefetch), k.c64(0))
                                      : k.c64(spec.schedule.prefetch));
    Values sums = weights.forSubBlocks(panel, carried, [&](const SubBlock &sub, ValueRange in) {
      prefetch(ahead, sub.index);
      Values next(in.begin(), in.begin() + chains);
      for (size_t h = 0; h < halves.size(); ++h)
        addSubBlock(sub, halves[h], region, daBase, start, rows,
                    llvm::MutableArrayRef<Value>(next).slice(h * size_t(rows), size_t(rows)));
      if (hasMin && !minsFirst)
        next.append(addMins(sub, in.drop_front(size_t(chains))));
      return next;
    });
    TileResults y(halves.size());
    for (int64_t i = 0; i < chains; ++i) {
      Value acc = sums[size_t(i)];
      if (hasMin)
        acc = k.add(acc, minsFirst ? mins[size_t(i)] : sums[size_t(chains + i)]);
      y[size_t(i / rows)].push_back(acc);
    }
    return y;
  }

  /// Adds a sub-block's scaled integer sums to the chains of a half's rows.
  void addSubBlock(const SubBlock &sub, Value half, Value region, Value daBase, Value start, int64_t rows,
                   llvm::MutableArrayRef<Value> chains) {
    const int64_t lanes = spec.schedule.lanes, block = spec.block;
    Value q = k.gep(region, k.mul(sub.index, 32 * block));
    Value da = k.gep(daBase, k.mul(sub.index, 4 * block));
    for (int64_t part = 0; part < acts.parts; ++part) {
      llvm::SmallVector<Value, 12> init;
      for (int64_t r = 0; start && r < rows; ++r)
        init.push_back(k.loadBroadcast(k.i32(), k.gep(start, k.mul(sub.index, 4 * block * acts.parts)),
                                       4 * (block * part + r), lanes));
      int64_t steps = 8 / acts.parts;
      IntDot ints(k, spec.schedule, weights.bits, rows, steps, init);
      for (int64_t v = part * steps; v < (part + 1) * steps; ++v)
        ints.step(weights.codes(sub.payload, v, half), k.gep(q, 4 * block * v));
      Value scale = sub.scale(part, half);
      auto s = ints.finish();
      for (int64_t r = 0; r < rows; ++r) {
        Value f = k.mul(scale, k.loadBroadcast(k.f32(), da, 4 * r, lanes));
        chains[size_t(r)] = k.fma(k.sToF(s[size_t(r)], k.f32v(lanes)), f, chains[size_t(r)]);
      }
    }
  }

  void prefetch(Value from, Value index) {
    if (spec.schedule.prefetch <= 0)
      return;
    int64_t subBlocks = spec.k / 32, step = (weights.size.bytes + subBlocks - 1) / subBlocks;
    Value p = k.gep(from, k.mul(index, step));
    for (int64_t line = 0; line < step; line += 64)
      k.prefetch(k.gep(p, line), spec.schedule.prefetchesL1() ? 3 : 2);
  }

  KernelBuilder &k;
  const LinearSpec &spec;
  LinearEpilogue epilogue;
  QuantWeights weights;
  QuantActs acts;
};

} // namespace

void ingot::cpu::emitLinearQuant(KernelBuilder &k, const LinearSpec &spec) {
  using Pred = KernelBuilder::Pred;
  QuantTiles tiles(k, spec);
  std::pair<Value, Value> range = shareUnits(k, spec);
  Value lo = range.first, hi = range.second;
  Value rows = domainRows(k, spec.domain);
  const int64_t block = spec.block, tile = spec.schedule.rows;
  auto wholeBlock = [&](Value unit, Value b, Value first) {
    Value stream = spec.rows > 0 ? Value() : k.cmp(Pred::eq, b, first);
    if (tile == block)
      return tiles.tile(unit, b, first, k.c64(0), tile, stream);
    k.forLoop(0, block, tile, [&](Value r) {
      Value top = k.cmp(Pred::eq, r, k.c64(0));
      tiles.tile(unit, b, first, r, tile, stream ? k.and_(stream, top) : top);
    });
  };
  if (spec.rows > 0) {
    k.ifThen(k.cmp(Pred::sgt, rows, k.c64(0)), [&] {
      Value zero = k.c64(0);
      tiles.activations().prepare(k, zero, k.c64(1));
      k.forLoop(lo, hi, 1, [&](Value unit) { wholeBlock(unit, zero, zero); });
    });
    return;
  }
  // Tiles of fewer rows for the last block; one that none of them holds is computed whole.
  llvm::SmallVector<int64_t> tails;
  for (int64_t count : {1, 2, 4, 8})
    if (count < block && tile == block)
      tails.push_back(count);
  int64_t most = tile < block ? block - 1 : tails.empty() ? 0 : tails.back();
  Value whole = k.div(k.add(rows, block - 1 - most), k.c64(block));
  Value rest = k.sub(rows, k.mul(whole, block));
  int64_t chunk = spec.schedule.chunk / block;
  k.forLoop(k.c64(0), whole, chunk, [&](Value b0) {
    Value b1 = k.minS(k.add(b0, chunk), whole);
    tiles.activations().prepare(k, b0, k.sub(b1, b0));
    k.forLoop(lo, hi, 1,
              [&](Value unit) { k.forLoop(b0, b1, 1, [&](Value b) { wholeBlock(unit, b, b0); }); });
  });
  if (most == 0)
    return;
  k.ifThen(k.cmp(Pred::sgt, rest, k.c64(0)), [&] {
    tiles.activations().prepare(k, whole, k.c64(1));
    if (tile < block) {
      k.forLoop(lo, hi, 1, [&](Value unit) {
        k.forLoop(k.c64(0), rest, tile,
                  [&](Value r) { tiles.tile(unit, whole, whole, r, tile, k.cmp(Pred::eq, r, k.c64(0))); });
      });
      return;
    }
    int64_t below = 0;
    for (int64_t count : tails) {
      Value here = k.and_(k.cmp(Pred::sgt, rest, k.c64(below)), k.cmp(Pred::sle, rest, k.c64(count)));
      k.ifThen(here, [&] {
        k.forLoop(lo, hi, 1, [&](Value unit) { tiles.tile(unit, whole, whole, k.c64(0), count, Value()); });
      });
      below = count;
    }
  });
}
