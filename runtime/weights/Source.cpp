//===- Source.cpp ---------------------------------------------------------------------------------------===//
#include "runtime/weights/Source.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ingot::weights {
namespace {

class FileSource final : public Source {
public:
  FileSource(std::string path, int fd, uint64_t bytes) : path(std::move(path)), fd(fd), bytes(bytes) {}
  ~FileSource() override { ::close(fd); }
  const std::string &name() const override { return path; }
  uint64_t size() const override { return bytes; }
  int descriptor() const override { return fd; }

  bool read(uint64_t offset, void *dst, uint64_t n, std::string &error) const override {
    auto *out = static_cast<uint8_t *>(dst);
    while (n > 0) {
      // The kernel moves at most 2 GB in one call.
      size_t want = n < (UINT64_C(1) << 30) ? size_t(n) : size_t(1) << 30;
      ssize_t got = ::pread(fd, out, want, off_t(offset));
      if (got < 0 && errno == EINTR)
        continue;
      if (got <= 0) {
        error = path + ": reading at offset " + std::to_string(offset) + ": " +
                (got < 0 ? std::strerror(errno) : "the file ends early");
        return false;
      }
      out += got;
      offset += uint64_t(got);
      n -= uint64_t(got);
    }
    return true;
  }

private:
  std::string path;
  int fd;
  uint64_t bytes;
};

class MemorySource final : public Source {
public:
  MemorySource(const uint8_t *data, uint64_t bytes, std::string label)
      : data(data), bytes(bytes), label(std::move(label)) {}
  const std::string &name() const override { return label; }
  uint64_t size() const override { return bytes; }
  const uint8_t *memory() const override { return data; }
  bool read(uint64_t offset, void *dst, uint64_t n, std::string &) const override {
    if (n)
      std::memcpy(dst, data + offset, n);
    return true;
  }

private:
  const uint8_t *data;
  uint64_t bytes;
  std::string label;
};

} // namespace

std::unique_ptr<Source> openFile(const std::string &path, std::string &error, std::string name) {
  if (name.empty())
    name = path;
  // Without O_NONBLOCK a pipe would wait for its writer before it can be refused.
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    error = name + ": " + std::strerror(errno);
    return nullptr;
  }
  struct stat st;
  if (::fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
    error = name + ": not a regular file";
    ::close(fd);
    return nullptr;
  }
  return std::make_unique<FileSource>(std::move(name), fd, uint64_t(st.st_size));
}

std::unique_ptr<Source> fromMemory(const uint8_t *data, uint64_t size, std::string name) {
  return std::make_unique<MemorySource>(data, size, std::move(name));
}

} // namespace ingot::weights
