//===- InitAllDialects.h - every dialect of Ingot -------------------------------------------------------===//
#ifndef INGOT_DIALECTS_INITALLDIALECTS_H
#define INGOT_DIALECTS_INITALLDIALECTS_H

#include "dialects/llm/Llm.h"
#include "dialects/qfmt/Qfmt.h"
#include "dialects/rt/Rt.h"
#include "dialects/tile/Tile.h"

#include "mlir/IR/DialectRegistry.h"

namespace ingot {

/// Registers the dialects that are Ingot's own.
inline void registerAllIngotDialects(mlir::DialectRegistry &registry) {
  registry.insert<qfmt::QfmtDialect, llm::LlmDialect, tile::TileDialect, rt::RtDialect>();
}

} // namespace ingot

#endif
