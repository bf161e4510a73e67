//===- FormRows.cpp - kernels of the ops on rows ----------------------------------------------------===//
#include "compiler/transforms/tile/Former.h"

using namespace mlir;

namespace ingot::tile {

LogicalResult Former::formEmbed(llm::EmbedOp op) {
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

LogicalResult Former::formNorm(llm::RmsNormOp op) {
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
    if (auto q = dyn_cast<llm::QuantizeOp>(user); q && !quantize && op.getGroups() == 1) {
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

LogicalResult Former::formQuantize(llm::QuantizeOp op) {
  View x = viewOf(op.getX());
  FailureOr<Type> act = slotOf(op, op.getResult());
  if (failed(act))
    return failure();
  Prototype p =
      begin(op.getLoc(), Family::Quantize, GridUnit::Rows, 0, domainOf(x.base), {rowsOf(x.base)}, {*act}, {});
  p.storeAll(p.load(p.in(0), x.offset, x.width));
  LaunchOp l = launch(p, {x.base}, {}, {}, {op.getResult().getType()}, true);
  op.getResult().replaceAllUsesWith(l.getResult(0));
  return success();
}

LogicalResult Former::formLinear(llm::LinearOp op) {
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

Value Former::dot(Prototype &p, int64_t n) {
  return DotOp::create(p.b, p.loc, fragOf(b.getContext(), n), DotKind::Undecided, p.in(0), p.weight(0));
}

LogicalResult Former::formLogits(llm::LogitsOp op) {
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
  // What something else of the step reads (a softcap that stayed apart) must be there in every step.
  if (argmaxHead && op.getResult().hasOneUse() && isa<llm::ReturnOp>(*op.getResult().user_begin())) {
    v = ArgmaxOp::create(p.b, p.loc, v.getType(), v);
    ++fused;
  }
  p.storeAll(v);
  LaunchOp l = launch(p, {*x}, {}, {op.getHeadAttr()}, {op.getResult().getType()}, false);
  op.getResult().replaceAllUsesWith(l.getResult(0));
  return success();
}

LogicalResult Former::formSelect(llm::SelectRowsOp op) {
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

} // namespace ingot::tile
