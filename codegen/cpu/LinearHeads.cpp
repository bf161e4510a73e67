//===- LinearHeads.cpp - rope_kv behind a projection ----------------------------------------------===//
#include "codegen/cpu/LinearHeads.h"
#include "codegen/cpu/Lanes.h"

#include "runtime/abi/ingot_abi.h"

#include <cstddef>

using namespace ingot;
using namespace ingot::cpu;
using Pred = KernelBuilder::Pred;

/// Panels that one unit must hold. 0: no number of whole panels does.
static int64_t unitPanels(const RopeKvSpec &s) {
  if (s.headDim < 16 || s.headDim % 16 != 0)
    return 0;
  const int64_t head = s.headDim / 16;
  if (s.kv.scaled() || s.qGamma || s.kGamma || s.qRope.rotaryDim != s.headDim ||
      s.kRope.rotaryDim != s.headDim || s.qRope.style != s.kRope.style)
    return head;
  if (s.qRope.style == spec::RopeStyle::Interleaved)
    return 1;
  return head % 2 == 0 ? 2 : head;
}

HeadUnits::HeadUnits(const RopeKvSpec &s) : panels(std::max<int64_t>(1, unitPanels(s))) {
  const int64_t width = 16 * panels;
  perHead = std::max<int64_t>(1, s.headDim / width);
  q = s.qHeads * perHead;
  k = s.kv.heads * perHead;
  v = s.kv.heads * s.kv.vDim / width;
}

std::pair<Value, Value> cpu::shareHeadUnits(KernelBuilder &k, const HeadUnits &units, int64_t columns) {
  // Measured with 32 sequences, 576 columns and two parts. A token alone puts every value of its K into a
  // cache line that another core may hold; tokens in a row share those lines, so a prompt costs nothing more.
  Value row = k.mul(k.nRows(), columns), tokens = k.nSeqs();
  const Value costs[] = {row, k.add(row, k.mul(tokens, 350)), k.add(row, k.mul(tokens, 110))};
  const int64_t counts[] = {units.q, units.k, units.v};
  Value total = k.c64(0);
  for (int i = 0; i < 3; ++i)
    total = k.add(total, k.mul(costs[i], counts[i]));
  auto bound = [&](Value part) { // units that start below the part's share of the cost
    Value left = k.div(k.mul(part, total), k.parts()), unit = k.c64(0);
    for (int i = 0; i < 3; ++i) {
      Value cost = k.maxS(costs[i], k.c64(1)), up = k.sub(k.add(left, cost), k.c64(1));
      Value below = k.minS(k.div(up, cost), k.c64(counts[i]));
      unit = k.add(unit, below);
      left = k.maxS(k.sub(left, k.mul(below, costs[i])), k.c64(0));
    }
    return unit;
  };
  return {bound(k.part()), bound(k.add(k.part(), 1))};
}

std::string cpu::refuseHeadUnits(const RopeKvSpec &s) {
  if (std::string why = refuseRopeKv(s); !why.empty())
    return why;
  if (s.qHeads < 1 || s.kv.heads < 1 || !unitPanels(s) || s.kv.vDim % 16 != 0)
    return "heads are no whole panels of 16 columns";
  if (!s.qRope.rotaryDim || !s.kRope.rotaryDim)
    return "q or k is not rotated";
  if (s.kv.scaled() && s.kv.vDim != s.headDim)
    return "int8 heads of v are wider or narrower than those of k";
  if (s.kv.vDim % (16 * unitPanels(s)) != 0)
    return "heads of v are no whole units of " + std::to_string(unitPanels(s)) + " panels";
  return "";
}

