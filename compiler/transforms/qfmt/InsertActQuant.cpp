//===- InsertActQuant.cpp - quantize the inputs of integer dot products ----------------------------===//
//
// One llm.quantize per value, before its first consumer: q, k, v and gate, up share the rows that a norm
// wrote.
//
//===----------------------------------------------------------------------------------------------------===//
#include "compiler/transforms/qfmt/Passes.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace ingot::llm;

namespace ingot::transforms {
#define GEN_PASS_DEF_QFMTINSERTACTQUANTPASS
#include "compiler/transforms/qfmt/Passes.h.inc"

namespace {

struct QfmtInsertActQuantPass : impl::QfmtInsertActQuantPassBase<QfmtInsertActQuantPass> {
  using QfmtInsertActQuantPassBase::QfmtInsertActQuantPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::optional<Numerics> mode = symbolizeNumerics(numerics);
    if (!mode) {
      module.emitError("numerics must be exact or fast, got '") << numerics.getValue() << "'";
      return signalPassFailure();
    }
    if (*mode != Numerics::Exact)
      for (ConfigOp config : module.getOps<ConfigOp>())
        config.setNumericsAttr(NumericsAttr::get(&getContext(), *mode));
    SymbolTable symbols(module);
    for (StepOp step : module.getOps<StepOp>()) {
      // Only looked up, never iterated.
      llvm::DenseMap<Value, QuantizeOp> done;
      for (Operation &op : step.bodyBlock()) {
        FlatSymbolRefAttr weight;
        OpOperand *x = nullptr;
        if (auto linear = dyn_cast<LinearOp>(op)) {
          weight = linear.getWAttr();
          x = &linear.getXMutable();
        } else if (auto logits = dyn_cast<LogitsOp>(op)) {
          weight = logits.getHeadAttr();
          x = &logits.getXMutable();
        } else if (auto quantize = dyn_cast<QuantizeOp>(op)) {
          // Already there: a second run adds nothing.
          if (quantize.getAct() == qfmt::ActAttr::get(&getContext(), int64_t(0)))
            done.try_emplace(quantize.getX(), quantize);
          continue;
        }
        if (!x || isa<ActType>(x->get().getType()) ||
            symbols.lookup<ParamOp>(weight.getAttr()).packedType().isFloat())
          continue;
        QuantizeOp &quantize = done[x->get()];
        if (!quantize) {
          OpBuilder builder(&op);
          Value value = x->get();
          quantize = QuantizeOp::create(builder, value.getLoc(), value,
                                        qfmt::ActAttr::get(&getContext(), int64_t(0)));
          ++numQuantize;
        }
        x->set(quantize.getResult());
      }
    }
  }
};

} // namespace
} // namespace ingot::transforms
