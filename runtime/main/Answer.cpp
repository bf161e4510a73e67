//===- Answer.cpp - one request, and how its answer is shown --------------------------------------------===//

#include "runtime/main/Answer.h"

#include "runtime/main/Streams.h"

#include <cstdio>

namespace ingot::main_ {

bool complete(batch::Engine &engine, std::vector<int32_t> ids, const batch::RequestOptions &options,
              const InterruptScope &interrupt, const std::function<void(std::string_view)> &onText,
              batch::Answer &answer, std::string &error) {
  batch::Callbacks callbacks;
  callbacks.token = [&](const batch::TokenEvent &event) {
    if (!event.text.empty())
      onText(event.text);
    return !interrupt.raised() && !outputFailed();
  };
  callbacks.done = [&](const batch::Answer &done) { answer = done; };
  uint64_t id = 0;
  if (engine.submit(std::move(ids), options, std::move(callbacks), id, error) != batch::SubmitStatus::Ok)
    return false;
  while (engine.step())
    if (interrupt.raised())
      engine.cancel(id);
  return true;
}

const char *finishName(batch::Finish finish) {
  switch (finish) {
  case batch::Finish::StopId:
  case batch::Finish::StopString:
    return "stop";
  case batch::Finish::Length:
    return "length";
  case batch::Finish::Cancelled:
    return "cancelled";
  case batch::Finish::Error:
    break;
  }
  return "error";
}

nlohmann::json logprobsJson(const batch::Answer &answer, Session &session) {
  std::string ignored;
  const token::Tokenizer *tokenizer = session.text().tokenizer(ignored);
  auto entry = [&](int32_t id, float logprob) {
    std::string text = tokenizer ? tokenizer->tokenText(id) : "";
    nlohmann::json bytes = nlohmann::json::array();
    for (unsigned char byte : text)
      bytes.push_back(byte);
    return nlohmann::json{{"token", text}, {"id", id}, {"logprob", logprob}, {"bytes", bytes}};
  };
  nlohmann::json content = nlohmann::json::array();
  for (const sample::Drawn &drawn : answer.logprobs) {
    nlohmann::json one = entry(drawn.id, drawn.logprob);
    one["top_logprobs"] = nlohmann::json::array();
    for (const sample::TokenLogprob &alternative : drawn.top)
      one["top_logprobs"].push_back(entry(alternative.id, alternative.logprob));
    content.push_back(std::move(one));
  }
  return {{"content", content}};
}

nlohmann::json answerJson(const batch::Answer &answer, Session &session) {
  nlohmann::json object{
      {"text", answer.text},
      {"tokens", answer.tokens},
      {"finish_reason", finishName(answer.finish)},
      {"prompt_tokens", answer.promptTokens},
      {"timings", {{"prompt_ms", answer.timings.prompt}, {"predicted_ms", answer.timings.generation}}}};
  if (!answer.logprobs.empty())
    object["logprobs"] = logprobsJson(answer, session);
  if (!answer.error.empty())
    object["error"] = answer.error;
  return object;
}

void printTimings(const batch::Answer &answer) {
  double prompt = answer.timings.prompt / 1000, generation = answer.timings.generation / 1000;
  size_t generated = answer.tokens.size();
  std::fprintf(stderr, "[prompt %u tokens", answer.promptTokens);
  if (prompt > 0)
    std::fprintf(stderr, ", %.0f/s", answer.promptTokens / prompt);
  std::fprintf(stderr, "; answer %zu tokens", generated);
  if (generation > 0 && generated > 1)
    std::fprintf(stderr, ", %.1f/s", (generated - 1) / generation);
  std::fprintf(stderr, "; %s]\n", finishName(answer.finish));
}

} // namespace ingot::main_
