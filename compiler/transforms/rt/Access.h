//===- Access.h - which memory a launch touches ----------------------------------------------------===//
#ifndef INGOT_COMPILER_TRANSFORMS_RT_ACCESS_H
#define INGOT_COMPILER_TRANSFORMS_RT_ACCESS_H

#include "dialects/rt/Rt.h"

namespace ingot::rt {

/// A launch at its place in a program. `order` counts launches of the program.
struct Place {
  LaunchOp launch;
  int64_t stage = 0, order = 0;
};

/// The launches of a program in order.
llvm::SmallVector<Place> placesOf(ProgramOp program);

BufferOp bufferOf(mlir::Value slot);
bool isPrivate(mlir::Value slot);

/// Input slots and output slots of a launch.
llvm::SmallVector<mlir::Value> reads(LaunchOp launch);
llvm::SmallVector<mlir::Value> writes(LaunchOp launch);

/// Whether two buffers share bytes: the same buffer, or overlapping ranges of one space once both are
/// planned.
bool overlap(mlir::Value a, mlir::Value b);

/// Whether a barrier must separate the two launches: they share bytes of the arena or a KV layer, and one
/// writes.
bool needBarrier(LaunchOp first, LaunchOp second);

/// Whether they share private bytes and one writes, so that their order on a worker matters.
bool needOrder(LaunchOp first, LaunchOp second);

} // namespace ingot::rt

#endif
