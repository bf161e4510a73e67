//===- Qfmt.h - the qfmt dialect: weight formats and packed layouts --------------------------------===//
#ifndef INGOT_DIALECTS_QFMT_QFMT_H
#define INGOT_DIALECTS_QFMT_QFMT_H

#include "dialects/qfmt/Geometry.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/DialectImplementation.h"

namespace mlir {
/// Bare keywords inside attributes and types: `q4_1`, `row`.
template <> struct FieldParser<ingot::qfmt::Scheme> {
  static FailureOr<ingot::qfmt::Scheme> parse(AsmParser &parser);
};
template <> struct FieldParser<ingot::qfmt::Layout> {
  static FailureOr<ingot::qfmt::Layout> parse(AsmParser &parser);
};
} // namespace mlir

namespace ingot::qfmt {
mlir::AsmPrinter &operator<<(mlir::AsmPrinter &p, Scheme scheme);
mlir::AsmPrinter &operator<<(mlir::AsmPrinter &p, Layout layout);
inline llvm::hash_code hash_value(Scheme s) { return llvm::hash_value(static_cast<uint32_t>(s)); }
inline llvm::hash_code hash_value(Layout l) { return llvm::hash_value(static_cast<uint32_t>(l)); }
inline llvm::hash_code hash_value(ActKind k) { return llvm::hash_value(static_cast<uint32_t>(k)); }
} // namespace ingot::qfmt

#include "dialects/qfmt/QfmtDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/qfmt/QfmtAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/qfmt/QfmtTypes.h.inc"

#endif
