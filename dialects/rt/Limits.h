//===- Limits.h - limits of the ABI that programs are checked against ------------------------------===//
//
// The same numbers as runtime/abi/ingot_abi.h; codegen/cpu/ModuleTables.cpp, which sees both, asserts it.
//
//===----------------------------------------------------------------------------------------------------===//
#ifndef INGOT_DIALECTS_RT_LIMITS_H
#define INGOT_DIALECTS_RT_LIMITS_H

#include <cstdint>

namespace ingot::rt {

inline constexpr int64_t kMaxSlots = 12;
inline constexpr int64_t kMaxWeights = 8;
inline constexpr int64_t kKvPage = 16;
/// Alignment of every slot and weight.
inline constexpr int64_t kAlign = 64;

} // namespace ingot::rt

#endif
