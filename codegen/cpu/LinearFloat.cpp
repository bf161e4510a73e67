//===- LinearFloat.cpp - f32, f16 and bf16 weights ------------------------------------------------===//
//
// One fma chain per output, columns ascending. A register tile is `panels` panels times `rows` rows; with one
// row, several panels in flight hide the latency of the chain.
//
//===----------------------------------------------------------------------------------------------------===//
#include "codegen/cpu/Linear.h"

using namespace ingot;
using namespace ingot::cpu;

namespace {

class FloatTiles {
public:
  FloatTiles(KernelBuilder &k, const LinearSpec &spec)
      : k(k), spec(spec), epilogue(k, spec), x(k.slot(0)),
        panelBytes(qfmt::panelSize(spec.scheme, spec.k)->bytes) {
    element = spec.scheme == qfmt::Scheme::F32   ? k.f32()
              : spec.scheme == qfmt::Scheme::F16 ? k.f16()
                                                 : k.bf16();
    size = element.getIntOrFloatBitWidth() / 8;
  }

  /// Rows row0 .. row0 + rows - 1 against units unit .. unit + units - 1.
  void tile(Value unit, int64_t units, Value row0, int64_t rows) {
    int64_t per = spec.gate ? 2 : 1, panels = units * per;
    Value base = k.gep(epilogue.weights(), k.mul(unit, per * panelBytes));
    Value rowBase = k.gep(x, k.mul(row0, spec.inStrideBytes()));
    KernelBuilder::Values acc(size_t(panels * rows), k.splat(k.f32v(), 0));
    acc = k.forLoop(0, spec.k, spec.schedule.unroll, acc, [&](Value column, ValueRange in) {
      KernelBuilder::Values next(in.begin(), in.end());
      Value at = k.gep(base, k.mul(column, 16 * size));
      Value xs = k.gep(rowBase, k.mul(column, 4));
      if (spec.schedule.prefetch && rows <= 4)
        for (int64_t p = 0; p < panels; ++p)
          for (int64_t line = 0; line < spec.schedule.unroll * 16 * size; line += 64)
            k.prefetch(k.gep(at, p * panelBytes + spec.schedule.prefetch / panels + line), 3);
      for (int64_t u = 0; u < spec.schedule.unroll; ++u)
        for (int64_t p = 0; p < panels; ++p) {
          Value w = k.toF32(k.loadAt(k.vec(16, element), at, p * panelBytes + u * 16 * size, 16 * size));
          for (int64_t r = 0; r < rows; ++r) {
            Value v = k.loadBroadcast(k.f32(), xs, r * spec.inStrideBytes() + 4 * u);
            next[size_t(p * rows + r)] = k.fma(w, v, next[size_t(p * rows + r)]);
          }
        }
      return next;
    });
    TileResults results(size_t(panels), {});
    for (int64_t p = 0; p < panels; ++p)
      results[size_t(p)].assign(acc.begin() + p * rows, acc.begin() + (p + 1) * rows);
    epilogue.store(results, unit, row0, Value());
  }

  /// All units of [lo, hi) for the rows [row0, rowEnd), of which there is a multiple of `rows`.
  void panelsOver(Value lo, Value hi, Value row0, Value rowEnd, int64_t rows) {
    int64_t per = spec.gate ? 2 : 1;
    int64_t units = std::max<int64_t>(1, spec.schedule.panels / per);
    auto over = [&](Value from, Value to, int64_t count) {
      k.forLoop(from, to, count, [&](Value unit) {
        k.forLoop(row0, rowEnd, rows, [&](Value row) { tile(unit, count, row, rows); });
      });
    };
    Value whole = k.add(lo, k.mul(k.div(k.sub(hi, lo), k.c64(units)), units));
    over(lo, whole, units);
    if (units > 1)
      over(whole, hi, 1);
  }

private:
  KernelBuilder &k;
  const LinearSpec &spec;
  LinearEpilogue epilogue;
  Value x;
  int64_t panelBytes, size;
  Type element;
};

} // namespace

void ingot::cpu::emitLinearFloat(KernelBuilder &k, const LinearSpec &spec) {
  FloatTiles tiles(k, spec);
  std::pair<Value, Value> range = k.share(k.c64(spec.panels() / (spec.gate ? 2 : 1)));
  Value lo = range.first, hi = range.second;
  Value rows = domainRows(k, spec.domain);
  int64_t tile = spec.schedule.rows;
  if (spec.rows > 0) // buffers of an M class hold all its rows: compute them whole, unless there are none
    rows =
        k.select(k.cmp(KernelBuilder::Pred::sgt, rows, k.c64(0)), k.c64(roundUp(spec.rows, tile)), k.c64(0));
  Value whole = k.mul(k.div(rows, k.c64(tile)), tile);
  if (spec.schedule.chunk > 0) {
    int64_t chunk = std::max(tile, spec.schedule.chunk / tile * tile);
    k.forLoop(k.c64(0), whole, chunk,
              [&](Value row0) { tiles.panelsOver(lo, hi, row0, k.minS(k.add(row0, chunk), whole), tile); });
  } else {
    tiles.panelsOver(lo, hi, k.c64(0), whole, tile);
  }
  if (spec.rows > 0)
    return;
  if (tile > 2) { // tails: pairs, then single rows
    Value pairs = k.add(whole, k.mul(k.div(k.sub(rows, whole), k.c64(2)), 2));
    tiles.panelsOver(lo, hi, whole, pairs, 2);
    whole = pairs;
  }
  if (tile > 1)
    tiles.panelsOver(lo, hi, whole, rows, 1);
}
