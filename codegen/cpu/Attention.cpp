//===- Attention.cpp - attention for many rows: tiles of query rows -------------------------------------===//
#include "codegen/cpu/Attention.h"
#include "codegen/cpu/AttentionBlock.h"
#include "codegen/cpu/Lanes.h"

#include "runtime/abi/ingot_abi.h"

#include <cstddef>

using namespace ingot;
using namespace ingot::cpu;
using Pred = KernelBuilder::Pred;

std::string cpu::refuseAttention(const AttentionCore &c, bool act) {
  if (c.kv.heads < 1 || c.qHeads % c.kv.heads != 0)
    return "the query heads are no multiple of the kv heads";
  if (act && c.kv.vDim % 32 != 0)
    return "a head of " + std::to_string(c.kv.vDim) +
           " columns is no multiple of 32: its int8 result needs a quantize kernel";
  return "";
}

/// Query rows of one item.
static int64_t itemRows(const AttentionSpec &s) {
  return std::max<int64_t>(1, s.itemVectors / s.core.group());
}

static AttentionTile itemTile(const target::Target &target, const AttentionSpec &s) {
  return AttentionTile::choose(target, itemRows(s) * s.core.group());
}

int64_t cpu::attentionScratch(const target::Target &target, const AttentionSpec &s) {
  int64_t many = AttentionScratch(s.core, itemTile(target, s), itemRows(s) * s.core.group(), true).bytes;
  AttentionTile one = AttentionTile::choose(target, s.core.group());
  return std::max(many, AttentionScratch(s.core, one, s.core.group(), true).bytes);
}

namespace {

/// A register tile and the code for it.
struct Path {
  Path(KernelBuilder &k, const AttentionCore &core, AttentionTile t, int64_t vectors, bool ahead)
      : tile(t), scratch(core, t, vectors, /*total=*/true), block(k, core, t, scratch), ahead(ahead) {}
  AttentionTile tile;
  AttentionScratch scratch;
  AttentionBlock block;
  bool ahead; ///< prefetch: an item sees each key once
};

class AttentionEmitter {
public:
  AttentionEmitter(KernelBuilder &k, const AttentionSpec &s)
      : k(k), s(s), many(k, s.core, itemTile(k.target(), s), itemRows(s) * s.core.group(), false),
        one(k, s.core, AttentionTile::choose(k.target(), s.core.group()), s.core.group(), true) {
    q = k.slot(s.q.slot);
    out = k.slot(s.outAct ? *s.outAct : s.outRows->slot);
    positions = k.stepPointer(offsetof(ingot_step_v1, positions));
    queryStart = k.stepPointer(offsetof(ingot_step_v1, query_start));
    blockTable = k.stepPointer(offsetof(ingot_step_v1, block_table));
    blockStride = k.stepU32(offsetof(ingot_step_v1, block_stride));
  }

  void emit() {
    Value total = forItems(k.c64(0), nullptr);
    // An item belongs to the part in whose share of the work it starts.
    Value from = k.mul(total, k.part()), to = k.mul(total, k.add(k.part(), 1));
    forItems(k.c64(0), [&](Value seq, Value row, Value rows, Value head, Value workBefore) {
      Value at = k.mul(workBefore, k.parts());
      Value mine = k.and_(k.cmp(Pred::sge, at, from), k.cmp(Pred::slt, at, to));
      k.ifThen(mine, [&] {
        // Single tokens among chunks: a tile that the heads of a group fill, where it is another one.
        if (one.tile.rows == many.tile.rows)
          return item(many, seq, row, rows, head);
        k.ifElse(
            k.cmp(Pred::eq, rows, k.c64(1)),
            [&] {
              item(one, seq, row, k.c64(1), head);
              return KernelBuilder::Values{};
            },
            [&] {
              item(many, seq, row, rows, head);
              return KernelBuilder::Values{};
            });
      });
    });
  }

private:
  KernelBuilder &k;
  const AttentionSpec &s;
  Path many, one;
  Value q, out, positions, queryStart, blockTable, blockStride;

  Value i32At(Value array, Value index) { return k.extS(k.loadAt(k.i32(), array, k.mul(index, 4)), k.i64()); }

  Value firstKey(Value position) {
    if (s.core.window == 0)
      return k.c64(0);
    return k.maxS(k.sub(position, k.c64(s.core.window - 1)), k.c64(0));
  }

  using ItemFn = llvm::function_ref<void(Value, Value, Value, Value, Value)>;

