//===- CApi.cpp - options, compiling to files and inspecting --------------------------------------------===//

#include "compiler/api/CApiSupport.h"
#include "compiler/api/ModelText.h"
#include "compiler/api/Targets.h"
#include "runtime/weights/OutputPath.h"
#include "runtime/weights/Pack.h"

#include <climits>
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace ingot;
using namespace llvm;

namespace ingot::api {
namespace {

int32_t readPhase(const char *flag, const char *text, std::optional<pipeline::Phase> &out,
                  std::string &error) {
  if (!text || !*text)
    return INGOT_OK;
  out = pipeline::parsePhase(text);
  if (out)
    return INGOT_OK;
  error = std::string(flag) + ": unknown phase '" + text +
          "'; phases are import, model, quant, shape, kernel, program, target, package";
  return INGOT_INVALID;
}

std::string folderOf(const std::string &path) {
  size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

/// Link support beside the library that holds this code, or beside the program where it is part of that.
std::string defaultSupportDir() {
  struct stat info;
  Dl_info self;
  if (::dladdr(reinterpret_cast<const void *>(&ingot_version), &self) && self.dli_fname) {
    std::string folder = folderOf(self.dli_fname) + "/ingot";
    if (::stat((folder + "/ingot_rt.o").c_str(), &info) == 0)
      return folder;
  }
  char path[PATH_MAX];
  ssize_t n = ::readlink("/proc/self/exe", path, sizeof(path));
  return folderOf(std::string(path, n > 0 ? static_cast<size_t>(n) : 0)) + "/../lib/ingot";
}

} // namespace

std::unique_lock<std::mutex> lockCompiler() {
  static std::mutex mutex;
  return std::unique_lock<std::mutex>(mutex);
}

int32_t readOptions(const char *model, const ingot_compile_options *given, pipeline::CompileOptions &out,
                    std::string &error) {
  ingot_compile_options o;
  ingot_compile_options_init(&o);
  if (!model || !*model) {
    error = "model must name a file or a directory";
    return INGOT_INVALID;
  }
  if (!core::takeStruct(given, o)) {
    error = "options have a bad struct_size";
    return INGOT_INVALID;
  }
  if (o.emit < INGOT_EMIT_EXECUTABLE || o.emit > INGOT_EMIT_PACK) {
    error = "emit " + std::to_string(o.emit) + " is no ingot_emit";
    return INGOT_INVALID;
  }
  out.emit = o.emit == INGOT_EMIT_OBJECT ? pipeline::Emit::Object
             : o.emit == INGOT_EMIT_PACK ? pipeline::Emit::Pack
                                         : pipeline::Emit::Executable;
  if (o.kv)
    out.kvDtype = o.kv;
  if (o.config_file)
    out.configFile = o.config_file;
  if (o.context)
    out.context = o.context;
  if (o.max_seqs)
    out.maxSeqs = o.max_seqs;
  if (o.chunk)
    out.chunk = o.chunk;
  if (o.threads)
    out.threads = o.threads;
  if (o.ir_file)
    out.irFile = o.ir_file;
  if (o.tune_file)
    out.tuneFile = o.tune_file;
  if (o.timings_file)
    out.timingsFile = o.timings_file;
  if (o.kernel_seconds != 0)
    out.kernelSeconds = o.kernel_seconds;
  out.verbose = o.verbose != 0;
  if (o.n_print_ir_after && !o.print_ir_after) {
    error = "print_ir_after is NULL with a count";
    return INGOT_INVALID;
  }
  for (uint32_t i = 0; i < o.n_print_ir_after; ++i) {
    if (!o.print_ir_after[i]) {
      error = "print_ir_after: entry " + std::to_string(i) + " is NULL";
      return INGOT_INVALID;
    }
    out.printIrAfter.push_back(o.print_ir_after[i]);
  }
  if (o.on_progress)
    out.onProgress = [fn = o.on_progress, user = o.user](const pipeline::Progress &p) {
      fn(user, p.what, p.unit, p.done, p.total);
    };
  if (o.on_ir)
    out.onIr = [fn = o.on_ir, user = o.user](const std::string &text) { fn(user, text.data(), text.size()); };
  if (o.on_text)
    out.onText = [fn = o.on_text, user = o.user](const std::string &text) {
      fn(user, text.data(), text.size());
    };
  if (o.on_diagnostic)
    out.onDiagnostic = [fn = o.on_diagnostic, user = o.user](pipeline::Severity severity,
                                                             const std::string &text) {
      fn(user,
         severity == pipeline::Severity::Error     ? INGOT_ERROR
         : severity == pipeline::Severity::Warning ? INGOT_WARNING
                                                   : INGOT_REMARK,
         text.c_str());
    };
  if (int32_t status = readPhase("--stop-after", o.stop_after, out.stopAfter, error))
    return status;
  if (int32_t status = readPhase("--start-from", o.start_from, out.startFrom, error))
    return status;
  out.runtimeDir = o.support_dir ? o.support_dir : defaultSupportDir();
  if (o.numerics)
    out.numerics = o.numerics;
  if (int32_t status =
          expandTargets(o.target ? o.target : "native", out.numerics == "fast", out.targets, error))
    return status;
  if (Error failure = pipeline::checkOptions(out)) {
    error = toString(std::move(failure));
    return INGOT_INVALID;
  }
  return INGOT_OK;
}

bool resolveOutputs(const char *model, const std::string &output, pipeline::Compiler &compiler,
                    std::string &resolved, std::string &error) {
  std::vector<std::string> inputs = compiler.source().files();
  inputs.push_back(model);
  for (const std::string &name : {compiler.options().configFile, std::string("tokenizer.json")})
    inputs.push_back(std::string(model) + "/" + name);
  if (compiler.options().startFrom)
    inputs.push_back(compiler.options().irFile);
  if (!compiler.options().tuneFile.empty())
    inputs.push_back(compiler.options().tuneFile);
  if (!output.empty() && !weights::resolveOutput(output, inputs, resolved, error))
    return false;
  if (compiler.options().timingsFile.empty())
    return true;
  std::string timings;
  if (!weights::resolveOutput(compiler.options().timingsFile, inputs, timings, error))
    return false;
  if (timings == resolved) {
    error = "--timings: " + timings + " is the output";
    return false;
  }
  compiler.setTimingsFile(timings);
  return true;
}

int32_t openCompiler(const char *model, const std::string &output, pipeline::CompileOptions options,
                     std::unique_ptr<pipeline::Compiler> &compiler, std::string &resolved,
                     std::string &error) {
  Expected<std::unique_ptr<pipeline::Compiler>> made = pipeline::Compiler::create(model, std::move(options));
  if (!made)
    return failed(made.takeError(), error);
  compiler = std::move(*made);
  return resolveOutputs(model, output, *compiler, resolved, error) ? INGOT_OK : INGOT_FAILED;
}

} // namespace ingot::api

using namespace ingot::api;

extern "C" {

const char *ingot_version(void) { return pipeline::compilerVersion(); }

void ingot_compile_options_init(ingot_compile_options *options) {
  if (!options)
    return;
  *options = {};
  options->struct_size = sizeof(*options);
}

int32_t ingot_compile_file(const char *model, const char *output, const ingot_compile_options *given,
                           char *message, size_t message_size) {
  return answer(message, message_size, [&](std::string &error) -> int32_t {
    pipeline::CompileOptions options;
    if (int32_t status = readOptions(model, given, options, error))
      return status;
    if ((!output || !*output) && !(options.stopAfter && options.onText)) {
      error = "output must name a file; only the text of stop_after can go to on_text";
      return INGOT_INVALID;
    }
    std::unique_lock<std::mutex> lock = lockCompiler();
    std::unique_ptr<pipeline::Compiler> compiler;
    std::string resolved;
    if (int32_t status =
            openCompiler(model, output ? output : "", std::move(options), compiler, resolved, error))
      return status;
    Error failure = compiler->compileToFile(resolved);
    return failure ? failed(std::move(failure), error) : INGOT_OK;
  });
}

int32_t ingot_inspect(const char *model, const ingot_compile_options *given, ingot_text_fn give, void *user,
                      char *message, size_t message_size) {
  return answer(message, message_size, [&](std::string &error) -> int32_t {
    pipeline::CompileOptions options;
    if (!give) {
      error = "give must not be NULL";
      return INGOT_INVALID;
    }
    if (int32_t status = readOptions(model, given, options, error))
      return status;
    if (classifyPath(model) != PathKind::Model) {
      std::unique_ptr<weights::Pack> pack = weights::Pack::open(model, error);
      if (!pack)
        return INGOT_FAILED;
      give(user, pack->meta().data(), pack->meta().size());
      return INGOT_OK;
    }
    std::unique_lock<std::mutex> lock = lockCompiler();
    std::unique_ptr<pipeline::Compiler> compiler;
    std::string none;
    if (int32_t status = openCompiler(model, "", std::move(options), compiler, none, error))
      return status;
    Expected<std::string> text = compiler->describe();
    if (!text)
      return failed(text.takeError(), error);
    give(user, text->data(), text->size());
    return INGOT_OK;
  });
}

} // extern "C"
