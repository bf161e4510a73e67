//===- SpecializeSteps.cpp - one step per row class ------------------------------------------------===//
//
// The block of quantized activations is decided here and not with the formats, because it is the one part of
// them that depends on the number of rows.
//
//===----------------------------------------------------------------------------------------------------===//
#include "compiler/transforms/llm/Passes.h"

using namespace mlir;
using namespace ingot::llm;

namespace ingot::transforms {
#define GEN_PASS_DEF_LLMSPECIALIZESTEPSPASS
#include "compiler/transforms/llm/Passes.h.inc"

namespace {

// Up to this many rows a kernel keeps one accumulator per row and panel.
constexpr int64_t kMaxGemvRows = 8;

struct LlmSpecializeStepsPass : impl::LlmSpecializeStepsPassBase<LlmSpecializeStepsPass> {
  using LlmSpecializeStepsPassBase::LlmSpecializeStepsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<int64_t> rowClasses(classes.begin(), classes.end());
    if (rowClasses.empty())
      rowClasses = {1, 2, 4, 8, 512};
    for (size_t i = 0; i < rowClasses.size(); ++i)
      if (rowClasses[i] <= (i ? rowClasses[i - 1] : 0)) {
        module.emitError("classes must be positive and ascending, got ") << rowClasses[i];
        return signalPassFailure();
      }
    if (gemmBlock < 1 || gemmBlock > 64) {
      module.emitError("gemm-block must lie in 1..64, got ") << gemmBlock.getValue();
      return signalPassFailure();
    }
    SymbolTable symbols(module);
    for (StepOp step : llvm::make_early_inc_range(module.getOps<StepOp>())) {
      if (step.getRows() != 0)
        continue;
      for (int64_t rows : rowClasses)
        specialize(step, rows, symbols);
      symbols.erase(step);
    }
  }

  void specialize(StepOp step, int64_t rows, SymbolTable &symbols) {
    OpBuilder builder(step);
    auto clone = cast<StepOp>(builder.clone(*step));
    clone.setSymName((step.getSymName() + "_m" + Twine(rows)).str());
    clone.setRowsAttr(builder.getI64IntegerAttr(rows));
    symbols.insert(clone);
    int64_t block = rows <= kMaxGemvRows ? rows : gemmBlock.getValue();
    for (QuantizeOp quantize : clone.bodyBlock().getOps<QuantizeOp>()) {
      if (quantize.getAct().getBlock() != 0)
        continue;
      qfmt::ActAttr act = quantize.getAct().withBlock(block);
      quantize.setActAttr(act);
      quantize.getResult().setType(ActType::get(&getContext(), widthOf(quantize.getX()), act));
    }
    ++numSteps;
  }
};

} // namespace
} // namespace ingot::transforms