  /// Walks all items; returns `before` plus their work. Work of an item: rows times keys of its last row.
  Value forItems(Value before, ItemFn f) {
    const int64_t T = itemRows(s);
    return k.forLoop(k.c64(0), k.nSeqs(), k.c64(1), ValueRange{before}, [&](Value seq, ValueRange outer) {
      Value row0 = i32At(queryStart, seq), row1 = i32At(queryStart, k.add(seq, 1));
      return k.forLoop(row0, row1, k.c64(T), outer, [&](Value row, ValueRange inner) {
        Value rows = k.minS(k.sub(row1, row), k.c64(T));
        Value p = i32At(positions, k.sub(k.add(row, rows), k.c64(1)));
        Value keys = k.sub(k.add(p, 65), firstKey(p));
        Value work = k.mul(rows, keys);
        if (!f)
          return KernelBuilder::Values{k.add(inner[0], k.mul(work, s.core.kv.heads))};
        return k.forLoop(k.c64(0), k.c64(s.core.kv.heads), k.c64(1), inner, [&](Value head, ValueRange sum) {
          f(seq, row, rows, head, sum[0]);
          return KernelBuilder::Values{k.add(sum[0], work)};
        });
      });
    })[0];
  }

  void item(Path &path, Value seq, Value row0, Value rows, Value head) {
    AttentionBlock &block = path.block;
    const int64_t G = s.core.group(), R = path.tile.rows, seg = spec::kAttnSegment, blk = spec::kAttnBlock;
    Value tableRow = k.gep(blockTable, k.mul(k.mul(seq, blockStride), 4));
    Value pFirst = i32At(positions, row0), pLast = i32At(positions, k.sub(k.add(row0, rows), k.c64(1)));
    Value kFirst = firstKey(pFirst), kEnd = k.add(pLast, 1);
    Value firstPage = k.shrU(kFirst, 4), lastPage = k.shrU(pLast, 4);
    k.forLoop(k.c64(0), rows, 1, [&](Value i) {
      Value row = k.add(row0, i), src = rowPointer(k, s.q, q, row), p = i32At(positions, row);
      k.forLoop(0, G, 1, [&](Value g) {
        Value column = k.mul(k.add(k.mul(head, G), g), s.core.kv.dim * 4);
        block.loadQuery(k.gep(src, column), k.add(k.mul(i, G), g), p);
      });
    });
    Value used = k.mul(rows, G), count = k.mul(k.div(k.add(used, R - 1), k.c64(R)), R);
    block.padQueries(used, count, pLast);
    block.reset(count, /*total=*/true);
    k.forLoop(k.div(kFirst, k.c64(seg)), k.add(k.div(pLast, k.c64(seg)), 1), 1, [&](Value segment) {
      block.reset(count, /*total=*/false);
      Value start = k.mul(segment, seg);
      Value b0 = k.maxS(start, k.and_(kFirst, k.c64(~(blk - 1)))), b1 = k.minS(k.add(start, seg), kEnd);
      k.forLoop(b0, b1, blk, [&](Value b) {
        block.setBlock(tableRow, b, head, firstPage, lastPage);
        if (path.ahead)
          block.setNext(tableRow, k.add(b, blk), head, firstPage, lastPage);
        k.forLoop(k.c64(0), count, R, [&](Value v) { subtile(path, b, v); });
      });
      block.mergeTotals(used);
    });
    k.forLoop(k.c64(0), rows, 1, [&](Value i) { writeRow(block, k.add(row0, i), k.mul(i, G), head); });
  }

  void subtile(Path &path, Value b, Value v) {
    Value pos = path.block.at(path.scratch.pos);
    Value first = i32At(pos, v), last = i32At(pos, k.add(v, path.tile.rows - 1));
    Value high = k.minS(k.sub(k.add(last, 1), b), k.c64(spec::kAttnBlock));
    Value low = k.c64(0), seen = k.cmp(Pred::sgt, high, k.c64(0));
    if (s.core.window > 0) {
      low = k.maxS(k.sub(firstKey(first), b), k.c64(0));
      seen = k.and_(seen, k.cmp(Pred::slt, low, k.c64(spec::kAttnBlock)));
    }
    k.ifThen(seen, [&] { path.block.run(v, low, high, path.ahead); });
  }

  void writeRow(AttentionBlock &block, Value row, Value vector, Value head) {
    const int64_t G = s.core.group(), D = s.core.kv.vDim;
    k.forLoop(0, G, 1, [&](Value g) {
      Value index = k.add(vector, g), column = k.mul(k.add(k.mul(head, G), g), D);
      if (s.outAct) {
        ActRow act(k, s.act, out, row);
        Value group0 = k.div(column, k.c64(32));
        k.forLoop(0, D, 32, [&](Value c) {
          Value lo = block.result(index, c, 16, true), hi = block.result(index, k.add(c, 16), 16, true);
          act.writeGroup(k.add(group0, k.div(c, k.c64(32))), lo, hi);
        });
        return;
      }
      Value dst = k.gep(rowPointer(k, *s.outRows, out, row), k.mul(column, 4));
      forVectors(k, D, 4, [&](Value c, int64_t n) {
        storeLanes(k, k.f32(), block.result(index, c, n, true), dst, k.mul(c, 4), n);
      });
    });
  }
};

} // namespace

void cpu::emitAttention(KernelBuilder &k, const AttentionSpec &s) {
  assert(refuseAttention(s.core, s.outAct.has_value()).empty() && "legality is checked before emission");
  AttentionEmitter(k, s).emit();
}
