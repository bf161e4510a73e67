// Published templates and snippets against the reference renderings, byte by byte.
#include "test/unit/chat/Golden.h"
#include "runtime/chat/Chat.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>

using namespace ingot::chat;
using namespace ingot::chat::test;
using Json = nlohmann::ordered_json;

namespace {

ChatOptions optionsOf(const Json &input) {
  ChatOptions o;
  o.addGenerationPrompt = input["add_generation_prompt"].get<bool>();
  o.tools = input["tools"];
  o.documents = input["documents"];
  for (const auto &token : input["special_tokens"].items())
    o.specialTokens[token.key()] = token.value().get<std::string>();
  o.kwargs = input["kwargs"];
  o.normalize = input["normalize"].get<bool>();
  o.now = goldenClock();
  return o;
}

/// "" when the row is met.
std::string judge(const Json &row, bool ok, const std::string &text, const std::string &error) {
  if (row.contains("output")) {
    if (!ok)
      return "failed: " + error;
    if (text != row["output"].get<std::string>())
      return "expected:\n" + row["output"].dump() + "\ngot:\n" + Json(text).dump();
    return "";
  }
  if (ok)
    return "should fail: " + row["error"].get<std::string>() + "\ngot:\n" + Json(text).dump();
  if (row["error_kind"] == "raise" && error != "chat template: " + row["error"].get<std::string>())
    return "expected the message: " + row["error"].get<std::string>() + "\ngot: " + error;
  if (row["error_kind"] == "runtime" && error.rfind("chat template, line ", 0) != 0)
    return "error without a line: " + error;
  return "";
}

/// Checks all rows of one template; counts them in `checked`.
void checkTemplate(const std::string &templatePath, const std::vector<Json> &rows, size_t &checked) {
  std::string source, error;
  ASSERT_TRUE(readFile(templatePath, source)) << templatePath;
  std::unique_ptr<Template> t = Template::parse(source, error);
  ASSERT_TRUE(t) << templatePath << ": " << error;
  for (const Json &row : rows) {
    // Rows of the environment "lenient" say what comes out when a template may change lists; those of
    // "transformers" hold without. A missing filter (from_json) is a failure of the latter only, so that the
    // row before a lenient one may also give the lenient output.
    ChatOptions options = optionsOf(row["input"]);
    options.allowMutation = row["input"]["env"] == "lenient";
    Rendered out;
    bool ok = renderChat(*t, row["input"]["messages"], options, out, error);
    ++checked;
    std::string why = judge(row, ok, out.text(), error);
    if (!why.empty() && ok && row.contains("error") &&
        row["error"].get<std::string>().find("No filter named 'from_json'") != std::string::npos) {
      const Json &next = *(&row + 1);
      ASSERT_EQ(next["name"].get<std::string>(), row["name"].get<std::string>() + "/lenient");
      why = judge(next, ok, out.text(), error);
    }
    EXPECT_EQ(why, "") << row["template"] << " " << row["name"];
  }
}

void checkSnippets(const std::string &path, size_t &checked) {
  for (const Json &row : readRows(path)) {
    std::string error, text;
    std::unique_ptr<Template> t = Template::parse(row["template"].get<std::string>(), error);
    ASSERT_TRUE(t) << row["name"] << ": " << error;
    RenderOptions options;
    options.now = goldenClock();
    Failure failure;
    bool ok = t->render(row["context"], options, text, error, &failure);
    if (failure == Failure::Raised)
      error = "chat template: " + error;
    EXPECT_EQ(judge(row, ok, text, error), "") << row["name"];
    ++checked;
  }
}

} // namespace

TEST(ChatGolden, LocalTemplates) {
  size_t checked = 0;
  for (const std::string &path : listFiles(localDir(), ".jsonl.xz")) {
    std::string base = path.substr(0, path.size() - 9);
    checkTemplate(base + ".jinja", readRows(path), checked);
  }
  EXPECT_GE(checked, 250u);
}

TEST(ChatGolden, LocalSnippets) {
  size_t checked = 0;
  checkSnippets(localDir() + "/snippets.jsonl", checked);
  EXPECT_GE(checked, 25u);
}

TEST(ChatGolden, AllTemplates) {
  if (sharedDir().empty())
    GTEST_SKIP() << "the full references are not here";
  size_t checked = 0;
  for (const std::string &path : listFiles(sharedDir() + "/golden/chat_templates", ".jsonl.xz")) {
    std::string name = path.substr(path.rfind('/') + 1);
    checkTemplate(sharedDir() + "/chat_templates/" + name.substr(0, name.size() - 9) + ".jinja",
                  readRows(path), checked);
  }
  EXPECT_EQ(checked, 2326u);
}

TEST(ChatGolden, AllSnippets) {
  if (sharedDir().empty())
    GTEST_SKIP() << "the full references are not here";
  size_t checked = 0;
  checkSnippets(sharedDir() + "/golden/chat_templates/snippets.jsonl", checked);
  EXPECT_GE(checked, 25u);
}
