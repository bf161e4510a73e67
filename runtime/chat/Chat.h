// A conversation rendered by a model's chat template.
#pragma once

#include "runtime/chat/Template.h"

#include <map>

namespace ingot::chat {

struct ChatOptions {
  bool addGenerationPrompt = true;
  /// List of tools or null (then `tools` is none).
  nlohmann::ordered_json tools;
  nlohmann::ordered_json documents;
  /// Text of the special tokens; absent ones are undefined in the template.
  std::optional<std::string> bosToken, eosToken;
  /// Further special tokens by the name that templates use (unk_token, pad_token, ...).
  std::map<std::string, std::string> specialTokens;
  /// Further variables of the template (an object or null), e.g. enable_thinking. Not the user's text.
  nlohmann::ordered_json kwargs;
  /// Tidies messages as transformers 5 does; see normalizeMessages.
  bool normalize = true;
  /// See RenderOptions::allowMutation.
  bool allowMutation = false;
  std::optional<std::tm> now;
  Limits limits;
};

/// Drops the keys of each message whose value is null, and gives a message with a non-null reasoning_content,
/// thinking or reasoning (the first of these) that value as reasoning_content (replaced, or added at the end)
/// and, if it has no thinking, as thinking (put first). What is no array of objects is returned as it is.
nlohmann::ordered_json normalizeMessages(const nlohmann::ordered_json &messages);

/// Renders `messages` (an array of objects with role, content, ...). The texts of messages, tools and
/// documents are marked as the user's. A message of raise_exception is returned as "chat template: MESSAGE".
bool renderChat(const Template &chatTemplate, const nlohmann::ordered_json &messages,
                const ChatOptions &options, Rendered &out, std::string &error);

} // namespace ingot::chat
