//===- Describe.cpp - reads kernel bodies into plain structs ---------------------------------------===//
//
// Readers walk from the store back to the loads; whatever they do not reach is counted, so that an op that a
// struct cannot express is an error and never silently dropped.
//
//===----------------------------------------------------------------------------------------------------===//
#include "dialects/tile/Describe.h"

using namespace mlir;

namespace ingot::tile {
namespace {

class Reader {
public:
  explicit Reader(KernelOp kernel) : kernel(kernel) {}

  /// The fragment that reaches the outputs; fills `out`. At most one rows and one act output of the same
  /// value.
  FailureOr<Value> outputs(Outputs &out) {
    Value value;
    for (BlockArgument arg : kernel.getOutputs()) {
      auto store = cast<StoreOp>(*arg.user_begin());
      used(store);
      Value v = store.getValue();
      if (auto rows = dyn_cast<RowsType>(arg.getType())) {
        if (out.rowsSlot >= 0)
          return store.emitOpError() << "second f32 output of one kernel";
        out.rowsSlot = arg.getArgNumber();
        out.rowsStride = rows.getStride();
        out.width = rows.getWidth();
      } else if (auto act = dyn_cast<ActType>(arg.getType())) {
        auto quantize = v.getDefiningOp<QuantizeOp>();
        if (out.actSlot >= 0 || !quantize)
          return store.emitOpError() << "must store one tile.quantize";
        used(quantize);
        out.actSlot = arg.getArgNumber();
        out.act = act.getAct();
        out.width = act.getWidth();
        v = quantize.getX();
      } else {
        return store.emitOpError() << "partials are an output of attn_split only";
      }
      if (value && value != v)
        return store.emitOpError() << "both outputs must hold the same value";
      value = v;
    }
    if (!value)
      return kernel.emitOpError() << "has no output";
    return value;
  }

  FailureOr<Columns> columns(Value value, bool mayStart = true) {
    auto load = value.getDefiningOp<LoadOp>();
    if (!load || !isa<BlockArgument>(load.getSrc()))
      return misfit(value, "a tile.load of an input");
    if (load.getSelected() && kernel.getFamily() != Family::Select)
      return load.emitOpError() << "selected rows belong to family select";
    used(load);
    auto rows = cast<RowsType>(load.getSrc().getType());
    Columns c;
    c.slot = kernel.slotIndex(load.getSrc());
    c.offset = load.getOffset();
    c.width = cast<FragType>(load.getOut().getType()).getWidth();
    c.stride = rows.getStride();
    return c;
  }

  template <typename OpT> FailureOr<OpT> want(Value value) {
    auto op = value.getDefiningOp<OpT>();
    if (!op)
      return misfit(value, OpT::getOperationName());
    used(op);
    return op;
  }
  /// The defining op if it is an OpT, marked as read; null otherwise.
  template <typename OpT> OpT take(Value value) {
    auto op = value.getDefiningOp<OpT>();
    if (op)
      used(op);
    return op;
  }
  void used(Operation *op) { seen.insert(op); }

  LogicalResult unit(std::initializer_list<GridUnit> allowed) {
    for (GridUnit u : allowed)
      if (kernel.getGrid().getUnit() == u)
        return success();
    return kernel.getGrid().emitOpError() << "unit " << stringifyGridUnit(kernel.getGrid().getUnit())
                                          << " does not fit family " << stringifyFamily(kernel.getFamily());
  }
  /// Every op of the grid was read.
  LogicalResult finish() {
    for (Operation &op : kernel.getGrid().getBody().front())
      if (!seen.count(&op))
        return op.emitOpError() << "does not belong to family " << stringifyFamily(kernel.getFamily());
    return success();
  }
  InFlightDiagnostic misfit(Value value, StringRef wanted) {
    Operation *at = value.getDefiningOp() ? value.getDefiningOp() : kernel.getOperation();
    return at->emitOpError() << "found where family " << stringifyFamily(kernel.getFamily()) << " has "
                             << wanted;
  }
  int weight(Value v) { return kernel.weightIndex(v); }

