//===- FloatFamilies.cpp - families without a weight matrix: from tile.kernel to code -------------------===//
//
// norm, quantize, rope_kv, attention, attn_split, attn_merge, gate, add, select, softcap and scale: what the
// kernel registry answers for them and how a verified tile.kernel becomes the spec of its emitter.
//
//===----------------------------------------------------------------------------------------------------===//
#include "codegen/cpu/Attention.h"
#include "codegen/cpu/AttentionBlock.h"
#include "codegen/cpu/Elementwise.h"
#include "codegen/cpu/Families.h"
#include "codegen/cpu/Norm.h"
#include "codegen/cpu/Quantize.h"
#include "codegen/cpu/RopeKv.h"
#include "dialects/KvDtype.h"
#include "dialects/tile/Describe.h"

#include "llvm/ADT/STLExtras.h"

using namespace ingot;
using namespace ingot::cpu;
using mlir::failure;
using mlir::FailureOr;
using mlir::LogicalResult;
using mlir::success;

//===--- kernels ---===//

static RowsRef refOf(const tile::Columns &c, bool selected = false) {
  return {unsigned(c.slot), c.stride, c.offset, selected};
}

static RowDomain domainOf(tile::KernelOp kernel) {
  return kernel.getDomain() == tile::Domain::Out ? RowDomain::Out : RowDomain::Rows;
}

/// Fills the result fields that several specs share.
template <class Spec> static void setOutputs(Spec &s, const tile::Outputs &out) {
  if (out.rowsSlot >= 0)
    s.outRows = RowsRef{unsigned(out.rowsSlot), out.rowsStride};
  if (out.actSlot >= 0) {
    s.outAct = unsigned(out.actSlot);
    s.act = {out.width, int64_t(out.act.getBlock())};
  }
}

static spec::KvType kvTypeOf(llvm::StringRef dtype) {
  return spec::KvType(uint32_t(kvDtypeCode(dtype).value_or(KvF16)));
}

static spec::KvLayout kvOf(tile::KvAttr kv) {
  return {int64_t(kv.getHeads()), int64_t(kv.getDim()), int64_t(kv.getVDim()), kvTypeOf(kv.getDtype())};
}

static LogicalResult refused(tile::KernelOp kernel, const std::string &why) {
  if (why.empty())
    return success();
  return kernel.emitError() << "kernel '" << kernel.getSymName() << "' cannot be emitted: " << why;
}

LogicalResult cpu::emitNormFamily(tile::KernelOp kernel, KernelBuilder &k, KernelFacts &facts) {
  FailureOr<tile::NormDesc> d = tile::describeNorm(kernel);
  if (mlir::failed(d))
    return failure();
  NormSpec s;
  s.D = d->x.width;
  s.groups = d->groups;
  s.eps = d->eps;
  s.domain = domainOf(kernel);
  s.x = refOf(d->x);
  if (d->residual.slot >= 0)
    s.residual = refOf(d->residual);
  s.gamma = unsigned(d->gammaWeight);
  setOutputs(s, d->out);
  if (mlir::failed(refused(kernel, refuseNorm(s))))
    return failure();
  emitNorm(k, s);
  return success();
}

LogicalResult cpu::emitQuantizeFamily(tile::KernelOp kernel, KernelBuilder &k, KernelFacts &facts) {
  FailureOr<tile::QuantizeDesc> d = tile::describeQuantize(kernel);
  if (mlir::failed(d))
    return failure();
  QuantizeSpec s;
  s.D = d->x.width;
  s.domain = domainOf(kernel);
  s.x = refOf(d->x);
  s.out = unsigned(d->out.actSlot);
  s.act = {d->out.width, int64_t(d->out.act.getBlock())};
  emitQuantize(k, s);
  return success();
}

