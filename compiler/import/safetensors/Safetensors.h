//===- Safetensors.h - Reader of safetensors headers ------------*- C++ -*-===//
//
// Reads the header of a safetensors file; data is never touched. Checks what
// the format demands: header length, unique names, ranges that agree with
// dtype and shape, no overlap, no hole, nothing after the last tensor.
//
//===----------------------------------------------------------------------===//
#ifndef INGOT_COMPILER_IMPORT_SAFETENSORS_SAFETENSORS_H
#define INGOT_COMPILER_IMPORT_SAFETENSORS_SAFETENSORS_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace ingot::import_ {

struct SafeTensor {
  std::string name;
  std::string dtype; // as in the file: "BF16"
  llvm::SmallVector<int64_t, 4> shape;
  uint64_t offset; // from the start of the file
  uint64_t bytes;
};

struct SafetensorsFile {
  std::string path;
  uint64_t size = 0;
  std::vector<SafeTensor> tensors; // in the order of their data
};

/// Reads the header of `path`.
llvm::Expected<SafetensorsFile> openSafetensors(llvm::StringRef path);

/// The weights of a Hugging Face directory: model.safetensors, or the shards
/// that model.safetensors.index.json names (plain file names only). Every
/// tensor of the index must be in the shard it names; names are unique.
llvm::Expected<std::vector<SafetensorsFile>> openSafetensorsDir(llvm::StringRef dir);

} // namespace ingot::import_

#endif // INGOT_COMPILER_IMPORT_SAFETENSORS_SAFETENSORS_H
