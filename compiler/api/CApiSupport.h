//===- CApiSupport.h - what the halves of libingot's C API share (private) ------------------------------===//
#ifndef INGOT_COMPILER_API_CAPISUPPORT_H
#define INGOT_COMPILER_API_CAPISUPPORT_H

#include "compiler/api/ingot.h"
#include "compiler/pipeline/Compiler.h"
#include "runtime/core/CStructs.h"

#include <mutex>

namespace ingot::api {

/// Runs `body(error)`, which returns a status, and hands its message out.
template <typename Body> int32_t answer(char *message, size_t size, Body body) {
  std::string error;
  int32_t status = body(error);
  core::writeMessage(error, message, size);
  return status;
}

/// Checks the caller's options and turns them into the pipeline's; a status.
int32_t readOptions(const char *model, const ingot_compile_options *given, pipeline::CompileOptions &out,
                    std::string &error);

/// Finds where the file of times goes and, unless it is empty, `output`, which is stored in `resolved`. False
/// and a message where one cannot be written or is what is read.
bool resolveOutputs(const char *model, const std::string &output, pipeline::Compiler &compiler,
                    std::string &resolved, std::string &error);

/// Guards the state that LLVM and lld keep per process. A child that is forked must not inherit a lock of
/// theirs that another thread holds.
std::unique_lock<std::mutex> lockCompiler();

inline int32_t failed(llvm::Error failure, std::string &error) {
  error = toString(std::move(failure));
  return INGOT_FAILED;
}

/// A compiler of `model`, its output paths checked (resolveOutputs) before the long work; a status. The
/// caller holds lockCompiler().
int32_t openCompiler(const char *model, const std::string &output, pipeline::CompileOptions options,
                     std::unique_ptr<pipeline::Compiler> &compiler, std::string &resolved,
                     std::string &error);

} // namespace ingot::api

#endif // INGOT_COMPILER_API_CAPISUPPORT_H
