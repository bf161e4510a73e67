//===- Model.h - A model on disk --------------------------------*- C++ -*-===//
//
// One view of a GGUF file (or the parts of a split one) and of a Hugging Face
// directory: tensor index, configuration, tokenizer, chat template, defaults
// for generation. Weight bytes are never read here; a TensorInfo says where
// they lie.
//
// Invariants: tensor names are unique; every [offset, offset + bytes) lies in
// its file; shapes are slowest dimension first, so a matrix is [N, K] whatever
// the file's own order is.
//
//===----------------------------------------------------------------------===//
#ifndef INGOT_COMPILER_IMPORT_MODEL_H
#define INGOT_COMPILER_IMPORT_MODEL_H

#include "compiler/import/Json.h"
#include "compiler/import/gguf/GgufFile.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ingot::import_ {

struct TensorInfo {
  std::string name;
  std::string scheme; // the element format in lower case: "f32", "bf16", "q4_k", "i8", ...
  llvm::SmallVector<int64_t, 4> shape;
  unsigned file = 0;   // index into ModelSource::files()
  uint64_t offset = 0; // bytes from the start of that file
  uint64_t bytes = 0;
};

/// What the model's files recommend for generation. Absent means no opinion.
struct GenerationConfig {
  std::optional<int64_t> bos, pad;
  std::vector<int64_t> eos; // every id that ends an answer, ascending
  std::optional<double> temperature, topP, minP, repetitionPenalty;
  std::optional<int64_t> topK;
};

struct OpenOptions {
  /// Name of the configuration inside a Hugging Face directory.
  std::string configFile = "config.json";
  /// Convert the tokenizer too. A broken one then fails openModel(); a model
  /// without any opens and says so in tokenizerError().
  bool tokenizer = true;
};

class ModelSource {
public:
  enum class Kind { Gguf, HuggingFace };

  llvm::StringRef path() const { return path_; }
  Kind kind() const { return kind_; }
  llvm::StringRef displayName() const { return displayName_; }
  /// Paths of the files that hold tensors.
  llvm::ArrayRef<std::string> files() const { return files_; }
  llvm::ArrayRef<TensorInfo> tensors() const { return tensors_; }
  const TensorInfo *find(llvm::StringRef name) const;

  /// The metadata of a GGUF model (its first part); null for Hugging Face.
  const GgufFile *gguf() const { return parts_.empty() ? nullptr : parts_.front().get(); }
  /// The configuration object of a Hugging Face model; null for GGUF.
  const JsonValue *config() const { return kind_ == Kind::HuggingFace ? &config_ : nullptr; }
  /// Path of the configuration (the GGUF file itself for GGUF), for messages.
  llvm::StringRef configPath() const { return configPath_; }
  /// general.architecture or model_type.
  llvm::StringRef architecture() const { return architecture_; }

  /// The chat template; nullopt if the model has none. Where a template is
  /// there but unusable, chatTemplateError() says why (only rendering a chat
  /// needs it, so opening succeeds).
  const std::optional<std::string> &chatTemplate() const { return chatTemplate_; }
  llvm::StringRef chatTemplateError() const { return chatTemplateError_; }

  /// The tokenizer in the form of runtime/abi/ingot_tok.h; empty if the model
  /// has none, with the reason in tokenizerError().
  const std::vector<uint8_t> &tokenizer() const { return tokenizer_; }
  llvm::StringRef tokenizerError() const { return tokenizerError_; }
  /// One more than the largest id of the tokenizer; 0 without a tokenizer.
  int64_t tokenizerSize() const { return tokenizerSize_; }

  const GenerationConfig &generation() const { return generation_; }

private:
  friend class ModelOpener;
  ModelSource() = default;

  std::string path_, displayName_, configPath_, architecture_;
  Kind kind_ = Kind::Gguf;
  std::vector<std::string> files_;
  std::vector<TensorInfo> tensors_;
  llvm::StringMap<size_t> index_;
  std::vector<std::unique_ptr<GgufFile>> parts_;
  JsonValue config_;
  std::optional<std::string> chatTemplate_;
  std::string chatTemplateError_, tokenizerError_;
  std::vector<uint8_t> tokenizer_;
  int64_t tokenizerSize_ = 0;
  GenerationConfig generation_;
};

/// Opens a .gguf file (for a split model its first part) or a Hugging Face
/// directory. Errors read `FILE: tensor 'x': what`.
llvm::Expected<std::unique_ptr<ModelSource>> openModel(llvm::StringRef path, const OpenOptions &options = {});

} // namespace ingot::import_

#endif // INGOT_COMPILER_IMPORT_MODEL_H
