//===- BatchCommand.cpp - many requests through continuous batching -------------------------------------===//
//
// Lines of OpenAI's batch format: {"custom_id", "method", "url", "body"} with bodies of /v1/chat/completions
// or /v1/completions. A bad request gets an error line; the others are answered.
//
//===------------------------------------------------------------------------------------------------------===//

#include "runtime/main/Answer.h"
#include "runtime/main/BatchRequest.h"
#include "runtime/main/Commands.h"
#include "runtime/main/Safetensors.h"
#include "runtime/weights/OutputPath.h"

#include <cstdio>
#include <unistd.h>

namespace ingot::main_ {
namespace {

using Json = nlohmann::ordered_json;

Json errorLine(size_t index, const std::string &customId, int status, const std::string &message) {
  Json body{{"error", {{"code", status}, {"message", message}, {"type", "invalid_request_error"}}}};
  return {
      {"id", "batch_req_" + std::to_string(index)},
      {"custom_id", customId},
      {"response", {{"status_code", status}, {"request_id", "req_" + std::to_string(index)}, {"body", body}}},
      {"error", nullptr}};
}

Json answerLine(size_t index, const BatchRequest &request, const batch::Answer &answer, Session &session) {
  if (answer.finish == batch::Finish::Error)
    return errorLine(index, request.customId, 500, answer.error);
  std::string number = std::to_string(index);
  Json choice{{"index", 0}};
  if (request.chat)
    choice["message"] = {{"role", "assistant"}, {"content", answer.text}};
  else
    choice["text"] = answer.text;
  choice["logprobs"] = answer.logprobs.empty() ? Json(nullptr) : Json(logprobsJson(answer, session));
  choice["finish_reason"] = finishName(answer.finish);
  size_t generated = answer.tokens.size();
  Json body{{"id", (request.chat ? "chatcmpl-" : "cmpl-") + number},
            {"object", request.chat ? "chat.completion" : "text_completion"},
            {"created", 0},
            {"model", session.meta().name},
            {"choices", Json::array({choice})},
            {"usage",
             {{"prompt_tokens", answer.promptTokens},
              {"completion_tokens", generated},
              {"total_tokens", answer.promptTokens + generated}}}};
  return {{"id", "batch_req_" + number},
          {"custom_id", request.customId},
          {"response", {{"status_code", 200}, {"request_id", "req_" + number}, {"body", body}}},
          {"error", nullptr}};
}

} // namespace

int commandBatch(const Options &options, ArtefactLoader &loader) {
  std::string error, text, output;
  if (!readFile(options.batch.requests, text, error))
    return fail(error);
  bool toStdout = options.batch.output == "-";
  if (!toStdout && !weights::resolveOutput(options.batch.output, {options.batch.requests, options.load.model},
                                           output, error))
    return fail(error);
  std::unique_ptr<Artefact> artefact = loader.open(options.load, options.quiet, error);
  if (!artefact)
    return fail(error);
  std::unique_ptr<Session> session =
      Session::create(std::move(artefact), options.load, static_cast<uint32_t>(options.load.maxSeqs), error);
  if (!session)
    return fail(error);

  std::vector<BatchRequest> requests;
  std::vector<Json> lines;
  size_t begin = 0, done = 0, failed = 0, tokens = 0;
  while (begin < text.size()) {
    size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.find_first_not_of(" \t\r") == std::string::npos)
      continue;
    requests.emplace_back();
    std::string problem;
    if (!requests.back().parse(line, *session, problem))
      requests.back().problem = problem.empty() ? "malformed request" : problem;
  }
  lines.resize(requests.size());
  // Made after what its callbacks reach: an engine that ends early tells each request.
  std::unique_ptr<batch::Engine> engine = session->createEngine();
  // Answers are kept as lines in the order of the requests, whatever order they are finished in.
  for (size_t i = 0; i < requests.size(); ++i) {
    BatchRequest &request = requests[i];
    if (!request.problem.empty()) {
      lines[i] = errorLine(i, request.customId, 400, request.problem);
      ++failed;
      continue;
    }
    batch::Callbacks callbacks;
    callbacks.done = [&, i](const batch::Answer &answer) {
      lines[i] = answerLine(i, requests[i], answer, *session);
      failed += answer.finish == batch::Finish::Error;
      tokens += answer.tokens.size();
      if (++done % 16 == 0 && !options.quiet)
        std::fprintf(stderr, isatty(STDERR_FILENO) ? "\r%zu of %zu answered" : "%zu of %zu answered\n", done,
                     requests.size());
    };
    uint64_t id;
    if (engine->submit(request.ids, request.options, std::move(callbacks), id, error) !=
        batch::SubmitStatus::Ok) {
      lines[i] = errorLine(i, request.customId, 400, error);
      ++failed;
    }
  }
  InterruptScope interrupt;
  while (engine->step())
    if (interrupt.raised()) {
      std::fprintf(stderr, "interrupted; nothing was written\n");
      return ExitInterrupted;
    }

  std::string answers;
  for (const Json &line : lines)
    answers += line.dump(-1, ' ', false, Replace) + "\n";
  if (toStdout)
    std::fwrite(answers.data(), 1, answers.size(), stdout);
  else if (!writeFileAtomically(output, answers, error))
    return fail(error);
  batch::Stats stats = engine->stats();
  if (!options.quiet) {
    if (isatty(STDERR_FILENO))
      std::fprintf(stderr, "\r");
    std::fprintf(stderr, "%zu requests, %zu with an error; %zu tokens in %.1f s (%.1f/s), %llu preemptions\n",
                 requests.size(), failed, tokens, stats.stepSeconds,
                 stats.stepSeconds > 0 ? static_cast<double>(tokens) / stats.stepSeconds : 0.0,
                 static_cast<unsigned long long>(stats.preemptions));
  }
  return ExitOk;
}

} // namespace ingot::main_
