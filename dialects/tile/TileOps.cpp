//===- TileOps.cpp - verifiers and syntax of the ops inside a kernel -------------------------------===//
#include "dialects/EnumWords.h"
#include "dialects/tile/Describe.h"
#include "dialects/tile/Tile.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

static ParseResult parseGateWord(OpAsmParser &parser, ingot::tile::GateKindAttr &attr) {
  return ingot::parseWord(parser, attr, [](StringRef s) { return ingot::tile::symbolizeGateKind(s); });
}
static void printGateWord(OpAsmPrinter &p, Operation *, ingot::tile::GateKindAttr attr) {
  p << ingot::tile::stringifyGateKind(attr.getValue());
}

#define GET_OP_CLASSES
#include "dialects/tile/TileOps.cpp.inc"

namespace ingot::tile {

static LogicalResult wantWidth(Operation *op, Type type, int64_t width, StringRef what) {
  auto frag = cast<FragType>(type);
  if (frag.getAct())
    return op->emitOpError() << what << " must be f32, not " << type;
  if (frag.getWidth() != width)
    return op->emitOpError() << what << " must be " << width << " wide, not " << frag.getWidth();
  return success();
}

static LogicalResult wantVector(Operation *op, qfmt::PackedType t, int64_t width, StringRef what) {
  if (t.getRows() != 1 || t.getCols() != width || t.getScheme() != qfmt::Scheme::F32)
    return op->emitOpError() << what << " must be a vector of " << width << " f32, not " << t;
  return success();
}

LogicalResult LoadOp::verify() {
  auto frag = cast<FragType>(getOut().getType());
  if (failed(wantWidth(*this, frag, frag.getWidth(), "result")))
    return failure();
  int64_t width = cast<RowsType>(getSrc().getType()).getWidth();
  if (getOffset() < 0 || getOffset() > width - frag.getWidth())
    return emitOpError() << "columns " << getOffset() << " .. " << getOffset() + frag.getWidth()
                         << " lie outside rows of " << width;
  return success();
}

LogicalResult ColumnsOp::verify() {
  int64_t from = cast<FragType>(getX().getType()).getWidth(),
          width = cast<FragType>(getOut().getType()).getWidth();
  if (failed(wantWidth(*this, getX().getType(), from, "x")) ||
      failed(wantWidth(*this, getOut().getType(), width, "result")))
    return failure();
  if (getOffset() < 0 || getOffset() > from - width)
    return emitOpError() << "columns " << getOffset() << " .. " << getOffset() + width
                         << " lie outside a fragment of " << from;
  return success();
}

LogicalResult StoreOp::verify() {
  Type value = getValue().getType(), dst = getDst().getType();
  if (auto rows = dyn_cast<RowsType>(dst)) {
    auto frag = dyn_cast<FragType>(value);
    if (!frag || frag.getAct() || frag.getWidth() != rows.getWidth())
      return emitOpError() << "cannot store " << value << " into " << dst;
    return success();
  }
  if (auto act = dyn_cast<ActType>(dst)) {
    auto frag = dyn_cast<FragType>(value);
    if (!frag || frag.getAct() != act.getAct() || frag.getWidth() != act.getWidth())
      return emitOpError() << "cannot store " << value << " into " << dst;
    return success();
  }
  auto partials = dyn_cast<PartialsType>(dst);
  auto state = dyn_cast<StateType>(value);
  if (!partials || !state || state.getDim() != partials.getDim())
    return emitOpError() << "cannot store " << value << " into " << dst;
  return success();
}

LogicalResult EmbedOp::verify() {
  return wantWidth(*this, getOut().getType(), cast<qfmt::PackedType>(getTable().getType()).getCols(),
                   "result");
}

LogicalResult DotOp::verify() {
  auto w = cast<qfmt::PackedType>(getW().getType());
  int64_t k = 0;
  bool quantized = false;
  if (auto act = dyn_cast<ActType>(getX().getType())) {
    k = act.getWidth();
    quantized = true;
  } else if (auto rows = dyn_cast<RowsType>(getX().getType())) {
    k = rows.getWidth();
  } else {
    return emitOpError() << "x must be rows or act, not " << getX().getType();
  }
  if (k != w.getCols())
    return emitOpError() << "x has " << k << " columns, the weight " << w.getCols();
  if (quantized == w.isFloat())
    return emitOpError() << "scheme " << w.getSchemeAttr().schemeName()
                         << (w.isFloat() ? " takes f32 rows" : " takes quantized activations") << ", not "
                         << getX().getType();
  bool ofBf16 = roundsActivations(getKind());
  bool ofFloats = getKind() == DotKind::Fma || ofBf16;
  if ((getKind() != DotKind::Undecided && ofFloats != w.isFloat()) ||
      (ofBf16 && w.getScheme() != qfmt::Scheme::BF16))
    return emitOpError() << "dot kind " << stringifyDotKind(getKind()) << " does not fit scheme "
                         << w.getSchemeAttr().schemeName();
  return wantWidth(*this, getOut().getType(), w.getRows(), "result");
}

ParseResult DotOp::parse(OpAsmParser &parser, OperationState &result) {
  StringRef kind;
  SMLoc loc = parser.getCurrentLocation();
  OpAsmParser::UnresolvedOperand x, w;
  Type xt, wt, out;
  if (parser.parseKeyword(&kind))
    return failure();
  std::optional<DotKind> value = symbolizeDotKind(kind);
  if (!value)
    return parser.emitError(loc, "unknown dot kind '") << kind << "'";
  result.getOrAddProperties<Properties>().kind = DotKindAttr::get(parser.getContext(), *value);
  if (parser.parseOperand(x) || parser.parseComma() || parser.parseOperand(w) ||
      parser.parseOptionalAttrDict(result.attributes) || parser.parseColon() || parser.parseType(xt) ||
      parser.parseComma() || parser.parseType(wt) || parser.parseArrow() || parser.parseType(out) ||
      parser.resolveOperand(x, xt, result.operands) || parser.resolveOperand(w, wt, result.operands))
    return failure();
  result.addTypes(out);
  return success();
}

void DotOp::print(OpAsmPrinter &p) {
  p << ' ' << stringifyDotKind(getKind()) << ' ' << getX() << ", " << getW();
  p.printOptionalAttrDict((*this)->getAttrs(), {"kind"});
  p << " : " << getX().getType() << ", " << getW().getType() << " -> " << getOut().getType();
}

LogicalResult BiasOp::verify() {
  int64_t width = cast<FragType>(getX().getType()).getWidth();
  if (failed(wantWidth(*this, getX().getType(), width, "x")) ||
      failed(wantWidth(*this, getOut().getType(), width, "result")))
    return failure();
  return wantVector(*this, cast<qfmt::PackedType>(getB().getType()), width, "bias");
}

LogicalResult RmsNormOp::verify() {
  int64_t width = cast<FragType>(getX().getType()).getWidth();
  if (getGroups() < 1 || width % getGroups())
    return emitOpError() << "groups = " << getGroups() << " must divide the width " << width;
  if (failed(wantWidth(*this, getX().getType(), width, "x")) ||
      failed(wantWidth(*this, getOut().getType(), width, "result")))
    return failure();
  return wantVector(*this, cast<qfmt::PackedType>(getGamma().getType()), width / getGroups(), "gamma");
}

LogicalResult QuantizeOp::verify() {
  auto out = cast<FragType>(getOut().getType());
  if (!out.getAct() || !out.getAct().isQuantized())
    return emitOpError() << "result must be quantized, not " << out;
  return wantWidth(*this, getX().getType(), out.getWidth(), "x");
}

LogicalResult GateInterleavedOp::verify() {
  int64_t width = cast<FragType>(getX().getType()).getWidth();
  if (width % 32)
    return emitOpError() << "x must be a multiple of 32 wide, not " << width;
  return wantWidth(*this, getOut().getType(), width / 2, "result");
}

LogicalResult SoftcapOp::verify() {
  if (!(getCap().convertToFloat() > 0.0f))
    return emitOpError() << "cap must be positive";
  return success();
}

LogicalResult ArgmaxOp::verify() {
  auto kernel = (*this)->getParentOfType<KernelOp>();
  if (!kernel || kernel.getFamily() != Family::Linear || kernel.getDomain() != Domain::Out)
    return emitOpError() << "belongs into a linear kernel over the rows of outputs";
  if (!getOut().hasOneUse() || !isa<StoreOp>(*getOut().user_begin()))
    return emitOpError() << "must be stored, and used by nothing else";
  return success();
}

LogicalResult RopeOp::verify() {
  int64_t width = cast<FragType>(getX().getType()).getWidth();
  if (getHeads() < 1 || getHeadDim() < 1 || getHeads() * getHeadDim() != width)
    return emitOpError() << "heads * head_dim must be the width " << width;
  if (getRotaryDim() < 2 || getRotaryDim() % 2 || getRotaryDim() > getHeadDim())
    return emitOpError() << "rotary_dim must be even, 2 .. head_dim, not " << getRotaryDim();
  if (getTable() < 0)
    return emitOpError() << "table must not be negative";
  return success();
}

LogicalResult KvStoreOp::verify() {
  KvAttr kv = getKv();
  if (failed(wantWidth(*this, getK().getType(), kv.getHeads() * kv.getDim(), "k")))
    return failure();
  return wantWidth(*this, getV().getType(), kv.getHeads() * kv.getVDim(), "v");
}

LogicalResult GridOp::verify() {
  bool counted = getUnit() != GridUnit::Rows;
  if (counted != (getCount() > 0))
    return emitOpError() << "unit " << stringifyGridUnit(getUnit())
                         << (counted ? " needs a count" : " takes no count");
  return success();
}

ParseResult GridOp::parse(OpAsmParser &parser, OperationState &result) {
  StringRef unit;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&unit))
    return failure();
  std::optional<GridUnit> value = symbolizeGridUnit(unit);
  if (!value)
    return parser.emitError(loc, "unknown unit '") << unit << "'";
  int64_t count = 0;
  OptionalParseResult given = parser.parseOptionalInteger(count);
  if (given.has_value() && failed(*given))
    return failure();
  auto &props = result.getOrAddProperties<Properties>();
  props.unit = GridUnitAttr::get(parser.getContext(), *value);
  props.count = parser.getBuilder().getI64IntegerAttr(count);
  Region *body = result.addRegion();
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes) || parser.parseRegion(*body, {}))
    return failure();
  if (body->empty())
    body->emplaceBlock();
  return success();
}

