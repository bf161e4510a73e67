//===- TileKernel.cpp - syntax, accessors and verifier of tile.kernel ------------------------------===//
#include "dialects/tile/Describe.h"
#include "dialects/tile/Tile.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace ingot::tile {

GridOp KernelOp::getGrid() { return cast<GridOp>(getBody().front().front()); }

KvAttr KernelOp::getKv() {
  KvAttr kv;
  getBody().walk([&](Operation *op) {
    if (auto store = dyn_cast<KvStoreOp>(op))
      kv = store.getKv();
    if (auto block = dyn_cast<KvBlockOp>(op))
      kv = block.getKv();
  });
  return kv;
}

bool KernelOp::writesKv() {
  return getBody().walk([](KvStoreOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

bool KernelOp::mayAlias(unsigned in, unsigned out) {
  BlockArgument src = getInputs()[in], dst = getOutputs()[out];
  if (src.getType() != dst.getType() || !isa<RowsType>(src.getType()))
    return false;
  for (Operation *user : src.getUsers()) {
    auto load = dyn_cast<LoadOp>(user);
    if (!load || load.getSelected() || load.getOffset())
      return false;
    for (Operation *use : load.getOut().getUsers())
      if (!isa<AddOp, GateOp, SoftcapOp, ScaleOp>(use))
        return false;
  }
  return true;
}

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  MLIRContext *ctx = parser.getContext();
  Builder &b = parser.getBuilder();
  auto &props = result.getOrAddProperties<Properties>();
  StringAttr name;
  StringRef family;
  if (succeeded(parser.parseOptionalKeyword("private")))
    props.sym_visibility = b.getStringAttr("private");
  if (parser.parseSymbolName(name))
    return failure();
  props.sym_name = name;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&family))
    return failure();
  std::optional<Family> value = symbolizeFamily(family);
  if (!value)
    return parser.emitError(loc, "unknown kernel family '") << family << "'";
  props.family = FamilyAttr::get(ctx, *value);

  SmallVector<OpAsmParser::Argument> args;
  auto group = [&](StringRef keyword, int64_t &count) -> ParseResult {
    count = 0;
    if (failed(parser.parseOptionalKeyword(keyword)))
      return success();
    SmallVector<OpAsmParser::Argument> some;
    if (parser.parseArgumentList(some, OpAsmParser::Delimiter::Paren, /*allowType=*/true))
      return failure();
    count = some.size();
    args.append(some);
    return success();
  };
  int64_t ins, outs, weights;
  if (group("ins", ins) || group("outs", outs) || group("weights", weights))
    return failure();
  props.num_ins = b.getI64IntegerAttr(ins);
  props.num_outs = b.getI64IntegerAttr(outs);
  Region *body = result.addRegion();
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes) || parser.parseRegion(*body, args))
    return failure();
  if (body->empty())
    body->emplaceBlock();
  return success();
}

void KernelOp::print(OpAsmPrinter &p) {
  p << ' ';
  if (getSymVisibility())
    p << *getSymVisibility() << ' ';
  p.printSymbolName(getSymName());
  p << ' ' << stringifyFamily(getFamily());
  auto group = [&](StringRef keyword, Args args) {
    if (args.empty())
      return;
    p << ' ' << keyword << '(';
    llvm::interleaveComma(args, p, [&](BlockArgument arg) { p.printRegionArgument(arg); });
    p << ')';
  };
  group("ins", getInputs());
  group("outs", getOutputs());
  group("weights", getWeights());
  p.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                     {"sym_name", "sym_visibility", "family", "num_ins", "num_outs"});
  p << ' ';
  p.printRegion(getBody(), /*printEntryBlockArgs=*/false, /*printBlockTerminators=*/false);
}

LogicalResult KernelOp::verify() {
  int64_t args = getBody().getNumArguments();
  if (getNumIns() < 0 || getNumOuts() < 0 || getNumIns() > args || getNumOuts() > args - getNumIns())
    return emitOpError() << "has fewer arguments than num_ins + num_outs";
  for (BlockArgument arg : getSlots())
    if (!isa<RowsType, ActType, PartialsType>(arg.getType()))
      return emitOpError() << "slot " << arg.getArgNumber() << " has type " << arg.getType();
  for (BlockArgument arg : getWeights())
    if (!isa<qfmt::PackedType>(arg.getType()))
      return emitOpError() << "weight " << weightIndex(arg) << " has type " << arg.getType();
  if (getRows() != 0 && getRows() != 1 && getRows() != 2 && getRows() != 4 && getRows() != 8)
    return emitOpError() << "rows must be 1, 2, 4, 8 or 0 (known at run time), not " << getRows();
  if (getSchedule() && !getIsa())
    return emitOpError() << "has a schedule but no isa";
  return success();
}

LogicalResult KernelOp::verifyRegions() {
  Block &block = getBody().front();
  if (!llvm::hasSingleElement(block) || !isa<GridOp>(block.front()))
    return emitOpError() << "body must be one tile.grid";
  for (BlockArgument out : getOutputs()) {
    if (!out.hasOneUse() || !isa<StoreOp>(*out.user_begin()) ||
        cast<StoreOp>(*out.user_begin()).getDst() != out)
      return emitOpError() << "output " << slotIndex(out) << " must be stored to exactly once";
  }
  // Every operand must matter: a launch resolves it and the plan keeps it alive.
  for (BlockArgument arg : getBody().getArguments())
    if (arg.use_empty())
      return emitOpError() << "argument " << arg.getArgNumber() << " is not used";
  return verifyFamily(*this);
}

} // namespace ingot::tile
