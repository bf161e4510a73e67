//===- IntDot.h - exact int32 dot products of unsigned codes and signed activations ---------------===//
//
// Accumulates, per row, codes (4 columns a lane) times activations (4 columns, broadcast). Kinds:
//   Vnni     vpdpbusd.
//   Maddubs  vpmaddubsw adds pairs in 16 bits: |sum| of one step is at most 2 * 127 * max code, so 8 steps of
//   4-bit
//            codes, 4 of 5-bit and 2 of 6-bit fit in 32767 before vpmaddwd widens. 8-bit codes never fit:
//            they arrive as q + 128, are turned back, and the sign of q moves to the activation (|q| <= 128,
//            exact for activations in -127 .. 127).
//
//===----------------------------------------------------------------------------------------------------===//
#ifndef INGOT_CODEGEN_CPU_INTDOT_H
#define INGOT_CODEGEN_CPU_INTDOT_H

#include "codegen/cpu/Linear.h"

namespace ingot::cpu {

class IntDot {
public:
  /// `start` has one vector<lanes x i32> a row, or is empty for zeros. `steps` calls of step() follow.
  IntDot(KernelBuilder &k, const LinearSchedule &schedule, int bits, int64_t rows, int64_t steps,
         llvm::ArrayRef<Value> start);

  /// codes: vector<4*lanes x i8>; activations of row r: i32 at `act` + 4 * r.
  void step(Value codes, Value act);

  /// The sums: vector<lanes x i32> each.
  llvm::SmallVector<Value, 12> finish();

  /// Whether 8-bit codes count as q (their offset of 128 is already taken back).
  static bool takesOffset(const LinearSchedule &schedule, int bits) {
    return schedule.dot == DotKind::Maddubs && bits == 8;
  }

private:
  void widen();

  KernelBuilder &k;
  const LinearSchedule &schedule;
  int bits;
  int64_t rows, steps, done = 0, pendingSteps = 0, stepsPerWiden, chains;
  llvm::SmallVector<Value, 24> sums; ///< `chains` per row
  llvm::SmallVector<Value, 12> pending;
  mlir::VectorType bytes, words, ints;
};

} // namespace ingot::cpu

#endif