void GridOp::print(OpAsmPrinter &p) {
  p << ' ' << stringifyGridUnit(getUnit());
  if (getCount())
    p << ' ' << getCount();
  p.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"unit", "count"});
  p << ' ';
  p.printRegion(getBody(), /*printEntryBlockArgs=*/false, /*printBlockTerminators=*/false);
}

LogicalResult KvBlockOp::verify() {
  KvAttr kv = getKv();
  if (getQHeads() < 1 || getQHeads() % kv.getHeads())
    return emitOpError() << "q_heads = " << getQHeads() << " is no multiple of the " << kv.getHeads()
                         << " kv heads";
  if (getBlock() < 1 || getSegment() < getBlock() || getSegment() % getBlock())
    return emitOpError() << "segment must be a multiple of block";
  if (failed(wantWidth(*this, getQ().getType(), getQHeads() * kv.getDim(), "q")))
    return failure();
  if (cast<StateType>(getOut().getType()).getDim() != kv.getVDim())
    return emitOpError() << "result must be a state of " << kv.getVDim();
  Block &body = getBody().front();
  if (body.getNumArguments() != 1 ||
      body.getArgument(0).getType() != FragType::get(getContext(), kv.getDim(), {}))
    return emitOpError() << "region must take one query head, !tile.frag<" << kv.getDim() << ">";
  // score, [softcap], mask, online_softmax, pv: each uses the one before.
  Value last = body.getArgument(0);
  int stage = 0;
  for (Operation &op : body) {
    int next = isa<ScoreOp>(op)           ? 1
               : isa<SoftcapOp>(op)       ? 2
               : isa<MaskOp>(op)          ? 3
               : isa<OnlineSoftmaxOp>(op) ? 4
               : isa<PvOp>(op)            ? 5
                                          : 0;
    bool inOrder = next == stage + 1 || (stage == 1 && next == 3);
    if (!next || !inOrder || op.getOperand(0) != last)
      return op.emitOpError() << "does not fit into score, softcap, mask, online_softmax, pv";
    if (next < 5 && failed(wantWidth(&op, op.getResult(0).getType(), getBlock(), "scores")))
      return failure();
    stage = next;
    last = op.getResult(0);
  }
  if (stage != 5 || last.getType() != getOut().getType())
    return emitOpError() << "region must end with tile.pv of the result's type";
  return success();
}

