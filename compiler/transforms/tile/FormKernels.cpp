//===- FormKernels.cpp - llm ops to kernel prototypes ----------------------------------------------===//
//
// Walks each step once, in order. A group of ops that one kernel computes is formed at its last op; the
// others are left dead and erased at the end. What is still alive then has no kernel and is an error.
//
//===----------------------------------------------------------------------------------------------------===//
#include "compiler/transforms/tile/Passes.h"
#include "compiler/transforms/tile/Prototype.h"
#include "dialects/llm/Llm.h"
#include "dialects/tile/Tile.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

#include <set>

namespace ingot::transforms {
#define GEN_PASS_DEF_TILEFORMKERNELSPASS
#include "compiler/transforms/tile/Passes.h.inc"
} // namespace ingot::transforms

using namespace mlir;

namespace ingot::tile {
namespace {

/// Rows up to which a launch that every worker repeats is cheaper than a barrier.
constexpr int64_t kReplicatedRows = 8;

/// Variants of llm ops that the bodies below can say.
const std::set<std::string, std::less<>> &handledKeys() {
  static const std::set<std::string, std::less<>> keys = {
      "act.f32",        "act.i8",        "bias",     "embed.scale", "gate.gelu",
      "gate.gelu_tanh", "gate.silu",     "gqa",      "mask.causal", "mask.window",
      "norm.groups",    "norm.residual", "residual", "rope.half",   "rope.interleaved",
      "rope.partial",   "rope.scale",    "softcap",  "v_dim"};
  return keys;
}

/// A value seen through column slices and layer ends.
struct View {
  Value base;
  int64_t offset = 0, width = 0;
};

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

/// [rope of] [per-head norm of] a view.
struct HeadChain {
  llm::RopeOp rope;
  llm::RmsNormOp norm;
  Value source;
};

class Former {
public:
  Former(ModuleOp module, llm::StepOp step, SymbolTableCollection &tables,
         SmallVectorImpl<RopeTableOp> &ropes, int64_t &counter, int64_t &fused)
      : module(module), step(step), tables(tables), ropes(ropes), counter(counter), fused(fused),
        mb(module.getContext()), b(module.getContext()) {
    mb.setInsertionPoint(step);
    rows = int64_t(step.getRows()) > kReplicatedRows ? 0 : int64_t(step.getRows());
    if (llm::ConfigOp config = llm::findConfig(module))
      lastLayer = int64_t(config.getLayers()) - 1;
  }

