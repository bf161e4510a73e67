//===- Main.cpp - a compiled model as a program
//------------------------------------------------------------===//

#include "runtime/main/Commands.h"

#include <csignal>

using namespace ingot::main_;

int main(int argc, char **argv) {
  // A reader that goes away ends the program through the failed write, not through a signal.
  std::signal(SIGPIPE, SIG_IGN);
  ParseResult parsed = parseOptions(argc, argv, /*binary=*/true, "ingot 0.1.0");
  if (!parsed.run)
    return parsed.status;
  return runCommand(parsed.options, *createSelfLoader());
}
