//===- Rt.cpp - the rt dialect: registration and verifiers -----------------------------------------===//
#include "dialects/rt/Rt.h"
#include "dialects/EnumWords.h"
#include "dialects/KvDtype.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "dialects/rt/RtDialect.cpp.inc"
#include "dialects/rt/RtEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/rt/RtAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/rt/RtTypes.cpp.inc"

static ParseResult parseSpaceWord(OpAsmParser &parser, ingot::rt::SpaceAttr &attr) {
  return ingot::parseWord(parser, attr, [](StringRef s) { return ingot::rt::symbolizeSpace(s); });
}
static void printSpaceWord(OpAsmPrinter &p, Operation *, ingot::rt::SpaceAttr attr) {
  p << ingot::rt::stringifySpace(attr.getValue());
}
static ParseResult parseTapWord(OpAsmParser &parser, ingot::rt::TapKindAttr &attr) {
  return ingot::parseWord(parser, attr, [](StringRef s) { return ingot::rt::symbolizeTapKind(s); });
}
static void printTapWord(OpAsmPrinter &p, Operation *, ingot::rt::TapKindAttr attr) {
  p << ingot::rt::stringifyTapKind(attr.getValue());
}

#define GET_OP_CLASSES
#include "dialects/rt/RtOps.cpp.inc"

namespace ingot::rt {

void RtDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/rt/RtAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/rt/RtTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/rt/RtOps.cpp.inc"
      >();
}

LogicalResult KvLayerOp::verify() {
  if (!kvDtypeCode(getDtype()))
    return emitOpError() << "dtype must be " << kKvDtypes << ", not '" << getDtype() << "'";
  if (getHeads() < 1 || getDim() < 1 || getVDim() < 1 || getWindow() < 0)
    return emitOpError() << "heads, dim and v_dim must be positive, window not negative";
  int64_t bytes = kvPageBytes(getDtype(), getHeads(), getDim(), getVDim());
  if (getPageBytes() != bytes)
    return emitOpError() << "page_bytes must be " << bytes << ": 16 tokens of K and V of " << getHeads()
                         << " heads in " << getDtype();
  return success();
}

LogicalResult BufferOp::verify() {
  if (getBytes() < 1)
    return emitOpError() << "bytes must be positive";
  if (getOffset() < -1 || (getOffset() >= 0 && getOffset() % 64))
    return emitOpError() << "offset must be -1 or a multiple of 64, not " << getOffset();
  return success();
}

LogicalResult LaunchOp::verify() {
  if (getOuts() < 0 || getOuts() > int64_t(getSlots().size()))
    return emitOpError() << "outs = " << getOuts() << " but there are " << getSlots().size() << " slots";
  if (getLayer() < 0 || getKvLayer() < -1)
    return emitOpError() << "layer must not be negative, kv_layer -1 or an index";
  if (getKvWrite() && getKvLayer() < 0)
    return emitOpError() << "writes KV but names no kv_layer";
  return success();
}

LogicalResult ProgramOp::verify() {
  if (getMinRows() < 1 || getMaxRows() < getMinRows() || getAllocRows() < getMaxRows())
    return emitOpError() << "needs 1 <= min_rows <= max_rows <= alloc_rows";
  if (getMaxOut() < 1 || getMaxOut() > getMaxRows())
    return emitOpError() << "needs 1 <= max_out <= max_rows";
  int64_t next = 0;
  bool logits = false;
  for (Operation &op : getBody().front()) {
    if (auto stage = dyn_cast<StageOp>(op)) {
      if (stage.getIndex() != next++)
        return stage.emitOpError() << "stages must be numbered 0, 1, ...; expected " << next - 1;
      for (Operation &inner : stage.getBody().front())
        if (!isa<LaunchOp, TapOp>(inner))
          return inner.emitOpError() << "does not belong into a stage";
    } else if (isa<LogitsOp>(op)) {
      if (logits)
        return op.emitOpError() << "second rt.logits of one program";
      logits = true;
    } else if (!isa<BufferOp>(op)) {
      return op.emitOpError() << "does not belong into a program";
    }
  }
  if (!logits)
    return emitOpError() << "has no rt.logits";
  return success();
}

SmallVector<StageOp> stagesOf(ProgramOp program) {
  auto range = program.block().getOps<StageOp>();
  return SmallVector<StageOp>(range.begin(), range.end());
}

LogitsOp ProgramOp::logits() { return *block().getOps<LogitsOp>().begin(); }

} // namespace ingot::rt
