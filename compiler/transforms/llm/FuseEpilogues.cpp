//===- FuseEpilogues.cpp - residual adds and softcaps become part of their producer ----------------===//
//
//   add(x, linear)      -> linear residual(x)
//   add(x, rms_norm)    -> rms_norm residual(x)
//   softcap(linear)     -> linear with a softcap epilogue
//   softcap(logits)     -> logits with softcap
//
// Saves a launch and a round trip of the row through memory. The producer moves to the place of the operation
// that it absorbs, where the residual is defined.
//
//===----------------------------------------------------------------------------------------------------===//
#include "compiler/transforms/llm/Passes.h"

using namespace mlir;
using namespace ingot::llm;

namespace ingot::transforms {
#define GEN_PASS_DEF_LLMFUSEEPILOGUESPASS
#include "compiler/transforms/llm/Passes.h.inc"

namespace {

struct LlmFuseEpiloguesPass : impl::LlmFuseEpiloguesPassBase<LlmFuseEpiloguesPass> {
  void runOnOperation() override {
    for (StepOp step : getOperation().getOps<StepOp>())
      for (Operation &op : llvm::make_early_inc_range(step.bodyBlock())) {
        if (auto add = dyn_cast<AddOp>(op))
          fuseAdd(add);
        else if (auto softcap = dyn_cast<SoftcapOp>(op))
          fuseSoftcap(softcap);
      }
  }

  /// The producer takes the place, the uses and (besides its own) the location of `op`.
  void absorb(Operation *producer, Operation *op) {
    producer->moveBefore(op);
    producer->setLoc(FusedLoc::get(&getContext(), {producer->getLoc(), op->getLoc()}));
    op->getResult(0).replaceAllUsesWith(producer->getResult(0));
    op->erase();
  }

  void append(LinearOp linear, EpilogueAttr epilogue) {
    SmallVector<Attribute> list(linear.getEpilogue().begin(), linear.getEpilogue().end());
    list.push_back(epilogue);
    linear.setEpilogueAttr(ArrayAttr::get(&getContext(), list));
  }

  /// Nothing of the kind, or that comes after it, is in the list yet.
  static bool canAppend(LinearOp linear, EpilogueKind kind) {
    auto list = linear.epilogueList();
    return list.empty() || static_cast<int>(list.back().getKind()) < static_cast<int>(kind);
  }

  bool fuseInto(AddOp add, Value result, Value residual) {
    Operation *producer = result.getDefiningOp();
    // result == residual would make an operation its own operand.
    if (!producer || !producer->hasOneUse() || producer->getBlock() != add->getBlock())
      return false;
    if (auto linear = dyn_cast<LinearOp>(producer)) {
      if (!canAppend(linear, EpilogueKind::Residual))
        return false;
      append(linear, EpilogueAttr::get(&getContext(), EpilogueKind::Residual));
      linear.getResidualMutable().assign(residual);
    } else if (auto norm = dyn_cast<RmsNormOp>(producer)) {
      if (norm.getResidual() || norm.getGroups() != 1)
        return false;
      norm.getResidualMutable().assign(residual);
    } else {
      return false;
    }
    absorb(producer, add);
    ++numResiduals;
    return true;
  }

  void fuseAdd(AddOp add) {
    // f32 addition commutes, so either side may be the producer; by convention lhs is the residual stream.
    if (!fuseInto(add, add.getRhs(), add.getLhs()))
      fuseInto(add, add.getLhs(), add.getRhs());
  }

  void fuseSoftcap(SoftcapOp softcap) {
    Operation *producer = softcap.getX().getDefiningOp();
    if (!producer || !producer->hasOneUse())
      return;
    if (auto linear = dyn_cast<LinearOp>(producer)) {
      if (!canAppend(linear, EpilogueKind::Softcap))
        return;
      append(linear, EpilogueAttr::get(&getContext(), softcap.getCap().convertToFloat()));
    } else if (auto logits = dyn_cast<LogitsOp>(producer)) {
      if (!logits.getSoftcap().isZero())
        return;
      logits.setSoftcapAttr(softcap.getCapAttr());
    } else {
      return;
    }
    absorb(producer, softcap);
    ++numSoftcaps;
  }
};

} // namespace
} // namespace ingot::transforms
