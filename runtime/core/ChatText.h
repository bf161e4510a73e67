//===- ChatText.h - conversations to text and ids by a model's template ---------------------------------===//
#ifndef INGOT_RUNTIME_CORE_CHATTEXT_H
#define INGOT_RUNTIME_CORE_CHATTEXT_H

#include "runtime/chat/Chat.h"
#include "runtime/token/Tokenizer.h"
#include "runtime/weights/Meta.h"

#include <string>
#include <vector>

namespace ingot::core {

/// Renders a conversation; `extra` is null or an object whose "tools" and "documents" are the template's, the
/// rest further variables. `tokenizer` may be null: it names special tokens that META does not.
bool renderChat(const chat::Template &chatTemplate, const token::Tokenizer *tokenizer,
                const weights::ModelMeta &meta, const nlohmann::ordered_json &messages,
                const nlohmann::ordered_json &extra, bool generationPrompt, chat::Rendered &out,
                std::string &error);

/// Ids of a rendered conversation: special tokens are read in the template's text, never in what users wrote.
std::vector<int32_t> encodeChat(const token::Tokenizer &tokenizer, const chat::Rendered &rendered);

} // namespace ingot::core
#endif
