//===- Tile.h - the tile dialect -------------------------------------------------------------------===//
//
// One kernel of the generated object: operands in ABI order, a body of coarse ops, a schedule. See TileOps.td
// for how each family looks and Describe.h for the same as plain structs.
//
//===----------------------------------------------------------------------------------------------------===//
#ifndef INGOT_DIALECTS_TILE_TILE_H
#define INGOT_DIALECTS_TILE_TILE_H

#include "dialects/qfmt/Qfmt.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/tile/TileEnums.h.inc"

#include "dialects/tile/TileDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/tile/TileAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/tile/TileTypes.h.inc"

#define GET_OP_CLASSES
#include "dialects/tile/TileOps.h.inc"

namespace ingot::tile {

/// Positions of one segment of attention: boundaries are absolute, so that they do not depend on the batch.
inline constexpr int64_t kSegment = 512;
/// Keys of one block inside a segment.
inline constexpr int64_t kKeyBlock = 64;
/// Caps of a schedule: what one kernel may unroll to.
inline constexpr int64_t kMaxVectorBytes = 64;
inline constexpr int64_t kMaxUnrolledOps = 8192;

/// Bytes of a slot type for `rows` rows (of whole blocks for act); none on overflow or where the act block is
/// still undecided.
std::optional<int64_t> slotBytes(mlir::Type slot, int64_t rows);

} // namespace ingot::tile

#endif
