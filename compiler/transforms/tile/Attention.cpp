//===- Attention.cpp - splits attention of small M classes over KV segments ------------------------===//
#include "compiler/transforms/tile/Passes.h"
#include "compiler/transforms/tile/Prototype.h"
#include "dialects/llm/Llm.h"
#include "dialects/tile/Describe.h"

#include "llvm/ADT/StringSet.h"

namespace ingot::transforms {
#define GEN_PASS_DEF_TILEATTENTIONPASS
#include "compiler/transforms/tile/Passes.h.inc"
} // namespace ingot::transforms

using namespace mlir;

namespace ingot::tile {
namespace {

/// Rows up to which every worker repeats the merge instead of meeting at a barrier.
constexpr int64_t kReplicatedMergeRows = 2;

struct Attention : transforms::impl::TileAttentionPassBase<Attention> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    llm::ConfigOp config = llm::findConfig(module);
    SymbolTable symbols(module);
    SmallVector<LaunchOp> launches;
    module.walk([&](LaunchOp op) { launches.push_back(op); });
    for (LaunchOp op : launches) {
      auto kernel = symbols.lookup<KernelOp>(op.getKernel());
      if (!kernel || kernel.getFamily() != Family::Attention || kernel.getRows() == 0)
        continue;
      if (!config) {
        op.emitOpError() << "needs llm.config for the number of KV segments";
        return signalPassFailure();
      }
      split(op, kernel, (config.getMaxContext() + kSegment - 1) / kSegment);
      ++numSplit;
    }
    // The kernels that were split have no launch left.
    llvm::StringSet<> used;
    module.walk([&](LaunchOp op) { used.insert(op.getKernel()); });
    for (auto kernel : llvm::make_early_inc_range(module.getOps<KernelOp>()))
      if (kernel.getFamily() == Family::Attention && !used.contains(kernel.getSymName()))
        kernel.erase();
  }

  static void split(LaunchOp op, KernelOp kernel, int64_t segments) {
    MLIRContext *ctx = op.getContext();
    AttentionDesc d = *describeAttention(kernel);
    Location loc = kernel.getLoc();
    auto partials = PartialsType::get(ctx, d.qHeads, d.kv.getVDim(), segments);
    auto state = StateType::get(ctx, d.kv.getVDim());
    SmallVector<Type> outs;
    for (BlockArgument arg : kernel.getOutputs())
      outs.push_back(arg.getType());

    OpBuilder mb(kernel);
    Prototype s(mb, loc, (kernel.getSymName() + "_split").str(), Family::AttnSplit, GridUnit::Segments,
                d.kv.getHeads(), kernel.getRows(), kernel.getDomain(), {kernel.getInputs()[0].getType()},
                {partials}, {});
    IRMapping map;
    map.map(kernel.getInputs()[0], s.in(0));
    Value result;
    for (Operation &inner : kernel.getGrid().getBody().front())
      if (isa<LoadOp, KvBlockOp>(inner))
        result = s.b.clone(inner, map)->getResult(0);
    s.store(result, s.out(0));

    Prototype m(mb, loc, (kernel.getSymName() + "_merge").str(), Family::AttnMerge, GridUnit::Rows, 0,
                kernel.getRows(), kernel.getDomain(), {partials}, outs, {});
    Value v = LoadPartialsOp::create(m.b, loc, state, m.in(0), m.b.getI64IntegerAttr(d.segment),
                                     m.b.getI64IntegerAttr(d.window));
    m.storeAll(NormalizeOp::create(m.b, loc, fragOf(ctx, d.out.width), v));

    OpBuilder b(op);
    int64_t floats = partials.getEntry() * partials.getHeads() * segments;
    Type tensor = RankedTensorType::get({ShapedType::kDynamic, floats}, b.getF32Type());
    auto first =
        LaunchOp::create(b, op.getLoc(), TypeRange{tensor}, FlatSymbolRefAttr::get(s.kernel), op.getIns(),
                         op.getKv(), b.getArrayAttr({}), b.getI64IntegerAttr(op.getKvLayer()),
                         b.getI64IntegerAttr(op.getLayer()), UnitAttr(), StringAttr());
    auto second = LaunchOp::create(
        b, op.getLoc(), op.getResultTypes(), FlatSymbolRefAttr::get(m.kernel), first.getResults(), Value(),
        b.getArrayAttr({}), b.getI64IntegerAttr(-1), b.getI64IntegerAttr(op.getLayer()),
        kernel.getRows() <= kReplicatedMergeRows ? b.getUnitAttr() : UnitAttr(), op.getTapAttr());
    op.replaceAllUsesWith(second.getResults());
    op.erase();
  }
};

} // namespace
} // namespace ingot::tile
