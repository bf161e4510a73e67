//===- Simplify.cpp - fold constants of the model, drop what does nothing --------------------------===//
//
//   rms_norm (weight_offset 1) -> gamma with offset_add 1
//   embed, scale               -> embed (scale)
//
// Saves kernel variants. Only rewrites whose f32 results are the same bit for bit.
//
//===----------------------------------------------------------------------------------------------------===//
#include "compiler/transforms/llm/ParamUses.h"
#include "compiler/transforms/llm/Passes.h"

using namespace mlir;
using namespace ingot::llm;

namespace ingot::transforms {
#define GEN_PASS_DEF_LLMSIMPLIFYPASS
#include "compiler/transforms/llm/Passes.h.inc"

namespace {

struct LlmSimplifyPass : impl::LlmSimplifyPassBase<LlmSimplifyPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    foldNormOffsets(module);
    for (StepOp step : module.getOps<StepOp>()) {
      for (Operation &op : llvm::make_early_inc_range(step.bodyBlock()))
        simplify(&op);
      // Users come after their operands, so one reverse walk finds every dead chain.
      for (Operation &op : llvm::make_early_inc_range(llvm::reverse(step.bodyBlock())))
        if (op.use_empty() && isPure(&op) && !op.hasTrait<OpTrait::IsTerminator>()) {
          op.erase();
          ++numDroppedOps;
        }
    }
    ParamUses uses(module);
    for (ParamOp param : llvm::make_early_inc_range(module.getOps<ParamOp>()))
      if (uses.of(param).empty()) {
        param.erase();
        ++numDroppedParams;
      }
  }

  void foldNormOffsets(ModuleOp module) {
    ParamUses uses(module);
    Builder builder(&getContext());
    for (ParamOp gamma : module.getOps<ParamOp>()) {
      ArrayRef<Operation *> users = uses.of(gamma);
      bool allOffset = !users.empty() && llvm::all_of(users, [](Operation *user) {
        auto norm = dyn_cast<RmsNormOp>(user);
        return norm && norm.getWeightOffset().isExactlyValue(1.0);
      });
      // A second offset would have to be added in the same rounding order: leave such a gamma alone.
      if (!allOffset || !gamma.getOffsetAdd().isZero())
        continue;
      gamma.setOffsetAddAttr(builder.getF32FloatAttr(1.0f));
      for (Operation *user : users)
        cast<RmsNormOp>(user).setWeightOffsetAttr(builder.getF32FloatAttr(0.0f));
      ++numFolded;
    }
  }

  void drop(Operation *op, Value replacement) {
    op->getResult(0).replaceAllUsesWith(replacement);
    op->erase();
    ++numDroppedOps;
  }

  void simplify(Operation *op) {
    if (auto scale = dyn_cast<ScaleOp>(op)) {
      if (scale.getFactor().isExactlyValue(1.0))
        return drop(op, scale.getX());
      auto embed = scale.getX().getDefiningOp<EmbedOp>();
      if (embed && embed->hasOneUse() && embed.getScale().isExactlyValue(1.0) &&
          scale.getFactor().isFinite() && !scale.getFactor().isZero()) {
        embed.setScaleAttr(scale.getFactorAttr());
        embed->setLoc(FusedLoc::get(&getContext(), {embed.getLoc(), scale.getLoc()}));
        ++numFolded;
        return drop(op, embed.getResult());
      }
      return;
    }
    if (auto slice = dyn_cast<SliceOp>(op))
      if (slice.getType() == slice.getX().getType())
        drop(op, slice.getX());
  }
};

} // namespace
} // namespace ingot::transforms
