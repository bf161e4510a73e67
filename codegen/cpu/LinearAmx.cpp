//===- LinearAmx.cpp - quantized weights on AMX int8 tiles ----------------------------------------===//
//
// Chunk class only. The sum of each group of 32 columns (16 in q6_k) is one tile product: A = one block of
// activation rows, B = the unpacked codes of a panel, C = exact int32 sums, stored and folded into f32 by the
// scheme's expression. Per chunk of rows the activations are brought into tile order; per panel the codes are
// unpacked once for all row blocks of the chunk. Blocks are computed whole.
//
// `amxInSoftware` lowers the three tile operations to loops on the same memory, so that everything else is
// tested on machines without AMX.
//
//===----------------------------------------------------------------------------------------------------===//
#include "codegen/cpu/LinearQuant.h"

using namespace ingot;
using namespace ingot::cpu;
using Values = KernelBuilder::Values;

/// Products in flight: so many C tiles are written before they are folded.
static int64_t tilesInFlight(const LinearSpec &s) {
  int64_t sums = s.k / 32;
  return s.scheme == qfmt::Scheme::Q6_K ? 2 : sums % 4 == 0 ? 4 : sums % 2 == 0 ? 2 : 1;
}

static int64_t startBytesOf(const LinearSpec &s) {
  int64_t groups = s.k / 32 * (s.scheme == qfmt::Scheme::Q6_K ? 2 : 1);
  return codeOffset(s.scheme) ? roundUp(s.schedule.chunk * groups * 4, 64) : 0;
}

int64_t ingot::cpu::linearAmxScratchBytes(const LinearSpec &s) {
  int64_t subBlocks = s.k / 32;
  return startBytesOf(s) + (s.schedule.chunk / s.block + s.unitPanels()) * subBlocks * 512 + 4 * 1024;
}

namespace {

class AmxTiles {
public:
  AmxTiles(KernelBuilder &k, const LinearSpec &spec)
      : k(k), spec(spec), epilogue(k, spec), weights(k, spec), acts(k, spec, true), parts(acts.parts),
        depth(32 / parts), subBlocks(spec.k / 32), flight(tilesInFlight(spec)) {
    aTiles = k.gep(k.scratch(), startBytesOf(spec));
    bTiles = k.gep(aTiles, spec.schedule.chunk / spec.block * subBlocks * 512);
    cTiles = k.gep(bTiles, spec.unitPanels() * subBlocks * 512);
  }

  /// Start values and A tiles of `count` blocks from `first` on: 32 bytes of row r at 32 r of its sub-block's
  /// tile.
  void prepareActs(Value first, Value count) {
    acts.prepare(k, first, count);
    const int64_t block = spec.block;
    k.forLoop(k.c64(0), count, 1, [&](Value b) {
      Value from = k.gep(acts.base, k.mul(k.add(first, b), acts.layout.regionBytes()));
      Value to = k.gep(aTiles, k.mul(b, subBlocks * 512));
      k.forLoop(0, subBlocks, 1, [&](Value g) {
        Value src = k.gep(from, k.mul(g, 32 * block)), dst = k.gep(to, k.mul(g, 512));
        for (int64_t r = 0; r < block; ++r) {
          Value row = k.splatInt(k.vec(8, k.i32()), 0);
          for (int64_t j = 0; j < 8; ++j)
            row = k.insert(k.loadAt(k.i32(), src, 4 * (block * j + r)), row, j);
          k.storeAt(row, dst, 32 * r);
        }
      });
    });
  }

