//===- DirectoryModel.cpp - ModelSource from a Hugging Face directory -----===//
#include "compiler/import/Fault.h"
#include "compiler/import/FileView.h"
#include "compiler/import/ModelOpener.h"
#include "compiler/import/safetensors/Safetensors.h"
#include "compiler/import/tokenizer/TokenizerImport.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <algorithm>

namespace ingot::import_ {

std::string ModelOpener::file(llvm::StringRef name) const {
  llvm::SmallString<256> path(model->path_);
  llvm::sys::path::append(path, name);
  return std::string(path.str());
}

llvm::Expected<std::optional<JsonValue>> ModelOpener::optionalObject(llvm::StringRef name) const {
  std::string path = file(name);
  if (!llvm::sys::fs::exists(path))
    return std::nullopt;
  auto value = parseJsonObjectFile(path);
  if (!value)
    return value.takeError();
  return std::optional<JsonValue>(std::move(*value));
}

llvm::Error ModelOpener::openDirectory(llvm::StringRef path) {
  model->path_ = path.rtrim('/').str();
  if (model->path_.empty())
    model->path_ = path.str();
  model->kind_ = ModelSource::Kind::HuggingFace;
  model->configPath_ = file(options.configFile);
  model->displayName_ = llvm::sys::path::filename(model->path_).str();
  auto config = parseJsonObjectFile(model->configPath_);
  if (!config)
    return config.takeError();
  model->config_ = std::move(*config);
  const JsonValue *type = model->config_.get("model_type");
  if (!type || !type->string())
    return fault(model->configPath_, "model_type is missing or no string");
  model->architecture_ = *type->string();

  auto shards = openSafetensorsDir(model->path_);
  if (!shards)
    return shards.takeError();
  for (unsigned i = 0; i < shards->size(); ++i) {
    model->files_.push_back((*shards)[i].path);
    for (const SafeTensor &tensor : (*shards)[i].tensors) {
      TensorInfo info;
      info.name = tensor.name;
      info.scheme = llvm::StringRef(tensor.dtype).lower();
      info.shape = tensor.shape;
      info.file = i;
      info.offset = tensor.offset;
      info.bytes = tensor.bytes;
      if (llvm::Error error = addTensor(std::move(info)))
        return error;
    }
  }
  if (llvm::Error error = directoryGeneration())
    return error;
  auto tokenizerConfig = optionalObject("tokenizer_config.json");
  if (!tokenizerConfig)
    return tokenizerConfig.takeError();
  directoryChatTemplate(*tokenizerConfig);
  return options.tokenizer ? directoryTokenizer() : llvm::Error::success();
}

void ModelOpener::directoryChatTemplate(const std::optional<JsonValue> &tokenizerConfig) {
  // transformers 5 writes a file of its own, which wins over the older key.
  std::string jinja = file("chat_template.jinja");
  std::string where;
  std::optional<std::string> text;
  if (llvm::sys::fs::exists(jinja)) {
    where = jinja;
    auto view = viewFile(jinja, 16u << 20);
    if (!view) {
      model->chatTemplateError_ = llvm::toString(view.takeError());
      return;
    }
    text = (*view)->getBuffer().str();
  } else if (const JsonValue *value = tokenizerConfig ? tokenizerConfig->get("chat_template") : nullptr) {
    where = file("tokenizer_config.json") + ": chat_template";
    if (const std::string *string = value->string()) {
      text = *string;
    } else if (const JsonValue::Array *list = value->array()) {
      // Several named templates: the one called "default" is for plain chats.
      for (const JsonValue &entry : *list) {
        const JsonValue *name = entry.get("name"), *body = entry.get("template");
        if (name && name->string() && *name->string() == "default" && body && body->string())
          text = *body->string();
      }
      if (!text) {
        model->chatTemplateError_ = where + " has no template named 'default'";
        return;
      }
    } else if (!value->isNull()) {
      model->chatTemplateError_ = where + " is " + value->kindName().str() + ", expected a string";
      return;
    }
  }
  if (!text)
    return;
  auto *begin = reinterpret_cast<const llvm::UTF8 *>(text->data());
  if (!llvm::isLegalUTF8String(&begin, begin + text->size())) {
    model->chatTemplateError_ = where + ": the chat template is not UTF-8";
    return;
  }
  model->chatTemplate_ = std::move(text);
}

llvm::Error ModelOpener::directoryGeneration() {
  auto file = optionalObject("generation_config.json");
  if (!file)
    return file.takeError();
  GenerationConfig &out = model->generation_;
  std::string filePath = this->file("generation_config.json");
  // The generation file wins; what it leaves out comes from the configuration.
  auto get = [&](llvm::StringRef key) -> std::pair<const JsonValue *, llvm::StringRef> {
    if (const JsonValue *v = *file ? (*file)->get(key) : nullptr; v && !v->isNull())
      return {v, filePath};
    if (const JsonValue *v = model->config_.get(key); v && !v->isNull())
      return {v, model->configPath_};
    return {nullptr, ""};
  };
  auto integer = [&](llvm::StringRef key, std::optional<int64_t> &to) -> llvm::Error {
    auto [v, where] = get(key);
    if (!v)
      return llvm::Error::success();
    to = v->integer();
    return to ? llvm::Error::success() : fault(where, key + " is " + v->kindName() + ", expected an integer");
  };
  auto number = [&](llvm::StringRef key, std::optional<double> &to) -> llvm::Error {
    auto [v, where] = get(key);
    if (!v)
      return llvm::Error::success();
    to = v->number();
    return to ? llvm::Error::success() : fault(where, key + " is " + v->kindName() + ", expected a number");
  };
  if (llvm::Error e = integer("bos_token_id", out.bos))
    return e;
  if (llvm::Error e = integer("pad_token_id", out.pad))
    return e;
  if (llvm::Error e = integer("top_k", out.topK))
    return e;
  if (llvm::Error e = number("temperature", out.temperature))
    return e;
  if (llvm::Error e = number("top_p", out.topP))
    return e;
  if (llvm::Error e = number("min_p", out.minP))
    return e;
  if (llvm::Error e = number("repetition_penalty", out.repetitionPenalty))
    return e;
  if (auto [eos, where] = get("eos_token_id"); eos) {
    JsonValue::Array one{*eos};
    for (const JsonValue &id : eos->array() ? *eos->array() : one) {
      if (!id.integer())
        return fault(where, "eos_token_id holds " + id.kindName() + ", expected integers");
      out.eos.push_back(*id.integer());
    }
  }
  std::sort(out.eos.begin(), out.eos.end());
  out.eos.erase(std::unique(out.eos.begin(), out.eos.end()), out.eos.end());
  return llvm::Error::success();
}

llvm::Error ModelOpener::directoryTokenizer() {
  std::string path = file("tokenizer.json"), configPath = file("tokenizer_config.json");
  if (!llvm::sys::fs::exists(path)) {
    model->tokenizerError_ = model->path_ + ": the directory has no tokenizer.json";
    return llvm::Error::success();
  }
  auto view = viewFile(path, 256u << 20);
  if (!view)
    return view.takeError();
  std::unique_ptr<llvm::MemoryBuffer> configView;
  if (llvm::sys::fs::exists(configPath)) {
    auto opened = viewFile(configPath, 64u << 20);
    if (!opened)
      return opened.takeError();
    configView = std::move(*opened);
  }
  auto text = [](const llvm::MemoryBuffer *buffer) {
    return buffer ? std::string_view(buffer->getBufferStart(), buffer->getBufferSize()) : std::string_view();
  };
  std::string error;
  if (!importHfTokenizer(text(view->get()), text(configView.get()), model->tokenizer_, error,
                         embeddingRows("model.embed_tokens.weight")))
    return fault(path, error);
  model->tokenizerSize_ = tokenizerIds(model->tokenizer_);
  return llvm::Error::success();
}

} // namespace ingot::import_
