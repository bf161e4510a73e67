//===- AttentionSplit.cpp - attention for few rows: segments, then their merge --------------------------===//
#include "codegen/cpu/Attention.h"
#include "codegen/cpu/AttentionBlock.h"
#include "codegen/cpu/Lanes.h"

#include "runtime/abi/ingot_abi.h"

#include <cstddef>
#include <limits>

using namespace ingot;
using namespace ingot::cpu;
using Pred = KernelBuilder::Pred;

/// Of `heads` query heads of each of `kvHeads` kv heads.
static AttentionScratch scratchOf(const AttentionCore &core, const AttentionTile &tile, int64_t heads,
                                  int64_t kvHeads) {
  return AttentionScratch(core, tile, roundUp(heads, tile.rows) * kvHeads, /*total=*/false);
}

int64_t cpu::attnSplitScratch(const target::Target &target, const AttnSplitSpec &s) {
  auto bytes = [&](int64_t heads, int64_t kvHeads) {
    return scratchOf(s.core, AttentionTile::choose(target, heads), heads, kvHeads).bytes;
  };
  return std::max({bytes(s.core.group(), s.core.kv.heads), bytes(2, 1), bytes(1, 1)});
}

/// From what is read to what is prefetched: blocks of one kv head, in the order of reading. Shorter caches
/// gain nothing from more than it takes.
static int64_t blocksAhead(const AttentionCore &core) {
  const int64_t bytes = spec::kAttnBlock / spec::kKvPage * core.kv.headBytes();
  return std::max<int64_t>(1, (32 << 10) / bytes);
}

static Value i32At(KernelBuilder &k, Value array, Value index) {
  return k.extS(k.loadAt(k.i32(), array, k.mul(index, 4)), k.i64());
}

static Value firstKey(KernelBuilder &k, Value position, int64_t window) {
  if (window == 0)
    return k.c64(0);
  return k.maxS(k.sub(position, k.c64(window - 1)), k.c64(0));
}

static Value entryPointer(KernelBuilder &k, const PartialsLayout &l, Value base, Value row, Value head,
                          Value segment) {
  Value index = k.add(k.mul(k.add(k.mul(row, l.heads), head), l.segments), segment);
  return k.gep(base, k.mul(index, l.entryBytes()));
}

namespace {

/// Code for a number of query heads that share their loads, of `kvHeads` kv heads in turn.
struct Path {
  Path(KernelBuilder &k, const AttentionCore &core, int64_t heads, int64_t kvHeads)
      : heads(heads), tile(AttentionTile::choose(k.target(), heads)), vectors(roundUp(heads, tile.rows)),
        scratch(scratchOf(core, tile, heads, kvHeads)), block(k, core, tile, scratch) {}
  int64_t heads;
  AttentionTile tile;
  int64_t vectors; ///< of a kv head
  AttentionScratch scratch;
  AttentionBlock block;
};

class SplitEmitter {
public:
  SplitEmitter(KernelBuilder &k, const AttnSplitSpec &s)
      : k(k), s(s), group(k, s.core, s.core.group(), s.core.kv.heads) {
    q = k.slot(s.q.slot);
    partials = k.slot(s.partials);
    positions = k.stepPointer(offsetof(ingot_step_v1, positions));
    rowSeq = k.stepPointer(offsetof(ingot_step_v1, row_seq));
    blockTable = k.stepPointer(offsetof(ingot_step_v1, block_table));
    blockStride = k.stepU32(offsetof(ingot_step_v1, block_stride));
  }

  void emit() {
    const int64_t G = s.core.group(), heads = s.core.qHeads;
    Value total = k.mul(forItems(nullptr), heads);
    // A query head belongs to the part in whose share of the work it starts. Parts that get a piece of a
    // group load its keys once each; with few kv heads that costs less than waiting.
    Value from = k.mul(total, k.part()), to = k.mul(total, k.add(k.part(), 1));
    forItems([&](Value row, Value position, Value segment, Value workBefore, Value work) {
      Value before = k.mul(k.mul(workBefore, heads), k.parts()), each = k.mul(work, k.parts());
      auto startsBelow = [&](Value limit) { // how many heads
        Value room = k.maxS(k.sub(limit, before), k.c64(0));
        return k.minS(k.div(k.sub(k.add(room, each), k.c64(1)), each), k.c64(heads));
      };
      Value first = startsBelow(from), last = startsBelow(to);
      Value whole0 = k.div(k.add(first, G - 1), k.c64(G)), whole1 = k.div(last, k.c64(G));
      k.ifThen(k.cmp(Pred::slt, whole0, whole1),
               [&] { item(group, row, position, segment, whole0, whole1, k.c64(0)); });
      if (G == 1)
        return;
      // What is left before and behind: pieces of two groups, or one inside a group.
      Value end = k.minS(k.mul(whole0, G), last), start = k.maxS(k.mul(whole1, G), end);
      k.forLoop(k.c64(0), k.c64(2), 1, [&](Value side) {
        Value front = k.cmp(Pred::eq, side, k.c64(0));
        Value a = k.select(front, first, start), b = k.select(front, end, last);
        k.ifThen(k.cmp(Pred::slt, a, b), [&] { piece(row, position, segment, a, b); });
      });
    });
  }

private:
  KernelBuilder &k;
  const AttnSplitSpec &s;
  Path group;
  Value q, partials, positions, rowSeq, blockTable, blockStride;

