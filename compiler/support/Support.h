//===- Support.h - small helpers shared by the compiler's folders ----------------------------------===//
//
// Includes nothing but LLVM's Support, so that every folder may use it.
//
//===----------------------------------------------------------------------------------------------------===//
#ifndef INGOT_COMPILER_SUPPORT_SUPPORT_H
#define INGOT_COMPILER_SUPPORT_SUPPORT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>
#include <string>

namespace ingot::support {

/// Checked arithmetic on sizes that come from files: none on overflow or, for `checkedRoundUp`, where `unit`
/// is 0.
std::optional<uint64_t> checkedAdd(uint64_t a, uint64_t b);
std::optional<uint64_t> checkedMul(uint64_t a, uint64_t b);
std::optional<uint64_t> checkedRoundUp(uint64_t a, uint64_t unit);

/// FNV-1a over `bytes`, as 8 hex digits folded from 64 bits: short, stable names of generated symbols. Not a
/// content hash.
std::string shortHash(llvm::StringRef bytes);

/// Writes `bytes` to `path` through a temporary file in the same folder and a rename, so that a failure
/// leaves nothing half-written.
llvm::Error writeFileAtomically(llvm::StringRef path, llvm::StringRef bytes);

} // namespace ingot::support

#endif
