//===- CompileToFile.h - the `compile` command
//---------------------------------------------------------------===//
#ifndef INGOT_COMPILER_API_COMPILETOFILE_H
#define INGOT_COMPILER_API_COMPILETOFILE_H

#include "compiler/api/ModelLoader.h"
#include "runtime/main/Options.h"

namespace ingot::api {

struct CompileRequest {
  main_::Options options;
  std::string runtimeDir; ///< folder with ingot_rt.o and the start files
  ProgressFn onProgress;
};

/// Compiles what the options say. False and a message on failure; nothing is left under the output's name
/// then.
bool compileToFile(const CompileRequest &request, std::string &error);

std::string versionText();

} // namespace ingot::api

#endif // INGOT_COMPILER_API_COMPILETOFILE_H
