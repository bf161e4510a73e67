//===- ChatCommand.cpp - talk with the model ------------------------------------------------------------===//

#include "runtime/main/Answer.h"
#include "runtime/main/Commands.h"
#include "runtime/main/Streams.h"

#include <cerrno>
#include <cstdio>
#include <unistd.h>

namespace ingot::main_ {
namespace {

enum class Line { Text, End, Interrupted };

/// Standard input by lines. No stream of the C library: one waits for the end of a line it has a part of, and
/// Ctrl-C would not be seen before.
class LineReader {
public:
  explicit LineReader(const InterruptScope &interrupt) : interrupt(interrupt) {}

  /// The next line, without its newline.
  Line next(std::string &line) {
    for (;;) {
      if (size_t end = pending.find('\n'); end != std::string::npos) {
        line.assign(pending, 0, end);
        pending.erase(0, end + 1);
        return Line::Text;
      }
      if (!interrupt.waitForInput(STDIN_FILENO)) {
        line.clear();
        return Line::Interrupted;
      }
      char buffer[4096];
      ssize_t got = read(STDIN_FILENO, buffer, sizeof buffer);
      if (got < 0 && (errno == EINTR || errno == EAGAIN))
        continue;
      if (got > 0) {
        pending.append(buffer, static_cast<size_t>(got));
        continue;
      }
      line.swap(pending);
      pending.clear();
      return line.empty() ? Line::End : Line::Text;
    }
  }

private:
  const InterruptScope &interrupt;
  std::string pending;
};

constexpr const char *help = "/reset  forget the conversation\n"
                             "/undo   forget the last question and answer\n"
                             "/help   this text\n"
                             "/exit   end (also Ctrl-D; Ctrl-C stops an answer)\n"
                             "A line that ends with \\ continues on the next one.\n";

} // namespace

int commandChat(const Options &options, ArtefactLoader &loader) {
  std::string error;
  std::unique_ptr<Artefact> artefact = loader.open(options.load, options.quiet, error);
  if (!artefact)
    return fail(error);
  std::unique_ptr<Session> session = Session::create(std::move(artefact), options.load, 1, error);
  if (!session)
    return fail(error);
  // A missing or broken template is told now, not after the first question.
  nlohmann::ordered_json history = nlohmann::ordered_json::array();
  if (!options.system.empty())
    history.push_back({{"role", "system"}, {"content", options.system}});
  {
    nlohmann::ordered_json probe = history;
    probe.push_back({{"role", "user"}, {"content", "Hello"}});
    std::vector<int32_t> ids;
    if (!session->text().encodeChat(probe, {}, ids, error))
      return fail(error);
  }
  size_t fixed = history.size();
  std::unique_ptr<batch::Engine> engine = session->createEngine();
  InterruptScope interrupt;
  LineReader input(interrupt);
  int status = ExitOk; // with questions from a file or a pipe, one that got no answer shows in it
  bool terminal = isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
  auto refused = [&] { status = terminal ? ExitOk : ExitError; };
  if (terminal && !options.quiet)
    std::fprintf(stderr, "%s. /help lists what can be typed.\n", session->meta().name.c_str());

  for (;;) {
    std::string question, line;
    Line state;
    if (terminal)
      std::fputs("> ", stderr);
    while ((state = input.next(line)) == Line::Text && !line.empty() && line.back() == '\\') {
      line.back() = '\n';
      question += line;
    }
    if (state == Line::Interrupted) {
      interrupt.reset();
      std::fputs("\n(Ctrl-D or /exit ends)\n", stderr);
      continue;
    }
    if (state == Line::End && question.empty()) {
      if (terminal)
        std::fputs("\n", stderr);
      return status;
    }
    question += line;
    if (question.empty())
      continue;
    if (question[0] == '/') {
      if (question == "/exit" || question == "/quit")
        return status;
      if (question == "/reset") {
        history.erase(history.begin() + static_cast<ptrdiff_t>(fixed), history.end());
      } else if (question == "/undo") {
        for (int i = 0; i < 2 && history.size() > fixed; ++i)
          history.erase(history.size() - 1);
      } else {
        std::fputs(question == "/help" ? help : "unknown; /help lists what can be typed\n", stderr);
      }
      continue;
    }

    nlohmann::ordered_json messages = history;
    messages.push_back({{"role", "user"}, {"content", question}});
    std::vector<int32_t> ids;
    batch::RequestOptions request;
    if (!session->text().encodeChat(messages, {}, ids, error) ||
        !session->requestOptions(options.sampling, request, error)) {
      std::fprintf(stderr, "error: %s\n", error.c_str());
      refused();
      continue;
    }
    batch::Answer answer;
    auto onText = [&](std::string_view piece) {
      if (!options.json) {
        std::fwrite(piece.data(), 1, piece.size(), stdout);
        std::fflush(stdout);
      }
    };
    if (!complete(*engine, std::move(ids), request, interrupt, onText, answer, error)) {
      std::fprintf(stderr, "error: %s\n(/reset forgets the conversation)\n", error.c_str());
      refused();
      continue;
    }
    interrupt.reset();
    if (options.json)
      std::printf("%s\n", answerJson(answer, *session).dump(-1, ' ', false, Replace).c_str());
    else
      std::printf("\n");
    std::fflush(stdout);
    if (outputFailed())
      return ExitError;
    if (!options.quiet)
      printTimings(answer);
    if (answer.finish == batch::Finish::Error) {
      std::fprintf(stderr, "error: %s\n", answer.error.c_str());
      refused();
      continue;
    }
    history = std::move(messages);
    history.push_back({{"role", "assistant"}, {"content", answer.text}});
  }
}

} // namespace ingot::main_
