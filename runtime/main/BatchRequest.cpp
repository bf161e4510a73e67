//===- BatchRequest.cpp - one line of a batch file ------------------------------------------------------===//

#include "runtime/main/BatchRequest.h"

namespace ingot::main_ {
namespace {

using Json = nlohmann::ordered_json;

/// Reads the fields of a request's body; the first fault is kept.
class Body {
public:
  Body(const Json &body, std::string &error) : body(body), error(error) {}

  template <typename T, typename Set> void number(const char *key, Set &&set) {
    const Json *value = find(key);
    if (!value)
      return;
    bool ok = std::is_integral_v<T> ? value->is_number_integer() : value->is_number();
    // Without a wrap; only a seed uses all 64 bits.
    if (ok && std::is_same_v<T, int64_t> && value->is_number_unsigned())
      ok = value->get<uint64_t>() <= INT64_MAX;
    if (ok)
      set(value->get<T>());
    else
      wrong(key, std::is_integral_v<T> ? "an integer (of 64 bits)" : "a number");
  }
  void flag(const char *key, bool &out) {
    if (const Json *value = find(key)) {
      if (value->is_boolean())
        out = value->get<bool>();
      else
        wrong(key, "true or false");
    }
  }
  void strings(const char *key, std::vector<std::string> &out) {
    const Json *value = find(key);
    if (!value)
      return;
    if (value->is_string()) {
      out = {value->get<std::string>()};
      return;
    }
    bool ok = value->is_array();
    out.clear();
    for (size_t i = 0; ok && i < value->size(); ++i) {
      ok = (*value)[i].is_string();
      if (ok)
        out.push_back((*value)[i].get<std::string>());
    }
    if (!ok)
      wrong(key, "a string or a list of strings");
  }
  template <typename Id> void ids(const char *key, std::vector<Id> &out) {
    const Json *value = find(key);
    if (!value)
      return;
    bool ok = value->is_array();
    for (size_t i = 0; ok && i < value->size(); ++i) {
      const Json &id = (*value)[i];
      ok = id.is_number_integer() && !(id.is_number_unsigned() && id.get<uint64_t>() > INT32_MAX) &&
           id.get<int64_t>() >= INT32_MIN;
      if (ok)
        out.push_back(static_cast<Id>(id.get<int64_t>()));
    }
    if (!ok)
      wrong(key, "a list of token ids");
  }
  void bias(const char *key, std::vector<std::pair<int32_t, float>> &out) {
    const Json *value = find(key);
    if (!value)
      return;
    bool ok = value->is_object();
    if (ok)
      for (const auto &[name, amount] : value->items()) {
        char *end = nullptr;
        long long id = std::strtoll(name.c_str(), &end, 10);
        ok = ok && !name.empty() && !*end && id >= INT32_MIN && id <= INT32_MAX && amount.is_number();
        if (ok)
          out.emplace_back(static_cast<int32_t>(id), amount.get<float>());
      }
    if (!ok)
      wrong(key, "an object of token ids and numbers");
  }
  /// A field that is allowed only with the value that changes nothing.
  template <typename T> void only(const char *key, const T &neutral) {
    const Json *value = find(key);
    if (value && *value != Json(neutral))
      wrong(key, (Json(neutral).dump() + ": anything else is not supported").c_str());
  }
  const Json *find(const char *key) const {
    auto it = body.find(key);
    return it == body.end() || it->is_null() ? nullptr : &*it;
  }
  void wrong(const char *key, const char *wanted) {
    if (error.empty())
      error = std::string("'") + key + "' must be " + wanted;
  }

private:
  const Json &body;
  std::string &error;
};

/// A template renders anything, also a message that says nothing; what the model would not see is refused.
void checkMessages(const Json &messages, std::string &error) {
  for (size_t i = 0; i < messages.size() && error.empty(); ++i) {
    const Json &message = messages[i];
    const std::string name = "message " + std::to_string(i) + ": ";
    if (!message.is_object() || !message.contains("role") || !message["role"].is_string()) {
      error = name + "it must be an object with a 'role'";
      return;
    }
    Json content = message.contains("content") ? message["content"] : Json();
    if (content.is_array()) {
      for (const Json &part : content)
        if (!part.is_object() || part.value("type", Json()) != Json("text") || !part.contains("text") ||
            !part["text"].is_string())
          error = name + "only parts of type 'text' are supported";
    } else if (content.is_null() && message["role"] != Json("assistant")) {
      error = name + "'content' is missing";
    } else if (!content.is_null() && !content.is_string()) {
      error = name + "'content' must be a string or a list of text parts";
    }
  }
}

} // namespace

bool BatchRequest::parse(const std::string &line, Session &session, std::string &error) {
  Json json;
  if (!chat::parseJson(line, json, error) || !json.is_object()) {
    error = "the line is no JSON object" + (error.empty() ? "" : ": " + error);
    return false;
  }
  auto field = [&](const char *key) { return json.contains(key) ? json[key] : Json(); };
  if (field("custom_id").is_string()) {
    customId = json["custom_id"].get<std::string>();
  } else if (!field("custom_id").is_null()) {
    error = "'custom_id' must be a string";
    return false;
  }
  std::string url = field("url").is_string() ? json["url"].get<std::string>() : "";
  if (url != "/v1/chat/completions" && url != "/v1/completions") {
    error = "'url' must be /v1/chat/completions or /v1/completions";
    return false;
  }
  chat = url == "/v1/chat/completions";
  if (!field("body").is_object()) {
    error = "'body' must be an object";
    return false;
  }
  const Json &values = json["body"];
  Body body(values, error);
  SamplingOptions sampling;
  auto set = [](auto &target) { return [&target](auto value) { target = value; }; };
  body.number<double>("temperature", set(sampling.temperature));
  body.number<double>("top_p", set(sampling.topP));
  body.number<double>("min_p", set(sampling.minP));
  body.number<int64_t>("top_k", set(sampling.topK));
  body.number<double>("repetition_penalty", set(sampling.repetitionPenalty));
  body.number<double>("repeat_penalty", set(sampling.repetitionPenalty));
  body.number<double>("presence_penalty", set(sampling.presencePenalty));
  body.number<double>("frequency_penalty", set(sampling.frequencyPenalty));
  body.number<int64_t>("repeat_last_n", set(sampling.penaltyWindow));
  // Two runs of one file give the same answers: a request without a seed has seed 0.
  sampling.seed = 0;
  body.number<uint64_t>("seed", set(sampling.seed));
  sampling.maxTokens = chat ? -1 : 16;
  body.number<int64_t>("max_tokens", set(sampling.maxTokens));
  body.number<int64_t>("max_completion_tokens", set(sampling.maxTokens));
  body.flag("ignore_eos", sampling.ignoreEos);
  body.strings("stop", sampling.stop);
  body.ids("stop_token_ids", sampling.stopIds);
  body.bias("logit_bias", options.sampling.logitBias);
  if (chat) {
    bool wanted = false;
    body.flag("logprobs", wanted);
    if (wanted)
      sampling.logprobs = 0;
    const Json *top = body.find("top_logprobs");
    if (top && !wanted)
      body.wrong("logprobs", "true where 'top_logprobs' is given");
    body.number<int64_t>("top_logprobs", set(sampling.logprobs));
  } else {
    body.number<int64_t>("logprobs", set(sampling.logprobs));
  }
  body.number<int64_t>("n", [&](int64_t n) {
    if (n != 1)
      body.wrong("n", "1");
  });
  // What would change the answer and is not there is refused, not dropped.
  body.only("stream", false);
  body.only("echo", false);
  body.only("suffix", "");
  body.number<int64_t>("best_of", [&](int64_t n) {
    if (n != 1)
      body.wrong("best_of", "1");
  });
  if (const Json *format = body.find("response_format"))
    if (!format->is_object() || format->value("type", Json()) != Json("text"))
      body.wrong("response_format", "{\"type\":\"text\"}: anything else is not supported");
  if (const Json *choice = body.find("tool_choice"))
    if (*choice != Json("auto") && *choice != Json("none"))
      body.wrong("tool_choice", "\"auto\" or \"none\"");
  if (!error.empty())
    return false;

  std::vector<std::pair<int32_t, float>> bias = options.sampling.logitBias;
  batch::RequestOptions built;
  if (!session.requestOptions(sampling, built, error))
    return false;
  options = std::move(built);
  options.sampling.logitBias = std::move(bias);
  if (!sample::checkParams(options.sampling, session.module().vocab, error))
    return false;

  if (chat) {
    const Json *messages = body.find("messages");
    if (!messages || !messages->is_array() || messages->empty()) {
      error = "'messages' must be a list of messages";
      return false;
    }
    Json extra = Json::object();
    if (const Json *kwargs = body.find("chat_template_kwargs")) {
      if (kwargs->is_object())
        extra = *kwargs;
      else
        body.wrong("chat_template_kwargs", "an object");
    }
    if (const Json *tools = body.find("tools")) {
      const Json *choice = body.find("tool_choice");
      if (!tools->is_array())
        body.wrong("tools", "a list");
      else if (!choice || *choice != Json("none"))
        extra["tools"] = *tools;
    }
    if (error.empty())
      checkMessages(*messages, error);
    if (!error.empty())
      return false;
    return session.text().encodeChat(*messages, extra, ids, error);
  }
  const Json *prompt = body.find("prompt");
  if (prompt && prompt->is_string())
    return session.text().encodeText(prompt->get<std::string>(), /*special=*/false, /*noBos=*/false, ids,
                                     error);
  if (prompt && prompt->is_array() && !prompt->empty()) {
    body.ids("prompt", ids);
    return error.empty();
  }
  error = "'prompt' must be a string or a list of token ids";
  return false;
}

} // namespace ingot::main_
