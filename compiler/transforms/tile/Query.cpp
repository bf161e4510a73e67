//===- Query.cpp - a kernel as the registry sees it ------------------------------------------------===//
#include "compiler/transforms/tile/Query.h"

#include "dialects/tile/Describe.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::tile;

namespace {

void addOutputs(KernelQuery &q, const Outputs &out) {
  q.n = out.width;
  if (out.rowsSlot >= 0)
    q.keys.push_back("f32_out");
  if (out.actSlot >= 0) {
    q.keys.push_back("act_out");
    q.actBlock = out.act.getBlock();
  }
}

void addKv(KernelQuery &q, KvAttr kv, int64_t qHeads) {
  q.qHeads = qHeads;
  q.kvHeads = kv.getHeads();
  q.headDim = kv.getDim();
  q.vDim = kv.getVDim();
  q.kvDtype = kv.getDtype().str();
}

} // namespace

KernelQuery tile::queryOf(KernelOp kernel, StringRef isa) {
  KernelQuery q;
  q.family = stringifyFamily(kernel.getFamily()).str();
  q.isa = isa.str();
  q.rows = kernel.getRows();
  q.outDomain = kernel.getDomain() == Domain::Out;
  switch (kernel.getFamily()) {
  case Family::Embed: {
    EmbedDesc d = *describeEmbed(kernel);
    q.n = d.table.getRows();
    q.k = d.table.getCols();
    q.scheme = d.table.getSchemeAttr().schemeName().str();
    break;
  }
  case Family::Norm: {
    NormDesc d = *describeNorm(kernel);
    q.k = d.x.width;
    if (d.groups > 1)
      q.keys.push_back("groups");
    if (d.residual.slot >= 0)
      q.keys.push_back("residual");
    addOutputs(q, d.out);
    break;
  }
  case Family::Quantize: {
    QuantizeDesc d = *describeQuantize(kernel);
    q.k = d.x.width;
    addOutputs(q, d.out);
    break;
  }
  case Family::Linear: {
    LinearDesc d = *describeLinear(kernel);
    q.n = d.n;
    q.k = d.k;
    q.scheme = d.w.getSchemeAttr().schemeName().str();
    if (d.act)
      q.actBlock = d.act.getBlock();
    if (d.biasWeight >= 0)
      q.keys.push_back("bias");
    if (d.gate)
      q.keys.push_back("gate_" + stringifyGateKind(*d.gate).str());
    if (d.softcap != 0)
      q.keys.push_back("softcap");
    if (d.residual.slot >= 0)
      q.keys.push_back("residual");
    if (d.argmax)
      q.keys.push_back("argmax");
    if (d.ropeKv) {
      addKv(q, d.ropeKv->kv, d.ropeKv->qRope.heads);
      q.rotaryDim = d.ropeKv->qRope.rotaryDim;
      q.keys.push_back("rope_kv");
      for (const RopeDesc *r : {&d.ropeKv->qRope, &d.ropeKv->kRope})
        q.keys.push_back(r->style == RopeStyle::Half ? "rope_half" : "rope_interleaved");
      if (d.ropeKv->qRope.gammaWeight >= 0 || d.ropeKv->kRope.gammaWeight >= 0)
        q.keys.push_back("qk_norm");
    }
    break;
  }
  case Family::RopeKv: {
    RopeKvDesc d = *describeRopeKv(kernel);
    const RopeDesc &r = d.q.slot >= 0 ? d.qRope : d.kRope;
    q.headDim = r.headDim;
    q.rotaryDim = r.rotaryDim;
    q.n = d.out.width;
    q.k = d.q.slot >= 0 ? d.q.stride : d.k.stride;
    if (d.kv)
      addKv(q, d.kv, d.q.slot >= 0 ? d.qRope.heads : 0);
    else
      q.qHeads = d.qRope.heads;
    if (r.table >= 0)
      q.keys.push_back(r.style == RopeStyle::Half ? "rope_half" : "rope_interleaved");
    if (d.qRope.gammaWeight >= 0 || d.kRope.gammaWeight >= 0)
      q.keys.push_back("qk_norm");
    break;
  }
  case Family::Attention:
  case Family::AttnSplit: {
    AttentionDesc d = *describeAttention(kernel);
    addKv(q, d.kv, d.qHeads);
    q.k = d.q.width;
    if (d.window)
      q.keys.push_back("window");
    if (d.softcap != 0)
      q.keys.push_back("softcap");
    if (d.partialsSlot < 0)
      addOutputs(q, d.out);
    break;
  }
  case Family::AttnMerge: {
    MergeDesc d = *describeMerge(kernel);
    q.qHeads = d.partials.getHeads();
    q.vDim = d.partials.getDim();
    if (d.window)
      q.keys.push_back("window");
    addOutputs(q, d.out);
    break;
  }
  case Family::Gate:
  case Family::Add:
  case Family::Select:
  case Family::Softcap:
  case Family::Scale: {
    ElementwiseDesc d = *describeElementwise(kernel);
    q.n = d.out.width;
    q.k = d.a.width;
    if (kernel.getFamily() == Family::Gate)
      q.keys.push_back("gate_" + stringifyGateKind(d.gate).str());
    break;
  }
  }
  return q;
}

LogicalResult tile::applySchedule(KernelOp kernel, const KernelCandidate &c, StringRef isa) {
  auto schedule = ScheduleAttr::getChecked(
      [&] { return kernel.emitOpError() << "registry row for " << isa << ": "; }, kernel.getContext(),
      c.vector, c.panels, c.rows, c.unroll, c.prefetch, c.chunk, c.ops);
  if (!schedule)
    return failure();
  std::optional<qfmt::Layout> layout;
  if (!c.layout.empty() && !(layout = qfmt::parseLayout(c.layout)))
    return kernel.emitOpError() << "registry row for " << isa << " wants unknown layout '" << c.layout << "'";
  std::optional<DotKind> dot;
  if (!c.dot.empty() && (!(dot = symbolizeDotKind(c.dot)) || *dot == DotKind::Undecided))
    return kernel.emitOpError() << "registry row for " << isa << " has unknown dot kind '" << c.dot << "'";
  bool done = true;
  kernel.walk([&](Operation *op) {
    Value w;
    if (auto embed = dyn_cast<EmbedOp>(op))
      w = embed.getTable();
    if (auto d = dyn_cast<DotOp>(op)) {
      w = d.getW();
      if (dot)
        d.setKind(*dot);
      else
        done = false;
    }
    if (!w)
      return;
    if (layout)
      w.setType(cast<qfmt::PackedType>(w.getType()).withLayout(*layout));
    else
      done = false;
  });
  if (!done)
    return kernel.emitOpError() << "registry row for " << isa << " gives no dot kind or no layout";
  kernel.setIsa(isa);
  kernel.setScheduleAttr(schedule);
  return success();
}

KernelCandidate tile::scheduleOf(KernelOp kernel) {
  KernelCandidate c;
  kernel.walk([&](DotOp dot) { c.dot = stringifyDotKind(dot.getKind()).str(); });
  ScheduleAttr s = *kernel.getSchedule();
  c.vector = s.getVector();
  c.panels = s.getPanels();
  c.rows = s.getRows();
  c.unroll = s.getUnroll();
  c.prefetch = s.getPrefetch();
  c.chunk = s.getChunk();
  c.ops = s.getOps();
  return c;
}
