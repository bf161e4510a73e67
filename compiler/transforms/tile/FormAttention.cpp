//===- FormAttention.cpp - kernels of heads, rope, the KV cache and attention ------------------------===//
#include "compiler/transforms/tile/Former.h"

using namespace mlir;

namespace ingot::tile {

void Former::planRopeKv(ArrayRef<Operation *> ops) {
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
    std::string &why = apart[first];
    if (llm::LinearOp linear = projectionOf(append, q, k, why)) {
      projections[first] = linear;
      consumed.insert(linear);
      ++fused;
    }
    ++fused;
  }
}

int64_t Former::ropeTable(llm::RopeAttr rope) {
  for (RopeTableOp table : ropes)
    if (table.getInvFreqAttr() == rope.getInvFreq() && table.getScaleAttr() == rope.getScale())
      return table.getIndex();
  ropes.push_back(RopeTableOp::create(mb, step.getLoc(), mb.getI64IntegerAttr(ropes.size()),
                                      rope.getInvFreq(), rope.getScale(), rope.getName()));
  return ropes.size() - 1;
}

Value Former::heads(Prototype &p, Value v, HeadChain &c, unsigned &weight) {
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

LogicalResult Former::formRopeKv(llm::KvAppendOp append, HeadChain q, HeadChain k, StringRef why) {
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
  if (!why.empty())
    p.kernel.setRefusedAttr(b.getStrArrayAttr({("rope_kv of the projection: " + why).str()}));
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

llm::LinearOp Former::projectionOf(llm::KvAppendOp append, HeadChain q, HeadChain k, std::string &why) {
  auto refuse = [&](StringRef reason) {
    why = reason.str();
    return llm::LinearOp();
  };
  if (ropeInLinear.units == RopePolicy::None)
    return refuse(ropeInLinear.reason);
  if (!q.rope || !k.rope)
    return refuse("q or k is not rotated");
  Value pieces[] = {q.source, k.source, append.getV()};
  auto linear = viewOf(q.source).base.getDefiningOp<llm::LinearOp>();
  if (!linear || linear.getResidual() || linear.findEpilogue(llm::EpilogueKind::Gate) ||
      linear.findEpilogue(llm::EpilogueKind::Softcap))
    return refuse("q is no plain projection");
  // The slices follow each other, and nothing else reads the product.
  int64_t column = 0;
  for (Value piece : pieces) {
    auto slice = piece.getDefiningOp<llm::SliceOp>();
    if (!slice || slice.getX() != linear.getResult())
      return refuse("q, k and v come from several linears: their weights have different schemes");
    if (!piece.hasOneUse() || int64_t(slice.getOffset()) != column)
      return refuse("q, k or v is read elsewhere too");
    column += llm::widthOf(piece);
  }
  if (column != llm::widthOf(linear.getResult()) || llvm::range_size(linear.getResult().getUses()) != 3 ||
      !k.rope->hasOneUse())
    return refuse("q, k or v is read elsewhere too");
  llm::KvType type = append.getKv().getType();
  const int64_t dim = type.getDim();
  if (dim % 16 || type.getVDim() % 16)
    return refuse("heads are no whole panels of 16 columns");
  const bool int8 = type.getDtype() == llm::KvDtype::Int8; // a scale for each head
  if (int8 && type.getVDim() != dim)
    return refuse("int8 heads of v are wider or narrower than those of k");
  bool wholeHeads = q.norm || k.norm || int8;
  for (llm::RopeOp rope : {q.rope, k.rope}) {
    llm::RopeAttr attr = rope.getRope();
    bool half = attr.getStyle() == llm::RopeStyle::Half;
    if (int64_t(attr.getHeadDim()) != dim || attr.getStyle() != q.rope.getRope().getStyle())
      return refuse("q and k are rotated in different ways");
    wholeHeads |= int64_t(attr.getRotaryDim()) != dim || (half && dim % 32);
  }
  const int64_t unit = wholeHeads                                                   ? dim
                       : q.rope.getRope().getStyle() == llm::RopeStyle::Interleaved ? 16
                                                                                    : 32;
  if (type.getVDim() % unit)
    return refuse("heads of v are no whole units of work");
  if (wholeHeads && ropeInLinear.units == RopePolicy::Pairs)
    return refuse(ropeInLinear.reason);
  return linear;
}

LogicalResult Former::formLinearRopeKv(llm::LinearOp op, llm::KvAppendOp append, HeadChain q, HeadChain k) {
  FailureOr<Value> x = wholeOperand(op, op.getX());
  FailureOr<qfmt::PackedType> w = paramType(op, op.getWAttr());
  if (failed(x) || failed(w))
    return failure();
  FailureOr<Type> slot = slotOf(op, *x);
  if (failed(slot))
    return failure();
  SmallVector<Type> weights{*w};
  SmallVector<FlatSymbolRefAttr> params{op.getWAttr()};
  if (op.getBiasAttr()) {
    FailureOr<qfmt::PackedType> bias = paramType(op, op.getBiasAttr());
    if (failed(bias))
      return failure();
    weights.push_back(*bias);
    params.push_back(op.getBiasAttr());
  }
  unsigned weight = weights.size(); // gammas follow
  for (HeadChain *c : {&q, &k})
    if (c->norm) {
      FailureOr<qfmt::PackedType> gamma = paramType(c->norm, c->norm.getGammaAttr());
      if (failed(gamma))
        return failure();
      weights.push_back(*gamma);
      params.push_back(c->norm.getGammaAttr());
    }
  llm::KvType type = append.getKv().getType();
  Value rotated = q.rope.getResult();
  Prototype p = begin(locOf({op, append, q.rope, q.norm, k.rope, k.norm}), Family::Linear, GridUnit::Panels,
                      (w->getRows() + 15) / 16, domainOf(*x), {*slot}, {rowsOf(rotated)}, weights);
  Value product = dot(p, w->getRows());
  if (op.getBiasAttr())
    product = BiasOp::create(p.b, p.loc, product.getType(), product, p.weight(1));
  auto piece = [&](Value from) -> Value {
    View v = viewOf(from);
    return ColumnsOp::create(p.b, p.loc, fragOf(b.getContext(), v.width), product, v.offset);
  };
  p.store(heads(p, piece(q.source), q, weight), p.out(0));
  Value kk = heads(p, piece(k.source), k, weight);
  KvStoreOp::create(p.b, p.loc, kk, piece(append.getV()), kvAttr(type));
  LaunchOp l = launch(p, {*x}, {}, params, {rotated.getType(), type}, false);
  l.setKvLayer(type.getLayer());
  l.setLayer(type.getLayer());
  append.getKv().replaceAllUsesWith(l.getResults().back());
  rotated.replaceAllUsesWith(l.getResult(0));
  return success();
}

LogicalResult Former::formAttention(llm::AttentionOp op) {
  if (auto it = fusedQ.find(op); it != fusedQ.end()) {
    HeadChain q = chainOf(op.getQ()), k = chainOf(it->second.getK());
    llm::LinearOp linear = projections.lookup(op);
    if (failed(linear ? formLinearRopeKv(linear, it->second, q, k)
                      : formRopeKv(it->second, q, k, apart.lookup(op))))
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

HeadChain Former::chainOf(Value value) {
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

} // namespace ingot::tile
