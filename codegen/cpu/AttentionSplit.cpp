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

int64_t cpu::attnSplitScratch(const target::Target &target, const AttnSplitSpec &s) {
  int64_t bytes = 0;
  for (int64_t vectors : {s.core.group(), int64_t(2), int64_t(1)})
    bytes = std::max(
        bytes,
        AttentionScratch(s.core, AttentionTile::choose(target, vectors), vectors, /*total=*/false).bytes);
  return bytes;
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

/// Code for a number of heads that share their loads.
struct Path {
  Path(KernelBuilder &k, const AttentionCore &core, int64_t heads)
      : heads(heads), tile(AttentionTile::choose(k.target(), heads)),
        scratch(core, tile, heads, /*total=*/false), block(k, core, tile, scratch) {}
  int64_t heads;
  AttentionTile tile;
  AttentionScratch scratch;
  AttentionBlock block;
};

class SplitEmitter {
public:
  SplitEmitter(KernelBuilder &k, const AttnSplitSpec &s) : k(k), s(s), group(k, s.core, s.core.group()) {
    q = k.slot(s.q.slot);
    partials = k.slot(s.partials);
    positions = k.stepPointer(offsetof(ingot_step_v1, positions));
    rowSeq = k.stepPointer(offsetof(ingot_step_v1, row_seq));
    blockTable = k.stepPointer(offsetof(ingot_step_v1, block_table));
    blockStride = k.stepU32(offsetof(ingot_step_v1, block_stride));
  }

  void emit() {
    const int64_t G = s.core.group();
    Value total = k.mul(forItems(nullptr), G);
    // A query head belongs to the part in whose share of the work it starts. Parts that get a piece of a
    // group load its keys once each; with few kv heads that costs less than waiting.
    Value from = k.mul(total, k.part()), to = k.mul(total, k.add(k.part(), 1));
    forItems([&](Value row, Value position, Value head, Value segment, Value workBefore, Value work) {
      Value first = k.c64(0), last = k.c64(0), at = k.mul(k.mul(workBefore, G), k.parts());
      Value step = k.mul(work, k.parts());
      for (int64_t g = 0; g < G; ++g) {
        first = k.add(first, k.extU(k.cmp(Pred::slt, at, from), k.i64()));
        last = k.add(last, k.extU(k.cmp(Pred::slt, at, to), k.i64()));
        at = k.add(at, step);
      }
      Value count = k.sub(last, first);
      k.ifThen(k.cmp(Pred::eq, count, k.c64(G)),
               [&] { item(group, row, position, head, segment, k.c64(0)); });
      if (G == 1)
        return;
      Value some = k.and_(k.cmp(Pred::sgt, count, k.c64(0)), k.cmp(Pred::slt, count, k.c64(G)));
      k.ifThen(some, [&] { piece(row, position, head, segment, first, last); });
    });
  }

private:
  KernelBuilder &k;
  const AttnSplitSpec &s;
  Path group;
  Value q, partials, positions, rowSeq, blockTable, blockStride;

  using ItemFn = llvm::function_ref<void(Value, Value, Value, Value, Value, Value)>;

  /// Heads first .. last - 1 of a group, in pairs and then one.
  void piece(Value row, Value position, Value head, Value segment, Value first, Value last) {
    Path one(k, s.core, 1);
    if (s.core.group() == 2)
      return item(one, row, position, head, segment, first);
    Path two(k, s.core, 2);
    Value even = k.add(first, k.and_(k.sub(last, first), k.c64(~int64_t(1))));
    k.forLoop(first, even, 2, [&](Value g) { item(two, row, position, head, segment, g); });
    k.forLoop(even, last, 1, [&](Value g) { item(one, row, position, head, segment, g); });
  }

  /// Walks all items; returns the sum of their work: that of a head is the keys of the segment and a
  /// constant.
  Value forItems(ItemFn f) {
    const int64_t seg = spec::kAttnSegment, heads = s.core.kv.heads;
    return k.forLoop(k.c64(0), k.nRows(), k.c64(1), ValueRange{k.c64(0)}, [&](Value row, ValueRange outer) {
      Value p = i32At(k, positions, row), k0 = firstKey(k, p, s.core.window), k1 = k.add(p, 1);
      Value seg0 = k.div(k0, k.c64(seg)), seg1 = k.add(k.div(p, k.c64(seg)), 1);
      // Segments of a head follow each other: the last block of one prefetches the first of the next.
      return k.forLoop(k.c64(0), k.c64(f ? heads : 1), k.c64(1), outer, [&](Value head, ValueRange inner) {
        return k.forLoop(seg0, seg1, k.c64(1), inner, [&](Value segment, ValueRange sum) {
          Value start = k.mul(segment, seg);
          Value keys = k.sub(k.minS(k.add(start, seg), k1), k.maxS(start, k0));
          Value work = k.add(keys, 32);
          if (!f)
            return KernelBuilder::Values{k.add(sum[0], k.mul(work, heads))};
          f(row, p, head, segment, sum[0], work);
          return KernelBuilder::Values{k.add(sum[0], work)};
        });
      });
    })[0];
  }

  /// Heads g0 .. g0 + path.heads - 1 of kv head `head`.
  void item(Path &path, Value row, Value p, Value head, Value segment, Value g0) {
    AttentionBlock &block = path.block;
    const AttentionScratch &scratch = path.scratch;
    const int64_t H = path.heads, R = path.tile.rows, seg = spec::kAttnSegment, blk = spec::kAttnBlock;
    Value tableRow = k.gep(blockTable, k.mul(k.mul(i32At(k, rowSeq, row), blockStride), 4));
    Value k0 = firstKey(k, p, s.core.window), k1 = k.add(p, 1);
    Value firstHead = k.add(k.mul(head, s.core.group()), g0);
    Value src = k.gep(rowPointer(k, s.q, q, row), k.mul(firstHead, s.core.kv.dim * 4));
    for (int64_t g = 0; g < H; ++g)
      block.loadQuery(k.gep(src, g * s.core.kv.dim * 4), k.c64(g), p);
    block.padQueries(k.c64(H), k.c64(scratch.vectors), p);
    block.reset(k.c64(scratch.vectors), /*total=*/false);
    Value start = k.mul(segment, seg);
    Value b0 = k.maxS(start, k.and_(k0, k.c64(~(blk - 1)))), b1 = k.minS(k.add(start, seg), k1);
    k.forLoop(b0, b1, blk, [&](Value b) {
      block.setBlock(tableRow, b, head, k.shrU(k0, 4), k.shrU(p, 4), /*ahead=*/true);
      Value low = k.maxS(k.sub(k0, b), k.c64(0)), high = k.minS(k.sub(k1, b), k.c64(blk));
      for (int64_t v = 0; v < scratch.vectors; v += R)
        block.run(k.c64(v), low, high, /*first=*/v == 0);
    });
    for (int64_t g = 0; g < H; ++g) {
      Value dst = entryPointer(k, s.layout, partials, row, k.add(firstHead, g), segment);
      k.storeAt(k.loadAt(k.f32(), block.at(scratch.m), g * 4), dst, 0);
      k.storeAt(k.loadAt(k.f32(), block.at(scratch.l), g * 4), dst, 4);
      Value o = k.gep(block.at(scratch.o), g * scratch.oStride);
      forVectors(k, roundUp(s.core.kv.vDim, 16), 4, [&](Value c, int64_t) {
        Value at = k.mul(c, 4);
        k.storeAt(k.loadAt(k.f32v(), o, at, 64), k.gep(dst, 64), at, 64);
      });
    }
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
  auto [lo, hi] = k.share(k.mul(k.nRows(), heads));
  k.forLoop(lo, hi, 1, [&](Value unit) {
    Value row = k.div(unit, k.c64(heads)), head = k.sub(unit, k.mul(row, heads));
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
