//===- Answer.h - one request, and how its answer is shown ----------------------------------------------===//
#ifndef INGOT_RUNTIME_MAIN_ANSWER_H
#define INGOT_RUNTIME_MAIN_ANSWER_H

#include "runtime/main/Interrupt.h"
#include "runtime/main/Session.h"

namespace ingot::main_ {

/// How text that is not UTF-8 appears in JSON.
inline constexpr auto Replace = nlohmann::json::error_handler_t::replace;

/// Runs one request to its end; text arrives in pieces as it becomes certain. False and a message where it
/// cannot even start. An interrupt ends it with Finish::Cancelled.
bool complete(batch::Engine &engine, std::vector<int32_t> ids, const batch::RequestOptions &options,
              const InterruptScope &interrupt, const std::function<void(std::string_view)> &onText,
              batch::Answer &answer, std::string &error);

/// "stop", "length", "cancelled" or "error".
const char *finishName(batch::Finish finish);

/// {"text", "tokens", "finish_reason", "prompt_tokens", "timings", "logprobs"?}
nlohmann::json answerJson(const batch::Answer &answer, Session &session);

/// Log-probabilities in the form of OpenAI's chat completions.
nlohmann::json logprobsJson(const batch::Answer &answer, Session &session);

/// Rates of an answer, on standard error.
void printTimings(const batch::Answer &answer);

} // namespace ingot::main_

#endif // INGOT_RUNTIME_MAIN_ANSWER_H
