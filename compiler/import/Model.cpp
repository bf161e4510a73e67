#include "compiler/import/Model.h"
#include "compiler/import/Fault.h"
#include "compiler/import/ModelOpener.h"
#include "llvm/Support/FileSystem.h"

namespace ingot::import_ {

const TensorInfo *ModelSource::find(llvm::StringRef name) const {
  auto it = index_.find(name);
  return it == index_.end() ? nullptr : &tensors_[it->second];
}

llvm::Error ModelOpener::addTensor(TensorInfo info) {
  if (!model->index_.try_emplace(info.name, model->tensors_.size()).second)
    return fault(model->files_[info.file], "duplicate tensor '" + printable(info.name) + "'");
  model->tensors_.push_back(std::move(info));
  return llvm::Error::success();
}

uint64_t ModelOpener::embeddingRows(llvm::StringRef name) const {
  const TensorInfo *tensor = model->find(name);
  return tensor && tensor->shape.size() == 2 ? static_cast<uint64_t>(tensor->shape[0]) : 0;
}

llvm::Expected<std::unique_ptr<ModelSource>> openModel(llvm::StringRef path, const OpenOptions &options) {
  llvm::sys::fs::file_status status;
  if (std::error_code ec = llvm::sys::fs::status(path, status))
    return fault(path, "cannot open: " + ec.message());
  ModelOpener opener(options);
  bool isDirectory = status.type() == llvm::sys::fs::file_type::directory_file;
  if (llvm::Error error = isDirectory ? opener.openDirectory(path) : opener.openGguf(path))
    return std::move(error);
  return opener.take();
}

} // namespace ingot::import_
