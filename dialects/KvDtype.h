//===- KvDtype.h - element types of a KV cache, by their words in the IR ----------------------------===//
//
// The one list that tile and rt verify against, and the bytes of a page. Codes and sizes are those of
// runtime/abi, which dialects do not include; codegen/cpu/ModuleTables.cpp asserts that they agree.
//
//===----------------------------------------------------------------------------------------------------===//
#ifndef INGOT_DIALECTS_KVDTYPE_H
#define INGOT_DIALECTS_KVDTYPE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSwitch.h"

#include <cstdint>
#include <optional>

namespace ingot {

inline constexpr const char *kKvDtypes = "f32, f16, bf16 or int8";
enum KvDtypeCode : uint32_t { KvF32, KvF16, KvBf16, KvInt8 };

/// None for another word.
inline std::optional<KvDtypeCode> kvDtypeCode(llvm::StringRef word) {
  return llvm::StringSwitch<std::optional<KvDtypeCode>>(word)
      .Case("f32", KvF32)
      .Case("f16", KvF16)
      .Case("bf16", KvBf16)
      .Case("int8", KvInt8)
      .Default(std::nullopt);
}

/// Bytes of one head's K and V of the 16 tokens of a page; int8: with two f32 scales per token, rounded up to
/// 64.
constexpr int64_t kvHeadBytes(KvDtypeCode dtype, int64_t dim, int64_t vDim) {
  return dtype == KvInt8 ? (16 * (dim + vDim + 8) + 63) / 64 * 64
                         : 16 * (dim + vDim) * (dtype == KvF32 ? 4 : 2);
}

/// Bytes of a page of one layer; `dtype` is one of the words.
inline int64_t kvPageBytes(llvm::StringRef dtype, int64_t heads, int64_t dim, int64_t vDim) {
  return heads * kvHeadBytes(*kvDtypeCode(dtype), dim, vDim);
}

} // namespace ingot

#endif // INGOT_DIALECTS_KVDTYPE_H
