//===- FileTensorSource.h - parameters out of the model's files -----------------------------------------===//
#ifndef INGOT_COMPILER_PIPELINE_FILETENSORSOURCE_H
#define INGOT_COMPILER_PIPELINE_FILETENSORSOURCE_H

#include "codegen/package/TensorSource.h"

#include <memory>
#include <string>
#include <vector>

namespace ingot::pipeline {

/// Plain positioned reads: mapped files would count as memory of the compile.
class FileTensorSource final : public package::TensorSource {
public:
  static llvm::Expected<std::unique_ptr<FileTensorSource>> open(llvm::ArrayRef<std::string> paths);
  ~FileTensorSource() override;
  llvm::Error read(unsigned file, uint64_t offset, llvm::MutableArrayRef<uint8_t> out) override;
  std::string name(unsigned file) const override { return file < paths.size() ? paths[file] : "?"; }

private:
  FileTensorSource() = default;
  std::vector<std::string> paths;
  std::vector<int> files;
};

} // namespace ingot::pipeline

#endif // INGOT_COMPILER_PIPELINE_FILETENSORSOURCE_H
