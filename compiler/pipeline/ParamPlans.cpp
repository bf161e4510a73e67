//===- ParamPlans.cpp - the weight section as the packer needs it ---------------------------------------===//

#include "compiler/pipeline/ParamPlans.h"

#include "dialects/llm/Llm.h"
#include "dialects/rt/Rt.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace ingot::pipeline {

std::vector<package::ParamPlan> collectParamPlans(ModuleOp module) {
  std::vector<package::ParamPlan> plans;
  for (auto weight : module.getOps<rt::WeightOp>()) {
    auto param = module.lookupSymbol<llm::ParamOp>(weight.getParam());
    qfmt::PackedType type = param.packedType();
    package::ParamPlan plan;
    plan.name = param.getSymName().str();
    plan.sourceScheme = param.sourceScheme();
    plan.scheme = type.getScheme();
    plan.layout = type.getLayout();
    plan.rows = type.getRows();
    plan.cols = type.getCols();
    plan.offset = weight.getOffset();
    plan.bytes = weight.getBytes();
    plan.offsetAdd = param.getOffsetAdd().convertToFloat();
    if (param.getRecipe() == llm::Recipe::Interleave16)
      plan.recipe = package::Recipe::Interleave16;
    for (auto [i, source] : llvm::enumerate(param.sourceList())) {
      package::ParamPart part;
      part.file = source.getFile();
      part.offset = source.getOffset();
      part.rows = param.getSourceRows()[i];
      part.tensor = i < param.getTensors().size() ? cast<StringAttr>(param.getTensors()[i]).getValue().str()
                                                  : plan.name;
      plan.parts.push_back(std::move(part));
    }
    plans.push_back(std::move(plan));
  }
  llvm::sort(plans, [](const auto &a, const auto &b) { return a.offset < b.offset; });
  return plans;
}

} // namespace ingot::pipeline
