//===- ModelText.h - what a path is, and its text parts -------------------------------------------------===//
#ifndef INGOT_COMPILER_API_MODELTEXT_H
#define INGOT_COMPILER_API_MODELTEXT_H

#include <cstdint>
#include <memory>
#include <string>

namespace ingot::api {

enum class PathKind { Model, Pack, Binary };
PathKind classifyPath(const std::string &path);

/// What tokenizing and rendering chats need; `tokenizer` lives as long as `owner`.
struct ModelText {
  std::shared_ptr<void> owner;
  std::string meta;
  const uint8_t *tokenizer = nullptr;
  uint64_t tokenizerBytes = 0;
};

/// Reads tokenizer and chat template of a model file, without weights and code. False and a message.
bool readModelText(const std::string &model, const std::string &configFile, ModelText &out,
                   std::string &error);

} // namespace ingot::api

#endif // INGOT_COMPILER_API_MODELTEXT_H
