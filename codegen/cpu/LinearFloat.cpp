//===- LinearFloat.cpp - f32, f16 and bf16 weights ------------------------------------------------===//
//
// One fma chain per output, columns ascending; or (DotKind::Bf16) one chain of pairs of columns, of bf16
// weights and of activations that are rounded to bf16 in scratch before they are used; or (DotKind::AmxBf16)
// tile products of the same in place of register tiles. A register tile is `panels` panels times `rows` rows;
// with one row, several panels in flight hide the latency of the chain.
//
// An M class reads the weights as they lie, and so does the chunk class where that is faster (floatInBlocks).
// Else the chunk class works in blocks of columns: a block of the panels
// in flight is widened to f32 once in scratch (so the inner loop has loads and fma only, and one stream of
// weights in L1), all rows of the chunk pass over it, and the sums wait in scratch between blocks: a chain
// that is stored and loaded again has the same bits.
//
//===----------------------------------------------------------------------------------------------------===//
#include "codegen/cpu/Linear.h"
#include "codegen/cpu/LinearAmxBf16.h"

using namespace ingot;
using namespace ingot::cpu;

namespace {

/// Columns of one block of the chunk class: two panels of them and 12 rows lie in 32 KB of L1.
constexpr int64_t floatScratchColumns = 128;

/// Whole units, or as many panels as divide a unit that has more (rope_kv alone has such).
int64_t panelsInFlight(const LinearSpec &spec) {
  int64_t unit = spec.unitPanels(), most = std::max<int64_t>(spec.gate ? 2 : 1, spec.schedule.panels);
  if (unit <= most)
    return most / unit * unit;
  while (unit % most != 0)
    --most;
  return most;
}

/// Bytes from row to row of the copy of a chunk's activations that the chunk class works on, 0 where it reads
/// them in place: with a stride of 2 or 4 KB all rows of a tile would fall into the same few sets of L1.
int64_t copyStrideBytes(const LinearSpec &spec) {
  return spec.inStrideBytes() % 2048 == 0 ? spec.inStrideBytes() + 4 * floatScratchColumns : 0;
}

/// Bytes from row to row of activations rounded to bf16: no multiple of 1 KB, as above.
int64_t roundedStrideBytes(const LinearSpec &spec) {
  int64_t bytes = roundUp(2 * roundUp(spec.k, 16), 64);
  return bytes % 1024 == 0 ? bytes + 64 : bytes;
}

/// Scratch of the chunk class: widened columns, sums, the copy of the activations (with bf16 dots that copy
/// alone), rows of a unit.
int64_t unitRowsOffset(const LinearSpec &spec) {
  if (spec.schedule.dot == DotKind::Bf16)
    return spec.schedule.chunk * roundedStrideBytes(spec);
  if (spec.schedule.dot == DotKind::AmxBf16)
    return AmxBf16Products::capacity(spec) * (64 * panelsInFlight(spec) + roundedStrideBytes(spec)) +
           panelsInFlight(spec) * AmxBf16Products::panelBytes(spec);
  return (floatScratchColumns + spec.schedule.chunk) * panelsInFlight(spec) * 64 +
         spec.schedule.chunk * copyStrideBytes(spec);
}

class FloatTiles {
public:
  FloatTiles(KernelBuilder &k, const LinearSpec &spec)
      : k(k), spec(spec), epilogue(k, spec), x(k.slot(0)), xStride(spec.inStrideBytes()),
        bf16Dot(spec.schedule.dot == DotKind::Bf16), panelBytes(qfmt::panelSize(spec.scheme, spec.k)->bytes) {
    element = spec.scheme == qfmt::Scheme::F32   ? k.f32()
              : spec.scheme == qfmt::Scheme::F16 ? k.f16()
                                                 : k.bf16();
    size = element.getIntOrFloatBitWidth() / 8;
  }

  /// Panels that are computed together: those of whole units from `unit` on or, where a unit has more, some
  /// of it from its panel `first` on.
  struct Flight {
    Value unit;
    int64_t panels;
    Value first;
  };