ParseResult KvBlockOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::UnresolvedOperand q;
  Type qt, out;
  Region *body = result.addRegion();
  if (parser.parseOperand(q) || parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColonType(qt) || parser.parseArrow() || parser.parseType(out) ||
      parser.parseRegion(*body) || parser.resolveOperand(q, qt, result.operands))
    return failure();
  result.addTypes(out);
  return success();
}

void KvBlockOp::print(OpAsmPrinter &p) {
  p << ' ' << getQ();
  p.printOptionalAttrDict((*this)->getAttrs());
  p << " : " << getQ().getType() << " -> " << getOut().getType() << ' ';
  p.printRegion(getBody(), /*printEntryBlockArgs=*/true, /*printBlockTerminators=*/false);
}

LogicalResult LoadPartialsOp::verify() {
  auto src = cast<PartialsType>(getSrc().getType());
  if (getSegment() < 1 || getWindow() < 0)
    return emitOpError() << "segment must be positive, window not negative";
  if (cast<StateType>(getOut().getType()).getDim() != src.getDim())
    return emitOpError() << "result must be a state of " << src.getDim();
  return success();
}

LogicalResult NormalizeOp::verify() {
  int64_t width = cast<FragType>(getOut().getType()).getWidth();
  if (failed(wantWidth(*this, getOut().getType(), width, "result")))
    return failure();
  if (width % cast<StateType>(getX().getType()).getDim())
    return emitOpError() << "result must be whole heads wide";
  return success();
}

