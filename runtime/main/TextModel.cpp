//===- TextModel.cpp - tokenizer and chat template of a model -------------------------------------------===//

#include "runtime/main/TextModel.h"
#include "runtime/core/ChatText.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace ingot::main_ {

bool readFile(const std::string &path, std::string &out, std::string &error) {
  FILE *file = path == "-" ? stdin : std::fopen(path.c_str(), "rb");
  if (!file) {
    error = "cannot read " + path + ": " + std::strerror(errno);
    return false;
  }
  char buffer[1 << 16];
  size_t n;
  while ((n = std::fread(buffer, 1, sizeof(buffer), file)) > 0)
    out.append(buffer, n);
  bool ok = !std::ferror(file);
  if (!ok)
    error = "cannot read " + path + ": " + std::strerror(errno);
  if (file != stdin)
    std::fclose(file);
  return ok;
}

bool TextModel::open(const Options &options, ArtefactLoader &loader, std::string &error) {
  TextParts opened;
  return loader.openText(options.load, opened, error) &&
         open(std::move(opened), options.load.chatTemplateFile, error);
}

bool TextModel::open(TextParts given, const std::string &file, std::string &error,
                     const token::Tokenizer *loaded) {
  tok = loaded;
  parts = std::move(given);
  templateFile = file;
  return weights::parseMeta(parts.meta, parts.name, metaData, error);
}

std::string TextModel::reason(const char *member) const {
  nlohmann::json meta = nlohmann::json::parse(parts.meta, nullptr, /*allow_exceptions=*/false);
  auto it = meta.find(member);
  return it != meta.end() && it->is_string() ? it->get<std::string>() : std::string();
}

const token::Tokenizer *TextModel::tokenizer(std::string &error) {
  if (tok)
    return tok;
  if (!parts.tokenizerBytes) {
    std::string why = reason("tokenizer_error");
    error = parts.name + ": the model has no tokenizer" + (why.empty() ? "" : ": " + why);
    return nullptr;
  }
  own = token::Tokenizer::load(parts.tokenizer, parts.tokenizerBytes, error);
  if (!own)
    error = parts.name + ": tokenizer: " + error;
  return tok = own.get();
}

bool TextModel::loadTemplate(std::string &error) {
  if (chatTemplate)
    return true;
  std::string source;
  if (!templateFile.empty()) {
    if (!readFile(templateFile, source, error))
      return false;
  } else if (metaData.chatTemplate) {
    source = *metaData.chatTemplate;
  } else {
    std::string why = reason("chat_template_error");
    error =
        parts.name +
        (why.empty() ? ": the model has no chat template" : ": the chat template cannot be used: " + why) +
        "; give one with --chat-template FILE";
    return false;
  }
  chatTemplate = chat::Template::parse(std::move(source), error);
  if (!chatTemplate)
    error = (templateFile.empty() ? parts.name : templateFile) + ": " + error;
  return chatTemplate != nullptr;
}

bool TextModel::renderChat(const nlohmann::ordered_json &messages, const nlohmann::ordered_json &extra,
                           bool generationPrompt, chat::Rendered &out, std::string &error) {
  if (!loadTemplate(error))
    return false;
  const token::Tokenizer *tokenizer = this->tokenizer(error);
  if (!tokenizer)
    return false;
  if (core::renderChat(*chatTemplate, tokenizer, metaData, messages, extra, generationPrompt, out, error))
    return true;
  error = (templateFile.empty() ? parts.name : templateFile) + ": " + error;
  return false;
}

bool TextModel::encodeChat(const nlohmann::ordered_json &messages, const nlohmann::ordered_json &extra,
                           std::vector<int32_t> &ids, std::string &error) {
  chat::Rendered rendered;
  if (!renderChat(messages, extra, /*generationPrompt=*/true, rendered, error))
    return false;
  ids = core::encodeChat(*tok, rendered);
  if (ids.empty())
    error = "the rendered chat is empty";
  return !ids.empty();
}

bool TextModel::encodeText(const std::string &text, bool special, bool noBos, std::vector<int32_t> &ids,
                           std::string &error) {
  const token::Tokenizer *tokenizer = this->tokenizer(error);
  if (!tokenizer)
    return false;
  ids = tokenizer->encode(text, !noBos, special);
  // A completion needs something to start from.
  if (ids.empty() && tokenizer->bos() >= 0)
    ids.push_back(tokenizer->bos());
  if (ids.empty())
    error = "the prompt is empty";
  return !ids.empty();
}

} // namespace ingot::main_
