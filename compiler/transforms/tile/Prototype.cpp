//===- Prototype.cpp - builds tile.kernel bodies ---------------------------------------------------===//
#include "compiler/transforms/tile/Prototype.h"

using namespace mlir;

namespace ingot::tile {

FragType fragOf(MLIRContext *context, int64_t width) { return FragType::get(context, width, {}); }

Prototype::Prototype(OpBuilder &module, Location loc, StringRef name, Family family, GridUnit unit,
                     int64_t count, int64_t rows, Domain domain, ArrayRef<Type> ins, ArrayRef<Type> outs,
                     ArrayRef<Type> weights)
    : b(module), loc(loc) {
  OperationState state(loc, KernelOp::getOperationName());
  auto &props = state.getOrAddProperties<KernelOp::Properties>();
  props.sym_name = b.getStringAttr(name);
  props.family = FamilyAttr::get(b.getContext(), family);
  props.num_ins = b.getI64IntegerAttr(ins.size());
  props.num_outs = b.getI64IntegerAttr(outs.size());
  props.rows = b.getI64IntegerAttr(rows);
  props.domain = DomainAttr::get(b.getContext(), domain);
  Region *region = state.addRegion();
  Block &block = region->emplaceBlock();
  for (ArrayRef<Type> group : {ins, outs, weights})
    for (Type type : group)
      block.addArgument(type, loc);
  kernel = cast<KernelOp>(b.create(state));

  b.setInsertionPointToStart(&block);
  OperationState gridState(loc, GridOp::getOperationName());
  auto &gridProps = gridState.getOrAddProperties<GridOp::Properties>();
  gridProps.unit = GridUnitAttr::get(b.getContext(), unit);
  gridProps.count = b.getI64IntegerAttr(count);
  gridState.addRegion()->emplaceBlock();
  auto grid = cast<GridOp>(b.create(gridState));
  b.setInsertionPointToStart(&grid.getBody().front());
}

Value Prototype::load(Value slot, int64_t offset, int64_t width, bool selected) {
  return LoadOp::create(b, loc, fragOf(b.getContext(), width), slot, offset, selected);
}

void Prototype::store(Value value, Value slot) { StoreOp::create(b, loc, value, slot); }

void Prototype::storeAll(Value value) {
  for (BlockArgument arg : kernel.getOutputs()) {
    Value v = value;
    if (auto act = dyn_cast<ActType>(arg.getType()))
      v = QuantizeOp::create(b, loc, FragType::get(b.getContext(), act.getWidth(), act.getAct()), value);
    store(v, arg);
  }
}

} // namespace ingot::tile