LogicalResult LaunchOp::verify() {
  if (getTap() && *getTap() != "embed" && *getTap() != "layer" && *getTap() != "norm")
    return emitOpError() << "tap must be embed, layer or norm";
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto kernel = tables.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (!kernel)
    return emitOpError() << "no kernel " << getKernelAttr();
  if (getIns().size() != kernel.getInputs().size())
    return emitOpError() << "gives " << getIns().size() << " inputs, " << getKernelAttr() << " takes "
                         << kernel.getInputs().size();
  // The KV token, if any, follows the slots.
  size_t outs = kernel.getOutputs().size();
  if (getOuts().size() < outs || getOuts().size() > outs + 1)
    return emitOpError() << "has " << getOuts().size() << " results, " << getKernelAttr() << " stores "
                         << outs;
  if (getParams().size() != kernel.getWeights().size())
    return emitOpError() << "gives " << getParams().size() << " params, " << getKernelAttr() << " takes "
                         << kernel.getWeights().size();
  auto check = [&](Value value, Type slot) -> LogicalResult {
    auto tensor = dyn_cast<RankedTensorType>(value.getType());
    auto rows = dyn_cast<RowsType>(slot);
    if (tensor && tensor.getRank() == 2 && rows && tensor.getDimSize(1) != rows.getWidth())
      return emitOpError() << "operand " << tensor << " does not fit slot " << rows;
    return success();
  };
  for (auto [value, arg] : llvm::zip(getIns(), kernel.getInputs()))
    if (failed(check(value, arg.getType())))
      return failure();
  for (auto [value, arg] : llvm::zip(getOuts(), kernel.getOutputs()))
    if (failed(check(value, arg.getType())))
      return failure();
  return success();
}

} // namespace ingot::tile
