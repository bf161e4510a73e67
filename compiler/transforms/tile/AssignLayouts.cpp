//===- AssignLayouts.cpp - one layout per param ----------------------------------------------------===//
#include "compiler/transforms/tile/Passes.h"
#include "dialects/llm/Llm.h"
#include "dialects/tile/Tile.h"

#include "mlir/IR/SymbolTable.h"

namespace ingot::transforms {
#define GEN_PASS_DEF_QFMTASSIGNLAYOUTSPASS
#include "compiler/transforms/tile/Passes.h.inc"
} // namespace ingot::transforms

using namespace mlir;

namespace ingot::tile {
namespace {

struct AssignLayouts : transforms::impl::QfmtAssignLayoutsPassBase<AssignLayouts> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    // First kernel that reads each param; only looked up, never iterated.
    llvm::DenseMap<Operation *, KernelOp> reader;
    bool failedAny = false;
    module.walk([&](LaunchOp launch) {
      auto kernel = symbols.lookup<KernelOp>(launch.getKernel());
      if (!kernel)
        return;
      for (auto [ref, arg] :
           llvm::zip(launch.getParams().getAsRange<FlatSymbolRefAttr>(), kernel.getWeights())) {
        auto param = symbols.lookup<llm::ParamOp>(ref.getValue());
        auto want = cast<qfmt::PackedType>(arg.getType());
        if (!param) {
          launch.emitOpError() << "no llm.param " << ref;
          failedAny = true;
          continue;
        }
        auto have = param.packedType();
        auto [it, first] = reader.try_emplace(param, kernel);
        if (first && have != want && have.withLayout(want.getLayout()) == want) {
          param.setType(want);
          ++numChanged;
        } else if (have != want) {
          InFlightDiagnostic diag = param.emitError() << "param " << ref << " cannot have one layout: ";
          if (have.withLayout(want.getLayout()) == want)
            diag << "kernel @" << it->second.getSymName() << " reads " << qfmt::layoutName(have.getLayout())
                 << ", kernel @" << kernel.getSymName() << " reads " << qfmt::layoutName(want.getLayout());
          else
            diag << "it is " << have << ", kernel @" << kernel.getSymName() << " reads " << want;
          failedAny = true;
        }
      }
    });
    if (failedAny)
      signalPassFailure();
  }
};

} // namespace
} // namespace ingot::tile