LinearHeads::LinearHeads(KernelBuilder &k, const RopeKvSpec &spec, int64_t classRows, int64_t tileRows,
                         Value out, Value bias)
    : units(spec), tile(k.stack(tileRows * units.rowBytes())), k(k), spec(spec), out(out), bias(bias),
      rows(k.nRows()), positions(k.stepPointer(offsetof(ingot_step_v1, positions))), pages(k, spec.kv) {
  Value tables = k.stepPointer(offsetof(ingot_step_v1, rope));
  qTable = k.loadAt(k.ptrType(), tables, 8 * int64_t(spec.qRope.table));
  kTable = k.loadAt(k.ptrType(), tables, 8 * int64_t(spec.kRope.table));
  if (spec.qGamma)
    qGamma = k.weight(*spec.qGamma);
  if (spec.kGamma)
    kGamma = k.weight(*spec.kGamma);
  if (classRows == 0)
    return;
  const int64_t perRow = placesPerRow();
  Value table = k.stack(8 * perRow * classRows);
  k.forLoop(k.c64(0), k.minS(rows, k.c64(classRows)), 1, [&](Value row) {
    for (int p = 0; p < perRow; ++p)
      k.storeAt(computePlace(Place(p), row), table, k.add(k.mul(row, 8 * perRow), 8 * p));
  });
  places = table;
}

Value LinearHeads::computePlace(Place which, Value row) {
  Value pos = k.extU(k.loadAt(k.i32(), positions, k.mul(row, 4)), k.i64());
  if (which == QTable || which == KTable) {
    const RopeParams &rope = which == QTable ? spec.qRope : spec.kRope;
    return k.gep(which == QTable ? qTable : kTable, k.mul(pos, rope.rotaryDim * 4));
  }
  KvPages::Token token = pages.token(row, pos);
  if (which == Scales)
    return pages.scales(token, k.c64(0));
  return which == Key ? pages.keys(token, k.c64(0)) : pages.values(token, k.c64(0));
}

Value LinearHeads::placeOf(Place which, Value row) {
  return places ? k.loadAt(k.ptrType(), places, k.add(k.mul(row, 8 * placesPerRow()), 8 * which))
                : computePlace(which, row);
}

Value LinearHeads::panel(Value unit, Value i) {
  if (units.panels == 1)
    return unit;
  if (units.perHead == 1)
    return k.add(k.mul(unit, units.panels), i);
  Value head = k.div(unit, k.c64(units.perHead)), inHead = k.sub(unit, k.mul(head, units.perHead));
  Value ofHead = k.add(k.add(k.mul(head, units.perHead * units.panels), inHead), k.mul(i, units.stride()));
  Value ofV = k.add(k.mul(unit, units.panels), i);
  return k.select(k.cmp(Pred::slt, unit, k.c64(units.q + units.k)), ofHead, ofV);
}

void LinearHeads::keep(llvm::ArrayRef<Value> values, Value buffer, Value first, Value panel, Value i,
                       Value half) {
  auto type = mlir::cast<mlir::VectorType>(values[0].getType());
  const int64_t align = 4 * type.getNumElements();
  Value inPanel = half ? k.mul(half, 32) : k.c64(0);
  Value to = k.gep(buffer, k.add(k.mul(first, units.rowBytes()), k.add(k.mul(i, 64), inPanel)));
  Value b = bias ? k.loadAt(type, bias, k.add(k.mul(panel, 64), inPanel), align) : Value();
  for (size_t r = 0; r < values.size(); ++r)
    k.storeAt(b ? k.add(values[r], b) : values[r], to, int64_t(r) * units.rowBytes(), align);
}

void LinearHeads::store(llvm::ArrayRef<llvm::SmallVector<Value, 12>> results, Value unit, Value row0) {
  for (size_t first = 0; first < results.size(); first += size_t(units.panels)) {
    Value here = k.add(unit, int64_t(first) / units.panels);
    for (int64_t i = 0; i < units.panels; ++i)
      keep(results[first + size_t(i)], tile, k.c64(0), panel(here, k.c64(i)), k.c64(i), Value());
    finish(tile, here, row0, k.c64(int64_t(results[0].size())));
  }
}

/// Normalises and rotates one row of a unit. sink(values, column in the head, how many).
void LinearHeads::emitHead(Value x, const RopeParams &rope, Value gamma, float eps, Value table, Value inHead,
                           llvm::function_ref<void(Value, Value, int64_t)> sink) {
  const int64_t width = 16 * units.panels;
  HeadEmitter h(k, width);
  if (gamma)
    h.normalize(x, gamma, eps);
  RopeParams r = rope;
  if (units.perHead > 1) { // the unit's own pairs
    r.rotaryDim = width;
    table = k.gep(table, k.mul(inHead, 4 * width));
  }
  h.rotate(x, r, table, [&](Value v, int64_t at, int64_t n) {
    Value column = k.c64(at);
    if (units.perHead > 1)
      column = k.add(k.mul(inHead, 16), 16 * units.stride() * (at / 16));
    sink(v, column, n);
  });
}

