//===- ParamPlans.h - the weight section as the packer needs it -----------------------------------------===//
#ifndef INGOT_COMPILER_PIPELINE_PARAMPLANS_H
#define INGOT_COMPILER_PIPELINE_PARAMPLANS_H

#include "codegen/package/PackWriter.h"

#include "mlir/IR/BuiltinOps.h"

namespace ingot::pipeline {

/// Reads `rt.weight` and `llm.param` of a module after the program phase; ascending offsets.
std::vector<package::ParamPlan> collectParamPlans(mlir::ModuleOp module);

} // namespace ingot::pipeline

#endif // INGOT_COMPILER_PIPELINE_PARAMPLANS_H
