//===- Main.cpp - a compiled model as a program ---------------------------------------------------------===//

#include "runtime/main/Commands.h"
#include "runtime/main/Streams.h"

using namespace ingot::main_;

int main(int argc, char **argv) {
  openStreams();
  ParseResult parsed = parseOptions(argc, argv, /*binary=*/true, "ingot 0.1.0");
  if (!parsed.run)
    return closeStreams(parsed.status);
  return closeStreams(runCommand(parsed.options, *createSelfLoader()));
}
