//===- GgufModel.cpp - ModelSource from GGUF files ------------------------===//
#include "compiler/import/Fault.h"
#include "compiler/import/ModelOpener.h"
#include "compiler/import/tokenizer/TokenizerImport.h"
#include "runtime/abi/ingot_tok.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/Path.h"
#include <algorithm>
#include <cstring>
#include <string_view>

namespace ingot::import_ {

namespace {

/// Stores an optional metadata value in `out`; leaves `out` alone if absent.
template <typename T, typename U> llvm::Error assign(llvm::Expected<std::optional<T>> value, U &out) {
  if (!value)
    return value.takeError();
  if (*value)
    out = U(**value);
  return llvm::Error::success();
}

bool isUtf8(llvm::StringRef text) {
  auto *begin = reinterpret_cast<const llvm::UTF8 *>(text.data());
  return llvm::isLegalUTF8String(&begin, begin + text.size());
}

/// Tokens that end an answer in some chat format. Files often name only one
/// end token although the template closes turns with another, so these are
/// recognised by their text.
constexpr std::string_view kEndTokens[] = {"<|im_end|>",    "<|eot_id|>", "<|eom_id|>", "<end_of_turn>",
                                           "<|endoftext|>", "<|end|>",    "<EOT>",      "<|end_of_text|>"};

} // namespace

llvm::Error ModelOpener::openGguf(llvm::StringRef path) {
  model->path_ = path.str();
  model->configPath_ = path.str();
  model->kind_ = ModelSource::Kind::Gguf;
  auto parts = openGgufParts(path);
  if (!parts)
    return parts.takeError();
  model->parts_ = std::move(*parts);
  for (unsigned i = 0; i < model->parts_.size(); ++i) {
    const GgufFile &part = *model->parts_[i];
    model->files_.push_back(part.path().str());
    for (const GgufTensor &tensor : part.tensors()) {
      TensorInfo info;
      info.name = tensor.name;
      info.scheme = tensor.type->scheme.str();
      info.shape = tensor.shape;
      info.file = i;
      info.offset = tensor.offset;
      info.bytes = tensor.bytes;
      if (llvm::Error error = addTensor(std::move(info)))
        return error;
    }
  }
  const GgufFile &gguf = *model->gguf();
  auto arch = gguf.getString("general.architecture");
  if (!arch)
    return arch.takeError();
  if (!*arch)
    return fault(path, "metadata key 'general.architecture' is missing");
  model->architecture_ = (**arch).str();

  model->displayName_ = llvm::sys::path::stem(path).str();
  auto name = gguf.getString("general.name");
  if (!name)
    return name.takeError();
  if (*name && !(**name).empty() && isUtf8(**name))
    model->displayName_ = (**name).str();

  auto chat = gguf.getString("tokenizer.chat_template");
  if (!chat)
    model->chatTemplateError_ = llvm::toString(chat.takeError());
  else if (*chat && !isUtf8(**chat))
    model->chatTemplateError_ = (path + ": metadata key 'tokenizer.chat_template' is not UTF-8").str();
  else if (*chat)
    model->chatTemplate_ = (**chat).str();

  if (llvm::Error error = ggufGeneration())
    return error;
  return options.tokenizer ? ggufTokenizer() : llvm::Error::success();
}

llvm::Error ModelOpener::ggufGeneration() {
  const GgufFile &gguf = *model->gguf();
  GenerationConfig &generation = model->generation_;
  if (llvm::Error error = assign(gguf.getInt("tokenizer.ggml.bos_token_id"), generation.bos))
    return error;
  if (llvm::Error error = assign(gguf.getInt("tokenizer.ggml.padding_token_id"), generation.pad))
    return error;
  for (const char *key :
       {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"}) {
    std::optional<int64_t> id;
    if (llvm::Error error = assign(gguf.getInt(key), id))
      return error;
    if (id)
      generation.eos.push_back(*id);
  }
  auto tokens = gguf.getStrings("tokenizer.ggml.tokens");
  if (!tokens)
    return tokens.takeError();
  auto types = gguf.getInts("tokenizer.ggml.token_type");
  if (!types)
    return types.takeError();
  constexpr int64_t kControl = 3, kUserDefined = 4;
  if (*tokens && *types && (*types)->size() == (*tokens)->size())
    for (size_t i = 0; i < (*tokens)->size(); ++i)
      if (int64_t type = (**types)[i]; type == kControl || type == kUserDefined)
        if (llvm::is_contained(kEndTokens, (**tokens)[i]))
          generation.eos.push_back(static_cast<int64_t>(i));
  std::sort(generation.eos.begin(), generation.eos.end());
  generation.eos.erase(std::unique(generation.eos.begin(), generation.eos.end()), generation.eos.end());
  return llvm::Error::success();
}

int64_t tokenizerIds(llvm::ArrayRef<uint8_t> blob) {
  ingot_tok_header_v1 header;
  if (blob.size() < sizeof header)
    return 0;
  std::memcpy(&header, blob.data(), sizeof header);
  return header.vocab;
}

llvm::Error ModelOpener::ggufTokenizer() {
  const GgufFile &gguf = *model->gguf();
  auto key = [](const char *name) { return std::string("tokenizer.ggml.") + name; };
  if (!gguf.find(key("model")) && !gguf.find(key("tokens"))) {
    model->tokenizerError_ = model->path_ + ": the file has no tokenizer (no tokenizer.ggml.model)";
    return llvm::Error::success();
  }
  GgufTokenizer t;
  t.name = model->displayName_;
  auto flag = [&](const char *name, int &out) -> llvm::Error {
    bool value = false;
    if (!gguf.find(key(name)))
      return llvm::Error::success();
    if (llvm::Error error = assign(gguf.getBool(key(name)), value))
      return error;
    out = value;
    return llvm::Error::success();
  };
  std::vector<int64_t> types;
  auto str = [&](const char *name, std::string &out) -> llvm::Error {
    auto value = gguf.getString(key(name));
    if (!value)
      return value.takeError();
    if (*value)
      out = (**value).str();
    return llvm::Error::success();
  };
  if (llvm::Error e = str("model", t.model))
    return e;
  if (llvm::Error e = str("pre", t.pre))
    return e;
  if (llvm::Error e = assign(gguf.getStrings(key("tokens")), t.tokens))
    return e;
  if (llvm::Error e = assign(gguf.getStrings(key("merges")), t.merges))
    return e;
  if (llvm::Error e = assign(gguf.getFloats(key("scores")), t.scores))
    return e;
  if (llvm::Error e = assign(gguf.getInts(key("token_type")), types))
    return e;
  const std::pair<const char *, int64_t *> ids[] = {{"bos_token_id", &t.bos},
                                                    {"eos_token_id", &t.eos},
                                                    {"unknown_token_id", &t.unk},
                                                    {"padding_token_id", &t.pad},
                                                    {"eot_token_id", &t.eot}};
  for (auto [name, out] : ids)
    if (llvm::Error e = assign(gguf.getInt(key(name)), *out))
      return e;
  const std::pair<const char *, int *> flags[] = {
      {"add_bos_token", &t.addBos}, {"add_eos_token", &t.addEos}, {"add_space_prefix", &t.addSpacePrefix}};
  for (auto [name, out] : flags)
    if (llvm::Error e = flag(name, *out))
      return e;
  if (t.tokens.empty())
    return fault(model->path_, "metadata key 'tokenizer.ggml.tokens' is missing or empty");
  if (!types.empty() && types.size() != t.tokens.size())
    return fault(model->path_, "metadata key 'tokenizer.ggml.token_type' has " + llvm::Twine(types.size()) +
                                   " entries, tokenizer.ggml.tokens has " + llvm::Twine(t.tokens.size()));
  for (int64_t type : types)
    t.types.push_back(type >= 0 && type <= INT32_MAX ? static_cast<int32_t>(type) : INT32_MAX);
  std::string error;
  if (!importGgufTokenizer(t, model->tokenizer_, error, embeddingRows("token_embd.weight")))
    return fault(model->path_, "tokenizer: " + error);
  model->tokenizerSize_ = tokenizerIds(model->tokenizer_);
  return llvm::Error::success();
}

} // namespace ingot::import_