  using ItemFn = llvm::function_ref<void(Value, Value, Value, Value, Value)>;

  /// Query heads first .. last - 1, all of one kv head: in pairs and then one.
  void piece(Value row, Value position, Value segment, Value first, Value last) {
    Value head = k.div(first, k.c64(s.core.group())), end = k.add(head, 1);
    Value from = k.sub(first, k.mul(head, s.core.group())), to = k.add(from, k.sub(last, first));
    Path one(k, s.core, 1, 1);
    if (s.core.group() == 2)
      return item(one, row, position, segment, head, end, from);
    Path two(k, s.core, 2, 1);
    Value even = k.add(from, k.and_(k.sub(to, from), k.c64(~int64_t(1))));
    k.forLoop(from, even, 2, [&](Value g) { item(two, row, position, segment, head, end, g); });
    k.forLoop(even, to, 1, [&](Value g) { item(one, row, position, segment, head, end, g); });
  }

  /// Walks all items; returns the sum of their work: that of a head is the keys of the segment and a
  /// constant.
  Value forItems(ItemFn f) {
    const int64_t seg = spec::kAttnSegment;
    return k.forLoop(k.c64(0), k.nRows(), k.c64(1), ValueRange{k.c64(0)}, [&](Value row, ValueRange outer) {
      Value p = i32At(k, positions, row), k0 = firstKey(k, p, s.core.window), k1 = k.add(p, 1);
      Value seg0 = k.div(k0, k.c64(seg)), seg1 = k.add(k.div(p, k.c64(seg)), 1);
      return k.forLoop(seg0, seg1, k.c64(1), outer, [&](Value segment, ValueRange sum) {
        Value start = k.mul(segment, seg);
        Value work = k.add(k.sub(k.minS(k.add(start, seg), k1), k.maxS(start, k0)), 32);
        if (f)
          f(row, p, segment, sum[0], work);
        return KernelBuilder::Values{k.add(sum[0], work)};
      });
    })[0];
  }

  /// Of kv heads head0 .. head1 - 1: query heads g0 .. g0 + path.heads - 1 of each group. Block by block, all
  /// heads of a block in turn: so pages are read from end to end.
  void item(Path &path, Value row, Value p, Value segment, Value head0, Value head1, Value g0) {
    AttentionBlock &block = path.block;
    const AttentionScratch &scratch = path.scratch;
    const int64_t H = path.heads, R = path.tile.rows, V = path.vectors, G = s.core.group();
    const int64_t seg = spec::kAttnSegment, blk = spec::kAttnBlock, dim = s.core.kv.dim;
    Value tableRow = k.gep(blockTable, k.mul(k.mul(i32At(k, rowSeq, row), blockStride), 4));
    Value k0 = firstKey(k, p, s.core.window), k1 = k.add(p, 1), heads = k.sub(head1, head0);
    Value firstPage = k.shrU(k0, 4), lastPage = k.shrU(p, 4);
    auto queryHead = [&](Value h) { return k.add(k.mul(k.add(head0, h), G), g0); };
    k.forLoop(k.c64(0), heads, 1, [&](Value h) {
      Value src = k.gep(rowPointer(k, s.q, q, row), k.mul(queryHead(h), dim * 4)), at = k.mul(h, V);
      for (int64_t g = 0; g < H; ++g)
        block.loadQuery(k.gep(src, g * dim * 4), k.add(at, g), p);
      block.padQueries(k.add(at, H), k.add(at, V), p);
    });
    block.reset(k.mul(heads, V), /*total=*/false);
    Value start = k.mul(segment, seg);
    Value b0 = k.maxS(start, k.and_(k0, k.c64(~(blk - 1)))), b1 = k.minS(k.add(start, seg), k1);
    k.forLoop(b0, b1, blk, [&](Value b) {
      Value low = k.maxS(k.sub(k0, b), k.c64(0)), high = k.minS(k.sub(k1, b), k.c64(blk));
      k.forLoop(k.c64(0), heads, 1, [&](Value h) {
        block.setBlock(tableRow, b, k.add(head0, h), firstPage, lastPage);
        Value next = k.add(h, blocksAhead(s.core)), blocks = k.div(next, heads);
        block.setNext(tableRow, k.add(b, k.mul(blocks, blk)), k.add(head0, k.sub(next, k.mul(blocks, heads))),
                      firstPage, lastPage);
        for (int64_t v = 0; v < V; v += R)
          block.run(k.add(k.mul(h, V), v), low, high, /*first=*/v == 0);
      });
    });
    k.forLoop(k.c64(0), heads, 1, [&](Value h) {
      for (int64_t g = 0; g < H; ++g) {
        Value vector = k.add(k.mul(h, V), g), off = k.mul(vector, 4);
        Value dst = entryPointer(k, s.layout, partials, row, k.add(queryHead(h), g), segment);
        k.storeAt(k.loadAt(k.f32(), block.at(scratch.m), off), dst, 0);
        k.storeAt(k.loadAt(k.f32(), block.at(scratch.l), off), dst, 4);
        Value o = k.gep(block.at(scratch.o), k.mul(vector, scratch.oStride));
        forVectors(k, roundUp(s.core.kv.vDim, 16), 4, [&](Value c, int64_t) {
          Value at = k.mul(c, 4);
          k.storeAt(k.loadAt(k.f32v(), o, at, 64), k.gep(dst, 64), at, 64);
        });
      }
    });
  }
};

} // namespace

