//===- Llm.h - the llm dialect: a transformer model over a ragged batch ----------------------------===//
#ifndef INGOT_DIALECTS_LLM_LLM_H
#define INGOT_DIALECTS_LLM_LLM_H

#include "dialects/qfmt/Qfmt.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace ingot::llm {

/// Token rows: tensor<?xDxf32> with D > 0.
bool isRowsType(mlir::Type type);
/// Token ids: tensor<?xi32>.
bool isIdsType(mlir::Type type);
/// tensor<?xWIDTHxf32>.
mlir::RankedTensorType rowsType(mlir::MLIRContext *context, int64_t width);
/// Columns of a value of rows or act type.
int64_t widthOf(mlir::Value value);

} // namespace ingot::llm

#include "dialects/llm/LlmDialect.h.inc"
#include "dialects/llm/LlmEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/llm/LlmAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/llm/LlmTypes.h.inc"

#include "dialects/llm/LlmInterfaces.h.inc"

#define GET_OP_CLASSES
#include "dialects/llm/LlmOps.h.inc"

namespace ingot::llm {
/// The parameter that `ref` names from inside `from`, or null.
ParamOp lookupParam(mlir::SymbolTableCollection &tables, mlir::Operation *from, mlir::FlatSymbolRefAttr ref);
/// The module's llm.config, or null.
ConfigOp findConfig(mlir::ModuleOp module);
} // namespace ingot::llm

#endif
