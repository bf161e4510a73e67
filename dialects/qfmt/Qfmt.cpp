//===- Qfmt.cpp - the qfmt dialect: parsing, printing, verification --------------------------------===//
#include "dialects/qfmt/Qfmt.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

FailureOr<ingot::qfmt::Scheme> FieldParser<ingot::qfmt::Scheme>::parse(AsmParser &parser) {
  StringRef word;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return failure();
  if (std::optional<ingot::qfmt::Scheme> scheme = ingot::qfmt::parseScheme(word))
    return *scheme;
  return parser.emitError(loc, "unknown weight scheme '") << word << "'", failure();
}

FailureOr<ingot::qfmt::Layout> FieldParser<ingot::qfmt::Layout>::parse(AsmParser &parser) {
  StringRef word;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return failure();
  if (std::optional<ingot::qfmt::Layout> layout = ingot::qfmt::parseLayout(word))
    return *layout;
  return parser.emitError(loc, "unknown packed layout '") << word << "'", failure();
}

#include "dialects/qfmt/QfmtDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/qfmt/QfmtAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/qfmt/QfmtTypes.cpp.inc"

namespace ingot::qfmt {

AsmPrinter &operator<<(AsmPrinter &p, Scheme scheme) {
  p << schemeName(scheme);
  return p;
}
AsmPrinter &operator<<(AsmPrinter &p, Layout layout) {
  p << layoutName(layout);
  return p;
}

void QfmtDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/qfmt/QfmtAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/qfmt/QfmtTypes.cpp.inc"
      >();
}

//===-- #qfmt.act --------------------------------------------------------------------------------------===//

Attribute ActAttr::parse(AsmParser &parser, Type) {
  StringRef word;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseKeyword(&word))
    return {};
  int64_t group = 0, block = 0;
  ActKind kind = ActKind::F32;
  if (word == "i8") {
    kind = ActKind::I8;
    if (parser.parseComma() || parser.parseKeyword("group") || parser.parseEqual() ||
        parser.parseInteger(group) || parser.parseComma() || parser.parseKeyword("block") ||
        parser.parseEqual() || parser.parseInteger(block))
      return {};
  } else if (word != "f32") {
    parser.emitError(loc, "activation kind must be f32 or i8, found '") << word << "'";
    return {};
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<ActAttr>(loc, parser.getContext(), kind, group, block);
}

void ActAttr::print(AsmPrinter &p) const {
  if (!isQuantized()) {
    p << "<f32>";
    return;
  }
  p << "<i8, group = " << getGroup() << ", block = " << getBlock() << ">";
}

LogicalResult ActAttr::verify(function_ref<InFlightDiagnostic()> emitError, ActKind kind, int64_t group,
                              int64_t block) {
  if (kind == ActKind::F32) {
    if (group != 0 || block != 0)
      return emitError() << "act_c1: f32 activations have no group and no block";
    return success();
  }
  if (group != 32)
    return emitError() << "act_c2: group must be 32, got " << group;
  if (block < 0 || block > 64)
    return emitError() << "act_c3: block must lie in 0..64 (0 = undecided), got " << block;
  return success();
}

//===-- !qfmt.packed -----------------------------------------------------------------------------------===//

Type PackedType::parse(AsmParser &parser) {
  SmallVector<int64_t> dims;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() ||
      parser.parseDimensionList(dims, /*allowDynamic=*/false, /*withTrailingX=*/false) || parser.parseComma())
    return {};
  if (dims.size() != 2) {
    parser.emitError(loc, "a packed type has two dimensions, rows x columns");
    return {};
  }
  FailureOr<Scheme> scheme = FieldParser<Scheme>::parse(parser);
  if (failed(scheme) || parser.parseComma())
    return {};
  FailureOr<Layout> layout = FieldParser<Layout>::parse(parser);
  if (failed(layout) || parser.parseGreater())
    return {};
  return parser.getChecked<PackedType>(loc, parser.getContext(), dims[0], dims[1], *scheme, *layout);
}

void PackedType::print(AsmPrinter &p) const {
  p << "<" << getRows() << "x" << getCols() << ", " << getScheme() << ", " << getLayout() << ">";
}

LogicalResult PackedType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t rows, int64_t cols,
                                 Scheme scheme, Layout layout) {
  if (rows <= 0 || cols <= 0)
    return emitError() << "packed_c1: sizes must be positive, got " << rows << "x" << cols;
  if (cols % ingot::qfmt::geometry(scheme).blockElems != 0)
    return emitError() << "packed_c2: " << cols << " columns are no multiple of the block of "
                       << schemeName(scheme) << " (" << ingot::qfmt::geometry(scheme).blockElems << ")";
  if (!ingot::qfmt::packedBytes(scheme, layout, rows, cols))
    return emitError() << "packed_c3: the byte size of " << rows << "x" << cols << " overflows";
  return success();
}

int64_t PackedType::packedBytes() const {
  std::optional<int64_t> bytes = ingot::qfmt::packedBytes(getScheme(), getLayout(), getRows(), getCols());
  assert(bytes && "the verifier has checked the size");
  return *bytes;
}

} // namespace ingot::qfmt
