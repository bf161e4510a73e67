//===- FileTensorSource.cpp - parameters out of the model's files ---------------------------------------===//

#include "compiler/pipeline/FileTensorSource.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

using namespace llvm;

namespace ingot::pipeline {

static Error systemError(const std::string &path) {
  return createStringError(std::error_code(errno, std::generic_category()),
                           "cannot read " + path + ": " + std::strerror(errno));
}

Expected<std::unique_ptr<FileTensorSource>> FileTensorSource::open(ArrayRef<std::string> paths) {
  std::unique_ptr<FileTensorSource> source(new FileTensorSource());
  for (const std::string &path : paths) {
    int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
      return systemError(path);
    source->paths.push_back(path);
    source->files.push_back(fd);
  }
  return std::move(source);
}

FileTensorSource::~FileTensorSource() {
  for (int fd : files)
    ::close(fd);
}

Error FileTensorSource::read(unsigned file, uint64_t offset, MutableArrayRef<uint8_t> out) {
  if (file >= files.size())
    return createStringError(inconvertibleErrorCode(), "the model has no file number %u", file);
  while (!out.empty()) {
    ssize_t n = ::pread(files[file], out.data(), out.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return systemError(paths[file]);
    if (n == 0)
      return createStringError(inconvertibleErrorCode(), "%s: ends at byte %llu, while its weights are read",
                               paths[file].c_str(), (unsigned long long)offset);
    out = out.drop_front(n);
    offset += n;
  }
  return Error::success();
}

} // namespace ingot::pipeline