static RopeParams ropeOf(const tile::RopeDesc &d) {
  RopeParams r;
  if (d.table < 0)
    return r;
  r.style = d.style == tile::RopeStyle::Half ? spec::RopeStyle::Half : spec::RopeStyle::Interleaved;
  r.rotaryDim = d.rotaryDim;
  r.table = unsigned(d.table);
  return r;
}

RopeKvSpec cpu::ropeKvSpec(const tile::RopeKvDesc &d) {
  RopeKvSpec s;
  s.qHeads = d.qRope.heads;
  s.headDim = d.qRope.headDim;
  s.qRope = ropeOf(d.qRope);
  if (d.qRope.gammaWeight >= 0)
    s.qGamma = unsigned(d.qRope.gammaWeight);
  s.qEps = d.qRope.eps;
  if (d.kv) {
    s.kv = kvOf(d.kv);
    s.kRope = ropeOf(d.kRope);
    if (d.kRope.gammaWeight >= 0)
      s.kGamma = unsigned(d.kRope.gammaWeight);
    s.kEps = d.kRope.eps;
    if (!s.headDim)
      s.headDim = s.kv.dim;
  }
  return s;
}

RopeKvSpec cpu::ropeKvSpec(const KernelQuery &q) {
  RopeKvSpec s;
  s.qHeads = q.qHeads;
  s.headDim = q.headDim;
  s.kv = {q.kvHeads, q.headDim, q.vDim, kvTypeOf(q.kvDtype)};
  if (llvm::is_contained(q.keys, "rope_half") || llvm::is_contained(q.keys, "rope_interleaved"))
    s.qRope.rotaryDim = q.rotaryDim;
  return s;
}

LogicalResult cpu::emitRopeKvFamily(tile::KernelOp kernel, KernelBuilder &k, KernelFacts &facts) {
  FailureOr<tile::RopeKvDesc> d = tile::describeRopeKv(kernel);
  if (mlir::failed(d))
    return failure();
  RopeKvSpec s = ropeKvSpec(*d);
  if (d->q.slot >= 0) {
    s.q = refOf(d->q);
    s.out = {unsigned(d->out.rowsSlot), d->out.rowsStride};
  }
  if (d->kv) {
    s.k = refOf(d->k);
    s.v = refOf(d->v);
  }
  if (mlir::failed(refused(kernel, refuseRopeKv(s))))
    return failure();
  emitRopeKv(k, s);
  return success();
}

static FailureOr<AttentionCore> coreOf(tile::KernelOp kernel, const tile::AttentionDesc &d, bool act) {
  AttentionCore core;
  core.kv = kvOf(d.kv);
  core.qHeads = d.qHeads;
  core.scale = d.scale;
  core.window = d.window;
  core.softcap = d.softcap;
  if (d.block != spec::kAttnBlock || d.segment != spec::kAttnSegment)
    return kernel.emitError() << "attention runs in blocks of 64 keys and segments of 512 positions";
  if (mlir::failed(refused(kernel, refuseAttention(core, act))))
    return failure();
  return core;
}

LogicalResult cpu::emitAttentionFamily(tile::KernelOp kernel, KernelBuilder &k, KernelFacts &facts) {
  FailureOr<tile::AttentionDesc> d = tile::describeAttention(kernel);
  if (mlir::failed(d))
    return failure();
  AttentionSpec s;
  setOutputs(s, d->out);
  FailureOr<AttentionCore> core = coreOf(kernel, *d, s.outAct.has_value());
  if (mlir::failed(core))
    return failure();
  s.core = *core;
  s.q = refOf(d->q);
  if (tile::ScheduleAttr schedule = kernel.getScheduleAttr(); schedule && schedule.getChunk() > 0)
    s.itemVectors = schedule.getChunk();
  facts.scratchBytes = attentionScratch(k.target(), s);
  emitAttention(k, s);
  return success();
}

static PartialsLayout partialsOf(tile::PartialsType t) {
  return {int64_t(t.getHeads()), int64_t(t.getDim()), int64_t(t.getSegments())};
}

