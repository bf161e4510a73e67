//===- Support.cpp - small helpers shared by the compiler's folders --------------------------------===//
#include "compiler/support/Support.h"

#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

namespace ingot::support {

std::optional<uint64_t> checkedAdd(uint64_t a, uint64_t b) {
  uint64_t r;
  return __builtin_add_overflow(a, b, &r) ? std::nullopt : std::optional<uint64_t>(r);
}

std::optional<uint64_t> checkedMul(uint64_t a, uint64_t b) {
  uint64_t r;
  return __builtin_mul_overflow(a, b, &r) ? std::nullopt : std::optional<uint64_t>(r);
}

std::optional<uint64_t> checkedRoundUp(uint64_t a, uint64_t unit) {
  if (unit == 0)
    return std::nullopt;
  std::optional<uint64_t> sum = checkedAdd(a, unit - 1);
  return sum ? std::optional<uint64_t>(*sum / unit * unit) : std::nullopt;
}

std::string shortHash(llvm::StringRef bytes) {
  uint64_t h = UINT64_C(14695981039346656037);
  for (unsigned char c : bytes)
    h = (h ^ c) * UINT64_C(1099511628211);
  std::string out;
  llvm::raw_string_ostream(out) << llvm::format_hex_no_prefix(static_cast<uint32_t>(h ^ (h >> 32)), 8);
  return out;
}

llvm::Error writeFileAtomically(llvm::StringRef path, llvm::StringRef bytes) {
  return llvm::writeToOutput(path, [&](llvm::raw_ostream &os) {
    os << bytes;
    return llvm::Error::success();
  });
}

} // namespace ingot::support
