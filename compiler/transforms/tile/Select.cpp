//===- Select.cpp - schedules, dot kinds and layouts from the kernel registry ----------------------===//
#include "compiler/support/KernelRegistry.h"
#include "compiler/transforms/tile/Passes.h"
#include "dialects/llm/Llm.h"
#include "dialects/tile/Describe.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <map>

namespace ingot::transforms {
#define GEN_PASS_DEF_TILESELECTPASS
#include "compiler/transforms/tile/Passes.h.inc"
} // namespace ingot::transforms

using namespace mlir;

namespace ingot::tile {
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

KernelQuery queryOf(KernelOp kernel, StringRef isa) {
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

struct Select : transforms::impl::TileSelectPassBase<Select> {
  using TileSelectPassBase::TileSelectPassBase;
  Select() = default;
  Select(const KernelRegistry &registry, StringRef target) : registry(&registry) { isa = target.str(); }
  Select(const Select &other) : TileSelectPassBase(other), registry(other.registry) {}

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!registry) {
      module.emitError() << "tile-select has no kernel registry";
      return signalPassFailure();
    }
    if (!llvm::is_contained(registry->targets(), isa.getValue())) {
      module.emitError() << "unknown target '" << isa << "'; --isa takes "
                         << llvm::join(registry->targets(), ", ");
      return signalPassFailure();
    }
    for (llm::ConfigOp config : module.getOps<llm::ConfigOp>())
      fast = config.getNumerics() == llm::Numerics::Fast;
    // One launch of each kernel, to name its params in messages.
    std::map<StringRef, LaunchOp> users;
    module.walk([&](LaunchOp op) { users.try_emplace(op.getKernel(), op); });
    for (KernelOp kernel : module.getOps<KernelOp>())
      if (failed(select(kernel, users)))
        return signalPassFailure();
  }

  LogicalResult select(KernelOp kernel, std::map<StringRef, LaunchOp> &users) {
    KernelQuery query = queryOf(kernel, isa);
    query.fast = fast;
    KernelAnswer answer = registry->find(query);
    if (answer.candidates.empty())
      return refuse(kernel, query, answer, users);
    const KernelCandidate *best = &answer.candidates.front();
    for (const KernelCandidate &c : answer.candidates)
      if (c.cost < best->cost)
        best = &c;

    Builder b(kernel.getContext());
    auto schedule = ScheduleAttr::getChecked(
        [&] { return kernel.emitOpError() << "registry row for " << isa << ": "; }, b.getContext(),
        best->vector, best->panels, best->rows, best->unroll, best->prefetch, best->chunk, best->ops);
    if (!schedule)
      return failure();
    std::optional<qfmt::Layout> layout;
    if (!best->layout.empty() && !(layout = qfmt::parseLayout(best->layout)))
      return kernel.emitOpError() << "registry row for " << isa << " wants unknown layout '" << best->layout
                                  << "'";
    std::optional<DotKind> dot;
    if (!best->dot.empty() && (!(dot = symbolizeDotKind(best->dot)) || *dot == DotKind::Undecided))
      return kernel.emitOpError() << "registry row for " << isa << " has unknown dot kind '" << best->dot
                                  << "'";
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
    std::string reason;
    llvm::raw_string_ostream os(reason);
    os << best->reason << llvm::format(" (%.0f ns)", best->cost);
    kernel.setReason(reason);
    // What tile-form-kernels refused comes first.
    SmallVector<StringRef> refused;
    if (std::optional<ArrayAttr> formed = kernel.getRefused())
      for (Attribute one : *formed)
        refused.push_back(cast<StringAttr>(one).getValue());
    refused.append(answer.refused.begin(), answer.refused.end());
    if (!refused.empty())
      kernel.setRefusedAttr(b.getStrArrayAttr(refused));
    ++numSelected;
    return success();
  }

  LogicalResult refuse(KernelOp kernel, const KernelQuery &q, const KernelAnswer &answer,
                       std::map<StringRef, LaunchOp> &users) {
    auto diag = kernel.emitError() << "no kernel for op '" << q.family << "'";
    if (auto it = users.find(kernel.getSymName()); it != users.end() && !it->second.getParams().empty())
      diag << " of tensor " << it->second.getParams()[0];
    if (!q.scheme.empty())
      diag << " with scheme " << q.scheme << " (" << q.n << "x" << q.k << ")";
    else if (q.headDim || q.vDim)
      diag << " with heads of " << (q.headDim ? q.headDim : q.vDim);
    diag << " on target " << q.isa << " for " << (q.rows ? std::to_string(q.rows) : "any number of")
         << " rows";
    for (const std::string &why : answer.refused)
      diag.attachNote(kernel.getLoc()) << why;
    diag << "; change it by " << (answer.hint.empty() ? "--isa" : answer.hint);
    return diag;
  }

  const KernelRegistry *registry = nullptr;
  bool fast = false;
};

} // namespace

} // namespace ingot::tile

std::unique_ptr<Pass> ingot::transforms::createTileSelectPass(const KernelRegistry &registry, StringRef isa) {
  return std::make_unique<tile::Select>(registry, isa);
}
