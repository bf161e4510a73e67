//===- RefAttention.cpp - softmax(q K^T) V over the paged cache, in two passes --------------------------===//
//
// For each row and query head: the scores of all visible keys, their maximum, the exponentials and their sum,
// then the weighted sum of the values. Lanes are the 16 tokens of a page for the scores, 16 dimensions for
// the values.
//
//===------------------------------------------------------------------------------------------------------===//

#include "codegen/ref/RefContext.h"

#include "codegen/cpu/Math.h"
#include "runtime/abi/ingot_abi.h"

#include <cstddef>

using namespace mlir;

namespace ingot::ref {
namespace {

class AttentionEmitter {
public:
  AttentionEmitter(RefContext &context, const tile::AttentionDesc &body, int64_t positions)
      : context(context), k(context.k), body(body), shape(body.kv),
        elementType(shape.elementType(k, body.kv)) {
    scores = context.scratch(positions * 4);
    query = context.scratch(shape.dim * 4);
  }

  void emit() {
    int64_t heads = body.qHeads, group = heads / shape.heads;
    auto [begin, end] = k.share(k.mul(context.rowCount(), heads));
    k.forLoop(begin, end, 1, [&](Value item) {
      row = k.div(item, k.c64(heads));
      head = k.rem(item, k.c64(heads));
      kvHead = k.div(head, k.c64(group));
      position = context.stepInt(offsetof(ingot_step_v1, positions), row);
      Value sequence = context.stepInt(offsetof(ingot_step_v1, row_seq), row);
      tableBase = k.mul(sequence, k.stepU32(offsetof(ingot_step_v1, block_stride)));
      first = body.window ? k.maxS(k.c64(0), k.add(position, 1 - body.window)) : k.c64(0);
      firstPage = k.shrU(first, 4);
      endPage = k.add(k.shrU(position, 4), 1);
      scaleQuery();
      Value maximum = computeScores();
      Value sum = exponentials(maximum);
      weightedValues(sum);
    });
  }

private:
  Value pageOf(Value page) {
    Value index = context.stepInt(offsetof(ingot_step_v1, block_table), k.add(tableBase, page));
    return k.gep(k.kvPage(k.kv(), k.kvStride(), index, shape.pageBytes), k.mul(kvHead, shape.headBytes));
  }
  Value scoreAddress(Value page) { return context.element(scores, k.mul(k.sub(page, firstPage), 16)); }

  void scaleQuery() {
    Value from = context.element(
        k.slot(body.q.slot), k.add(k.add(k.mul(row, body.q.stride), k.mul(head, shape.dim)), body.q.offset));
    k.forLoop(0, shape.dim, 1,
              [&](Value d) { context.storeF(k.mul(context.loadF(from, d), k.cf(body.scale)), query, d); });
  }