  void unit(Value unit, Value first, Value count) {
    if (epilogue.heads())
      return headUnit(unit, first, count);
    int64_t per = spec.gate ? 2 : 1;
    auto panelOf = [&](int64_t p) {
      return k.gep(epilogue.weights(), k.mul(k.add(k.mul(unit, per), p), weights.size.bytes));
    };
    auto codesOf = [&](int64_t p) { return k.gep(bTiles, p * subBlocks * 512); };
    for (int64_t p = 0; p < per; ++p)
      unpack(panelOf(p), codesOf(p));
    k.forLoop(k.c64(0), count, 1, [&](Value b) {
      TileResults results;
      for (int64_t p = 0; p < per; ++p)
        results.push_back(block(panelOf(p), codesOf(p), b, k.add(first, b)));
      epilogue.store(results, unit, k.mul(k.add(first, b), spec.block), Value());
    });
  }

private:
  void headUnit(Value unit, Value first, Value count) {
    LinearHeads &heads = *epilogue.heads();
    auto forPanels = [&](llvm::function_ref<void(Value i, Value panel, Value at, Value codes)> f) {
      k.forLoop(0, heads.units.panels, 1, [&](Value i) {
        Value panel = heads.panel(unit, i);
        f(i, panel, k.gep(epilogue.weights(), k.mul(panel, weights.size.bytes)),
          k.gep(bTiles, k.mul(i, subBlocks * 512)));
      });
    };
    forPanels([&](Value, Value, Value at, Value codes) { unpack(at, codes); });
    k.forLoop(k.c64(0), count, 1, [&](Value b) {
      forPanels([&](Value i, Value panel, Value at, Value codes) {
        heads.keep(block(at, codes, b, k.add(first, b)), heads.tile, k.c64(0), panel, i, Value());
      });
      heads.finish(heads.tile, unit, k.mul(k.add(first, b), spec.block), k.c64(spec.block));
    });
  }

  void unpack(Value panel, Value codes) {
    weights.forSubBlocks(panel, {}, [&](const SubBlock &sub, ValueRange) {
      Value to = k.gep(codes, k.mul(sub.index, 512));
      for (int64_t v = 0; v < 8; ++v)
        k.storeAt(weights.codes(sub.payload, v, Value()), to, 64 * v, 64);
      return Values{};
    });
  }

  llvm::SmallVector<Value, 12> block(Value panel, Value codes, Value inChunk, Value index) {
    const int64_t rows = spec.block;
    auto type = k.f32v();
    bool hasMin = weights.geometry.hasMin;
    Value region = k.gep(acts.base, k.mul(index, acts.layout.regionBytes()));
    Value daBase = k.gep(region, acts.layout.daOffset()), dsBase = k.gep(region, acts.layout.dsOffset());
    Value a = k.gep(aTiles, k.mul(inChunk, subBlocks * 512));
    Value start = acts.starts ? k.gep(acts.starts, k.mul(inChunk, acts.startBytes)) : Value();
    Values zeros(size_t(rows), k.splat(type, 0)), mins;
    if (hasMin)
      mins = weights.forSubBlocks(panel, zeros, [&](const SubBlock &sub, ValueRange in) {
        Value m = sub.min(Value());
        Values next;
        for (int64_t r = 0; r < rows; ++r) {
          Value ds = k.loadBroadcast(k.f32(), k.gep(dsBase, k.mul(sub.index, 4 * rows)), 4 * r);
          next.push_back(k.fma(m, ds, in[size_t(r)]));
        }
        return next;
      });
    // The products run ahead of the folds by `flight` sub-blocks: at each multiple of it, that many are
    // written.
    int64_t tilesPerStep = spec.scheme == qfmt::Scheme::Q6_K ? 1 : flight;
    Values sums = weights.forSubBlocks(panel, zeros, [&](const SubBlock &sub, ValueRange in) {
      Value slot = k.rem(sub.index, k.c64(tilesPerStep));
      k.ifThen(k.cmp(KernelBuilder::Pred::eq, slot, k.c64(0)), [&] {
        for (int64_t i = 0; i < tilesPerStep; ++i)
          for (int64_t part = 0; part < parts; ++part) {
            Value at = k.mul(k.add(sub.index, i), 512);
            product(k.gep(cTiles, 1024 * (parts * i + part)), k.gep(k.gep(a, at), depth * part),
                    k.gep(k.gep(codes, at), 16 * depth * part));
          }
      });
      Value c = k.gep(cTiles, k.mul(slot, 1024 * parts));
      Value da = k.gep(daBase, k.mul(sub.index, 4 * rows));
      Values next(in.begin(), in.end());
      for (int64_t part = 0; part < parts; ++part) {
        Value scale = sub.scale(part, Value());
        for (int64_t r = 0; r < rows; ++r) {
          Value s = k.loadAt(k.vec(16, k.i32()), c, 1024 * part + 64 * r, 64);
          if (start)
            s = k.add(s, k.loadBroadcast(k.i32(), k.gep(start, k.mul(sub.index, 4 * rows * parts)),
                                         4 * (rows * part + r)));
          Value f = k.mul(scale, k.loadBroadcast(k.f32(), da, 4 * r));
          next[size_t(r)] = k.fma(k.sToF(s, type), f, next[size_t(r)]);
        }
      }
      return next;
    });
    llvm::SmallVector<Value, 12> y;
    for (int64_t r = 0; r < rows; ++r)
      y.push_back(hasMin ? k.add(sums[size_t(r)], mins[size_t(r)]) : sums[size_t(r)]);
    return y;
  }

