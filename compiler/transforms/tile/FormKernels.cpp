//===- FormKernels.cpp - llm ops to kernel prototypes ----------------------------------------------===//
#include "compiler/transforms/tile/Former.h"
#include "compiler/transforms/tile/Passes.h"

#include "llvm/ADT/TypeSwitch.h"

#include <set>

namespace ingot::transforms {
#define GEN_PASS_DEF_TILEFORMKERNELSPASS
#include "compiler/transforms/tile/Passes.h.inc"
} // namespace ingot::transforms

using namespace mlir;

namespace ingot::tile {

View viewOf(Value value) {
  View v{value, 0, llm::widthOf(value)};
  for (;;) {
    if (auto slice = v.base.getDefiningOp<llm::SliceOp>()) {
      v.offset += slice.getOffset();
      v.base = slice.getX();
    } else if (auto end = v.base.getDefiningOp<llm::LayerEndOp>()) {
      v.base = end.getX();
    } else {
      return v;
    }
  }
}

namespace {

/// Variants of llm ops that the bodies below can say.
const std::set<std::string, std::less<>> &handledKeys() {
  static const std::set<std::string, std::less<>> keys = {
      "act.f32",        "act.i8",        "bias",     "embed.scale", "gate.gelu",
      "gate.gelu_tanh", "gate.silu",     "gqa",      "mask.causal", "mask.window",
      "norm.groups",    "norm.residual", "residual", "rope.half",   "rope.interleaved",
      "rope.partial",   "rope.scale",    "softcap",  "v_dim"};
  return keys;
}

} // namespace

LogicalResult Former::run() {
  if (step.getRows() == 0)
    return step.emitOpError() << "has no row class: run llm-specialize-steps first";
  SmallVector<Operation *> ops;
  for (Operation &op : step.bodyBlock())
    ops.push_back(&op);
  for (Operation *op : ops)
    if (failed(checkKeys(op)))
      return failure();
  planRopeKv(ops);
  for (Operation *op : ops) {
    b.setInsertionPoint(op);
    if (failed(form(op)))
      return failure();
  }
  for (Operation *op : llvm::reverse(ops))
    if (!isa<llm::ReturnOp>(op)) {
      if (!op->use_empty())
        return op->emitOpError() << "is left over: no kernel family computes it";
      op->erase();
    }
  return success();
}

LogicalResult Former::checkKeys(Operation *op) {
  if (auto semantics = dyn_cast<llm::SemanticsInterface>(op))
    for (const std::string &key : semantics.getSemanticsKeys())
      if (!handledKeys().count(key))
        return op->emitOpError() << "variant '" << key << "' has no kernel body"
                                 << (key == "norm.weight_offset" ? ": run llm-simplify first" : "");
  return success();
}

LogicalResult Former::form(Operation *op) {
  if (consumed.count(op))
    return success();
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<llm::SliceOp, llm::ReturnOp>([](auto) { return success(); })
      .Case<llm::LayerEndOp>([&](auto o) { return formLayerEnd(o); })
      .Case<llm::EmbedOp>([&](auto o) { return formEmbed(o); })
      .Case<llm::RmsNormOp>([&](auto o) { return formNorm(o); })
      .Case<llm::QuantizeOp>([&](auto o) { return formQuantize(o); })
      .Case<llm::LinearOp>([&](auto o) { return formLinear(o); })
      .Case<llm::LogitsOp>([&](auto o) { return formLogits(o); })
      .Case<llm::AttentionOp>([&](auto o) { return formAttention(o); })
      .Case<llm::KvAppendOp>([&](auto o) { return formRopeKv(o, {}, chainOf(o.getK())); })
      .Case<llm::RopeOp>([&](llm::RopeOp o) { return formRopeKv({}, chainOf(o.getResult()), {}); })
      .Case<llm::GateOp>([&](llm::GateOp o) {
        return formElementwise(
            o, Family::Gate, {o.getGate(), o.getUp()}, [&](Prototype &p, ValueRange v) -> Value {
              return GateOp::create(p.b, p.loc, v[0].getType(), gateKind(o.getKind()), v[0], v[1]);
            });
      })
      .Case<llm::AddOp>([&](llm::AddOp o) {
        return formElementwise(o, Family::Add, {o.getLhs(), o.getRhs()},
                               [&](Prototype &p, ValueRange v) -> Value {
                                 return AddOp::create(p.b, p.loc, v[0].getType(), v[0], v[1]);
                               });
      })
      .Case<llm::ScaleOp>([&](llm::ScaleOp o) {
        return formElementwise(o, Family::Scale, {o.getX()}, [&](Prototype &p, ValueRange v) -> Value {
          return ScaleOp::create(p.b, p.loc, v[0].getType(), v[0], o.getFactorAttr());
        });
      })
      .Case<llm::SoftcapOp>([&](llm::SoftcapOp o) {
        return formElementwise(o, Family::Softcap, {o.getX()}, [&](Prototype &p, ValueRange v) -> Value {
          return SoftcapOp::create(p.b, p.loc, v[0].getType(), v[0], o.getCapAttr());
        });
      })
      .Case<llm::SelectRowsOp>([&](auto o) { return formSelect(o); })
      .Default([&](Operation *o) { return o->emitOpError() << "has no kernel family"; });
}

LogicalResult Former::formLayerEnd(llm::LayerEndOp op) {
  View v = viewOf(op.getX());
  auto producer = v.base.getDefiningOp<LaunchOp>();
  if (!producer || v.offset || v.width != llm::widthOf(v.base) || producer.getResult(0) != v.base ||
      producer.getTap())
    return op.emitOpError() << "layer " << op.getLayer()
                            << " must end with a value that one kernel stores whole";
  producer.setTap("layer");
  producer.setLayer(op.getLayer());
  layer = std::min<int64_t>(int64_t(op.getLayer()) + 1, std::max<int64_t>(lastLayer, op.getLayer()));
  return success();
}

namespace {

struct FormKernels : transforms::impl::TileFormKernelsPassBase<FormKernels> {
  using TileFormKernelsPassBase::TileFormKernelsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTableCollection tables;
    SmallVector<RopeTableOp> ropes(module.getOps<RopeTableOp>());
    int64_t counter = 0, fused = 0;
    RopePolicy rope{RopePolicy::All, ropeApartReason};
    if (ropeInLinear == "none" || ropeInLinear == "pairs") {
      rope.units = ropeInLinear == "none" ? RopePolicy::None : RopePolicy::Pairs;
    } else if (ropeInLinear != "all") {
      module.emitError() << "rope-in-linear is all, pairs or none, not '" << ropeInLinear << "'";
      return signalPassFailure();
    }
    for (auto step : llvm::make_early_inc_range(module.getOps<llm::StepOp>()))
      if (failed(Former(module, step, tables, ropes, counter, fused, rope, argmaxHead).run()))
        return signalPassFailure();
    numKernels += counter;
    numFused += fused;
  }
};

} // namespace
} // namespace ingot::tile
