//===- Tile.cpp - the tile dialect: registration, attributes, types --------------------------------===//
#include "dialects/tile/Tile.h"
#include "dialects/KvDtype.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "dialects/tile/TileDialect.cpp.inc"
#include "dialects/tile/TileEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/tile/TileAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/tile/TileTypes.cpp.inc"

namespace ingot::tile {

void TileDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/tile/TileAttrs.cpp.inc"
      >();
}

void TileDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/tile/TileTypes.cpp.inc"
      >();
}

void TileDialect::initialize() {
  registerAttributes();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "dialects/tile/TileOps.cpp.inc"
      >();
}

using Emit = function_ref<InFlightDiagnostic()>;

LogicalResult ScheduleAttr::verify(Emit emit, int64_t vector, int64_t panels, int64_t rows, int64_t unroll,
                                   int64_t prefetch, int64_t chunk, int64_t ops) {
  if (vector != 4 && vector != 16 && vector != 32 && vector != kMaxVectorBytes)
    return emit() << "vector must be 4, 16, 32 or " << kMaxVectorBytes << " bytes, not " << vector;
  if (panels < 1 || rows < 1 || unroll < 1 || panels > 64 || rows > 64 || unroll > 64)
    return emit() << "panels, rows and unroll must be 1 .. 64";
  if (prefetch < 0 || chunk < 0)
    return emit() << "prefetch and chunk must not be negative";
  if (ops < panels * rows * unroll || ops > kMaxUnrolledOps)
    return emit() << "ops must be between panels * rows * unroll = " << panels * rows * unroll << " and "
                  << kMaxUnrolledOps << ", not " << ops;
  return success();
}

LogicalResult KvAttr::verify(Emit emit, int64_t heads, int64_t dim, int64_t v_dim, StringRef dtype) {
  if (heads < 1 || dim < 1 || v_dim < 1)
    return emit() << "heads, dim and v_dim must be positive";
  if (!kvDtypeCode(dtype))
    return emit() << "dtype must be " << kKvDtypes << ", not '" << dtype << "'";
  return success();
}

static LogicalResult verifyWidth(Emit emit, int64_t width) {
  if (width < 1 || width > (int64_t(1) << 30))
    return emit() << "width must be 1 .. 2^30, not " << width;
  return success();
}

LogicalResult RowsType::verify(Emit emit, int64_t width) { return verifyWidth(emit, width); }
LogicalResult ActType::verify(Emit emit, int64_t width, qfmt::ActAttr act) {
  if (!act || !act.isQuantized())
    return emit() << "an act slot is quantized; use !tile.rows for f32";
  return verifyWidth(emit, width);
}
LogicalResult FragType::verify(Emit emit, int64_t width, qfmt::ActAttr) { return verifyWidth(emit, width); }
LogicalResult PartialsType::verify(Emit emit, int64_t heads, int64_t dim, int64_t segments) {
  if (heads < 1 || dim < 1 || segments < 1)
    return emit() << "heads, dim and segments must be positive";
  return success();
}

std::optional<int64_t> slotBytes(Type slot, int64_t rows) {
  int64_t bytes = 0;
  if (auto t = dyn_cast<RowsType>(slot)) {
    if (__builtin_mul_overflow(t.getStride() * 4, rows, &bytes))
      return std::nullopt;
    return bytes;
  }
  if (auto t = dyn_cast<ActType>(slot)) {
    int64_t block = t.getAct().getBlock();
    if (block < 1)
      return std::nullopt;
    std::optional<int64_t> one = qfmt::actBlockBytes(t.getWidth(), block);
    if (!one || __builtin_mul_overflow(*one, (rows + block - 1) / block, &bytes))
      return std::nullopt;
    return bytes;
  }
  auto t = cast<PartialsType>(slot);
  if (__builtin_mul_overflow(t.getEntry() * 4, t.getHeads(), &bytes) ||
      __builtin_mul_overflow(bytes, t.getSegments(), &bytes) || __builtin_mul_overflow(bytes, rows, &bytes))
    return std::nullopt;
  return bytes;
}

} // namespace ingot::tile
