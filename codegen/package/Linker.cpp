//===- Linker.cpp - kernels + runtime -> standalone executable ------------------------------------------===//

#include "codegen/package/Linker.h"

#include "lld/Common/Driver.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <cstring>
#include <link.h>
#include <mutex>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

LLD_HAS_DRIVER(elf)

using namespace llvm;

namespace ingot::package {
namespace {

/// A file that exists only as a descriptor: the linker wants paths, and nothing may be left behind.
class MemoryFile {
public:
  MemoryFile() = default;
  MemoryFile(MemoryFile &&other) : fd(std::exchange(other.fd, -1)) {}
  ~MemoryFile() {
    if (fd >= 0)
      ::close(fd);
  }
  Error create(StringRef bytes) {
    fd = ::memfd_create("ingot-kernels.o", MFD_CLOEXEC);
    if (fd < 0)
      return createStringError(std::error_code(errno, std::generic_category()),
                               "cannot create a memory file");
    while (!bytes.empty()) {
      ssize_t n = ::write(fd, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        return createStringError(std::error_code(errno, std::generic_category()),
                                 "cannot fill a memory file");
      bytes = bytes.drop_front(n);
    }
    return Error::success();
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd); }

private:
  int fd = -1;
};

/// Paths of the shared libraries of this process whose file name begins with one of the wanted names.
struct LoadedLibraries {
  static constexpr const char *wanted[] = {"libstdc++.so", "libm.so", "libgcc_s.so", "libc.so"};
  std::string paths[4];
  std::string interpreter;
};

int collectLibrary(dl_phdr_info *info, size_t, void *data) {
  auto *libraries = static_cast<LoadedLibraries *>(data);
  StringRef path(info->dlpi_name ? info->dlpi_name : "");
  StringRef name = sys::path::filename(path);
  for (unsigned i = 0; i < 4; ++i)
    if (name.starts_with(LoadedLibraries::wanted[i]))
      libraries->paths[i] = path.str();
  if (name.starts_with("ld-linux") && libraries->interpreter.empty())
    libraries->interpreter = path.str();
  return 0;
}

} // namespace

Error linkExecutable(ArrayRef<StringRef> objects, StringRef runtimeDir, StringRef output) {
  LoadedLibraries libraries;
  dl_iterate_phdr(collectLibrary, &libraries);
  for (unsigned i = 0; i < 4; ++i)
    if (libraries.paths[i].empty())
      return createStringError(inconvertibleErrorCode(),
                               "cannot link an executable: %s is not loaded in this process; use --emit=pack",
                               LoadedLibraries::wanted[i]);

  auto beside = [&](StringRef name) -> std::string {
    SmallString<256> path(runtimeDir);
    sys::path::append(path, name);
    return path.str().str();
  };
  for (StringRef name :
       {"Scrt1.o", "crti.o", "crtbeginS.o", "ingot_rt.o", "libc_nonshared.a", "crtendS.o", "crtn.o"})
    if (!sys::fs::exists(beside(name)))
      return createStringError(inconvertibleErrorCode(), "%s: missing; it is installed beside ingot",
                               beside(name).c_str());

  std::vector<MemoryFile> files;
  for (StringRef object : objects) {
    MemoryFile file;
    if (Error error = file.create(object))
      return error;
    files.push_back(std::move(file));
  }

  std::vector<std::string> storage = {"ld.lld",
                                      "-pie",
                                      "--eh-frame-hdr",
                                      "--gc-sections",
                                      "--strip-all",
                                      "--build-id=sha1",
                                      "--threads=1",
                                      "-z",
                                      "relro",
                                      "-z",
                                      "now",
                                      "-z",
                                      "noexecstack",
                                      "--hash-style=gnu",
                                      "-dynamic-linker",
                                      "/lib64/ld-linux-x86-64.so.2",
                                      "-o",
                                      output.str()};
  for (StringRef name : {"Scrt1.o", "crti.o", "crtbeginS.o", "ingot_rt.o"})
    storage.push_back(beside(name));
  for (const MemoryFile &file : files)
    storage.push_back(file.path());
  storage.push_back("--as-needed");
  for (const std::string &path : libraries.paths)
    storage.push_back(path);
  storage.push_back(beside("libc_nonshared.a"));
  // libc.so.6 leaves the thread-local helper to the loader.
  if (!libraries.interpreter.empty())
    storage.push_back(libraries.interpreter);
  storage.push_back(beside("crtendS.o"));
  storage.push_back(beside("crtn.o"));

  std::vector<const char *> arguments;
  for (const std::string &argument : storage)
    arguments.push_back(argument.c_str());

  // lld keeps its state in globals, so only one link runs at a time.
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  std::string text;
  raw_string_ostream messages(text);
  lld::Result result = lld::lldMain(arguments, messages, messages, {{lld::Gnu, &lld::elf::link}});
  // The driver and its output file leave signal handlers installed; a host has its own.
  CrashRecoveryContext::Disable();
  sys::unregisterHandlers();
  if (result.retCode != 0) {
    (void)sys::fs::remove(output);
    return createStringError(inconvertibleErrorCode(), "linking %s failed: %s", output.str().c_str(),
                             StringRef(text).trim().str().c_str());
  }
  return Error::success();
}

} // namespace ingot::package
