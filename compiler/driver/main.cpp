//===- main.cpp - the `ingot` command -------------------------------------------------------------------===//

#include "compiler/api/ModelText.h"
#include "compiler/api/ingot.h"
#include "compiler/driver/ModelLoader.h"
#include "compiler/driver/Progress.h"
#include "compiler/driver/TuneCommand.h"
#include "runtime/main/Commands.h"
#include "runtime/main/Streams.h"

#include <climits>
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

static void print(FILE *file, const char *text, uint64_t bytes) { std::fwrite(text, 1, bytes, file); }

static int compile(const main_::Options &options, driver::Progress &progress) {
  const main_::CompileCommand &command = options.compile;
  ingot_compile_options o = driver::compileOptions(options.load, command.target, options.quiet, progress);
  std::string support = runtimeFolder();
  o.emit = command.emit == "obj"    ? INGOT_EMIT_OBJECT
           : command.emit == "pack" ? INGOT_EMIT_PACK
                                    : INGOT_EMIT_EXECUTABLE;
  o.support_dir = support.c_str();
  o.chunk = options.load.chunk ? options.load.chunk : -1;
  o.stop_after = command.stopAfter.c_str();
  o.start_from = command.startFrom.c_str();
  o.ir_file = command.ir.c_str();
  std::vector<const char *> passes;
  for (const std::string &pass : command.printIrAfter)
    passes.push_back(pass.c_str());
  o.print_ir_after = passes.data();
  o.n_print_ir_after = static_cast<uint32_t>(passes.size());
  o.on_ir = [](void *, const char *text, uint64_t bytes) { print(stderr, text, bytes); };
  o.on_text = [](void *, const char *text, uint64_t bytes) { print(stdout, text, bytes); };
  if (command.target == "ref")
    return main_::fail("--target=ref: the reference is an oracle, not a product; use --kernels=ref");
  bool toOutput = command.output == "-";
  if (toOutput && command.stopAfter.empty())
    return main_::fail("-o -: only the text of --stop-after can go to standard output");
  driver::Message message;
  if (ingot_compile_file(options.load.model.c_str(), toOutput ? nullptr : command.output.c_str(), &o,
                         message.text, sizeof(message.text)) != INGOT_OK)
    return main_::fail(message.text);
  return main_::ExitOk;
}

static int run(int argc, char **argv) {
  main_::ParseResult parsed = main_::parseOptions(argc, argv, /*binary=*/false, ingot_version());
  if (!parsed.run)
    return parsed.status;
  driver::Progress progress;
  if (parsed.options.command == Command::Compile)
    return compile(parsed.options, progress);
  const api::PathKind kind = api::classifyPath(parsed.options.load.model);
  if (kind != api::PathKind::Model && parsed.options.command == Command::Tune)
    return main_::fail(parsed.options.load.model + ": is compiled already; tune needs the model file");
  if (kind != api::PathKind::Model && !parsed.options.load.compileFlags.empty()) {
    main_::fail(parsed.options.load.model + ": is compiled already; " + parsed.options.load.compileFlags[0] +
                " needs the model file");
    return main_::ExitUsage;
  }
  if (kind == api::PathKind::Binary) {
    if (parsed.options.load.kernels == "ref")
      return main_::fail(
          "--kernels=ref needs the model file: a compiled binary carries its own kernels alone");
    return runBinary(parsed.options.load.model, argc, argv);
  }
  if (parsed.options.command == Command::Tune)
    return driver::tune(parsed.options, progress);
  auto loader = driver::createModelLoader(progress);
  return main_::runCommand(parsed.options, *loader);
}

int main(int argc, char **argv) {
  main_::openStreams();
  return main_::closeStreams(run(argc, argv));
}