  /// Rows row0 .. row0 + rows - 1. Results of a part of a unit wait from row `waiting` of `unitRows` on.
  /// `stream` (i1; null: always): prefetch weights.
  void tile(const Flight &f, Value row0, int64_t rows, Value waiting, Value unitRows,
            Value stream = Value()) {
    KernelBuilder::Values bases = panelBases(f), acc;
    Value rowBase = k.gep(x, k.mul(row0, xStride));
    // One row of one panel in flight: gate and up pass one after the other, as the one stream that they are.
    const bool apart = rows == 1 && spec.schedule.panels == 1;
    for (size_t p = 0; p < bases.size(); p += apart ? 1 : bases.size())
      acc.append(dots(apart ? KernelBuilder::Values{bases[p]} : bases, rowBase, rows, stream));
    TileResults results(bases.size(), {});
    for (size_t p = 0; p < bases.size(); ++p)
      results[p].assign(acc.begin() + p * rows, acc.begin() + (p + 1) * rows);
    store(f, results, row0, waiting, unitRows);
  }

  /// Sums of all columns, panel by panel and row by row.
  KernelBuilder::Values dots(const KernelBuilder::Values &bases, Value rowBase, int64_t rows, Value stream) {
    const int64_t panels = int64_t(bases.size());
    KernelBuilder::Values acc(size_t(panels * rows), k.splat(k.f32v(), 0));
    return k.forLoop(0, spec.k, spec.schedule.unroll, acc, [&](Value column, ValueRange in) {
      KernelBuilder::Values next(in.begin(), in.end());
      KernelBuilder::Values at;
      for (Value base : bases)
        at.push_back(k.gep(base, k.mul(column, 16 * size)));
      Value xs = k.gep(rowBase, k.mul(column, bf16Dot ? 2 : 4));
      if (spec.schedule.prefetch && stream)
        k.ifThen(stream, [&] { prefetch(bases.front(), at, k.mul(column, 16 * size)); });
      else if (spec.schedule.prefetch)
        prefetch(bases.front(), at, k.mul(column, 16 * size));
      const int64_t step = bf16Dot ? 2 : 1;
      for (int64_t u = 0; u < spec.schedule.unroll; u += step)
        for (int64_t p = 0; p < panels; ++p) {
          Value w = bf16Dot ? pairOfColumns(at[size_t(p)], u)
                            : k.toF32(k.loadAt(k.vec(16, element), at[size_t(p)], u * 16 * size, 16 * size));
          for (int64_t r = 0; r < rows; ++r) {
            Value &sum = next[size_t(p * rows + r)];
            if (bf16Dot)
              sum = dotPair(sum, w, k.loadBroadcast(k.i32(), xs, r * xStride + 2 * u));
            else
              sum = k.fma(w, k.loadBroadcast(k.f32(), xs, r * xStride + 4 * u), sum);
          }
        }
      return next;
    });
  }

  /// All units of [lo, hi) for the rows 0 .. rowEnd - 1, of which there is a multiple of `rows`.
  void panelsOver(Value lo, Value hi, Value rowEnd, int64_t rows) {
    if (bf16Dot)
      roundRows(k.c64(0), rowEnd, k.scratch());
    unitsOver(
        lo, hi,
        [&](const Flight &f) {
          Value unitRows = epilogue.heads() ? epilogue.heads()->tile : Value();
          k.forLoop(k.c64(0), rowEnd, rows, [&](Value row) { tile(f, row, rows, row, unitRows); });
        },
        [&](Value unit) { epilogue.heads()->finish(epilogue.heads()->tile, unit, k.c64(0), rowEnd); });
  }

