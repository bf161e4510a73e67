//===- RunCommand.cpp - complete a text, or answer a question -------------------------------------------===//

#include "runtime/main/Answer.h"
#include "runtime/main/Commands.h"
#include "runtime/main/Interrupt.h"
#include "runtime/main/Session.h"

#include <cstdio>
#include <unistd.h>

namespace ingot::main_ {

static bool promptText(const Options &options, std::string &text, std::string &error) {
  int given = !options.input.prompt.empty() + !options.input.file.empty() + !options.input.dash.empty();
  if (given > 1) {
    error = "give the text once: -p TEXT, -f FILE or -";
    return false;
  }
  if (!options.input.prompt.empty()) {
    text = options.input.prompt;
    return true;
  }
  if (!given && isatty(STDIN_FILENO)) {
    error = "no text: give -p TEXT, -f FILE or -";
    return false;
  }
  return readFile(options.input.file.empty() ? "-" : options.input.file, text, error);
}

int commandRun(const Options &options, ArtefactLoader &loader) {
  std::string error, text;
  if (!promptText(options, text, error)) {
    std::fprintf(stderr, "error: %s\n", error.c_str());
    return ExitUsage;
  }
  std::unique_ptr<Artefact> artefact = loader.open(options.load, options.quiet, error);
  if (!artefact)
    return fail(error);
  std::unique_ptr<Session> session = Session::create(std::move(artefact), options.load, 1, error);
  if (!session)
    return fail(error);

  std::vector<int32_t> ids;
  bool chat = options.command == Command::Ask && session->text().hasTemplate();
  if (options.command == Command::Ask && !chat && !options.quiet)
    std::fprintf(stderr, "note: the model has no chat template; the text is completed as it is\n");
  if (chat) {
    nlohmann::ordered_json messages = nlohmann::ordered_json::array();
    if (!options.system.empty())
      messages.push_back({{"role", "system"}, {"content", options.system}});
    messages.push_back({{"role", "user"}, {"content", text}});
    if (!session->text().encodeChat(messages, {}, ids, error))
      return fail(error);
  } else if (!session->text().encodeText(text, options.special, options.noBos, ids, error)) {
    return fail(error);
  }
  batch::RequestOptions request;
  if (!session->requestOptions(options.sampling, request, error))
    return fail(error);

  std::unique_ptr<batch::Engine> engine = session->createEngine();
  InterruptScope interrupt;
  batch::Answer answer;
  auto onText = [&](std::string_view piece) {
    if (!options.json) {
      std::fwrite(piece.data(), 1, piece.size(), stdout);
      std::fflush(stdout);
    }
  };
  if (!complete(*engine, std::move(ids), request, interrupt, onText, answer, error))
    return fail(error);
  if (options.json)
    std::printf("%s\n", answerJson(answer, *session).dump(-1, ' ', false, Replace).c_str());
  else
    std::printf("\n");
  if (!options.quiet)
    printTimings(answer);
  if (answer.finish == batch::Finish::Error)
    return fail(answer.error);
  return answer.finish == batch::Finish::Cancelled ? ExitInterrupted : ExitOk;
}

} // namespace ingot::main_
