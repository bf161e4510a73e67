//===- PassOrder.cpp - the one place where pass order is written ----------------------------------------===//

#include "compiler/pipeline/PassOrder.h"

#include "compiler/transforms/llm/Passes.h"
#include "compiler/transforms/qfmt/Passes.h"
#include "compiler/transforms/rt/Passes.h"
#include "compiler/transforms/tile/Passes.h"

using namespace ingot::transforms;

namespace ingot::pipeline {

void addPhase(mlir::OpPassManager &manager, Phase phase, const CompileOptions &options,
              const KernelRegistry &registry, const std::string &isa) {
  bool ref = isa == "ref";
  switch (phase) {
  case Phase::Import:
  case Phase::Target:
  case Phase::Package:
    break;
  case Phase::Model:
    manager.addPass(createLlmVerifyModelPass());
    manager.addPass(createLlmSimplifyPass());
    // The reference computes every op of the model by itself.
    if (!ref) {
      manager.addPass(createLlmFuseProjectionsPass());
      manager.addPass(createLlmFuseEpiloguesPass());
    }
    break;
  case Phase::Quant: {
    QfmtAssignSchemesPassOptions schemes;
    schemes.scheme = ref ? "f32" : "file";
    manager.addPass(createQfmtAssignSchemesPass(schemes));
    if (!ref) {
      QfmtInsertActQuantPassOptions activations;
      activations.numerics = options.numerics;
      manager.addPass(createQfmtInsertActQuantPass(activations));
    }
    break;
  }
  case Phase::Shape: {
    LlmPlanKvPassOptions plan;
    plan.kvDtype = ref ? "f32" : options.kvDtype;
    plan.context = options.context.value_or(0);
    plan.maxSeqs = options.maxSeqs;
    manager.addPass(createLlmPlanKvPass(plan));
    LlmSpecializeStepsPassOptions classes;
    for (int64_t rows : {1, 2, 4, 8})
      if (rows < options.chunk)
        classes.classes.push_back(rows);
    classes.classes.push_back(options.chunk);
    classes.gemmBlock = registry.gemmBlock(isa);
    manager.addPass(createLlmSpecializeStepsPass(classes));
    break;
  }
  case Phase::Kernel: {
    TileFormKernelsPassOptions form;
    RopeInLinear rope = registry.ropeInLinear(isa);
    form.ropeInLinear = rope.units;
    form.ropeApartReason = rope.reason;
    form.argmaxHead = registry.argmaxHead(isa);
    manager.addPass(createTileFormKernelsPass(form));
    if (!ref)
      manager.addPass(createTileAttentionPass());
    manager.addPass(createTileSelectPass(registry, isa, options.tune.get()));
    // Kernels were chosen: each param gets the one layout that they read.
    manager.addPass(createQfmtAssignLayoutsPass());
    manager.addPass(createTileDedupPass());
    break;
  }
  case Phase::Program:
    manager.addPass(createRtLowerPass());
    manager.addPass(createRtSchedulePass());
    manager.addPass(createRtPlanMemoryPass());
    manager.addPass(createRtVerifyAbiPass());
    break;
  }
}

} // namespace ingot::pipeline