  /// All units of [lo, hi) for any number of rows, straight from the weights, chunk by chunk.
  void rowsOver(Value lo, Value hi, Value rows) {
    Value unitRows = k.gep(k.scratch(), unitRowsOffset(spec));
    k.forLoop(k.c64(0), rows, spec.schedule.chunk, [&](Value row0) {
      Value rowEnd = k.minS(k.add(row0, spec.schedule.chunk), rows), count = k.sub(rowEnd, row0);
      if (bf16Dot)
        roundRows(row0, rowEnd, k.scratch());
      auto flight = [&](const Flight &f) {
        forTiles(count, spec.schedule.rows, [&](Value row, int64_t tileRows) {
          // The first tile waits for memory, the others find the weights in the cache.
          tile(f, k.add(row0, row), tileRows, row, unitRows, k.cmp(KernelBuilder::Pred::eq, row, k.c64(0)));
        });
      };
      unitsOver(lo, hi, flight, [&](Value unit) { epilogue.heads()->finish(unitRows, unit, row0, count); });
    });
  }

  /// The same by tile products.
  void tilesOver(Value lo, Value hi, Value row0, Value rowEnd) {
    AmxBf16Products products(k, spec);
    const int64_t capacity = AmxBf16Products::capacity(spec), most = panelsInFlight(spec);
    Value count = k.sub(rowEnd, row0), sums = k.scratch();
    Value rounded = k.gep(sums, capacity * 64 * most);
    Value codes = k.gep(rounded, capacity * roundedStrideBytes(spec));
    Value unitRows = k.gep(k.scratch(), unitRowsOffset(spec));
    roundRows(row0, rowEnd, rounded);
    // Whole pairs of tiles, but no more of them than there are rows.
    Value computed = spec.rows > 0 ? k.c64(capacity) : k.mul(k.div(k.add(count, 31), k.c64(32)), 32);
    auto flight = [&](const Flight &f) {
      const int64_t panels = f.panels;
      Value zero = k.splat(k.f32v(), 0);
      k.forLoop(k.c64(0), k.mul(computed, panels), 1,
                [&](Value i) { k.storeAt(zero, sums, k.mul(i, 64), 64); });
      products.unpack(panelBases(f), codes);
      products.run(rounded, xStride, codes, panels, sums, count);
      storeSums(f, sums, count, row0, unitRows);
    };
    unitsOver(lo, hi, flight, [&](Value unit) { epilogue.heads()->finish(unitRows, unit, row0, count); });
  }

  /// All units of [lo, hi) for the rows row0 .. rowEnd - 1, at most `schedule.chunk`.
  void chunkOver(Value lo, Value hi, Value row0, Value rowEnd) {
    Value count = k.sub(rowEnd, row0);
    Value wide = k.scratch(), sums = k.gep(wide, floatScratchColumns * panelsInFlight(spec) * 64);
    Value from = k.gep(x, k.mul(row0, spec.inStrideBytes()));
    int64_t stride = spec.inStrideBytes();
    if (int64_t copied = copyStrideBytes(spec)) {
      Value to = k.gep(sums, spec.schedule.chunk * panelsInFlight(spec) * 64);
      k.forLoop(k.c64(0), count, 1, [&](Value row) {
        Value a = k.gep(from, k.mul(row, stride)), b = k.gep(to, k.mul(row, copied));
        k.forLoop(0, stride, 64, [&](Value i) { k.storeAt(k.loadAt(k.f32v(), a, i, 64), b, i, 64); });
      });
      from = to;
      stride = copied;
    }
    Value unitRows = k.gep(wide, unitRowsOffset(spec));
    auto flight = [&](const Flight &f) {
      const int64_t panels = f.panels;
      KernelBuilder::Values bases = panelBases(f);
      Value zero = k.splat(k.f32v(), 0);
      k.forLoop(k.c64(0), k.mul(count, panels), 1, [&](Value i) { k.storeAt(zero, sums, k.mul(i, 64), 64); });
      k.forLoop(0, spec.k, floatScratchColumns, [&](Value column) {
        Value columns = k.minS(k.sub(k.c64(spec.k), column), k.c64(floatScratchColumns));
        widen(bases, k.mul(column, 16 * size), wide, columns);
        Value xs = k.gep(from, k.mul(column, 4));
        forTiles(count, spec.schedule.rows, [&](Value row, int64_t rows) {
          accumulate(wide, sums, k.gep(xs, k.mul(row, stride)), stride, panels, row, rows, columns);
        });
      });
      storeSums(f, sums, count, row0, unitRows);
    };
    unitsOver(lo, hi, flight, [&](Value unit) { epilogue.heads()->finish(unitRows, unit, row0, count); });
  }

private:
  /// Stores sums[row][panel][16] of `count` rows from row0 on.
  void storeSums(const Flight &f, Value sums, Value count, Value row0, Value unitRows) {
    forTiles(count, spec.rows > 0 ? std::min<int64_t>(4, spec.rows) : 4, [&](Value row, int64_t rows) {
      TileResults results(size_t(f.panels), {});
      for (int64_t p = 0; p < f.panels; ++p)
        for (int64_t r = 0; r < rows; ++r)
          results[size_t(p)].push_back(
              k.loadAt(k.f32v(), sums, k.add(k.mul(row, 64 * f.panels), 64 * (f.panels * r + p)), 64));
      store(f, results, k.add(row0, row), row, unitRows);
    });
  }

