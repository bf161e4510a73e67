//===- OutputPath.cpp -----------------------------------------------------------------------------------===//
#include "runtime/weights/OutputPath.h"

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

namespace ingot::weights {

// What the names of temporary files add to that of the output.
static constexpr size_t TemporarySuffix = 16;

bool resolveOutput(const std::string &path, const std::vector<std::string> &inputs, std::string &resolved,
                   std::string &error) {
  auto fail = [&](const char *why) {
    error = "cannot write " + path + ": " + why;
    return false;
  };
  if (path.empty()) {
    error = "the output has no name";
    return false;
  }
  resolved = path;
  struct stat found, input;
  if (::stat(path.c_str(), &found) == 0) {
    if (S_ISDIR(found.st_mode))
      return fail(std::strerror(EISDIR));
    if (!S_ISREG(found.st_mode))
      return fail("it is not a regular file");
    for (const std::string &other : inputs)
      if (::stat(other.c_str(), &input) == 0 && input.st_dev == found.st_dev && input.st_ino == found.st_ino)
        return fail("it is read as input");
    char *real = ::realpath(path.c_str(), nullptr);
    if (!real)
      return fail(std::strerror(errno));
    resolved = real;
    std::free(real);
  } else if (errno != ENOENT) {
    return fail(std::strerror(errno));
  } else if (::lstat(path.c_str(), &found) == 0) {
    return fail("the symbolic link leads nowhere");
  }
  size_t slash = resolved.find_last_of('/');
  std::string folder = slash == std::string::npos ? "." : resolved.substr(0, slash + 1);
  size_t nameBytes = resolved.size() - (slash == std::string::npos ? 0 : slash + 1);
  if (nameBytes == 0)
    return fail("it names a folder");
  if (nameBytes + TemporarySuffix > NAME_MAX)
    return fail(std::strerror(ENAMETOOLONG));
  if (::stat(folder.c_str(), &found) != 0 || ::access(folder.c_str(), W_OK | X_OK) != 0)
    return fail(std::strerror(errno));
  return true;
}

} // namespace ingot::weights