  KernelOp kernel;

private:
  llvm::SmallPtrSet<Operation *, 16> seen;
};

RopeDesc headsOnly(int64_t heads, int64_t dim) {
  RopeDesc r;
  r.heads = heads;
  r.headDim = dim;
  return r;
}

void readRope(RopeOp op, RopeDesc &rope) {
  rope.style = op.getStyle();
  rope.heads = op.getHeads();
  rope.headDim = op.getHeadDim();
  rope.rotaryDim = op.getRotaryDim();
  rope.table = op.getTable();
}

/// The norm of each head before its rotation; `value` becomes the norm's input.
LogicalResult readHeadNorm(Reader &r, Value &value, RopeDesc &rope) {
  RmsNormOp op = r.take<RmsNormOp>(value);
  if (!op)
    return success();
  if (op.getGroups() != rope.heads)
    return op.emitOpError() << "groups must be the " << rope.heads << " heads";
  rope.gammaWeight = r.weight(op.getGamma());
  rope.eps = op.getEps().convertToFloat();
  value = op.getX();
  return success();
}

/// [rope of] [rms_norm of] columns.
LogicalResult readHeads(Reader &r, Value value, Columns &cols, RopeDesc &rope) {
  if (RopeOp op = r.take<RopeOp>(value)) {
    readRope(op, rope);
    value = op.getX();
  }
  if (failed(readHeadNorm(r, value, rope)))
    return failure();
  FailureOr<Columns> c = r.columns(value);
  if (failed(c))
    return failure();
  cols = *c;
  return success();
}

/// [rope of [rms_norm of]] columns of a product, which is the same for all pieces.
LogicalResult readPiece(Reader &r, Value value, Columns &cols, RopeDesc *rope, Value &product) {
  if (rope) {
    FailureOr<RopeOp> op = r.want<RopeOp>(value);
    if (failed(op))
      return failure();
    readRope(*op, *rope);
    value = op->getX();
    if (failed(readHeadNorm(r, value, *rope)))
      return failure();
  }
  FailureOr<ColumnsOp> columns = r.want<ColumnsOp>(value);
  if (failed(columns))
    return failure();
  if (product && product != columns->getX())
    return columns->emitOpError() << "q, k and v must be columns of one product";
  product = columns->getX();
  cols.offset = columns->getOffset();
  cols.width = cast<FragType>(columns->getOut().getType()).getWidth();
  return success();
}

/// The epilogue rope_kv; returns the product.
FailureOr<Value> readRopeKv(Reader &r, Value out, KvStoreOp store, RopeKvDesc &d) {
  r.used(store);
  d.kv = store.getKv();
  Value product;
  if (failed(readPiece(r, out, d.q, &d.qRope, product)) ||
      failed(readPiece(r, store.getK(), d.k, &d.kRope, product)) ||
      failed(readPiece(r, store.getV(), d.v, nullptr, product)))
    return failure();
  if (d.kRope.heads != d.kv.getHeads() || d.kRope.headDim != d.qRope.headDim)
    return store.emitOpError() << "k has " << d.kRope.heads << " heads of " << d.kRope.headDim
                               << ", the cache " << d.kv.getHeads() << ", q has heads of " << d.qRope.headDim;
  if (d.q.offset != 0 || d.k.offset != d.q.width || d.v.offset != d.k.offset + d.k.width ||
      d.v.offset + d.v.width != cast<FragType>(product.getType()).getWidth())
    return store.emitOpError() << "q, k and v must follow each other and fill the product";
  return product;
}

} // namespace

FailureOr<EmbedDesc> describeEmbed(KernelOp kernel) {
  Reader r(kernel);
  EmbedDesc d;
  FailureOr<Value> value = r.outputs(d.out);
  if (failed(value) || failed(r.unit({GridUnit::Rows})))
    return failure();
  FailureOr<EmbedOp> op = r.want<EmbedOp>(*value);
  if (failed(op) || failed(r.finish()))
    return failure();
  d.table = cast<qfmt::PackedType>(op->getTable().getType());
  d.tableWeight = r.weight(op->getTable());
  d.scale = op->getScale().convertToFloat();
  return d;
}

FailureOr<NormDesc> describeNorm(KernelOp kernel) {
  Reader r(kernel);
  NormDesc d;
  FailureOr<Value> value = r.outputs(d.out);
  if (failed(value) || failed(r.unit({GridUnit::Rows})))
    return failure();
  Value v = *value;
  if (AddOp add = r.take<AddOp>(v)) {
    Value residual = add.getA(), normed = add.getB();
    FailureOr<Columns> c = r.columns(residual);
    if (failed(c))
      return failure();
    d.residual = *c;
    v = normed;
  }
  FailureOr<RmsNormOp> op = r.want<RmsNormOp>(v);
  if (failed(op))
    return failure();
  FailureOr<Columns> c = r.columns(op->getX());
  if (failed(c) || failed(r.finish()))
    return failure();
  d.x = *c;
  d.gammaWeight = r.weight(op->getGamma());
  d.eps = op->getEps().convertToFloat();
  d.groups = op->getGroups();
  return d;
}

FailureOr<QuantizeDesc> describeQuantize(KernelOp kernel) {
  Reader r(kernel);
  QuantizeDesc d;
  FailureOr<Value> value = r.outputs(d.out);
  if (failed(value) || failed(r.unit({GridUnit::Rows})))
    return failure();
  if (d.out.actSlot < 0 || d.out.rowsSlot >= 0)
    return kernel.emitOpError() << "family quantize has one act output";
  FailureOr<Columns> c = r.columns(*value);
  if (failed(c) || failed(r.finish()))
    return failure();
  d.x = *c;
  return d;
}

FailureOr<LinearDesc> describeLinear(KernelOp kernel) {
  Reader r(kernel);
  LinearDesc d;
  FailureOr<Value> value = r.outputs(d.out);
  if (failed(value) || failed(r.unit({GridUnit::Panels})))
    return failure();
  if (d.out.rowsSlot < 0 || d.out.actSlot >= 0)
    return kernel.emitOpError() << "family linear has one f32 output";
  Value v = *value;
  for (auto store : kernel.getGrid().getBody().front().getOps<KvStoreOp>()) {
    if (d.ropeKv)
      return store.emitOpError() << "second tile.kv_store of one kernel";
    FailureOr<Value> product = readRopeKv(r, v, store, d.ropeKv.emplace());
    if (failed(product))
      return failure();
    v = *product;
  }
  if (d.ropeKv)
    d.ropeKv->out = d.out;
  if (ArgmaxOp op = d.ropeKv ? ArgmaxOp() : r.take<ArgmaxOp>(v)) {
    d.argmax = true;
    v = op.getX();
  }
  bool plain = !d.ropeKv && !d.argmax;
  if (AddOp add = plain ? r.take<AddOp>(v) : AddOp()) {
    FailureOr<Columns> c = r.columns(add.getB());
    if (failed(c))
      return failure();
    d.residual = *c;
    v = add.getA();
  }
  if (SoftcapOp op = d.ropeKv ? SoftcapOp() : r.take<SoftcapOp>(v)) {
    d.softcap = op.getCap().convertToFloat();
    v = op.getX();
  }
  if (GateInterleavedOp op = plain ? r.take<GateInterleavedOp>(v) : GateInterleavedOp()) {
    d.gate = op.getKind();
    v = op.getX();
  }
  if (BiasOp op = r.take<BiasOp>(v)) {
    d.biasWeight = r.weight(op.getB());
    v = op.getX();
  }
  FailureOr<DotOp> dot = r.want<DotOp>(v);
  if (failed(dot) || failed(r.finish()))
    return failure();
  d.w = cast<qfmt::PackedType>(dot->getW().getType());
  d.n = d.w.getRows();
  d.k = d.w.getCols();
  d.wWeight = r.weight(dot->getW());
  d.kind = dot->getKind();
  d.xSlot = kernel.slotIndex(dot->getX());
  if (auto act = dyn_cast<ActType>(dot->getX().getType()))
    d.act = act.getAct();
  else
    d.xStride = cast<RowsType>(dot->getX().getType()).getStride();
  if (kernel.getGrid().getCount() != (d.n + 15) / 16)
    return kernel.getGrid().emitOpError()
           << "count must be the " << (d.n + 15) / 16 << " panels of the weight";
  return d;
}

FailureOr<RopeKvDesc> describeRopeKv(KernelOp kernel) {
  Reader r(kernel);
  RopeKvDesc d;
  if (failed(r.unit({GridUnit::RowHeads})))
    return failure();
  int64_t heads = 0;
  for (Operation &op : kernel.getGrid().getBody().front()) {
    auto store = dyn_cast<KvStoreOp>(op);
    if (!store)
      continue;
    if (d.kv)
      return store.emitOpError() << "second tile.kv_store of one kernel";
    r.used(store);
    d.kv = store.getKv();
    d.kRope = headsOnly(d.kv.getHeads(), d.kv.getDim());
    FailureOr<Columns> v = r.columns(store.getV());
    if (failed(v) || failed(readHeads(r, store.getK(), d.k, d.kRope)))
      return failure();
    d.v = *v;
    if (d.kRope.heads != d.kv.getHeads())
      return store.emitOpError() << "k has " << d.kRope.heads << " heads, the cache " << d.kv.getHeads();
    heads += d.kRope.heads;
  }
  if (!kernel.getOutputs().empty()) {
    FailureOr<Value> value = r.outputs(d.out);
    if (failed(value))
      return failure();
    if (d.out.rowsSlot < 0 || d.out.actSlot >= 0)
      return kernel.emitOpError() << "family rope_kv has an f32 output";
    auto rope = value->getDefiningOp<RopeOp>();
    auto norm = value->getDefiningOp<RmsNormOp>();
    if (!rope && !norm)
      return r.misfit(*value, "tile.rope or tile.rms_norm");
    if (norm)
      d.qRope = headsOnly(norm.getGroups(), d.out.width / norm.getGroups());
    if (failed(readHeads(r, *value, d.q, d.qRope)))
      return failure();
    heads += d.qRope.heads;
  }
  if (failed(r.finish()))
    return failure();
  if (kernel.getGrid().getCount() != heads)
    return kernel.getGrid().emitOpError() << "count must be the " << heads << " heads of q and k";
  return d;
}

FailureOr<AttentionDesc> describeAttention(KernelOp kernel) {
  Reader r(kernel);
  AttentionDesc d;
  bool split = kernel.getFamily() == Family::AttnSplit;
  if (failed(r.unit({split ? GridUnit::Segments : GridUnit::Items})))
    return failure();
  Value state;
  if (split) {
    if (kernel.getOutputs().size() != 1 || !isa<PartialsType>(kernel.getOutputs()[0].getType()))
      return kernel.emitOpError() << "family attn_split has one output of partials";
    auto store = cast<StoreOp>(*kernel.getOutputs()[0].user_begin());
    r.used(store);
    d.partialsSlot = kernel.getOutputs()[0].getArgNumber();
    d.partials = cast<PartialsType>(kernel.getOutputs()[0].getType());
    state = store.getValue();
  } else {
    FailureOr<Value> value = r.outputs(d.out);
    if (failed(value))
      return failure();
    FailureOr<NormalizeOp> op = r.want<NormalizeOp>(*value);
    if (failed(op))
      return failure();
    state = op->getX();
  }
  FailureOr<KvBlockOp> op = r.want<KvBlockOp>(state);
  if (failed(op))
    return failure();
  FailureOr<Columns> q = r.columns(op->getQ());
  if (failed(q) || failed(r.finish()))
    return failure();
  d.q = *q;
  d.kv = op->getKv();
  d.qHeads = op->getQHeads();
  d.block = op->getBlock();
  d.segment = op->getSegment();
  for (Operation &inner : op->getBody().front()) {
    if (auto score = dyn_cast<ScoreOp>(inner))
      d.scale = score.getScale().convertToFloat();
    if (auto softcap = dyn_cast<SoftcapOp>(inner))
      d.softcap = softcap.getCap().convertToFloat();
    if (auto mask = dyn_cast<MaskOp>(inner))
      d.window = mask.getWindow();
  }
  int64_t width = d.qHeads * d.kv.getVDim();
  if (split ? d.partials.getHeads() != d.qHeads || d.partials.getDim() != d.kv.getVDim()
            : d.out.width != width)
    return kernel.emitOpError() << "output does not fit " << d.qHeads << " heads of " << d.kv.getVDim();
  if (kernel.getGrid().getCount() != d.kv.getHeads())
    return kernel.getGrid().emitOpError() << "count must be the " << d.kv.getHeads() << " kv heads";
  return d;
}

FailureOr<MergeDesc> describeMerge(KernelOp kernel) {
  Reader r(kernel);
  MergeDesc d;
  FailureOr<Value> value = r.outputs(d.out);
  if (failed(value) || failed(r.unit({GridUnit::Rows})))
    return failure();
  FailureOr<NormalizeOp> op = r.want<NormalizeOp>(*value);
  if (failed(op))
    return failure();
  FailureOr<LoadPartialsOp> load = r.want<LoadPartialsOp>(op->getX());
  if (failed(load) || failed(r.finish()))
    return failure();
  d.partials = cast<PartialsType>(load->getSrc().getType());
  d.partialsSlot = kernel.slotIndex(load->getSrc());
  d.segment = load->getSegment();
  d.window = load->getWindow();
  if (d.out.width != d.partials.getHeads() * d.partials.getDim())
    return kernel.emitOpError() << "output does not fit the partials' heads";
  return d;
}

FailureOr<ElementwiseDesc> describeElementwise(KernelOp kernel) {
  Reader r(kernel);
  ElementwiseDesc d;
  FailureOr<Value> value = r.outputs(d.out);
  if (failed(value) || failed(r.unit({GridUnit::Rows})))
    return failure();
  if (d.out.rowsSlot < 0 || d.out.actSlot >= 0)
    return kernel.emitOpError() << "family " << stringifyFamily(kernel.getFamily()) << " has one f32 output";
  Value a = *value, b;
  switch (kernel.getFamily()) {
  case Family::Gate: {
    FailureOr<GateOp> op = r.want<GateOp>(a);
    if (failed(op))
      return failure();
    d.gate = op->getKind();
    a = op->getG();
    b = op->getU();
    break;
  }
  case Family::Add: {
    FailureOr<AddOp> op = r.want<AddOp>(a);
    if (failed(op))
      return failure();
    a = op->getA();
    b = op->getB();
    break;
  }
  case Family::Softcap: {
    FailureOr<SoftcapOp> op = r.want<SoftcapOp>(a);
    if (failed(op))
      return failure();
    d.value = op->getCap().convertToFloat();
    a = op->getX();
    break;
  }
  case Family::Scale: {
    FailureOr<ScaleOp> op = r.want<ScaleOp>(a);
    if (failed(op))
      return failure();
    d.value = op->getFactor().convertToFloat();
    a = op->getX();
    break;
  }
  default:
    break;
  }
  FailureOr<Columns> ca = r.columns(a);
  if (failed(ca))
    return failure();
  d.a = *ca;
  if (kernel.getFamily() == Family::Select)
    d.selected = a.getDefiningOp<LoadOp>().getSelected();
  if (b) {
    FailureOr<Columns> cb = r.columns(b);
    if (failed(cb))
      return failure();
    d.b = *cb;
  }
  if (failed(r.finish()))
    return failure();
  return d;
}

LogicalResult verifyFamily(KernelOp kernel) {
  switch (kernel.getFamily()) {
  case Family::Embed:
    return describeEmbed(kernel);
  case Family::Norm:
    return describeNorm(kernel);
  case Family::Quantize:
    return describeQuantize(kernel);
  case Family::Linear:
    return describeLinear(kernel);
  case Family::RopeKv:
    return describeRopeKv(kernel);
  case Family::Attention:
  case Family::AttnSplit:
    return describeAttention(kernel);
  case Family::AttnMerge:
    return describeMerge(kernel);
  case Family::Gate:
  case Family::Add:
  case Family::Select:
  case Family::Softcap:
  case Family::Scale:
    return describeElementwise(kernel);
  }
  return failure();
}

} // namespace ingot::tile
