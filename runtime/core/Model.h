//===- Model.h - a loaded model: pack, code, weights, tokenizer, template -------------------------------===//
//
// Immutable once opened; shared by engines. Tokenizer and template are absent where the pack has none.
//
//===------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_RUNTIME_CORE_MODEL_H
#define INGOT_RUNTIME_CORE_MODEL_H

#include "runtime/abi/ingot_abi.h"
#include "runtime/batch/Request.h"
#include "runtime/chat/Chat.h"
#include "runtime/token/Tokenizer.h"
#include "runtime/weights/Meta.h"
#include "runtime/weights/Pack.h"

#include <memory>
#include <string>
#include <vector>

namespace ingot::core {

struct VariantQuery {
  std::string isa;
  ingot_module_query_fn query = nullptr;
};

/// The variants linked into this program, found by weak symbols.
std::vector<VariantQuery> linkedVariants();

struct ModelOptions {
  std::vector<VariantQuery> variants;
  std::string isa; ///< Empty: the best that runs here.
  weights::LoadMode mode = weights::LoadMode::Read;
  unsigned loadThreads = 0;
  bool verify = false;
};

enum class OpenFault { None, File, Unsupported };

class Model : public std::enable_shared_from_this<Model> {
public:
  static std::shared_ptr<Model> open(std::unique_ptr<weights::Pack> pack, const ModelOptions &options,
                                     OpenFault &fault, std::string &error);

  const ingot_module_v1 &module() const { return *code; }
  const weights::ModelMeta &meta() const { return modelMeta; }
  const weights::Pack &pack() const { return *packFile; }
  const uint8_t *weights() const { return memory.data(); }
  const token::Tokenizer *tokenizer() const { return tok.get(); }
  bool hasTemplate() const { return chatTemplate != nullptr; }
  /// The pack's end tokens and the tokenizer's, ascending, each once.
  const std::vector<int32_t> &eosIds() const { return ends; }
  /// META, zero-terminated.
  const std::string &metaText() const { return metaJson; }

  /// Renders a conversation; `extra` is null or an object whose tools and documents are taken apart.
  bool renderChat(const nlohmann::ordered_json &messages, const nlohmann::ordered_json &extra,
                  bool generationPrompt, chat::Rendered &out, std::string &error) const;
  /// Ids of a rendered conversation: special tokens are read in the template's text only.
  bool encodeChat(const chat::Rendered &rendered, std::vector<int32_t> &ids, std::string &error) const;

  /// Streams that keep the model alive; empty where there is no tokenizer.
  batch::TextStreamFactory textStreams() const;

private:
  Model() = default;
  bool bind(const ModelOptions &options, OpenFault &fault, std::string &error);

  std::unique_ptr<weights::Pack> packFile;
  weights::ModelMeta modelMeta;
  std::string metaJson, templateError;
  const ingot_module_v1 *code = nullptr;
  weights::WeightMemory memory;
  std::unique_ptr<token::Tokenizer> tok;
  std::unique_ptr<chat::Template> chatTemplate;
  std::vector<int32_t> ends;
};

} // namespace ingot::core
#endif
