//===- Commands.cpp - which function a command is -------------------------------------------------------===//

#include "runtime/main/Commands.h"

#include <cstdio>

namespace ingot::main_ {

int fail(const std::string &text) {
  std::fprintf(stderr, "error: %s\n", text.c_str());
  return ExitError;
}

int runCommand(const Options &options, ArtefactLoader &loader) {
  switch (options.command) {
  case Command::Run:
  case Command::Ask:
    return commandRun(options, loader);
  case Command::Chat:
    return commandChat(options, loader);
  case Command::Batch:
    return commandBatch(options, loader);
  case Command::Bench:
    return commandBench(options, loader);
  case Command::Verify:
    return commandVerify(options, loader);
  case Command::Eval:
    return commandEval(options, loader);
  case Command::Tokenize:
    return commandTokenize(options, loader);
  case Command::Detokenize:
    return commandDetokenize(options, loader);
  case Command::Template:
    return commandTemplate(options, loader);
  case Command::Inspect:
    return commandInspect(options, loader);
  case Command::Explain:
    return options.measure ? commandMeasure(options, loader) : commandExplain(options, loader);
  case Command::Compile:
  case Command::Tune:
    break;
  }
  return fail("this program cannot compile; use ingot");
}

} // namespace ingot::main_
