//===- ChatText.cpp - conversations to text and ids by a model's template -------------------------------===//
#include "runtime/core/ChatText.h"

namespace ingot::core {

bool renderChat(const chat::Template &chatTemplate, const token::Tokenizer *tokenizer,
                const weights::ModelMeta &meta, const nlohmann::ordered_json &messages,
                const nlohmann::ordered_json &extra, bool generationPrompt, chat::Rendered &out,
                std::string &error) {
  chat::ChatOptions options;
  options.addGenerationPrompt = generationPrompt;
  auto special = [&](const std::string &given, int32_t id) -> std::optional<std::string> {
    if (!given.empty())
      return given;
    return tokenizer && id >= 0 ? std::optional<std::string>(tokenizer->tokenText(id)) : std::nullopt;
  };
  options.bosToken = special(meta.bosToken, tokenizer ? tokenizer->bos() : -1);
  options.eosToken = special(meta.eosToken, tokenizer ? tokenizer->eos() : -1);
  if (extra.is_object())
    for (const auto &[key, value] : extra.items()) {
      if (key == "tools")
        options.tools = value;
      else if (key == "documents")
        options.documents = value;
      else
        options.kwargs[key] = value;
    }
  return chat::renderChat(chatTemplate, messages, options, out, error);
}

std::vector<int32_t> encodeChat(const token::Tokenizer &tokenizer, const chat::Rendered &rendered) {
  std::vector<token::TextSegment> segments;
  for (const chat::Rendered::Segment &segment : rendered.segments)
    segments.push_back({segment.text, !segment.fromUser});
  // Templates that write BOS themselves must not get a second one.
  std::string text = rendered.text(), bos = tokenizer.bos() >= 0 ? tokenizer.tokenText(tokenizer.bos()) : "";
  bool hasBos = !bos.empty() && text.compare(0, bos.size(), bos) == 0;
  return tokenizer.encodeSegments(segments, tokenizer.addBos() && !hasBos);
}

} // namespace ingot::core
