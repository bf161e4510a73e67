//===- Former.h - forms the kernels of one step ----------------------------------------------------===//
//
// Walks a step once, in order. A group of ops that one kernel computes is formed at its last op; the others
// are left dead and erased at the end. What is still alive then has no kernel and is an error.
//
// FormKernels.cpp has the walk, FormRows.cpp the ops on rows, FormAttention.cpp heads, rope, KV and
// attention.
//
//===----------------------------------------------------------------------------------------------------===//
#ifndef INGOT_COMPILER_TRANSFORMS_TILE_FORMER_H
#define INGOT_COMPILER_TRANSFORMS_TILE_FORMER_H

#include "compiler/transforms/tile/Prototype.h"
#include "dialects/llm/Llm.h"
#include "dialects/tile/Tile.h"

#include "mlir/IR/SymbolTable.h"

namespace ingot::tile {

/// Rows up to which a launch that every worker repeats is cheaper than a barrier.
inline constexpr int64_t kReplicatedRows = 8;

/// A value seen through column slices and layer ends.
struct View {
  mlir::Value base;
  int64_t offset = 0, width = 0;
};
View viewOf(mlir::Value value); // looks through llm.slice and llm.layer_end

/// [rope of] [per-head norm of] a view.
struct HeadChain {
  llm::RopeOp rope;
  llm::RmsNormOp norm;
  mlir::Value source;
};

/// Which projections rotate and append by themselves, and why the others do not.
struct RopePolicy {
  enum Units { None, Pairs, All } units = All;
  llvm::StringRef reason;
};

class Former {
  template <typename T> using SmallVector = llvm::SmallVector<T>;
  template <typename T> using ArrayRef = llvm::ArrayRef<T>;
  template <typename T> using FailureOr = mlir::FailureOr<T>;
  using LogicalResult = mlir::LogicalResult;
  using Operation = mlir::Operation;
  using Location = mlir::Location;
  using Value = mlir::Value;
  using Type = mlir::Type;

public:
  Former(mlir::ModuleOp module, llm::StepOp step, mlir::SymbolTableCollection &tables,
         llvm::SmallVectorImpl<RopeTableOp> &ropes, int64_t &counter, int64_t &fused, RopePolicy ropeInLinear,
         bool argmaxHead)
      : module(module), step(step), tables(tables), ropes(ropes), counter(counter), fused(fused),
        ropeInLinear(ropeInLinear), argmaxHead(argmaxHead), mb(module.getContext()), b(module.getContext()) {
    mb.setInsertionPoint(step);
    rows = int64_t(step.getRows()) > kReplicatedRows ? 0 : int64_t(step.getRows());
    if (llm::ConfigOp config = llm::findConfig(module))
      lastLayer = int64_t(config.getLayers()) - 1;
  }

