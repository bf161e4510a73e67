//===- PassOrder.h - the one place where pass order is written ------------------------------------------===//
#ifndef INGOT_COMPILER_PIPELINE_PASSORDER_H
#define INGOT_COMPILER_PIPELINE_PASSORDER_H

#include "compiler/pipeline/CompileOptions.h"
#include "compiler/support/KernelRegistry.h"

#include "mlir/Pass/PassManager.h"

namespace ingot::pipeline {

/// Adds the passes of `phase` (Model .. Program) for one variant; up to Shape the variants share everything.
/// The registry must outlive the manager.
void addPhase(mlir::OpPassManager &manager, Phase phase, const CompileOptions &options,
              const KernelRegistry &registry, const std::string &isa);

} // namespace ingot::pipeline

#endif // INGOT_COMPILER_PIPELINE_PASSORDER_H