  /// Two columns of a panel, from column `u` after `at`, as pairs of bf16.
  Value pairOfColumns(Value at, int64_t u) {
    llvm::SmallVector<int64_t> lanes;
    for (int64_t i = 0; i < 16; ++i)
      lanes.append({i, 16 + i});
    Value both = k.loadAt(k.vec(32, k.i16()), at, u * 32, 64);
    return k.bitcast(k.shuffle(both, both, lanes), k.vec(32, k.bf16()));
  }

  /// sum + w[1] * x[1], then + w[0] * x[0], each rounded once, in each of 16 lanes.
  Value dotPair(Value sum, Value w, Value x) {
    return k.intrinsic("llvm.x86.avx512bf16.dpbf16ps.512", k.f32v(),
                       {sum, w, k.bitcast(x, k.vec(32, k.bf16()))});
  }

  /// Rounds the activations of rows row0 .. rowEnd - 1 to bf16 at `to`, where they are read from now on.
  void roundRows(Value row0, Value rowEnd, Value to) {
    Value from = k.slot(0);
    xStride = roundedStrideBytes(spec);
    x = k.gep(to, k.sub(k.c64(0), k.mul(row0, xStride))); // rows are counted from the step's first
    k.forLoop(row0, rowEnd, 1, [&](Value row) {
      Value a = k.gep(from, k.mul(row, spec.inStrideBytes())), b = k.gep(x, k.mul(row, xStride));
      k.forLoop(0, spec.inStrideBytes() / 4, 16, [&](Value i) {
        Value v = k.intrinsic("llvm.x86.avx512bf16.cvtneps2bf16.512", k.vec(16, k.bf16()),
                              {k.loadAt(k.f32v(), a, k.mul(i, 4), 64)});
        k.storeAt(v, b, k.mul(i, 2), 32);
      });
    });
  }

  /// Addresses of the panels in flight.
  KernelBuilder::Values panelBases(const Flight &f) {
    KernelBuilder::Values bases;
    const int64_t per = spec.unitPanels();
    LinearHeads *heads = epilogue.heads();
    Value base = heads ? Value() : k.gep(epilogue.weights(), k.mul(f.unit, per * panelBytes));
    for (int64_t p = 0; p < f.panels; ++p)
      bases.push_back(heads ? k.gep(epilogue.weights(), k.mul(headPanel(f, p), panelBytes))
                            : k.gep(base, p * panelBytes));
    return bases;
  }

  /// Panel p in flight of a product with heads.
  Value headPanel(const Flight &f, int64_t p) {
    const int64_t per = spec.unitPanels();
    return f.first ? epilogue.heads()->panel(f.unit, k.add(f.first, p))
                   : epilogue.heads()->panel(k.add(f.unit, p / per), k.c64(p % per));
  }

  /// Results of rows from row0 on; those of a part of a unit wait from row `waiting` of `unitRows` on.
  void store(const Flight &f, const TileResults &results, Value row0, Value waiting, Value unitRows) {
    if (!f.first)
      return epilogue.store(results, f.unit, row0, Value());
    for (int64_t p = 0; p < f.panels; ++p)
      epilogue.heads()->keep(results[size_t(p)], unitRows, waiting, headPanel(f, p), k.add(f.first, p),
                             Value());
  }