  LogicalResult run();

private:
  /// Refuses an op with a variant that no body can say.
  LogicalResult checkKeys(Operation *op);
  Location locOf(ArrayRef<Operation *> ops) {
    SmallVector<Location> locs;
    for (Operation *op : ops)
      if (op)
        locs.push_back(op->getLoc());
    return locs.size() == 1 ? locs.front() : mlir::FusedLoc::get(b.getContext(), locs);
  }
  Domain domainOf(Value base) { return outDomain.count(base) ? Domain::Out : Domain::Rows; }
  RowsType rowsOf(Value base) { return RowsType::get(b.getContext(), llm::widthOf(base)); }
  RowsType rowsOf(int64_t width) { return RowsType::get(b.getContext(), width); }
  /// Slot type of rows or quantized activations.
  FailureOr<Type> slotOf(Operation *user, Value base) {
    if (auto act = llvm::dyn_cast<llm::ActType>(base.getType())) {
      if (act.getAct().getBlock() < 1)
        return user->emitOpError()
               << "the rows of an activation block are undecided: run llm-specialize-steps first";
      return Type(ActType::get(b.getContext(), act.getDim(), act.getAct()));
    }
    return Type(rowsOf(base));
  }
  FailureOr<qfmt::PackedType> paramType(Operation *user, mlir::FlatSymbolRefAttr ref) {
    llm::ParamOp param = llm::lookupParam(tables, user, ref);
    if (!param)
      return user->emitOpError() << "no llm.param " << ref;
    return param.packedType();
  }
  /// A kernel under its provisional name; tile-dedup gives the final one.
  Prototype begin(Location loc, Family family, GridUnit unit, int64_t count, Domain domain,
                  ArrayRef<Type> ins, ArrayRef<Type> outs, ArrayRef<Type> weights) {
    std::string name = ("p" + llvm::Twine(counter++) + "_" + stringifyFamily(family)).str();
    return Prototype(mb, loc, name, family, unit, count, rows, domain, ins, outs, weights);
  }
  /// The launch at the current op; `cheap`: replicated where the class is small.
  LaunchOp launch(Prototype &p, ArrayRef<Value> ins, Value kv, ArrayRef<mlir::FlatSymbolRefAttr> params,
                  ArrayRef<Type> results, bool cheap) {
    SmallVector<mlir::Attribute> refs(params.begin(), params.end());
    auto op = LaunchOp::create(b, p.loc, mlir::TypeRange(results), mlir::FlatSymbolRefAttr::get(p.kernel),
                               mlir::ValueRange(ins), kv, b.getArrayAttr(refs), b.getI64IntegerAttr(-1),
                               b.getI64IntegerAttr(layer),
                               cheap && rows != 0 ? b.getUnitAttr() : mlir::UnitAttr(), mlir::StringAttr());
    if (p.kernel.getDomain() == Domain::Out)
      for (Value result : op.getResults())
        outDomain.insert(result);
    return op;
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
  /// The dot of family linear over whole slots.
  FailureOr<Value> wholeOperand(Operation *op, Value x) {
    View v = viewOf(x);
    if (v.offset || v.width != llm::widthOf(v.base))
      return op->emitOpError() << "reads a column slice; no linear kernel does";
    return v.base;
  }

  // Each puts a launch in the place of its op (and of those that share the kernel).
  LogicalResult form(Operation *op);
  LogicalResult formLayerEnd(llm::LayerEndOp op);
  LogicalResult formEmbed(llm::EmbedOp op);
  LogicalResult formNorm(llm::RmsNormOp op);
  LogicalResult formQuantize(llm::QuantizeOp op);
  LogicalResult formLinear(llm::LinearOp op);
  Value dot(Prototype &p, int64_t n);
  LogicalResult formLogits(llm::LogitsOp op);
  LogicalResult formSelect(llm::SelectRowsOp op);
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
    return llvm::success();
  }

  /// Pairs every kv_append with the first attention that reads it, so that q's rope joins k's kernel.
  void planRopeKv(ArrayRef<Operation *> ops);
  int64_t ropeTable(llm::RopeAttr rope);
  Value heads(Prototype &p, Value v, HeadChain &c, unsigned &weight);
  /// `append` may be null (q alone); `q.source` may be null (k and v alone). `why` it is no epilogue.
  LogicalResult formRopeKv(llm::KvAppendOp append, HeadChain q, HeadChain k, llvm::StringRef why = "");
  /// The projection of q, k and v whose kernel rotates q and k and appends k and v, or null with a reason:
  /// its result is read by nothing else, and heads are whole panels.
  llm::LinearOp projectionOf(llm::KvAppendOp append, HeadChain q, HeadChain k, std::string &why);
  LogicalResult formLinearRopeKv(llm::LinearOp op, llm::KvAppendOp append, HeadChain q, HeadChain k);
  LogicalResult formAttention(llm::AttentionOp op);
  /// Ops that only this chain uses; `value` itself may have one more user, its consumer.
  HeadChain chainOf(Value value);
  void consume(HeadChain &c) {
    if (c.rope)
      consumed.insert(c.rope);
    if (c.norm)
      consumed.insert(c.norm);
  }
  static int64_t headsOf(HeadChain &c) {
    return c.rope ? int64_t(c.rope.getHeads()) : c.norm ? int64_t(c.norm.getGroups()) : 0;
  }
  KvAttr kvAttr(llm::KvType type) {
    return KvAttr::get(b.getContext(), type.getHeads(), type.getDim(), type.getVDim(),
                       llm::stringifyKvDtype(type.getDtype()));
  }

  mlir::ModuleOp module;
  llm::StepOp step;
  mlir::SymbolTableCollection &tables;
  llvm::SmallVectorImpl<RopeTableOp> &ropes;
  int64_t &counter, &fused;
  RopePolicy ropeInLinear;
  bool argmaxHead;
  mlir::OpBuilder mb, b; ///< at module level; in the step
  int64_t rows = 0, layer = 0, lastLayer = 0;
  llvm::DenseSet<Operation *> consumed; ///< formed with another op; looked up only, as the next two

  llvm::DenseSet<Value> outDomain;
  llvm::DenseMap<llm::AttentionOp, llm::KvAppendOp> fusedQ;
  llvm::DenseMap<llm::AttentionOp, llm::LinearOp> projections;
  llvm::DenseMap<llm::AttentionOp, std::string> apart; ///< why there is no projection
  Operation *scaledEmbed = nullptr;
};

} // namespace ingot::tile

#endif
