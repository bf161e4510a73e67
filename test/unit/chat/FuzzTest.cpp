// Damaged templates and conversations: every outcome but a crash is right, and a failure says why.
#include "runtime/chat/Chat.h"
#include "test/unit/chat/Golden.h"

#include <gtest/gtest.h>

#include <random>

using namespace ingot::chat;
using namespace ingot::chat::test;
using Json = nlohmann::ordered_json;

namespace {

const Json &conversation() {
  static const Json messages = [] {
    Json m;
    std::string error;
    EXPECT_TRUE(parseJson(R"([{"role":"system","content":"S \u4f60"},{"role":"user","content":"U"},
      {"role":"assistant","content":"A","tool_calls":[{"type":"function","id":"c1","function":{"name":"f",
      "arguments":{"a":1,"b":[1.5,null,"x"]}}}]},{"role":"tool","content":"R","tool_call_id":"c1"}])",
                          m, error));
    return m;
  }();
  return messages;
}

void tryTemplate(const std::string &source) {
  std::string error;
  std::unique_ptr<Template> t = Template::parse(source, error);
  if (!t) {
    ASSERT_FALSE(error.empty());
    return;
  }
  ChatOptions options;
  options.tools = Json::array({{{"type", "function"}, {"function", {{"name", "f"}}}}});
  options.now = goldenClock();
  options.allowMutation = true;
  options.limits.maxSteps = 200000;
  options.limits.maxOutputBytes = 1 << 20;
  options.limits.maxMemoryBytes = 8 << 20;
  Rendered out;
  if (!renderChat(*t, conversation(), options, out, error))
    ASSERT_FALSE(error.empty());
}

std::vector<std::string> seeds() {
  std::vector<std::string> out;
  for (const std::string &path : listFiles(localDir(), ".jinja")) {
    out.emplace_back();
    EXPECT_TRUE(readFile(path, out.back()));
  }
  for (const Json &row : readRows(localDir() + "/snippets.jsonl"))
    out.push_back(row["template"].get<std::string>());
  return out;
}

} // namespace

TEST(ChatFuzz, Truncated) {
  for (const std::string &seed : seeds()) {
    size_t step = seed.size() / 150 + 1;
    for (size_t n = 0; n < seed.size(); n += step)
      tryTemplate(seed.substr(0, n));
  }
}

TEST(ChatFuzz, Mutated) {
  static const char *const pieces[] = {
      "{{",
      "}}",
      "{%",
      "%}",
      "{#",
      "#}",
      "{%-",
      "-%}",
      "(",
      ")",
      "[",
      "]",
      "{",
      "}",
      "|",
      ".",
      ",",
      ":",
      "'",
      "\"",
      "~",
      "**",
      "//",
      "%",
      "\\",
      "\n",
      "\xff",
      "\xe4\xbd",
      "if",
      "else",
      "for",
      "in",
      "not",
      "is",
      "and",
      "or",
      "{% endfor %}",
      "{% endif %}",
      "{% set x = messages %}",
      "{% for i in messages %}",
      "loop.nextitem",
      "messages",
      "x",
      "none",
      "-1",
      "99999999999999999999",
      "1e999",
      "|tojson",
      "|list",
      "|map('upper')",
      "|join",
      "[::-1]",
      "[1:]",
      ".append(x)",
      ".split()",
      "*1000000",
      "|sort",
      "|groupby('role')",
      "namespace()",
      "{% macro m(x) %}",
      "{% endmacro %}",
      "m(x)",
      "{% call m(x) %}",
      "{% endcall %}",
      "caller()",
      "x.format(x)",
      "'%s%d'%x",
      "|from_json",
      "{% break %}",
      "range(9)",
      "|indent(3)",
      ".items()",
      "|dictsort",
      "{% raw %}",
  };
  std::mt19937 random(20260726);
  for (const std::string &seed : seeds()) {
    for (int round = 0; round < 120; ++round) {
      std::string s = seed;
      for (unsigned edits = 1 + random() % 4; edits; --edits) {
        size_t at = s.empty() ? 0 : random() % s.size();
        switch (random() % 4) {
        case 0:
          s.erase(at, 1 + random() % 12);
          break;
        case 1:
          s.insert(at, pieces[random() % std::size(pieces)]);
          break;
        case 2:
          if (!s.empty())
            s[at] = static_cast<char>(random());
          break;
        default: {
          size_t from = s.empty() ? 0 : random() % s.size();
          std::string part = s.substr(from, 1 + random() % 60);
          s.insert(at, part);
        }
        }
      }
      tryTemplate(s);
    }
  }
}

TEST(ChatFuzz, Json) {
  std::string text = conversation().dump(), error;
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    std::string s = text.substr(0, random() % (text.size() + 1));
    for (unsigned edits = random() % 3; edits && !s.empty(); --edits)
      s[random() % s.size()] = static_cast<char>(random());
    Json out;
    if (!parseJson(s, out, error))
      EXPECT_FALSE(error.empty());
  }
}