  /// body(panels in flight) for all units; those that do not fill a flight come one at a time. Where a unit
  /// is more than a flight, done(unit) follows its last panel.
  void unitsOver(Value lo, Value hi, llvm::function_ref<void(const Flight &)> body,
                 llvm::function_ref<void(Value)> done) {
    const int64_t per = spec.unitPanels(), panels = panelsInFlight(spec), units = panels / per;
    if (units == 0)
      return k.forLoop(lo, hi, 1, [&](Value unit) {
        k.forLoop(0, per, panels, [&](Value first) { body({unit, panels, first}); });
        done(unit);
      });
    Value whole = k.add(lo, k.mul(k.div(k.sub(hi, lo), k.c64(units)), units));
    k.forLoop(lo, whole, units, [&](Value unit) { body({unit, panels, Value()}); });
    if (units > 1)
      k.forLoop(whole, hi, 1, [&](Value unit) { body({unit, per, Value()}); });
  }

  /// body(row, rows) for tiles of `most` rows, then for the powers of two that make up the rest.
  void forTiles(Value count, int64_t most, llvm::function_ref<void(Value, int64_t)> body) {
    Value done = k.mul(k.div(count, k.c64(most)), most);
    k.forLoop(k.c64(0), done, most, [&](Value row) { body(row, most); });
    for (int64_t rows : {8, 4, 2, 1}) {
      if (rows >= most)
        continue;
      Value end = k.add(done, k.mul(k.div(k.sub(count, done), k.c64(rows)), rows));
      k.forLoop(done, end, rows, [&](Value row) { body(row, rows); });
      done = end;
    }
  }

  /// Weights that are wanted later. Panels of up to 256 KB together: the next ones, in one linear sweep into
  /// L2; longer ones: the same panels `schedule.prefetch` bytes ahead.
  /// `at`: byte `offset` of each panel in flight, of which `base` is the first.
  void prefetch(Value base, const KernelBuilder::Values &at, Value offset) {
    int64_t panels = int64_t(at.size()), bytes = panels * panelBytes, step = spec.schedule.unroll * 16 * size;
    if (bytes <= 262144) {
      Value next = k.gep(base, k.add(k.mul(offset, panels), bytes));
      for (int64_t line = 0; line < panels * step; line += 64)
        k.prefetch(k.gep(next, line), 2);
      return;
    }
    for (Value panel : at)
      for (int64_t line = 0; line < step; line += 64)
        k.prefetch(k.gep(panel, spec.schedule.prefetch + line), 3);
  }

  /// to[column][panel][16] = f32 of `columns` columns of the panels in flight, from byte `from` of each.
  void widen(const KernelBuilder::Values &bases, Value from, Value to, Value columns) {
    const int64_t panels = int64_t(bases.size());
    k.forLoop(k.c64(0), columns, spec.schedule.unroll, [&](Value c) {
      Value offset = k.add(from, k.mul(c, 16 * size)), out = k.gep(to, k.mul(c, 64 * panels));
      if (spec.schedule.prefetch) {
        KernelBuilder::Values at;
        for (Value base : bases)
          at.push_back(k.gep(base, offset));
        prefetch(bases.front(), at, offset);
      }
      for (int64_t p = 0; p < panels; ++p)
        for (int64_t u = 0; u < spec.schedule.unroll; ++u)
          k.storeAt(k.toF32(k.loadAt(k.vec(16, element), k.gep(bases[size_t(p)], offset), u * 16 * size,
                                     16 * size)),
                    out, 64 * (panels * u + p), 64);
    });
  }

