//===- KvDtype.h - element types of a KV cache, by their words in the IR ----------------------------===//
//
// The one list that tile and rt verify against; sizes are those of runtime/abi.
//
//===----------------------------------------------------------------------------------------------------===//
#ifndef INGOT_DIALECTS_KVDTYPE_H
#define INGOT_DIALECTS_KVDTYPE_H

#include "runtime/abi/ingot_abi.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSwitch.h"

#include <optional>

namespace ingot {

inline constexpr const char *kKvDtypes = "f32, f16, bf16 or int8";

/// INGOT_KV_*; none for another word.
inline std::optional<uint32_t> kvDtypeCode(llvm::StringRef word) {
  return llvm::StringSwitch<std::optional<uint32_t>>(word)
      .Case("f32", INGOT_KV_F32)
      .Case("f16", INGOT_KV_F16)
      .Case("bf16", INGOT_KV_BF16)
      .Case("int8", INGOT_KV_INT8)
      .Default(std::nullopt);
}

/// Bytes of a page of one layer; `dtype` is one of the words.
inline int64_t kvPageBytes(llvm::StringRef dtype, int64_t heads, int64_t dim, int64_t vDim) {
  return heads * int64_t(ingot_kv_head_bytes(*kvDtypeCode(dtype), uint64_t(dim), uint64_t(vDim)));
}

} // namespace ingot

#endif // INGOT_DIALECTS_KVDTYPE_H
