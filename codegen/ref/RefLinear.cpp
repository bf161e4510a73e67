//===- RefLinear.cpp - y = x W^T in f32 -----------------------------------------------------------------===//
//
// Dot products along K in eight lanes, two rows by four columns at a time so that the multipliers and not the
// loads rule; rows in chunks that stay in the cache while the weights pass by.
//
//===------------------------------------------------------------------------------------------------------===//

#include "codegen/ref/RefContext.h"

#include "codegen/cpu/Math.h"

using namespace mlir;

namespace ingot::ref {
namespace {

constexpr int64_t lanes = 8, rowTile = 2, columnTile = 4, rowChunk = 64;

class LinearEmitter {
public:
  LinearEmitter(RefContext &context, const tile::LinearDesc &desc)
      : context(context), k(context.k), desc(desc), x(k.slot(desc.xSlot)), w(k.weight(desc.wWeight)),
        y(k.slot(desc.out.rowsSlot)),
        biasPointer(desc.biasWeight >= 0 ? k.weight(desc.biasWeight) : Value()) {}

  void emit() {
    Value rows = context.rowCount();
    auto [begin, end] = k.share(k.c64(desc.n));
    k.forLoop(k.c64(0), rows, rowChunk, [&, begin = begin, end = end](Value row) {
      Value rowEnd = k.minS(rows, k.add(row, rowChunk));
      tiled(begin, end, columnTile, [&](Value column, int64_t columnCount) {
        tiled(row, rowEnd, rowTile,
              [&](Value r, int64_t rowCount) { tile(r, rowCount, column, columnCount); });
      });
    });
  }

private:
  /// Full tiles, then single elements.
  void tiled(Value begin, Value end, int64_t size, llvm::function_ref<void(Value, int64_t)> body) {
    Value full = k.add(begin, k.mul(k.div(k.sub(end, begin), k.c64(size)), size));
    k.forLoop(begin, full, size, [&](Value i) { body(i, size); });
    k.forLoop(full, end, 1, [&](Value i) { body(i, 1); });
  }

  void tile(Value row, int64_t rowCount, Value column, int64_t columnCount) {
    KernelBuilder::Values xs, ws;
    for (int64_t r = 0; r < rowCount; ++r)
      xs.push_back(context.element(x, k.mul(k.add(row, r), desc.xStride)));
    for (int64_t c = 0; c < columnCount; ++c)
      ws.push_back(context.element(w, k.mul(k.add(column, c), desc.k)));
    int64_t full = desc.k / lanes * lanes, count = rowCount * columnCount;

    auto accumulate = [&](Type type, int64_t from, int64_t to, int64_t step) {
      KernelBuilder::Values zeros(count, k.splat(type, 0));
      return k.forLoop(from, to, step, zeros, [&](Value i, ValueRange sums) -> KernelBuilder::Values {
        KernelBuilder::Values next, left, right;
        for (Value p : xs)
          left.push_back(k.load(type, context.element(p, i), 4));
        for (Value p : ws)
          right.push_back(k.load(type, context.element(p, i), 4));
        for (int64_t r = 0; r < rowCount; ++r)
          for (int64_t c = 0; c < columnCount; ++c)
            next.push_back(k.fma(left[r], right[c], sums[r * columnCount + c]));
        return next;
      });
    };
    KernelBuilder::Values sums = accumulate(k.f32v(lanes), 0, full, lanes);
    KernelBuilder::Values tails = accumulate(k.f32(), full, desc.k, 1);
    for (int64_t r = 0; r < rowCount; ++r)
      for (int64_t c = 0; c < columnCount; ++c) {
        Value v = tails[r * columnCount + c];
        for (int64_t lane = 0; lane < lanes; ++lane)
          v = k.add(v, k.extract(sums[r * columnCount + c], lane));
        Value at = k.add(column, c);
        if (biasPointer)
          v = k.add(v, context.loadF(biasPointer, at));
        if (desc.softcap != 0) {
          Value cap = k.cf(desc.softcap);
          v = k.mul(cap, cpu::emitTanh(k, k.div(v, cap)));
        }
        context.storeF(v, context.element(y, k.mul(k.add(row, r), desc.out.rowsStride)), at);
      }
  }

  RefContext &context;
  KernelBuilder &k;
  const tile::LinearDesc &desc;
  Value x, w, y, biasPointer;
};

} // namespace

LogicalResult emitLinear(RefContext &context) {
  FailureOr<tile::LinearDesc> desc = tile::describeLinear(context.kernel);
  if (failed(desc))
    return failure();
  if (desc->w.getScheme() != qfmt::Scheme::F32 || desc->w.getLayout() != qfmt::Layout::Row || desc->act)
    return context.kernel.emitOpError("the reference multiplies f32 rows by f32 rows, not ") << desc->w;
  if (desc->gate || desc->residual.slot >= 0 || desc->ropeKv || desc->argmax || desc->out.rowsSlot < 0 ||
      desc->out.actSlot >= 0)
    return context.kernel.emitOpError("has no plain lowering: the reference runs without fused epilogues");
  LinearEmitter(context, *desc).emit();
  return success();
}

} // namespace ingot::ref
