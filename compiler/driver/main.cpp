//===- main.cpp - the `ingot` command
//----------------------------------------------------------------------===//

#include "compiler/api/CompileToFile.h"
#include "compiler/api/ModelLoader.h"
#include "compiler/driver/Progress.h"
#include "runtime/main/Commands.h"

#include <climits>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <unistd.h>
#include <vector>

using namespace ingot;
using main_::Command;

/// The runtime's parts for linking lie in ../lib/ingot, seen from this program.
static std::string runtimeFolder() {
  char path[PATH_MAX];
  ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
  std::string self(path, n > 0 ? static_cast<size_t>(n) : 0);
  return self.substr(0, self.find_last_of('/') + 1) + "../lib/ingot";
}

/// A compiled model runs its commands itself: that measures and shows what is shipped.
static int runBinary(const std::string &path, int argc, char **argv) {
  std::vector<char *> arguments;
  std::string program = path.find('/') == std::string::npos ? "./" + path : path;
  arguments.push_back(program.data());
  bool dropped = false;
  for (int i = 1; i < argc; ++i) {
    if (!dropped && i > 1 && path == argv[i]) {
      dropped = true;
      continue;
    }
    arguments.push_back(argv[i]);
  }
  arguments.push_back(nullptr);
  std::fflush(stdout);
  execv(program.c_str(), arguments.data());
  return main_::fail("cannot run " + path + ": " + std::strerror(errno));
}

static int compile(const main_::Options &options, driver::Progress &progress) {
  api::CompileRequest request;
  request.options = options;
  request.runtimeDir = runtimeFolder();
  if (!options.quiet)
    request.onProgress = [&](const char *what, const char *unit, uint64_t done, uint64_t total) {
      progress.update(what, unit, done, total);
    };
  std::string error;
  if (!api::compileToFile(request, error))
    return main_::fail(error);
  return main_::ExitOk;
}

int main(int argc, char **argv) {
  std::signal(SIGPIPE, SIG_IGN);
  main_::ParseResult parsed = main_::parseOptions(argc, argv, /*binary=*/false, api::versionText());
  if (!parsed.run)
    return parsed.status;
  driver::Progress progress;
  if (parsed.options.command == Command::Compile)
    return compile(parsed.options, progress);
  if (api::classifyPath(parsed.options.load.model) == api::PathKind::Binary) {
    if (parsed.options.load.kernels == "ref")
      return main_::fail(
          "--kernels=ref needs the model file: a compiled binary carries its own kernels alone");
    return runBinary(parsed.options.load.model, argc, argv);
  }
  auto loader = api::createModelLoader([&](const char *what, const char *unit, uint64_t done,
                                           uint64_t total) { progress.update(what, unit, done, total); });
  return main_::runCommand(parsed.options, *loader);
}
