//===- PackSink.h - where a pack is written to ----------------------------------------------------------===//
#ifndef INGOT_CODEGEN_PACKAGE_PACKSINK_H
#define INGOT_CODEGEN_PACKAGE_PACKSINK_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <memory>
#include <string>

namespace ingot::package {

/// Takes the bytes of a pack at offsets from the pack's first byte. Bytes never written read as zero.
class PackSink {
public:
  virtual ~PackSink() = default;
  /// Called once, before the first write, with the size of the pack.
  virtual llvm::Error begin(uint64_t packBytes) = 0;
  virtual llvm::Error write(uint64_t offset, llvm::ArrayRef<uint8_t> bytes) = 0;
};

/// Writes to a file that takes the name `path` in `commit`, so that nothing half-written is ever seen under
/// it. Until then the file has no name where the file system can do that, and the system removes it whatever
/// ends the process; elsewhere it is a temporary file beside `path` that the destructor removes.
class FileSink final : public PackSink {
public:
  static llvm::Expected<std::unique_ptr<FileSink>> create(llvm::StringRef path);
  ~FileSink() override;
  llvm::Error begin(uint64_t packBytes) override;
  llvm::Error write(uint64_t offset, llvm::ArrayRef<uint8_t> bytes) override;
  /// The pack begins at this byte of the file.
  void setBase(uint64_t bytes) { base = bytes; }
  /// Writes around the pack (offsets from the start of the file).
  llvm::Error writeAbsolute(uint64_t offset, llvm::ArrayRef<uint8_t> bytes);
  llvm::Error commit(bool executable);

private:
  FileSink(llvm::StringRef path, llvm::StringRef temporary, int fd)
      : path(path), temporary(temporary), fd(fd) {}
  std::string path, temporary; ///< `temporary` is empty while the file has no name
  uint64_t base = 0;
  int fd;
};

/// Anonymous memory on huge pages where the system gives them, for running a model without writing it.
class MemorySink final : public PackSink {
public:
  MemorySink() = default;
  MemorySink(const MemorySink &) = delete;
  ~MemorySink() override;
  llvm::Error begin(uint64_t packBytes) override;
  llvm::Error write(uint64_t offset, llvm::ArrayRef<uint8_t> bytes) override;
  const uint8_t *data() const { return memory; }
  uint64_t size() const { return bytes; }

private:
  uint8_t *memory = nullptr;
  void *mapping = nullptr;
  uint64_t bytes = 0, mappingBytes = 0;
};

} // namespace ingot::package

#endif // INGOT_CODEGEN_PACKAGE_PACKSINK_H
