// Ingot's chat template engine: the subset of Jinja 3.1 (environment of transformers 5) that published chat
// templates use, with limits on everything a template could exhaust. A template reads no files, sees no
// object system, and has no way to reach the process.
//
// A parsed Template is immutable: any number of threads may render it at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace ingot::chat {

struct Program;

struct Limits {
  uint64_t maxSteps = 10'000'000;     // evaluated nodes, items and 256-byte pieces of text
  size_t maxOutputBytes = 64u << 20;  // rendered text
  size_t maxMemoryBytes = 256u << 20; // live values; at most 1 GiB
  uint32_t maxDepth = 600;            // nested evaluations (macro calls, recursive loops, expressions)
};

struct RenderOptions {
  /// Clock of strftime_now; the local time when absent.
  std::optional<std::tm> now;
  Limits limits;
  /// Names of variables whose strings are the user's: their text is marked in the output. In "messages" the
  /// `role` of a message stays unmarked when it is one of the usual roles, as templates build special tokens
  /// from it.
  std::vector<std::string> userVariables;
  /// Lets a template change lists and dictionaries (append, pop, update, ...). Off, such a method is an
  /// error, as in transformers. What changes belongs to this rendering alone.
  bool allowMutation = false;
};

/// Why a rendering failed.
enum class Failure : uint8_t {
  None,
  Raised,  // the template called raise_exception; the error is its message, unchanged
  Runtime, // an operation failed, or a limit was passed; the error begins "chat template, line N: "
};

/// Rendered text in pieces. Joined they are the whole text. `fromUser` text must never be read as special
/// tokens: a match of a special token that touches such a piece does not count. Ordinary tokenization works
/// on the joined text, so the pieces are no boundaries for it.
struct Rendered {
  struct Segment {
    std::string text;
    bool fromUser;
  };
  std::vector<Segment> segments;
  std::string text() const;
};

class Template {
public:
  /// Parses `source`. Null with `error` ("chat template, line N: ...") when it is not UTF-8, malformed, or
  /// uses a tag, filter or test that does not exist here.
  static std::unique_ptr<Template> parse(std::string source, std::string &error);
  ~Template();
  Template(const Template &) = delete;
  Template &operator=(const Template &) = delete;

  /// Renders with the members of `vars` (an object) as variables.
  bool render(const nlohmann::ordered_json &vars, const RenderOptions &options, std::string &out,
              std::string &error, Failure *failure = nullptr) const;
  /// The same, with the user's text marked.
  bool render(const nlohmann::ordered_json &vars, const RenderOptions &options, Rendered &out,
              std::string &error, Failure *failure = nullptr) const;

  /// True if the template reads a variable of this name (e.g. "tools", "enable_thinking").
  bool mentions(std::string_view name) const;

private:
  Template();
  std::unique_ptr<Program> program;
};

/// Parses JSON and keeps integers of any size (beyond 64 bits as a binary value of subtype kBigIntSubtype
/// that holds the digits). False with `error` naming the byte. Nesting is limited.
bool parseJson(std::string_view text, nlohmann::ordered_json &out, std::string &error);
constexpr uint8_t kBigIntSubtype = 1;

} // namespace ingot::chat
