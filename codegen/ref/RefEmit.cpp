//===- RefEmit.cpp - plain f32 lowering of kernels: the oracle ------------------------------------------===//

#include "codegen/ref/RefEmit.h"

#include "codegen/ref/RefContext.h"

using namespace mlir;

namespace ingot::ref {

/// Parts share the rows; each row runs the body from top to bottom.
static LogicalResult emitRows(RefContext &context) {
  KernelBuilder &k = context.k;
  auto [begin, end] = k.share(context.rowCount());
  LogicalResult result = success();
  k.forLoop(begin, end, 1, [&](Value row) {
    for (Operation &op : context.kernel.getGrid().getBody().front())
      if (failed(emitRowOp(context, op, row))) {
        result = failure();
        return;
      }
  });
  return result;
}

LogicalResult emitKernel(tile::KernelOp kernel, ModuleOp into, const target::Target &target,
                         int64_t positions, cpu::KernelFacts &facts) {
  if (tile::KvAttr kv = kernel.getKv(); kv && kv.getDtype() == "int8")
    return kernel.emitOpError("has no plain lowering: the reference keeps K and V as floats");
  KernelBuilder builder(into, kernel.getSymName(), target);
  RefContext context(kernel, builder, positions);
  LogicalResult result = failure();
  switch (kernel.getFamily()) {
  case tile::Family::Linear:
    result = emitLinear(context);
    break;
  case tile::Family::Attention:
    result = emitAttention(context);
    break;
  default:
    result = emitRows(context);
    break;
  }
  builder.finish();
  facts = {};
  facts.scratchBytes = context.scratchBytes;
  return result;
}

} // namespace ingot::ref
