//===- Lanes.h - loads and stores of up to 16 elements --------------------------------------------------===//
//
// Virtual vectors of 16 f32 at memory that ends anywhere: a tail of n < 16 elements is read or written as
// pieces of 8, 4, 2 and 1, so nothing beyond it is touched and no target needs masked 16-bit accesses. Lanes
// without an element are zero.
//
//===----------------------------------------------------------------------------------------------------===//
#ifndef INGOT_CODEGEN_CPU_LANES_H
#define INGOT_CODEGEN_CPU_LANES_H

#include "codegen/cpu/KernelBuilder.h"

namespace ingot::cpu {

/// `count` (1 .. 16) stored f32, f16 or bf16 elements, or int8 codes, as 16 f32.
Value loadLanes(KernelBuilder &k, Type stored, Value ptr, int64_t byteOffset, int64_t count = 16);
Value loadLanes(KernelBuilder &k, Type stored, Value ptr, Value byteOffset, int64_t count = 16);

/// Rounds to `stored` (nearest even) and writes the first `count` lanes.
void storeLanes(KernelBuilder &k, Type stored, Value v, Value ptr, int64_t byteOffset, int64_t count = 16);
void storeLanes(KernelBuilder &k, Type stored, Value v, Value ptr, Value byteOffset, int64_t count = 16);

/// Writes the first `count` lanes of 16 stored elements, or int8 codes.
void storePieces(KernelBuilder &k, Value v, Value ptr, int64_t byteOffset, int64_t count);

/// Zeros in lanes count .. 15.
Value keepLanes(KernelBuilder &k, Value v, int64_t count);

/// Calls f(first, count) for the vectors of a row of `width` elements whose length is known now: a loop over
/// whole vectors when there are more than `unroll`, else straight code. `first` is an i64 value (element
/// index).
void forVectors(KernelBuilder &k, int64_t width, int64_t unroll, llvm::function_ref<void(Value, int64_t)> f);

} // namespace ingot::cpu

#endif
