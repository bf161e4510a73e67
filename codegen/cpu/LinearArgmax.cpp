//===- LinearArgmax.cpp
//-----------------------------------------------------------------------------------===//
#include "codegen/cpu/LinearArgmax.h"
#include "codegen/cpu/Rows.h"
#include "runtime/abi/ingot_abi.h"

#include <cstddef>
#include <limits>

using namespace ingot;
using namespace ingot::cpu;
using Pred = KernelBuilder::Pred;
using FPred = KernelBuilder::FPred;
using Values = KernelBuilder::Values;

static_assert(offsetof(ingot_argmax_v1, value) == 0 && offsetof(ingot_argmax_v1, index) == 4 &&
                  sizeof(ingot_argmax_v1) <= 64,
              "an entry is written as f32, i32, and fits a panel");

/// Vectors of a register tile at most.
static constexpr int64_t kMostVectors = 24;

LinearArgmax::LinearArgmax(KernelBuilder &k, int64_t n, Value out, Value rows)
    : k(k), n(n), stride(roundUp(n, 16) * 4) {
  Value flags = k.stepU32(offsetof(ingot_step_v1, flags));
  asked = k.cmp(Pred::ne, k.and_(flags, k.c64(INGOT_STEP_ARGMAX)), k.c64(0));
  spill = k.stack(64 * kMostVectors);
  std::pair<Value, Value> panels = k.share(k.c64((n + 15) / 16));
  entries = k.gep(out, k.mul(panels.first, 64));
  // A part without panels has no entry: it would lie in the next row.
  k.ifThen(k.and_(asked, k.cmp(Pred::slt, panels.first, panels.second)), [&] {
    k.forLoop(k.c64(0), rows, 1, [&](Value row) {
      Value entry = k.gep(entries, k.mul(row, stride));
      k.store(k.cf(-std::numeric_limits<float>::infinity()), entry);
      k.storeAt(k.c32(-1), entry, 4);
    });
  });
}

void LinearArgmax::update(llvm::ArrayRef<llvm::SmallVector<Value, 12>> ys, Value column, Value row0) {
  const int64_t vectors = int64_t(ys.size()), tileRows = int64_t(ys[0].size());
  auto vt = mlir::cast<mlir::VectorType>(ys[0][0].getType());
  const int64_t lanes = vt.getDimSize(0);
  assert(vectors * tileRows <= kMostVectors && "more than a register tile");
  Value infinity = k.splat(vt, std::numeric_limits<float>::infinity());
  Value entry0 = k.gep(entries, k.mul(row0, stride));
  Value hot;
  for (int64_t r = 0; r < tileRows; ++r) {
    Value best = k.loadBroadcast(k.f32(), entry0, r * stride, lanes);
    // An entry that is not a number stays as it is.
    Value open = k.cmp(FPred::ORD, best, best);
    for (int64_t v = 0; v < vectors; ++v) {
      Value y = ys[size_t(v)][size_t(r)];
      Value bad = k.and_(k.cmp(FPred::UGE, k.abs(y), infinity), open);
      Value here = k.or_(k.cmp(FPred::OGT, y, best), bad);
      if (n % 16 != 0)
        here = k.and_(here, k.maskFirst(lanes, k.sub(k.c64(n), k.add(column, lanes * v))));
      hot = hot ? k.or_(hot, here) : here;
    }
  }
  Type bits = k.builder().getIntegerType(unsigned(lanes));
  k.ifThen(k.cmp(Pred::ne, k.bitcast(hot, bits), k.splatInt(bits, 0)), [&] {
    for (int64_t r = 0; r < tileRows; ++r)
      for (int64_t v = 0; v < vectors; ++v)
        k.storeAt(ys[size_t(v)][size_t(r)], spill, 4 * lanes * (vectors * r + v), 4 * lanes);
    k.forLoop(0, tileRows, 1, [&](Value r) { scan(column, vectors * lanes, r, entry0); });
  });
}

void LinearArgmax::scan(Value column, int64_t columns, Value r, Value entry0) {
  Value entry = k.gep(entry0, k.mul(r, stride)), row = k.gep(spill, k.mul(r, 4 * columns));
  Value nan = k.cf(std::numeric_limits<float>::quiet_NaN());
  Value infinity = k.cf(std::numeric_limits<float>::infinity());
  Values start{k.load(k.f32(), entry), k.loadAt(k.i32(), entry, 4)};
  Values best = k.forLoop(k.c64(0), k.c64(columns), k.c64(1), start, [&](Value c, ValueRange in) {
    Value y = k.loadAt(k.f32(), row, k.mul(c, 4)), index = k.add(column, c);
    Value bad = k.cmp(FPred::UGE, k.abs(y), infinity);
    Value take = k.and_(k.or_(k.cmp(FPred::OGT, y, in[0]), bad), k.cmp(FPred::ORD, in[0], in[0]));
    take = k.and_(take, k.cmp(Pred::slt, index, k.c64(n)));
    return Values{k.select(take, k.select(bad, nan, y), in[0]),
                  k.select(take, k.trunc(index, k.i32()), in[1])};
  });
  k.store(best[0], entry);
  k.storeAt(best[1], entry, 4);
}