void cpu::emitAttnSplit(KernelBuilder &k, const AttnSplitSpec &s) {
  assert(refuseAttention(s.core, false).empty() && "legality is checked before emission");
  assert(s.layout.heads == s.core.qHeads && s.layout.dim == s.core.kv.vDim && "partials of this attention");
  SplitEmitter(k, s).emit();
}

void cpu::emitAttnMerge(KernelBuilder &k, const AttnMergeSpec &s) {
  const int64_t D = s.layout.dim, heads = s.layout.heads, vecs = roundUp(D, 16) / 16,
                seg = spec::kAttnSegment;
  assert((!s.outAct || D % 32 == 0) && "legality is checked before emission");
  Value partials = k.slot(s.partials), out = k.slot(s.outAct ? *s.outAct : s.outRows->slot);
  Value positions = k.stepPointer(offsetof(ingot_step_v1, positions));
  // Parts share heads, not rows: a cache line of packed activations holds a few columns of many rows, and two
  // parts that write one take it from each other with every store.
  auto [lo, hi] = k.share(k.c64(heads));
  Value first = lo, rows = k.nRows();
  k.forLoop(k.c64(0), k.mul(k.sub(hi, lo), rows), 1, [&](Value unit) {
    Value place = k.div(unit, rows), head = k.add(first, place), row = k.sub(unit, k.mul(place, rows));
    Value p = i32At(k, positions, row), k0 = firstKey(k, p, s.window);
    // State: M, L, O. The first segment meets M = -inf and is taken as it is.
    KernelBuilder::Values state{k.splat(k.f32(), -std::numeric_limits<double>::infinity()), k.cf(0)};
    state.append(vecs, k.splat(k.f32v(), 0));
    Value seg0 = k.div(k0, k.c64(seg)), seg1 = k.add(k.div(p, k.c64(seg)), 1);
    state = k.forLoop(seg0, seg1, k.c64(1), state, [&](Value segment, ValueRange st) {
      Value entry = entryPointer(k, s.layout, partials, row, head, segment);
      MergeFactors f =
          emitMergeFactors(k, st[0], st[1], k.loadAt(k.f32(), entry, 0), k.loadAt(k.f32(), entry, 4));
      Value a = k.broadcast(f.a, 16), b = k.broadcast(f.b, 16);
      KernelBuilder::Values next{f.m, f.l};
      for (int64_t v = 0; v < vecs; ++v)
        next.push_back(k.fma(k.loadAt(k.f32v(), entry, 64 + v * 64, 64), b, k.mul(st[2 + v], a)));
      return next;
    });
    Value sum = k.broadcast(state[1], 16), zero = k.splat(k.f32v(), 0);
    auto result = [&](int64_t v) { return k.add(k.div(state[2 + v], sum), zero); };
    if (s.outAct) {
      ActRow act(k, s.act, out, row);
      for (int64_t v = 0; v < vecs; v += 2)
        act.writeGroup(k.add(k.mul(head, D / 32), k.c64(v / 2)), result(v), result(v + 1));
      return;
    }
    Value dst = k.gep(rowPointer(k, *s.outRows, out, row), k.mul(head, D * 4));
    for (int64_t v = 0; v < vecs; ++v)
      storeLanes(k, k.f32(), result(v), dst, v * 64, std::min<int64_t>(16, D - v * 16));
  });
}
