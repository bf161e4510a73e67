//===- VerifyModel.cpp - check what no single operation can check ----------------------------------===//
//
// Runs right after import, on a module whose operations have passed their own verifiers.
//
//===----------------------------------------------------------------------------------------------------===//
#include "compiler/transforms/llm/ParamUses.h"
#include "compiler/transforms/llm/Passes.h"

#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace ingot::llm;

namespace ingot::transforms {
#define GEN_PASS_DEF_LLMVERIFYMODELPASS
#include "compiler/transforms/llm/Passes.h.inc"

namespace {

/// model_c2 to model_c4 for one step.
LogicalResult verifyStep(StepOp step, ConfigOp config) {
  if (widthOf(step.getBody().front().getTerminator()->getOperand(0)) != config.getVocab())
    return step.emitError("model_c2: the logits are not as wide as the vocabulary, ") << config.getVocab();
  int64_t nextLayer = 0;
  llvm::SmallSet<int64_t, 8> appended;
  for (Operation &op : step.bodyBlock()) {
    if (auto embed = dyn_cast<EmbedOp>(op)) {
      if (widthOf(embed.getResult()) != config.getHidden())
        return embed.emitError("model_c2: the embedding ")
               << embed.getTableAttr() << " is not as wide as the hidden state, " << config.getHidden();
    } else if (auto end = dyn_cast<LayerEndOp>(op)) {
      if (end.getLayer() != nextLayer || nextLayer >= config.getLayers())
        return end.emitError("model_c3: end of layer ") << end.getLayer() << " where layer " << nextLayer
                                                        << " of " << config.getLayers() << " is expected";
      ++nextLayer;
    } else if (auto append = dyn_cast<KvAppendOp>(op)) {
      int64_t layer = append.getKv().getType().getLayer();
      if (layer >= config.getLayers())
        return append.emitError("model_c4: the model has no layer ") << layer;
      if (!appended.insert(layer).second)
        return append.emitError("model_c4: the cache of layer ") << layer << " is appended to twice";
    } else if (auto attention = dyn_cast<AttentionOp>(op)) {
      if (!attention.getKv().getDefiningOp<KvAppendOp>())
        return attention.emitError("model_c4: the cache must come from llm.kv_append in the same step");
    }
  }
  if (nextLayer != config.getLayers())
    return step.emitError("model_c3: ")
           << config.getLayers() << " layers are stated, " << nextLayer << " end";
  return success();
}

/// model_c5 and model_c6.
LogicalResult verifyUses(ParamOp param, const ParamUses &uses) {
  ArrayRef<Operation *> users = uses.of(param);
  if (users.empty())
    return param.emitError("model_c5: parameter '") << param.getSymName() << "' is never used";
  for (size_t i = 1; i < users.size(); ++i) {
    Operation *a = users[i - 1], *b = users[i];
    if (a->getParentOp() != b->getParentOp())
      continue;
    bool tied = users.size() == 2 && isa<EmbedOp>(a) && isa<LogitsOp>(b);
    if (!tied) {
      InFlightDiagnostic diag = param.emitError("model_c6: parameter '")
                                << param.getSymName() << "' is used more than once in a step";
      diag.attachNote(b->getLoc()) << "used again here";
      return diag;
    }
  }
  return success();
}

struct LlmVerifyModelPass : impl::LlmVerifyModelPassBase<LlmVerifyModelPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    ModuleOp module = getOperation();
    ConfigOp config = findConfig(module);
    if (!config || module.getOps<StepOp>().empty()) {
      module.emitError("model_c1: a model needs one llm.config and at least one llm.step");
      return signalPassFailure();
    }
    for (StepOp step : module.getOps<StepOp>())
      if (failed(verifyStep(step, config)))
        return signalPassFailure();
    ParamUses uses(module);
    for (ParamOp param : module.getOps<ParamOp>())
      if (failed(verifyUses(param, uses)))
        return signalPassFailure();
  }
};

} // namespace
} // namespace ingot::transforms