  /// C (rows x 16 i32, stride 64) = A (rows x depth s8, stride 32) times B (depth / 4 rows of 16 x 4 u8).
  void product(Value c, Value a, Value b) {
    if (spec.amxInSoftware)
      return productInSoftware(c, a, b);
    Type tile = mlir::LLVM::LLVMX86AMXType::get(k.builder().getContext());
    auto i16 = [&](int64_t v) { return k.splatInt(k.i16(), v); };
    Value rows = i16(spec.block), bytes = i16(depth), wide = i16(64);
    Value zero = k.intrinsic("llvm.x86.tilezero.internal", tile, {rows, wide});
    Value ta = k.intrinsic("llvm.x86.tileloadd64.internal", tile, {rows, bytes, a, k.c64(32)});
    Value tb = k.intrinsic("llvm.x86.tileloadd64.internal", tile, {i16(depth / 4), wide, b, k.c64(64)});
    Value tc = k.intrinsic("llvm.x86.tdpbsud.internal", tile, {rows, wide, bytes, zero, ta, tb});
    k.intrinsic("llvm.x86.tilestored64.internal", Type(), {rows, wide, c, k.c64(64), tc});
  }

  void productInSoftware(Value c, Value a, Value b) {
    auto ints = k.vec(16, k.i32());
    k.forLoop(0, spec.block, 1, [&](Value r) {
      Values sum = k.forLoop(0, depth / 4, 1, ValueRange{k.splatInt(ints, 0)}, [&](Value i, ValueRange in) {
        Value codes = k.loadAt(k.vec(64, k.i8()), b, k.mul(i, 64)), total = in[0];
        for (int64_t t = 0; t < 4; ++t) {
          llvm::SmallVector<int64_t> lanes;
          for (int64_t n = 0; n < 16; ++n)
            lanes.push_back(4 * n + t);
          Value w = k.extU(k.shuffle(codes, codes, lanes), ints);
          Value at = k.add(k.add(k.mul(r, 32), k.mul(i, 4)), t);
          Value x = k.extS(k.loadAt(k.i8(), a, at), k.i32());
          total = k.add(total, k.mul(w, k.broadcast(x, 16)));
        }
        return Values{total};
      });
      k.storeAt(sum[0], c, k.mul(r, 64), 64);
    });
  }

  KernelBuilder &k;
  const LinearSpec &spec;
  LinearEpilogue epilogue;
  QuantWeights weights;
  QuantActs acts;
  int64_t parts, depth, subBlocks, flight;
  Value aTiles, bTiles, cTiles;
};

} // namespace

void ingot::cpu::emitLinearAmx(KernelBuilder &k, const LinearSpec &spec) {
  AmxTiles tiles(k, spec);
  std::pair<Value, Value> range = shareUnits(k, spec);
  Value blocks = k.div(k.add(domainRows(k, spec.domain), spec.block - 1), k.c64(spec.block));
  k.forLoop(k.c64(0), blocks, spec.schedule.chunk / spec.block, [&](Value b0) {
    Value count = k.minS(k.sub(blocks, b0), k.c64(spec.schedule.chunk / spec.block));
    tiles.prepareActs(b0, count);
    k.forLoop(range.first, range.second, 1, [&](Value unit) { tiles.unit(unit, b0, count); });
  });
}