  LogicalResult run() {
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

private:
  LogicalResult checkKeys(Operation *op) {
    if (auto semantics = dyn_cast<llm::SemanticsInterface>(op))
      for (const std::string &key : semantics.getSemanticsKeys())
        if (!handledKeys().count(key))
          return op->emitOpError() << "variant '" << key << "' has no kernel body"
                                   << (key == "norm.weight_offset" ? ": run llm-simplify first" : "");
    return success();
  }

  Location locOf(ArrayRef<Operation *> ops) {
    SmallVector<Location> locs;
    for (Operation *op : ops)
      if (op)
        locs.push_back(op->getLoc());
    return locs.size() == 1 ? locs.front() : FusedLoc::get(b.getContext(), locs);
  }
  Domain domainOf(Value base) { return outDomain.count(base) ? Domain::Out : Domain::Rows; }
  RowsType rowsOf(Value base) { return RowsType::get(b.getContext(), llm::widthOf(base)); }
  RowsType rowsOf(int64_t width) { return RowsType::get(b.getContext(), width); }

  FailureOr<Type> slotOf(Operation *user, Value base) {
    if (auto act = dyn_cast<llm::ActType>(base.getType())) {
      if (act.getAct().getBlock() < 1)
        return user->emitOpError()
               << "the rows of an activation block are undecided: run llm-specialize-steps first";
      return Type(ActType::get(b.getContext(), act.getDim(), act.getAct()));
    }
    return Type(rowsOf(base));
  }
  FailureOr<qfmt::PackedType> paramType(Operation *user, FlatSymbolRefAttr ref) {
    llm::ParamOp param = llm::lookupParam(tables, user, ref);
    if (!param)
      return user->emitOpError() << "no llm.param " << ref;
    return param.packedType();
  }

  Prototype begin(Location loc, Family family, GridUnit unit, int64_t count, Domain domain,
                  ArrayRef<Type> ins, ArrayRef<Type> outs, ArrayRef<Type> weights) {
    std::string name = ("p" + Twine(counter++) + "_" + stringifyFamily(family)).str();
    return Prototype(mb, loc, name, family, unit, count, rows, domain, ins, outs, weights);
  }

  LaunchOp launch(Prototype &p, ArrayRef<Value> ins, Value kv, ArrayRef<FlatSymbolRefAttr> params,
                  ArrayRef<Type> results, bool cheap) {
    SmallVector<Attribute> refs(params.begin(), params.end());
    auto op =
        LaunchOp::create(b, p.loc, TypeRange(results), FlatSymbolRefAttr::get(p.kernel), ValueRange(ins), kv,
                         b.getArrayAttr(refs), b.getI64IntegerAttr(-1), b.getI64IntegerAttr(layer),
                         cheap && rows != 0 ? b.getUnitAttr() : UnitAttr(), StringAttr());
    if (p.kernel.getDomain() == Domain::Out)
      for (Value result : op.getResults())
        outDomain.insert(result);
    return op;
  }

  LogicalResult form(Operation *op) {
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

  static GateKind gateKind(llm::GateKind kind) {
    switch (kind) {
    case llm::GateKind::Silu:
      return GateKind::Silu;
    case llm::GateKind::Gelu:
      return GateKind::Gelu;
    case llm::GateKind::GeluTanh:
      return GateKind::GeluTanh;
    }
    return GateKind::Silu;
  }

  LogicalResult formLayerEnd(llm::LayerEndOp op) {
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

  LogicalResult formEmbed(llm::EmbedOp op) {
    FailureOr<qfmt::PackedType> table = paramType(op, op.getTableAttr());
    if (failed(table))
      return failure();
    RowsType slot = rowsOf(op.getResult());
    Prototype p = begin(op.getLoc(), Family::Embed, GridUnit::Rows, 0, Domain::Rows, {}, {slot}, {*table});
    p.storeAll(EmbedOp::create(p.b, p.loc, fragOf(b.getContext(), slot.getWidth()), p.weight(0),
                               b.getF32FloatAttr(op.getScale().convertToFloat())));
    LaunchOp l = launch(p, {}, {}, {op.getTableAttr()}, {op.getResult().getType()}, false);
    // A scale of its own right after is still the embedding.
    if (!op.getResult().hasOneUse() || !isa<llm::ScaleOp>(*op.getResult().user_begin()))
      l.setTap("embed");
    else
      scaledEmbed = *op.getResult().user_begin();
    op.getResult().replaceAllUsesWith(l.getResult(0));
    return success();
  }

  LogicalResult formNorm(llm::RmsNormOp op) {
    FailureOr<qfmt::PackedType> gamma = paramType(op, op.getGammaAttr());
    if (failed(gamma))
      return failure();
    View x = viewOf(op.getX());
    llm::QuantizeOp quantize;
    bool rowsUsed = false, toLogits = false;
    auto feedsLogits = [](Value v) {
      return llvm::any_of(v.getUsers(), [](auto *u) { return isa<llm::LogitsOp>(u); });
    };
    for (Operation *user : op.getResult().getUsers()) {
      if (auto q = dyn_cast<llm::QuantizeOp>(user); q && !quantize) {
        quantize = q;
        toLogits |= feedsLogits(q.getResult());
      } else {
        rowsUsed = true;
      }
    }
    toLogits |= feedsLogits(op.getResult());
    SmallVector<Type> outs, results;
    if (rowsUsed || toLogits || !quantize) {
      outs.push_back(rowsOf(op.getResult()));
      results.push_back(op.getResult().getType());
    }
    if (quantize) {
      FailureOr<Type> act = slotOf(quantize, quantize.getResult());
      if (failed(act))
        return failure();
      outs.push_back(*act);
      results.push_back(quantize.getResult().getType());
      consumed.insert(quantize);
      ++fused;
    }
    SmallVector<Type> ins{rowsOf(x.base)};
    SmallVector<Value> operands{x.base};
    View r;
    if (op.getResidual()) {
      r = viewOf(op.getResidual());
      ins.push_back(rowsOf(r.base));
      operands.push_back(r.base);
    }
    Prototype p =
        begin(locOf({op, quantize}), Family::Norm, GridUnit::Rows, 0, domainOf(x.base), ins, outs, {*gamma});
    // Loaded before the norm, added after it: y = residual + norm(x).
    Value residual = op.getResidual() ? p.load(p.in(1), r.offset, r.width) : Value();
    Value v = p.load(p.in(0), x.offset, x.width);
    v = RmsNormOp::create(p.b, p.loc, v.getType(), v, p.weight(0), op.getEpsAttr(),
                          b.getI64IntegerAttr(op.getGroups()));
    if (residual)
      v = AddOp::create(p.b, p.loc, v.getType(), residual, v);
    p.storeAll(v);
    LaunchOp l = launch(p, operands, {}, {op.getGammaAttr()}, results, true);
    if (toLogits)
      l.setTap("norm");
    if (quantize)
      quantize.getResult().replaceAllUsesWith(l.getResults().back());
    if (isa<RowsType>(outs.front()))
      op.getResult().replaceAllUsesWith(l.getResult(0));
    return success();
  }

  LogicalResult formQuantize(llm::QuantizeOp op) {
    View x = viewOf(op.getX());
    FailureOr<Type> act = slotOf(op, op.getResult());
    if (failed(act))
      return failure();
    Prototype p = begin(op.getLoc(), Family::Quantize, GridUnit::Rows, 0, domainOf(x.base), {rowsOf(x.base)},
                        {*act}, {});
    p.storeAll(p.load(p.in(0), x.offset, x.width));
    LaunchOp l = launch(p, {x.base}, {}, {}, {op.getResult().getType()}, true);
    op.getResult().replaceAllUsesWith(l.getResult(0));
    return success();
  }

  /// The dot of family linear over whole slots.
  FailureOr<Value> wholeOperand(Operation *op, Value x) {
    View v = viewOf(x);
    if (v.offset || v.width != llm::widthOf(v.base))
      return op->emitOpError() << "reads a column slice; no linear kernel does";
    return v.base;
  }

  LogicalResult formLinear(llm::LinearOp op) {
    FailureOr<Value> x = wholeOperand(op, op.getX());
    FailureOr<qfmt::PackedType> w = paramType(op, op.getWAttr());
    if (failed(x) || failed(w))
      return failure();
    FailureOr<Type> slot = slotOf(op, *x);
    if (failed(slot))
      return failure();
    llm::EpilogueAttr gate = op.findEpilogue(llm::EpilogueKind::Gate);
    llm::EpilogueAttr cap = op.findEpilogue(llm::EpilogueKind::Softcap);
    if (op.getResidual() && (gate || cap))
      return op.emitOpError() << "adds a residual before a gate or softcap; no linear kernel does";
    SmallVector<Type> ins{*slot}, weights{*w};
    SmallVector<Value> operands{*x};
    SmallVector<FlatSymbolRefAttr> params{op.getWAttr()};
    View r;
    if (op.getResidual()) {
      r = viewOf(op.getResidual());
      ins.push_back(rowsOf(r.base));
      operands.push_back(r.base);
    }
    if (op.getBiasAttr()) {
      FailureOr<qfmt::PackedType> bias = paramType(op, op.getBiasAttr());
      if (failed(bias))
        return failure();
      weights.push_back(*bias);
      params.push_back(op.getBiasAttr());
    }
    Prototype p = begin(op.getLoc(), Family::Linear, GridUnit::Panels, (w->getRows() + 15) / 16, domainOf(*x),
                        ins, {rowsOf(op.getResult())}, weights);
    Value v = dot(p, w->getRows());
    if (op.getBiasAttr())
      v = BiasOp::create(p.b, p.loc, v.getType(), v, p.weight(1));
    if (gate)
      v = GateInterleavedOp::create(p.b, p.loc, fragOf(b.getContext(), w->getRows() / 2),
                                    gateKind(gate.getGate()), v);
    if (cap)
      v = SoftcapOp::create(p.b, p.loc, v.getType(), v, cap.getCap());
    if (op.getResidual())
      v = AddOp::create(p.b, p.loc, v.getType(), v, p.load(p.in(1), r.offset, r.width));
    p.storeAll(v);
    LaunchOp l = launch(p, operands, {}, params, {op.getResult().getType()}, false);
    op.getResult().replaceAllUsesWith(l.getResult(0));
    return success();
  }

  Value dot(Prototype &p, int64_t n) {
    return DotOp::create(p.b, p.loc, fragOf(b.getContext(), n), DotKind::Undecided, p.in(0), p.weight(0));
  }

  LogicalResult formLogits(llm::LogitsOp op) {
    FailureOr<Value> x = wholeOperand(op, op.getX());
    FailureOr<qfmt::PackedType> w = paramType(op, op.getHeadAttr());
    if (failed(x) || failed(w))
      return failure();
    FailureOr<Type> slot = slotOf(op, *x);
    if (failed(slot))
      return failure();
    if (domainOf(*x) != Domain::Out)
      return op.emitOpError() << "must follow llm.select_rows: a step yields logits of its output rows only";
    Prototype p = begin(op.getLoc(), Family::Linear, GridUnit::Panels, (w->getRows() + 15) / 16, Domain::Out,
                        {*slot}, {rowsOf(op.getResult())}, {*w});
    Value v = dot(p, w->getRows());
    if (!op.getSoftcap().isZero())
      v = SoftcapOp::create(p.b, p.loc, v.getType(), v, op.getSoftcapAttr());
    p.storeAll(v);
    LaunchOp l = launch(p, {*x}, {}, {op.getHeadAttr()}, {op.getResult().getType()}, false);
    op.getResult().replaceAllUsesWith(l.getResult(0));
    return success();
  }

  LogicalResult formSelect(llm::SelectRowsOp op) {
    View x = viewOf(op.getX());
    if (domainOf(x.base) == Domain::Out)
      return op.emitOpError() << "selects from rows that are selected already";
    RowsType out = rowsOf(op.getResult());
    Prototype p =
        begin(op.getLoc(), Family::Select, GridUnit::Rows, 0, Domain::Out, {rowsOf(x.base)}, {out}, {});
    p.storeAll(p.load(p.in(0), x.offset, x.width, /*selected=*/true));
    LaunchOp l = launch(p, {x.base}, {}, {}, {op.getResult().getType()}, true);
    op.getResult().replaceAllUsesWith(l.getResult(0));
    return success();
  }

  template <typename Make>
  LogicalResult formElementwise(Operation *op, Family family, ArrayRef<Value> inputs, Make make) {
    SmallVector<View> views;
    SmallVector<Value> operands;
    SmallVector<Type> ins;
    for (Value v : inputs) {
      views.push_back(viewOf(v));
      // Two slices of one tensor are one slot.
      if (!llvm::is_contained(operands, views.back().base)) {
        operands.push_back(views.back().base);
        ins.push_back(rowsOf(views.back().base));
      }
    }
    Prototype p = begin(op->getLoc(), family, GridUnit::Rows, 0, domainOf(operands[0]), ins,
                        {rowsOf(op->getResult(0))}, {});
    SmallVector<Value> loaded;
    for (View &v : views)
      loaded.push_back(p.load(p.in(llvm::find(operands, v.base) - operands.begin()), v.offset, v.width));
    p.storeAll(make(p, loaded));
    LaunchOp l = launch(p, operands, {}, {}, {op->getResult(0).getType()}, true);
    if (op == scaledEmbed)
      l.setTap("embed");
    op->getResult(0).replaceAllUsesWith(l.getResult(0));
    return success();
  }

  //===--- rope and KV
  //------------------------------------------------------------------------------------===//

  /// Ops that only this chain uses; `value` itself may have one more user, its consumer.
  HeadChain chainOf(Value value) {
    HeadChain c;
    if (auto rope = value.getDefiningOp<llm::RopeOp>()) {
      c.rope = rope;
      value = rope.getX();
    }
    if (auto norm = value.getDefiningOp<llm::RmsNormOp>()) {
      bool alone = value.hasOneUse() && !norm.getResidual();
      bool heads = c.rope ? int64_t(norm.getGroups()) == int64_t(c.rope.getHeads()) : norm.getGroups() > 1;
      if (alone && heads) {
        c.norm = norm;
        value = norm.getX();
      }
    }
    c.source = value;
    return c;
  }
  void consume(HeadChain &c) {
    if (c.rope)
      consumed.insert(c.rope);
    if (c.norm)
      consumed.insert(c.norm);
  }

  /// Pairs every kv_append with the first attention that reads it, so that q's rope joins k's kernel.
  void planRopeKv(ArrayRef<Operation *> ops) {
    for (Operation *op : ops) {
      if (auto rope = dyn_cast<llm::RopeOp>(op)) {
        // A norm goes with its rope, whichever kernel that ends up in.
        HeadChain c = chainOf(rope.getResult());
        if (c.norm)
          consumed.insert(c.norm);
      }
      auto append = dyn_cast<llm::KvAppendOp>(op);
      if (!append)
        continue;
      HeadChain k = chainOf(append.getK());
      bool kAlone = (!k.rope || k.rope->hasOneUse()) && (!k.norm || k.norm->hasOneUse());
      if (kAlone)
        consume(k);
      llm::AttentionOp first;
      for (Operation *user : append.getKv().getUsers())
        if (auto attention = dyn_cast<llm::AttentionOp>(user))
          if (!first || attention->isBeforeInBlock(first))
            first = attention;
      if (!first)
        continue;
      HeadChain q = chainOf(first.getQ());
      if (!(q.rope || q.norm) || !first.getQ().hasOneUse())
        continue;
      consume(q);
      consumed.insert(append);
      fusedQ[first] = append;
      ++fused;
    }
  }

  int64_t ropeTable(llm::RopeAttr rope) {
    for (RopeTableOp table : ropes)
      if (table.getInvFreqAttr() == rope.getInvFreq() && table.getScaleAttr() == rope.getScale())
        return table.getIndex();
    ropes.push_back(RopeTableOp::create(mb, step.getLoc(), mb.getI64IntegerAttr(ropes.size()),
                                        rope.getInvFreq(), rope.getScale(), rope.getName()));
    return ropes.size() - 1;
  }

  Value heads(Prototype &p, Value v, HeadChain &c, unsigned &weight) {
    if (c.norm)
      v = RmsNormOp::create(p.b, p.loc, v.getType(), v, p.weight(weight++), c.norm.getEpsAttr(),
                            b.getI64IntegerAttr(c.norm.getGroups()));
    if (c.rope) {
      llm::RopeAttr rope = c.rope.getRope();
      RopeStyle style = rope.getStyle() == llm::RopeStyle::Half ? RopeStyle::Half : RopeStyle::Interleaved;
      v = RopeOp::create(p.b, p.loc, v.getType(), v, style, c.rope.getHeads(), rope.getHeadDim(),
                         rope.getRotaryDim(), ropeTable(rope));
    }
    return v;
  }
  static int64_t headsOf(HeadChain &c) {
    return c.rope ? int64_t(c.rope.getHeads()) : c.norm ? int64_t(c.norm.getGroups()) : 0;
  }

  /// `append` may be null (q alone); `q.source` may be null (k and v alone).
  LogicalResult formRopeKv(llm::KvAppendOp append, HeadChain q, HeadChain k) {
    SmallVector<Value> operands;
    SmallVector<Type> ins, outs, weights, results;
    SmallVector<FlatSymbolRefAttr> params;
    auto operand = [&](View &v) {
      if (!llvm::is_contained(operands, v.base)) {
        operands.push_back(v.base);
        ins.push_back(rowsOf(v.base));
      }
      return unsigned(llvm::find(operands, v.base) - operands.begin());
    };
    auto gamma = [&](HeadChain &c) -> LogicalResult {
      if (!c.norm)
        return success();
      FailureOr<qfmt::PackedType> type = paramType(c.norm, c.norm.getGammaAttr());
      if (failed(type))
        return failure();
      weights.push_back(*type);
      params.push_back(c.norm.getGammaAttr());
      return success();
    };
    View qv, kv, vv;
    Value qResult;
    int64_t count = 0;
    if (q.source) {
      qv = viewOf(q.source);
      operand(qv);
      qResult = q.rope ? q.rope.getResult() : q.norm.getResult();
      outs.push_back(rowsOf(qResult));
      results.push_back(qResult.getType());
      count += headsOf(q);
      if (failed(gamma(q)))
        return failure();
    }
    llm::KvType type;
    if (append) {
      type = append.getKv().getType();
      kv = viewOf(k.source);
      vv = viewOf(append.getV());
      operand(kv);
      operand(vv);
      results.push_back(type);
      count += type.getHeads();
      if (failed(gamma(k)))
        return failure();
    }
    Location loc = locOf({append, q.rope, q.norm, k.rope, k.norm});
    Prototype p = begin(loc, Family::RopeKv, GridUnit::RowHeads, count, Domain::Rows, ins, outs, weights);
    unsigned weight = 0;
    if (q.source)
      p.store(heads(p, p.load(p.in(operand(qv)), qv.offset, qv.width), q, weight), p.out(0));
    if (append) {
      Value kk = heads(p, p.load(p.in(operand(kv)), kv.offset, kv.width), k, weight);
      Value v = p.load(p.in(operand(vv)), vv.offset, vv.width);
      KvStoreOp::create(p.b, p.loc, kk, v, kvAttr(type));
    }
    LaunchOp l = launch(p, operands, {}, params, results, false);
    if (append) {
      l.setKvLayer(type.getLayer());
      l.setLayer(type.getLayer());
      append.getKv().replaceAllUsesWith(l.getResults().back());
    }
    if (qResult)
      qResult.replaceAllUsesWith(l.getResult(0));
    return success();
  }

  KvAttr kvAttr(llm::KvType type) {
    return KvAttr::get(b.getContext(), type.getHeads(), type.getDim(), type.getVDim(),
                       llm::stringifyKvDtype(type.getDtype()));
  }

  LogicalResult formAttention(llm::AttentionOp op) {
    if (auto it = fusedQ.find(op); it != fusedQ.end()) {
      HeadChain q = chainOf(op.getQ()), k = chainOf(it->second.getK());
      if (failed(formRopeKv(it->second, q, k)))
        return failure();
    }
    View q = viewOf(op.getQ());
    llm::KvType type = op.getKv().getType();
    int64_t width = int64_t(op.getQHeads()) * type.getVDim();
    // An item owns whole heads: it can quantize them only where heads are whole groups of 32.
    llm::QuantizeOp quantize;
    if (op.getResult().hasOneUse() && type.getVDim() % 32 == 0)
      quantize = dyn_cast<llm::QuantizeOp>(*op.getResult().user_begin());
    Type out = rowsOf(op.getResult());
    if (quantize) {
      FailureOr<Type> act = slotOf(quantize, quantize.getResult());
      if (failed(act))
        return failure();
      out = *act;
      consumed.insert(quantize);
      ++fused;
    }
    Prototype p = begin(locOf({op, quantize}), Family::Attention, GridUnit::Items, type.getHeads(),
                        Domain::Rows, {rowsOf(q.base)}, {out}, {});
    MLIRContext *ctx = b.getContext();
    Value v = p.load(p.in(0), q.offset, q.width);
    OperationState state(p.loc, KvBlockOp::getOperationName());
    state.addOperands(v);
    state.addTypes(StateType::get(ctx, type.getVDim()));
    auto &props = state.getOrAddProperties<KvBlockOp::Properties>();
    props.kv = kvAttr(type);
    props.q_heads = b.getI64IntegerAttr(op.getQHeads());
    props.block = b.getI64IntegerAttr(kKeyBlock);
    props.segment = b.getI64IntegerAttr(kSegment);
    Block &body = state.addRegion()->emplaceBlock();
    Value head = body.addArgument(fragOf(ctx, type.getDim()), p.loc);
    OpBuilder in(ctx); // the region has no parent yet
    in.setInsertionPointToEnd(&body);
    FragType scores = fragOf(ctx, kKeyBlock);
    Value s = ScoreOp::create(in, p.loc, scores, head, op.getScaleAttr());
    if (!op.getSoftcap().isZero())
      s = SoftcapOp::create(in, p.loc, scores, s, op.getSoftcapAttr());
    s = MaskOp::create(in, p.loc, scores, s, in.getI64IntegerAttr(op.getMask().getWindow()));
    s = OnlineSoftmaxOp::create(in, p.loc, scores, s);
    PvOp::create(in, p.loc, StateType::get(ctx, type.getVDim()), s);
    Value result = p.b.create(state)->getResult(0);
    p.storeAll(NormalizeOp::create(p.b, p.loc, fragOf(ctx, width), result));
    Value done = quantize ? Value(quantize.getResult()) : Value(op.getResult());
    LaunchOp l = launch(p, {q.base}, op.getKv(), {}, {done.getType()}, false);
    l.setKvLayer(type.getLayer());
    l.setLayer(type.getLayer());
    done.replaceAllUsesWith(l.getResult(0));
    return success();
  }

  ModuleOp module;
  llm::StepOp step;
  SymbolTableCollection &tables;
  SmallVectorImpl<RopeTableOp> &ropes;
  int64_t &counter, &fused;
  OpBuilder mb, b; ///< at module level; in the step
  int64_t rows = 0, layer = 0, lastLayer = 0;
  llvm::DenseSet<Operation *> consumed;
  llvm::DenseSet<Value> outDomain;
  llvm::DenseMap<llm::AttentionOp, llm::KvAppendOp> fusedQ;
  Operation *scaledEmbed = nullptr;
};

struct FormKernels : transforms::impl::TileFormKernelsPassBase<FormKernels> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTableCollection tables;
    SmallVector<RopeTableOp> ropes(module.getOps<RopeTableOp>());
    int64_t counter = 0, fused = 0;
    for (auto step : llvm::make_early_inc_range(module.getOps<llm::StepOp>()))
      if (failed(Former(module, step, tables, ropes, counter, fused).run()))
        return signalPassFailure();
    numKernels += counter;
    numFused += fused;
  }
};

} // namespace
} // namespace ingot::tile
