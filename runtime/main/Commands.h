//===- Commands.h - one function per command ------------------------------------------------------------===//
//
// Each returns an exit status (Options.h) and prints its errors itself. Only the answer goes to standard
// output.
//
//===------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_RUNTIME_MAIN_COMMANDS_H
#define INGOT_RUNTIME_MAIN_COMMANDS_H

#include "runtime/main/Artefact.h"
#include "runtime/main/Options.h"

namespace ingot::main_ {

/// Runs any command but `compile` and `tune`.
int runCommand(const Options &options, ArtefactLoader &loader);

int commandRun(const Options &options, ArtefactLoader &loader); ///< run and ask
int commandChat(const Options &options, ArtefactLoader &loader);
int commandBatch(const Options &options, ArtefactLoader &loader);
int commandBench(const Options &options, ArtefactLoader &loader);
int commandVerify(const Options &options, ArtefactLoader &loader);
int commandEval(const Options &options, ArtefactLoader &loader);
int commandTokenize(const Options &options, ArtefactLoader &loader);
int commandDetokenize(const Options &options, ArtefactLoader &loader);
int commandTemplate(const Options &options, ArtefactLoader &loader);
int commandInspect(const Options &options, ArtefactLoader &loader);
int commandExplain(const Options &options, ArtefactLoader &loader);
int commandMeasure(const Options &options, ArtefactLoader &loader); ///< explain --measure

/// "error: TEXT" on standard error; returns ExitError.
int fail(const std::string &text);

} // namespace ingot::main_

#endif // INGOT_RUNTIME_MAIN_COMMANDS_H
