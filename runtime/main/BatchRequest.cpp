//===- BatchRequest.cpp - one line of a batch file
//---------------------------------------------------------===//

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
    if (ok)
      set(value->get<T>());
    else
      wrong(key, std::is_integral_v<T> ? "an integer" : "a number");
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
  void ids(const char *key, std::vector<int32_t> &out) {
    const Json *value = find(key);
    if (!value)
      return;
    bool ok = value->is_array();
    for (size_t i = 0; ok && i < value->size(); ++i) {
      ok = (*value)[i].is_number_integer();
      if (ok)
        out.push_back((*value)[i].get<int32_t>());
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
        long id = std::strtol(name.c_str(), &end, 10);
        ok = ok && !name.empty() && !*end && amount.is_number();
        if (ok)
          out.emplace_back(static_cast<int32_t>(id), amount.get<float>());
      }
    if (!ok)
      wrong(key, "an object of token ids and numbers");
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

} // namespace

bool BatchRequest::parse(const std::string &line, Session &session, std::string &error) {
  Json json;
  if (!chat::parseJson(line, json, error) || !json.is_object()) {
    error = "the line is no JSON object" + (error.empty() ? "" : ": " + error);
    return false;
  }
  auto field = [&](const char *key) { return json.contains(key) ? json[key] : Json(); };
  if (field("custom_id").is_string())
    customId = json["custom_id"].get<std::string>();
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
  body.number<int64_t>("seed", set(sampling.seed));
  sampling.maxTokens = chat ? -1 : 16;
  body.number<int64_t>("max_tokens", set(sampling.maxTokens));
  body.number<int64_t>("max_completion_tokens", set(sampling.maxTokens));
  body.flag("ignore_eos", sampling.ignoreEos);
  body.strings("stop", sampling.stop);
  body.ids("stop_token_ids", options.stopIds);
  body.bias("logit_bias", options.sampling.logitBias);
  if (chat) {
    bool wanted = false;
    body.flag("logprobs", wanted);
    if (wanted)
      sampling.logprobs = 0;
    body.number<int64_t>("top_logprobs", set(sampling.logprobs));
  } else {
    body.number<int64_t>("logprobs", set(sampling.logprobs));
  }
  body.number<int64_t>("n", [&](int64_t n) {
    if (n != 1)
      body.wrong("n", "1");
  });
  if (!error.empty())
    return false;

  std::vector<int32_t> stopIds = options.stopIds;
  std::vector<std::pair<int32_t, float>> bias = options.sampling.logitBias;
  batch::RequestOptions built;
  if (!session.requestOptions(sampling, built, error))
    return false;
  options = std::move(built);
  options.stopIds = std::move(stopIds);
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
    if (const Json *kwargs = body.find("chat_template_kwargs"))
      if (kwargs->is_object())
        extra = *kwargs;
    if (const Json *tools = body.find("tools"))
      extra["tools"] = *tools;
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
