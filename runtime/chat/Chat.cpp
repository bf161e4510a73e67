// Conversations to template variables (see Chat.h).
#include "runtime/chat/Chat.h"

namespace ingot::chat {

using Json = nlohmann::ordered_json;

Json normalizeMessages(const Json &messages) {
  if (!messages.is_array())
    return messages;
  Json out = Json::array();
  for (const Json &message : messages) {
    if (!message.is_object()) {
      out.push_back(message);
      continue;
    }
    const Json *reasoning = nullptr;
    for (const char *key : {"reasoning_content", "thinking", "reasoning"}) {
      auto it = message.find(key);
      if (it != message.end() && !it->is_null()) {
        reasoning = &*it;
        break;
      }
    }
    auto has = [&](const char *key) {
      auto it = message.find(key);
      return it != message.end() && !it->is_null();
    };
    Json tidy = Json::object();
    if (reasoning && !has("thinking"))
      tidy["thinking"] = *reasoning;
    for (const auto &item : message.items())
      if (!item.value().is_null())
        tidy[item.key()] = item.value();
    if (reasoning)
      tidy["reasoning_content"] = *reasoning;
    out.push_back(std::move(tidy));
  }
  return out;
}

bool renderChat(const Template &chatTemplate, const Json &messages, const ChatOptions &options, Rendered &out,
                std::string &error) {
  if (!messages.is_array()) {
    error = "chat template: the messages are not a list";
    return false;
  }
  for (size_t i = 0; i < messages.size(); ++i)
    if (!messages[i].is_object()) {
      error = "chat template: message " + std::to_string(i) + " is not an object";
      return false;
    }
  Json vars = Json::object();
  vars["messages"] = options.normalize ? normalizeMessages(messages) : messages;
  vars["tools"] = options.tools;
  vars["documents"] = options.documents;
  vars["add_generation_prompt"] = options.addGenerationPrompt;
  for (const auto &token : options.specialTokens)
    vars[token.first] = token.second;
  if (options.bosToken)
    vars["bos_token"] = *options.bosToken;
  if (options.eosToken)
    vars["eos_token"] = *options.eosToken;
  if (options.kwargs.is_object())
    for (const auto &item : options.kwargs.items())
      vars[item.key()] = item.value();
  RenderOptions render;
  render.now = options.now;
  render.limits = options.limits;
  render.allowMutation = options.allowMutation;
  render.userVariables = {"messages", "tools", "documents"};
  Failure failure = Failure::None;
  if (chatTemplate.render(vars, render, out, error, &failure))
    return true;
  if (failure == Failure::Raised)
    error = "chat template: " + error;
  return false;
}

} // namespace ingot::chat
