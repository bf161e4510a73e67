//===- ModelText.cpp - what a path is, and its text parts -----------------------------------------------===//

#include "compiler/api/ModelText.h"

#include "compiler/pipeline/Compiler.h"
#include "compiler/pipeline/Meta.h"
#include "runtime/weights/Pack.h"

#include <sys/stat.h>

using namespace llvm;

namespace ingot::api {

PathKind classifyPath(const std::string &path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode))
    return PathKind::Model;
  if (weights::Pack::hasTrailer(path))
    return PathKind::Binary;
  return StringRef(path).ends_with(".ipk") ? PathKind::Pack : PathKind::Model;
}

bool readModelText(const std::string &model, const std::string &configFile, ModelText &out,
                   std::string &error) {
  import_::OpenOptions open;
  open.configFile = configFile;
  Expected<std::unique_ptr<import_::ModelSource>> source = import_::openModel(model, open);
  if (!source) {
    error = toString(source.takeError());
    return false;
  }
  std::shared_ptr<import_::ModelSource> shared = std::move(*source);
  out.meta = pipeline::buildTextMeta(*shared);
  out.tokenizer = shared->tokenizer().empty() ? nullptr : shared->tokenizer().data();
  out.tokenizerBytes = shared->tokenizer().size();
  out.owner = std::move(shared);
  return true;
}

} // namespace ingot::api
