//===- Prototype.h - builds tile.kernel bodies -----------------------------------------------------===//
//
// One function per step of a body; all bodies of the compiler are made here, so that the reader in
// dialects/tile/Describe.cpp and this writer are the only two places that know their shape.
//
//===----------------------------------------------------------------------------------------------------===//
#ifndef INGOT_COMPILER_TRANSFORMS_TILE_PROTOTYPE_H
#define INGOT_COMPILER_TRANSFORMS_TILE_PROTOTYPE_H

#include "dialects/tile/Tile.h"

#include "mlir/IR/Builders.h"

namespace ingot::tile {

/// A kernel under construction. The builder stands inside the grid.
class Prototype {
public:
  /// `rows` is the M class, 0 for rows known at run time; `count` as in tile.grid (0 for unit rows).
  Prototype(mlir::OpBuilder &module, mlir::Location loc, llvm::StringRef name, Family family, GridUnit unit,
            int64_t count, int64_t rows, Domain domain, llvm::ArrayRef<mlir::Type> ins,
            llvm::ArrayRef<mlir::Type> outs, llvm::ArrayRef<mlir::Type> weights);

  KernelOp kernel;
  mlir::BlockArgument in(unsigned i) { return kernel.getInputs()[i]; }
  mlir::BlockArgument out(unsigned i) { return kernel.getOutputs()[i]; }
  mlir::BlockArgument weight(unsigned i) { return kernel.getWeights()[i]; }

  mlir::Value load(mlir::Value slot, int64_t offset, int64_t width, bool selected = false);
  void store(mlir::Value value, mlir::Value slot);
  /// Stores an f32 value to every output: quantized first where the output is act.
  void storeAll(mlir::Value value);

  mlir::OpBuilder b;
  mlir::Location loc;
};

FragType fragOf(mlir::MLIRContext *context, int64_t width);

} // namespace ingot::tile

#endif