LogicalResult cpu::emitAttnSplitFamily(tile::KernelOp kernel, KernelBuilder &k, KernelFacts &facts) {
  FailureOr<tile::AttentionDesc> d = tile::describeAttention(kernel);
  if (mlir::failed(d))
    return failure();
  FailureOr<AttentionCore> core = coreOf(kernel, *d, false);
  if (mlir::failed(core))
    return failure();
  AttnSplitSpec s;
  s.core = *core;
  s.q = refOf(d->q);
  s.partials = unsigned(d->partialsSlot);
  s.layout = partialsOf(d->partials);
  facts.scratchBytes = attnSplitScratch(k.target(), s);
  emitAttnSplit(k, s);
  return success();
}

LogicalResult cpu::emitAttnMergeFamily(tile::KernelOp kernel, KernelBuilder &k, KernelFacts &facts) {
  FailureOr<tile::MergeDesc> d = tile::describeMerge(kernel);
  if (mlir::failed(d))
    return failure();
  AttnMergeSpec s;
  s.layout = partialsOf(d->partials);
  s.window = d->window;
  s.partials = unsigned(d->partialsSlot);
  setOutputs(s, d->out);
  if (s.outAct && s.layout.dim % 32 != 0)
    return refused(kernel, "heads are no whole groups of 32 columns");
  emitAttnMerge(k, s);
  return success();
}

static LogicalResult emitElementwiseFamily(tile::KernelOp kernel, KernelBuilder &k) {
  using Kind = ElementwiseSpec::Kind;
  FailureOr<tile::ElementwiseDesc> d = tile::describeElementwise(kernel);
  if (mlir::failed(d))
    return failure();
  ElementwiseSpec s;
  switch (kernel.getFamily()) {
  case tile::Family::Gate:
    s.kind = Kind::Gate;
    break;
  case tile::Family::Add:
    s.kind = Kind::Add;
    break;
  case tile::Family::Scale:
    s.kind = Kind::Scale;
    break;
  case tile::Family::Softcap:
    s.kind = Kind::Softcap;
    break;
  case tile::Family::Select:
    s.kind = Kind::Copy;
    break;
  default:
    llvm_unreachable("family without an elementwise form");
  }
  s.D = d->out.width;
  s.domain = domainOf(kernel);
  s.a = refOf(d->a, d->selected);
  if (d->b.slot >= 0)
    s.b = refOf(d->b);
  s.out = {unsigned(d->out.rowsSlot), d->out.rowsStride};
  s.gate = d->gate == tile::GateKind::Silu   ? spec::GateKind::Silu
           : d->gate == tile::GateKind::Gelu ? spec::GateKind::Gelu
                                             : spec::GateKind::GeluTanh;
  s.constant = d->value;
  emitElementwise(k, s);
  return success();
}

#define ELEMENTWISE(name)                                                                                    \
  LogicalResult cpu::emit##name##Family(tile::KernelOp kernel, KernelBuilder &k, KernelFacts &facts) {       \
    return emitElementwiseFamily(kernel, k);                                                                 \
  }
ELEMENTWISE(Gate)
ELEMENTWISE(Add)
ELEMENTWISE(Select)
ELEMENTWISE(Softcap)
ELEMENTWISE(Scale)
#undef ELEMENTWISE

//===--- registry ---===//

