//===- PlanKv.cpp - decide the KV cache ------------------------------------------------------------===//
#include "compiler/transforms/llm/Passes.h"

using namespace mlir;
using namespace ingot::llm;

namespace ingot::transforms {
#define GEN_PASS_DEF_LLMPLANKVPASS
#include "compiler/transforms/llm/Passes.h.inc"

namespace {

// Tokens per page in runtime/abi: kernels address a page by position / 16 and position % 16.
constexpr int64_t kAbiPage = 16;

struct LlmPlanKvPass : impl::LlmPlanKvPassBase<LlmPlanKvPass> {
  using LlmPlanKvPassBase::LlmPlanKvPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    ConfigOp config = findConfig(module);
    if (!config) {
      module.emitError("llm-plan-kv needs an llm.config");
      return signalPassFailure();
    }
    std::optional<KvDtype> dtype = symbolizeKvDtype(kvDtype);
    if (!dtype) {
      config.emitError("kv-dtype must be f32, f16, bf16 or int8, got '") << kvDtype.getValue() << "'";
      return signalPassFailure();
    }
    if (page != kAbiPage) {
      config.emitError("page must be ") << kAbiPage << ", got " << page.getValue();
      return signalPassFailure();
    }
    if (context < 0 || context > config.getMaxContext()) {
      config.emitError("context must lie in 1..")
          << config.getMaxContext() << ", what the model supports; got " << context.getValue();
      return signalPassFailure();
    }
    if (maxSeqs < 0) {
      config.emitError("max-seqs must be positive, got ") << maxSeqs.getValue();
      return signalPassFailure();
    }
    Builder builder(&getContext());
    config.setKvDtypeAttr(KvDtypeAttr::get(&getContext(), *dtype));
    config.setPageAttr(builder.getI64IntegerAttr(page));
    if (context != 0)
      config.setMaxContextAttr(builder.getI64IntegerAttr(context));
    if (maxSeqs != 0)
      config.setMaxSeqsAttr(builder.getI64IntegerAttr(maxSeqs));

    int64_t served = config.getMaxContext();
    for (StepOp step : module.getOps<StepOp>())
      for (Operation &op : step.bodyBlock()) {
        if (auto append = dyn_cast<KvAppendOp>(op)) {
          KvType type = append.getKv().getType();
          append.getKv().setType(KvType::get(&getContext(), type.getLayer(), type.getHeads(), type.getDim(),
                                             type.getVDim(), *dtype));
        } else if (auto attention = dyn_cast<AttentionOp>(op)) {
          MaskAttr mask = attention.getMask();
          if (mask.getWindow() >= served) {
            attention.setMaskAttr(MaskAttr::get(&getContext(), mask.getKind(), 0));
            ++numWindows;
          }
        }
      }
  }
};

} // namespace
} // namespace ingot::transforms
