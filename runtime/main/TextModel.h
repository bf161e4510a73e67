//===- TextModel.h - tokenizer and chat template of a model ---------------------------------------------===//
#ifndef INGOT_RUNTIME_MAIN_TEXTMODEL_H
#define INGOT_RUNTIME_MAIN_TEXTMODEL_H

#include "runtime/chat/Chat.h"
#include "runtime/main/Artefact.h"
#include "runtime/token/Tokenizer.h"

#include <nlohmann/json.hpp>

namespace ingot::main_ {

/// Loads its parts when they are first asked for.
class TextModel {
public:
  /// From a command line: the model is opened without its weights.
  bool open(const Options &options, ArtefactLoader &loader, std::string &error);
  /// From what is open already; `parts` stays alive through its owner. `loaded`: its tokenizer, where that is
  /// loaded.
  bool open(TextParts parts, const std::string &templateFile, std::string &error,
            const token::Tokenizer *loaded = nullptr);

  const weights::ModelMeta &meta() const { return metaData; }
  /// The tokenizer; null and a message where the model has none.
  const token::Tokenizer *tokenizer(std::string &error);
  bool hasTemplate() const { return !templateFile.empty() || metaData.chatTemplate.has_value(); }

  /// `extra`: tools, documents and further variables of the template.
  bool renderChat(const nlohmann::ordered_json &messages, const nlohmann::ordered_json &extra,
                  bool generationPrompt, chat::Rendered &out, std::string &error);
  /// Ids of a rendered chat. What users wrote is never read as a special token.
  bool encodeChat(const nlohmann::ordered_json &messages, const nlohmann::ordered_json &extra,
                  std::vector<int32_t> &ids, std::string &error);
  /// Ids of a text as a completion starts from it.
  bool encodeText(const std::string &text, bool special, bool noBos, std::vector<int32_t> &ids,
                  std::string &error);

private:
  bool loadTemplate(std::string &error);
  /// A member of META that says why something is missing.
  std::string reason(const char *member) const;

  TextParts parts;
  std::string templateFile;
  weights::ModelMeta metaData;
  std::unique_ptr<token::Tokenizer> own;
  const token::Tokenizer *tok = nullptr; ///< `own`, or of whoever opened this
  std::unique_ptr<chat::Template> chatTemplate;
};

/// Reads a whole file, "-": standard input.
bool readFile(const std::string &path, std::string &out, std::string &error);

} // namespace ingot::main_

#endif // INGOT_RUNTIME_MAIN_TEXTMODEL_H
