//===- Support.cpp - small helpers shared by the compiler's folders --------------------------------===//
#include "compiler/support/Support.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
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

static llvm::Error cannotWrite(llvm::StringRef path, std::error_code code) {
  return llvm::createStringError(code, "cannot write " + path + ": " + code.message());
}

llvm::Error writeFileAtomically(llvm::StringRef path, llvm::StringRef bytes) {
  // LLVM's own helper keeps the file when a write has failed.
  int fd;
  llvm::SmallString<256> temporary;
  if (std::error_code code = llvm::sys::fs::createUniqueFile(path + ".%%%%%%%%.part", fd, temporary,
                                                             llvm::sys::fs::OF_None, 0666))
    return cannotWrite(path, code);
  llvm::FileRemover remover(temporary);
  llvm::raw_fd_ostream stream(fd, /*shouldClose=*/true);
  stream << bytes;
  stream.close();
  std::error_code code = stream.error();
  // An error that nobody looked at ends the process in the stream's destructor.
  stream.clear_error();
  if (!code)
    code = llvm::sys::fs::rename(temporary, path);
  if (code)
    return cannotWrite(path, code);
  remover.releaseFile();
  return llvm::Error::success();
}

} // namespace ingot::support