namespace {

bool has(const KernelQuery &q, const char *key) { return llvm::is_contained(q.keys, key); }

std::string noReason(const KernelQuery &) { return ""; }

std::string refuseActBlock(const KernelQuery &q) {
  if (has(q, "act_out") && q.actBlock < 1)
    return "the row block of the int8 result is undecided";
  return "";
}

std::string refuseNormQuery(const KernelQuery &q) {
  if (has(q, "groups") && has(q, "act_out"))
    return "a norm in groups has no int8 result";
  return refuseActBlock(q);
}

std::string refuseRopeQuery(const KernelQuery &q) { return refuseRopeKv(ropeKvSpec(q)); }

std::string refuseAttentionQuery(const KernelQuery &q) {
  AttentionCore c;
  c.qHeads = q.qHeads;
  c.kv.heads = q.kvHeads;
  c.kv.dim = q.headDim;
  c.kv.vDim = q.vDim;
  std::string why = refuseAttention(c, has(q, "act_out"));
  return why.empty() ? refuseActBlock(q) : why;
}

std::string refuseMergeQuery(const KernelQuery &q) {
  if (has(q, "act_out") && q.vDim % 32 != 0)
    return "heads are no whole groups of 32 columns";
  return refuseActBlock(q);
}

// Nanoseconds per column of a row, from test/bench/attention_bench.cpp and counting operations.
double perColumn(const KernelQuery &q, double rows) { return rows * double(std::max(q.n, q.k)) * 0.05; }
double perHeadColumn(const KernelQuery &q, double rows) {
  return rows * double((q.qHeads + 2 * q.kvHeads) * q.headDim) * 0.15;
}
/// 512 keys are assumed; 2 fma of 16 lanes for each key and 16 columns.
double perKey(const KernelQuery &q, double rows) {
  return rows * double(q.qHeads * (q.headDim + q.vDim)) * 512 / 16 * 0.5;
}
double perPartial(const KernelQuery &q, double rows) { return rows * double(q.qHeads * q.vDim) * 0.2; }

/// Nanoseconds on one core for the rows of the query.
using Cost = double (*)(const KernelQuery &, double rows);

void answer(const KernelQuery &q, const target::Target &target, const std::string &why, Cost cost,
            KernelAnswer &out) {
  if (!why.empty()) {
    out.refused.push_back(q.family + "/f32: " + why);
    out.hint = "--kernels=ref";
    return;
  }
  KernelCandidate c;
  c.vector = target.vectorBits / 8;
  c.ops = 64;
  c.cost = cost(q, q.rows ? double(q.rows) : 512.0);
  c.reason = "f32 in 16 lanes";
  if (q.family != "attention" && q.family != "attn_split") {
    out.candidates.push_back(c);
    return;
  }
  int64_t group = q.qHeads / q.kvHeads;
  llvm::SmallVector<int64_t, 8> items = {q.family == "attention" ? AttentionSpec().itemVectors : 0};
  if (q.family == "attention" && q.allSchedules)
    items.append({12, 24, 96, 144, 192});
  for (int64_t item : items) {
    c.chunk = item;
    AttentionTile t =
        AttentionTile::choose(target, item ? std::max<int64_t>(1, item / group) * group : group);
    c.panels = t.pages;
    c.rows = t.rows;
    c.ops = (q.kvDtype == "int8" ? 32 : 8) * t.pages * t.rows + 160 * t.side;
    c.reason = std::to_string(t.rows) + " query vectors by " + std::to_string(t.pages * 16) +
               " keys in registers, K and V in " + q.kvDtype + " read once for the heads of a group";
    out.candidates.push_back(c);
  }
}

} // namespace

#define ANSWER(name, refuse, cost)                                                                           \
  void cpu::answer##name(const KernelQuery &query, const target::Target &target, KernelAnswer &out) {        \
    answer(query, target, refuse(query), cost, out);                                                         \
  }
ANSWER(Norm, refuseNormQuery, perColumn)
ANSWER(Quantize, refuseActBlock, perColumn)
ANSWER(RopeKv, refuseRopeQuery, perHeadColumn)
ANSWER(Attention, refuseAttentionQuery, perKey)
ANSWER(AttnSplit, refuseAttentionQuery, perKey)
ANSWER(AttnMerge, refuseMergeQuery, perPartial)
ANSWER(Gate, noReason, perColumn)
ANSWER(Add, noReason, perColumn)
ANSWER(Select, noReason, perColumn)
ANSWER(Softcap, noReason, perColumn)
ANSWER(Scale, noReason, perColumn)
#undef ANSWER