  /// sums[row][panel][16] += wide * x for one tile and one block of columns.
  void accumulate(Value wide, Value sums, Value rowBase, int64_t stride, int64_t panels, Value row,
                  int64_t rows, Value columns) {
    Value sumBase = k.gep(sums, k.mul(row, 64 * panels));
    KernelBuilder::Values acc;
    for (int64_t i = 0; i < rows * panels; ++i)
      acc.push_back(k.loadAt(k.f32v(), sumBase, 64 * i, 64));
    const int64_t unroll = spec.schedule.unroll;
    acc = k.forLoop(k.c64(0), columns, k.c64(unroll), acc, [&](Value column, ValueRange in) {
      KernelBuilder::Values next(in.begin(), in.end());
      Value at = k.gep(wide, k.mul(column, 64 * panels)), from = k.gep(rowBase, k.mul(column, 4));
      for (int64_t u = 0; u < unroll; ++u) {
        llvm::SmallVector<Value, 4> w;
        for (int64_t p = 0; p < panels; ++p)
          w.push_back(k.loadAt(k.f32v(), at, 64 * (panels * u + p), 64));
        for (int64_t r = 0; r < rows; ++r) {
          Value v = k.loadBroadcast(k.f32(), from, r * stride + 4 * u);
          for (int64_t p = 0; p < panels; ++p)
            next[size_t(r * panels + p)] = k.fma(w[size_t(p)], v, next[size_t(r * panels + p)]);
        }
      }
      return next;
    });
    for (int64_t i = 0; i < rows * panels; ++i)
      k.storeAt(acc[size_t(i)], sumBase, 64 * i, 64);
  }

  KernelBuilder &k;
  const LinearSpec &spec;
  LinearEpilogue epilogue;
  Value x;         ///< activations; row r begins xStride bytes after row r - 1
  int64_t xStride; ///< bytes
  bool bf16Dot;
  int64_t panelBytes, size;
  Type element;
};

} // namespace

bool ingot::cpu::floatInBlocks(const LinearSpec &spec, const target::Target &target) {
  return spec.rows == 0 && spec.schedule.dot == DotKind::Fma &&
         (copyStrideBytes(spec) != 0 || !target.hasAvx512());
}

int64_t ingot::cpu::linearFloatScratchBytes(const LinearSpec &spec) {
  const bool parts = spec.unitPanels() > panelsInFlight(spec);
  if (spec.schedule.dot == DotKind::AmxBf16)
    return unitRowsOffset(spec) + (parts ? AmxBf16Products::capacity(spec) * spec.unitPanels() * 64 : 0);
  if (spec.rows > 0)
    return spec.schedule.dot == DotKind::Bf16
               ? roundUp(spec.rows, spec.schedule.rows) * roundedStrideBytes(spec)
               : 0;
  return unitRowsOffset(spec) + (parts ? spec.schedule.chunk * spec.unitPanels() * 64 : 0);
}

void ingot::cpu::emitLinearFloat(KernelBuilder &k, const LinearSpec &spec) {
  FloatTiles tiles(k, spec);
  std::pair<Value, Value> range = shareUnits(k, spec);
  Value lo = range.first, hi = range.second;
  Value rows = domainRows(k, spec.domain);
  if (spec.rows > 0) { // buffers of an M class hold all its rows: compute them whole, unless there are none
    Value all = k.select(k.cmp(KernelBuilder::Pred::sgt, rows, k.c64(0)),
                         k.c64(roundUp(spec.rows, spec.schedule.rows)), k.c64(0));
    if (spec.schedule.dot == DotKind::AmxBf16)
      return tiles.tilesOver(lo, hi, k.c64(0), all);
    return tiles.panelsOver(lo, hi, all, spec.schedule.rows);
  }
  const bool amx = spec.schedule.dot == DotKind::AmxBf16;
  if (!amx && !floatInBlocks(spec, k.target()))
    return tiles.rowsOver(lo, hi, rows);
  k.forLoop(k.c64(0), rows, spec.schedule.chunk, [&](Value row0) {
    Value rowEnd = k.minS(k.add(row0, spec.schedule.chunk), rows);
    amx ? tiles.tilesOver(lo, hi, row0, rowEnd) : tiles.chunkOver(lo, hi, row0, rowEnd);
  });
}
