//===- Rt.h - the rt dialect: the static program of one step ---------------------------------------===//
#ifndef INGOT_DIALECTS_RT_RT_H
#define INGOT_DIALECTS_RT_RT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/rt/RtDialect.h.inc"
#include "dialects/rt/RtEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/rt/RtAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/rt/RtTypes.h.inc"

#define GET_OP_CLASSES
#include "dialects/rt/RtOps.h.inc"

namespace ingot::rt {
/// The stages of a program, in order.
llvm::SmallVector<StageOp> stagesOf(ProgramOp program);
} // namespace ingot::rt

#endif
