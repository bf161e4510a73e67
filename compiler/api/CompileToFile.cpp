//===- CompileToFile.cpp - the `compile` command
//-------------------------------------------------------------===//

#include "compiler/api/CompileToFile.h"

#include "compiler/pipeline/Compiler.h"

using namespace llvm;

namespace ingot::api {

std::string versionText() { return pipeline::compilerVersion(); }

static bool readPhase(const char *flag, const std::string &text, std::optional<pipeline::Phase> &out,
                      std::string &error) {
  if (text.empty())
    return true;
  out = pipeline::parsePhase(text);
  if (!out)
    error = std::string(flag) + ": unknown phase '" + text +
            "'; phases are import, model, quant, shape, kernel, program, target, package";
  return out.has_value();
}

bool compileToFile(const CompileRequest &request, std::string &error) {
  const main_::CompileCommand &command = request.options.compile;
  const main_::LoadOptions &load = request.options.load;
  pipeline::CompileOptions options;
  if (command.target == "ref")
    options.targets = {"ref"};
  else if (!expandTargets(command.target, options.targets, error))
    return false;
  options.emit = command.emit == "obj"    ? pipeline::Emit::Object
                 : command.emit == "pack" ? pipeline::Emit::Pack
                                          : pipeline::Emit::Executable;
  options.context = load.context;
  options.maxSeqs = load.maxSeqs;
  options.kvDtype = load.kvDtype;
  options.chunk = load.chunk;
  options.configFile = load.configFile;
  options.irFile = command.ir;
  options.printIrAfter = command.printIrAfter;
  options.runtimeDir = request.runtimeDir;
  if (!readPhase("--stop-after", command.stopAfter, options.stopAfter, error) ||
      !readPhase("--start-from", command.startFrom, options.startFrom, error))
    return false;
  if (command.output == "-" && !options.stopAfter) {
    error = "-o -: only the text of --stop-after can go to standard output";
    return false;
  }
  if (request.onProgress)
    options.onProgress = [&](const pipeline::Progress &p) {
      request.onProgress(p.what, p.unit, p.done, p.total);
    };
  Expected<std::unique_ptr<pipeline::Compiler>> compiler =
      pipeline::Compiler::create(load.model, std::move(options));
  Error failure = compiler ? (*compiler)->compileToFile(command.output) : compiler.takeError();
  if (!failure)
    return true;
  error = toString(std::move(failure));
  return false;
}

} // namespace ingot::api