  /// Stores the score of every token of the pages, -inf where the row does not see it; returns the maximum.
  Value computeScores() {
    Value lowest = k.cf(-std::numeric_limits<float>::infinity());
    KernelBuilder::Values result = k.forLoop(
        firstPage, endPage, k.c64(1), ValueRange{lowest},
        [&](Value page, ValueRange carried) -> KernelBuilder::Values {
          Value keys = pageOf(page);
          KernelBuilder::Values sums =
              k.forLoop(0, shape.dim, 1, ValueRange{k.splat(k.f32v(), 0)},
                        [&](Value d, ValueRange sum) -> KernelBuilder::Values {
                          Value key = k.toF32(
                              k.load(k.vec(16, elementType), k.gep(keys, k.mul(d, 16 * shape.elementBytes))));
                          Value q = k.broadcast(context.loadF(query, d), 16);
                          return {k.fma(q, key, sum[0])};
                        });
          Value score = sums[0];
          if (body.softcap != 0) {
            Value cap = k.splat(k.f32v(), body.softcap);
            score = k.mul(cap, cpu::emitTanh(k, k.div(score, cap)));
          }
          Value lane = k.denseI32({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
          Value token = k.add(k.broadcast(k.trunc(k.mul(page, 16), k.i32()), 16), lane);
          Value seen =
              k.and_(k.cmp(KernelBuilder::Pred::sle, token, k.broadcast(k.trunc(position, k.i32()), 16)),
                     k.cmp(KernelBuilder::Pred::sge, token, k.broadcast(k.trunc(first, k.i32()), 16)));
          score = k.select(seen, score, k.splat(k.f32v(), -std::numeric_limits<float>::infinity()));
          k.store(score, scoreAddress(page));
          return {k.maxF(carried[0], k.treeMax16(score))};
        });
    return result[0];
  }

  /// Turns the scores into exp(score - maximum); returns their sum.
  Value exponentials(Value maximum) {
    KernelBuilder::Values sums =
        k.forLoop(firstPage, endPage, k.c64(1), ValueRange{k.splat(k.f32v(), 0)},
                  [&](Value page, ValueRange carried) -> KernelBuilder::Values {
                    Value score = k.load(k.f32v(), scoreAddress(page));
                    Value hidden = k.cmp(KernelBuilder::FPred::OEQ, score,
                                         k.splat(k.f32v(), -std::numeric_limits<float>::infinity()));
                    Value difference = k.sub(score, k.broadcast(maximum, 16));
                    // The exponential is not asked for -inf; a hidden key weighs exactly nothing.
                    Value zero = k.splat(k.f32v(), 0);
                    Value p = k.select(hidden, zero, cpu::emitExp(k, k.select(hidden, zero, difference)));
                    k.store(p, scoreAddress(page));
                    return {k.add(carried[0], p)};
                  });
    return k.treeSum16(sums[0]);
  }

  void weightedValues(Value sum) {
    Value to = context.element(k.slot(body.out.rowsSlot),
                               k.add(k.mul(row, body.out.rowsStride), k.mul(head, shape.vDim)));
    int64_t d = 0;
    for (; d + 16 <= shape.vDim; d += 16)
      column(to, sum, d, 16);
    for (; d < shape.vDim; ++d)
      column(to, sum, d, 1);
  }

  /// `width` dimensions from `d`. Tokens beyond the row's position may be unwritten memory, so they are not
  /// read.
  void column(Value to, Value sum, int64_t d, int64_t width) {
    Type type = width == 1 ? k.f32() : Type(k.f32v(width));
    Type stored = width == 1 ? elementType : Type(k.vec(width, elementType));
    KernelBuilder::Values total = k.forLoop(
        firstPage, endPage, k.c64(1), ValueRange{k.splat(type, 0)},
        [&](Value page, ValueRange carried) -> KernelBuilder::Values {
          Value values = k.gep(pageOf(page), shape.vOffset + d * shape.elementBytes);
          Value weights = scoreAddress(page), base = k.mul(page, 16);
          Value from = k.maxS(k.c64(0), k.sub(first, base));
          Value to = k.minS(k.c64(16), k.sub(k.add(position, 1), base));
          return k.forLoop(
              from, to, k.c64(1), carried, [&](Value t, ValueRange acc) -> KernelBuilder::Values {
                Value v = k.toF32(k.load(stored, k.gep(values, k.mul(t, shape.vDim * shape.elementBytes))));
                Value p = context.loadF(weights, t);
                return {k.fma(width == 1 ? p : k.broadcast(p, width), v, acc[0])};
              });
        });
    Value divisor = width == 1 ? sum : k.broadcast(sum, width);
    k.store(k.div(total[0], divisor), k.gep(to, 4 * d), 4);
  }

  RefContext &context;
  KernelBuilder &k;
  const tile::AttentionDesc &body;
  KvShape shape;
  Type elementType;
  Value scores, query, row, head, kvHead, position, tableBase, first, firstPage, endPage;
};

} // namespace

LogicalResult emitAttention(RefContext &context) {
  FailureOr<tile::AttentionDesc> found = tile::describeAttention(context.kernel);
  if (failed(found))
    return failure();
  const tile::AttentionDesc &body = *found;
  if (body.out.rowsSlot < 0 || body.out.actSlot >= 0 || body.partialsSlot >= 0)
    return context.kernel.emitOpError(
        "has no plain lowering: the reference attends in one piece and in f32 rows");
  int64_t positions = context.maxPositions;
  if (body.window)
    positions = std::min(positions, body.window + 32);
  AttentionEmitter(context, body, (positions + 31) / 16 * 16).emit();
  return success();
}

} // namespace ingot::ref
