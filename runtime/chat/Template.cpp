// The public face of the template engine (see Template.h).
#include "runtime/chat/Template.h"

#include "runtime/chat/Interp.h"
#include "runtime/chat/Parser.h"

#include <algorithm>

namespace ingot::chat {

namespace {
// The largest template that is parsed; published ones have some ten thousand bytes.
constexpr size_t kMaxSource = 4u << 20;
} // namespace

std::string Rendered::text() const {
  std::string all;
  for (const Segment &s : segments)
    all += s.text;
  return all;
}

Template::Template() : program(std::make_unique<Program>()) {}
Template::~Template() = default;

std::unique_ptr<Template> Template::parse(std::string source, std::string &error) {
  error.clear();
  if (source.size() > kMaxSource) {
    error = "chat template: longer than " + std::to_string(kMaxSource) + " bytes";
    return nullptr;
  }
  std::vector<Token> tokens;
  std::string message;
  std::unique_ptr<Template> t(new Template());
  if (!tokenize(source, tokens, message) || !Parser(std::move(tokens), *t->program).run(message)) {
    error = "chat template, " + message;
    return nullptr;
  }
  return t;
}

bool Template::render(const nlohmann::ordered_json &vars, const RenderOptions &options, Rendered &out,
                      std::string &error, Failure *failure) const {
  out.segments.clear();
  error.clear();
  Interp interp(*program, options);
  bool ok = interp.run(vars, out);
  if (!ok) {
    out.segments.clear();
    error = interp.error;
  }
  if (failure)
    *failure = ok ? Failure::None : interp.failure;
  return ok;
}

bool Template::render(const nlohmann::ordered_json &vars, const RenderOptions &options, std::string &out,
                      std::string &error, Failure *failure) const {
  Rendered pieces;
  bool ok = render(vars, options, pieces, error, failure);
  out = pieces.text();
  return ok;
}

bool Template::mentions(std::string_view name) const {
  return std::find(program->names.begin(), program->names.end(), name) != program->names.end();
}

} // namespace ingot::chat
