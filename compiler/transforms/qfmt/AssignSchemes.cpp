//===- AssignSchemes.cpp - decide the scheme that each parameter has in the pack -------------------===//
#include "compiler/transforms/qfmt/Passes.h"

using namespace mlir;
using namespace ingot::llm;

namespace ingot::transforms {
#define GEN_PASS_DEF_QFMTASSIGNSCHEMESPASS
#include "compiler/transforms/qfmt/Passes.h.inc"

namespace {

struct QfmtAssignSchemesPass : impl::QfmtAssignSchemesPassBase<QfmtAssignSchemesPass> {
  using QfmtAssignSchemesPassBase::QfmtAssignSchemesPassBase;

  void runOnOperation() override {
    if (scheme != "file" && scheme != "f32") {
      getOperation().emitError("scheme must be file or f32, got '") << scheme.getValue() << "'";
      return signalPassFailure();
    }
    for (ParamOp param : getOperation().getOps<ParamOp>()) {
      qfmt::PackedType type = param.packedType();
      bool asFile = scheme == "file" && !type.isVector();
      qfmt::Scheme wanted = asFile ? param.sourceScheme() : qfmt::Scheme::F32;
      if (wanted == type.getScheme())
        continue;
      // A wider scheme can need more bytes than fit 64 bits.
      qfmt::PackedType changed =
          qfmt::PackedType::getChecked([&] { return param.emitError(); }, &getContext(), type.getRows(),
                                       type.getCols(), wanted, type.getLayout());
      if (!changed)
        return signalPassFailure();
      param.setTypeAttr(TypeAttr::get(changed));
      ++numChanged;
    }
  }
};

} // namespace
} // namespace ingot::transforms
