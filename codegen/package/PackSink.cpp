//===- PackSink.cpp - where a pack is written to --------------------------------------------------------===//

#include "codegen/package/PackSink.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;

namespace ingot::package {

static Error systemError(const Twine &what) {
  return createStringError(std::error_code(errno, std::generic_category()),
                           what + ": " + std::strerror(errno));
}

static Error writeAll(int fd, uint64_t offset, ArrayRef<uint8_t> bytes, const std::string &path) {
  while (!bytes.empty()) {
    ssize_t n = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return systemError("cannot write " + path);
    bytes = bytes.drop_front(n);
    offset += n;
  }
  return Error::success();
}

Expected<std::unique_ptr<FileSink>> FileSink::create(StringRef path) {
  std::string folder = sys::path::parent_path(path).str();
  int fd = ::open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0)
    return std::unique_ptr<FileSink>(new FileSink(path, "", fd));
  // Not every file system has files without a name; a missing folder is told here as well.
  SmallString<256> temporary;
  if (std::error_code code = sys::fs::createUniqueFile(path + ".%%%%%%%%.part", fd, temporary))
    return createStringError(code, "cannot write " + path + ": " + code.message());
  return std::unique_ptr<FileSink>(new FileSink(path, temporary, fd));
}

FileSink::~FileSink() {
  if (fd >= 0)
    ::close(fd);
  if (!temporary.empty())
    ::unlink(temporary.c_str());
}

Error FileSink::begin(uint64_t packBytes) {
  // Room is taken at once, so that a full disk is known before the long work; some file systems cannot do it.
  int code = ::posix_fallocate(fd, static_cast<off_t>(base), static_cast<off_t>(packBytes));
  if (code == ENOSPC || code == EFBIG || code == EDQUOT) {
    errno = code;
    return systemError("cannot write " + path);
  }
  return Error::success();
}

Error FileSink::write(uint64_t offset, ArrayRef<uint8_t> bytes) {
  return writeAll(fd, base + offset, bytes, path);
}

Error FileSink::writeAbsolute(uint64_t offset, ArrayRef<uint8_t> bytes) {
  return writeAll(fd, offset, bytes, path);
}

Error FileSink::commit(bool executable) {
  // The permissions that a plain open(2) would have given.
  mode_t mask = ::umask(0);
  ::umask(mask);
  if (::fchmod(fd, (executable ? 0777 : 0666) & ~mask) != 0)
    return systemError("cannot set the mode of " + path);
  if (temporary.empty()) {
    std::string self = "/proc/self/fd/" + std::to_string(fd);
    if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      if (::close(std::exchange(fd, -1)) != 0)
        return systemError("cannot write " + path);
      return Error::success();
    }
    // A name that is in use can only be replaced from another name.
    int attempts = 0;
    do {
      SmallString<256> name;
      sys::fs::createUniquePath(path + ".%%%%%%%%.part", name, /*MakeAbsolute=*/false);
      temporary = name.str().str();
    } while (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, temporary.c_str(), AT_SYMLINK_FOLLOW) != 0 &&
             errno == EEXIST && ++attempts < 16);
  }
  if (::close(std::exchange(fd, -1)) != 0)
    return systemError("cannot write " + path);
  if (::rename(temporary.c_str(), path.c_str()) != 0)
    return systemError("cannot write " + path);
  temporary.clear();
  return Error::success();
}

MemorySink::~MemorySink() {
  if (mapping)
    ::munmap(mapping, mappingBytes);
}

Error MemorySink::begin(uint64_t packBytes) {
  constexpr uint64_t huge = 2u << 20;
  mappingBytes = packBytes + 2 * huge;
  mapping = ::mmap(nullptr, mappingBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
  if (mapping == MAP_FAILED) {
    mapping = nullptr;
    return systemError("cannot allocate " + Twine(packBytes) + " bytes for the weights");
  }
  memory = reinterpret_cast<uint8_t *>((reinterpret_cast<uintptr_t>(mapping) + huge - 1) & ~(huge - 1));
  bytes = packBytes;
  ::madvise(memory, (packBytes + huge - 1) & ~(huge - 1), MADV_HUGEPAGE);
  return Error::success();
}

Error MemorySink::write(uint64_t offset, ArrayRef<uint8_t> data) {
  std::memcpy(memory + offset, data.data(), data.size());
  return Error::success();
}

} // namespace ingot::package
