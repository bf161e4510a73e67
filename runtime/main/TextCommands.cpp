//===- TextCommands.cpp - tokenize, detokenize, template ------------------------------------------------===//
//
// Need the pack's tokenizer and template, not its weights.
//
//===------------------------------------------------------------------------------------------------------===//

#include "runtime/main/Answer.h"
#include "runtime/main/Commands.h"
#include "runtime/main/TextModel.h"

#include <cstdio>

namespace ingot::main_ {

int commandTokenize(const Options &options, ArtefactLoader &loader) {
  std::string error, text = options.input.prompt;
  TextModel model;
  if (!text.empty() && !options.input.file.empty()) {
    std::fprintf(stderr, "error: give the text once: -p TEXT or -f FILE\n");
    return ExitUsage;
  }
  if (text.empty() && !readFile(options.input.file.empty() ? "-" : options.input.file, text, error))
    return fail(error);
  if (!model.open(options, loader, error))
    return fail(error);
  const token::Tokenizer *tokenizer = model.tokenizer(error);
  if (!tokenizer)
    return fail(error);
  std::printf("%s\n",
              nlohmann::json(tokenizer->encode(text, !options.noBos, options.special)).dump().c_str());
  return ExitOk;
}

int commandDetokenize(const Options &options, ArtefactLoader &loader) {
  std::string error, text;
  std::vector<int64_t> given = options.ids;
  if (!given.empty() && !options.input.file.empty()) {
    std::fprintf(stderr, "error: give the ids once: as arguments or with -f FILE\n");
    return ExitUsage;
  }
  if (given.empty()) {
    if (!readFile(options.input.file.empty() ? "-" : options.input.file, text, error))
      return fail(error);
    nlohmann::json list = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!list.is_array())
      return fail("detokenize: expected a JSON array of ids");
    for (const nlohmann::json &id : list) {
      if (!id.is_number_integer() || (id.is_number_unsigned() && id.get<uint64_t>() > INT64_MAX))
        return fail("detokenize: '" + id.dump(-1, ' ', false, Replace) + "' is no token id");
      given.push_back(id.get<int64_t>());
    }
  }
  TextModel model;
  if (!model.open(options, loader, error))
    return fail(error);
  const token::Tokenizer *tokenizer = model.tokenizer(error);
  if (!tokenizer)
    return fail(error);
  std::vector<int32_t> ids;
  for (int64_t id : given) {
    if (id < 0 || id >= tokenizer->vocabSize())
      return fail("detokenize: id " + std::to_string(id) + " is outside the vocabulary of " +
                  std::to_string(tokenizer->vocabSize()));
    ids.push_back(static_cast<int32_t>(id));
  }
  std::string result = tokenizer->decode(ids.data(), ids.size(), /*skipSpecial=*/!options.special);
  std::fwrite(result.data(), 1, result.size(), stdout);
  std::printf("\n");
  return ExitOk;
}

static bool readJson(const std::string &path, nlohmann::ordered_json &out, std::string &error) {
  std::string text;
  if (!readFile(path, text, error))
    return false;
  if (chat::parseJson(text, out, error))
    return true;
  error = path + ": " + error;
  return false;
}

int commandTemplate(const Options &options, ArtefactLoader &loader) {
  std::string error;
  nlohmann::ordered_json messages, extra = nlohmann::ordered_json::object();
  if (!readJson(options.chat.messages, messages, error))
    return fail(error);
  if (messages.is_object() && messages.contains("messages"))
    messages = nlohmann::ordered_json(messages["messages"]);
  if (!options.chat.kwargs.empty() &&
      (!chat::parseJson(options.chat.kwargs, extra, error) || !extra.is_object()))
    return fail("--kwargs: expected a JSON object" + (error.empty() ? "" : ": " + error));
  if (!options.chat.tools.empty()) {
    nlohmann::ordered_json tools;
    if (!readJson(options.chat.tools, tools, error))
      return fail(error);
    extra["tools"] = std::move(tools);
  }
  TextModel model;
  if (!model.open(options, loader, error))
    return fail(error);
  chat::Rendered rendered;
  if (!model.renderChat(messages, extra, !options.chat.noGenerationPrompt, rendered, error))
    return fail(error);
  std::string text = rendered.text();
  std::fwrite(text.data(), 1, text.size(), stdout);
  return ExitOk;
}

} // namespace ingot::main_
