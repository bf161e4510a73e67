#include "compiler/import/FileView.h"
#include "compiler/import/Fault.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

namespace ingot::import_ {

std::string printable(llvm::StringRef text, size_t limit) {
  std::string out;
  for (unsigned char c : text.take_front(limit)) {
    if (c >= 0x20 && c < 0x7f) {
      out += static_cast<char>(c);
    } else {
      out += "\\x";
      out += llvm::hexdigit(c >> 4, /*LowerCase=*/true);
      out += llvm::hexdigit(c & 15, /*LowerCase=*/true);
    }
  }
  if (text.size() > limit)
    out += "...";
  return out;
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> viewFile(llvm::StringRef path, uint64_t maxBytes) {
  llvm::sys::fs::file_status status;
  if (std::error_code ec = llvm::sys::fs::status(path, status))
    return fault(path, "cannot open: " + ec.message());
  if (status.type() != llvm::sys::fs::file_type::regular_file)
    return fault(path, "not a regular file");
  if (status.getSize() > maxBytes)
    return fault(path, "file of " + llvm::Twine(status.getSize()) + " bytes exceeds the limit of " +
                           llvm::Twine(maxBytes));
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return fault(path, "cannot read: " + buffer.getError().message());
  return std::move(*buffer);
}

} // namespace ingot::import_
