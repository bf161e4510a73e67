//===- ModelOpener.h - Fills a ModelSource (internal) -----------*- C++ -*-===//
#ifndef INGOT_COMPILER_IMPORT_MODELOPENER_H
#define INGOT_COMPILER_IMPORT_MODELOPENER_H

#include "compiler/import/Model.h"

namespace ingot::import_ {

/// One more than the largest id of a tokenizer in binary form; 0 for none.
int64_t tokenizerIds(llvm::ArrayRef<uint8_t> blob);

/// One step per member; each returns the first fault it meets.
class ModelOpener {
public:
  explicit ModelOpener(const OpenOptions &options) : options(options), model(new ModelSource()) {}

  llvm::Error openGguf(llvm::StringRef path);
  llvm::Error openDirectory(llvm::StringRef path);
  std::unique_ptr<ModelSource> take() { return std::move(model); }

private:
  llvm::Error addTensor(TensorInfo info);
  /// Rows of the embedding matrix of that name, 0 if it is none.
  uint64_t embeddingRows(llvm::StringRef name) const;
  // GGUF
  llvm::Error ggufTokenizer();
  llvm::Error ggufGeneration();
  // Hugging Face
  std::string file(llvm::StringRef name) const;
  /// Parses an optional JSON object file of the directory.
  llvm::Expected<std::optional<JsonValue>> optionalObject(llvm::StringRef name) const;
  llvm::Error directoryTokenizer();
  llvm::Error directoryGeneration();
  void directoryChatTemplate(const std::optional<JsonValue> &tokenizerConfig);

  const OpenOptions &options;
  std::unique_ptr<ModelSource> model;
};

} // namespace ingot::import_

#endif // INGOT_COMPILER_IMPORT_MODELOPENER_H