void LinearHeads::finish(Value buffer, Value unit, Value row0, Value count) {
  count = k.minS(k.sub(rows, row0), count);
  auto forRows = [&](llvm::function_ref<void(Value x, Value row)> f) {
    k.forLoop(k.c64(0), count, 1,
              [&](Value r) { f(k.gep(buffer, k.mul(r, units.rowBytes())), k.add(row0, r)); });
  };
  // The head of the unit among those from unit `first` on, and the unit's place in it.
  auto headOf = [&](int64_t first, int64_t perHead) {
    Value at = k.sub(unit, k.c64(first)), head = k.div(at, k.c64(perHead));
    return std::pair<Value, Value>(head, k.sub(at, k.mul(head, perHead)));
  };
  auto storeQ = [&] {
    std::pair<Value, Value> place = headOf(0, units.perHead);
    const int64_t stride = roundUp(spec.qHeads * spec.headDim, 16) * 4;
    forRows([&](Value x, Value row) {
      Value to = k.gep(out, k.add(k.mul(row, stride), k.mul(place.first, spec.headDim * 4)));
      emitHead(x, spec.qRope, qGamma, spec.qEps, placeOf(QTable, row), place.second,
               [&](Value v, Value column, int64_t n) {
                 storeLanes(k, k.f32(), v, k.gep(to, k.mul(column, 4)), int64_t(0), n);
               });
    });
    return KernelBuilder::Values{};
  };
  auto storeK = [&] {
    std::pair<Value, Value> place = headOf(units.q, units.perHead);
    forRows([&](Value x, Value row) {
      Value to = k.gep(placeOf(Key, row), k.mul(place.first, pages.headBytes()));
      if (pages.scaled()) { // the unit is a head: rotated where it lies
        emitHead(x, spec.kRope, kGamma, spec.kEps, placeOf(KTable, row), place.second,
                 [&](Value v, Value column, int64_t n) {
                   storeLanes(k, k.f32(), v, k.gep(x, k.mul(column, 4)), int64_t(0), n);
                 });
        return pages.quantizeKeys(x, to, k.gep(placeOf(Scales, row), k.mul(place.first, pages.headBytes())));
      }
      emitHead(x, spec.kRope, kGamma, spec.kEps, placeOf(KTable, row), place.second,
               [&](Value v, Value column, int64_t n) {
                 Value key = k.fromF32(v, pages.element()), at = k.gep(to, k.mul(column, pages.keyStride()));
                 for (int64_t l = 0; l < n; ++l)
                   k.storeAt(k.extract(key, l), at, l * pages.keyStride());
               });
    });
    return KernelBuilder::Values{};
  };
  auto storeV = [&] {
    const int64_t width = 16 * units.panels;
    std::pair<Value, Value> place = headOf(units.q + units.k, spec.kv.vDim / width);
    Value at =
        k.add(k.mul(place.first, pages.headBytes()), k.mul(place.second, width * pages.elementBytes()));
    forRows([&](Value x, Value row) {
      Value to = k.gep(placeOf(Val, row), at);
      if (pages.scaled())
        return pages.quantizeValues(x, to,
                                    k.gep(placeOf(Scales, row), k.mul(place.first, pages.headBytes())));
      for (int64_t c = 0; c < width; c += 16)
        storeLanes(k, pages.element(), loadLanes(k, k.f32(), x, 4 * c), to, c * pages.elementBytes());
    });
    return KernelBuilder::Values{};
  };
  auto storeKv = [&] {
    k.ifElse(k.cmp(Pred::slt, unit, k.c64(units.q + units.k)), storeK, storeV);
    return KernelBuilder::Values{};
  };
  k.ifElse(k.cmp(Pred::slt, unit, k.c64(units.q)), storeQ, storeKv);
}
