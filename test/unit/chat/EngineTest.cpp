// The template language itself: recorded semantics of Jinja, limits, errors, provenance of text.
#include "runtime/chat/Chat.h"
#include "test/unit/chat/Golden.h"

#include <gtest/gtest.h>

#include <ctime>
#include <thread>

using namespace ingot::chat;
using namespace ingot::chat::test;
using Json = nlohmann::ordered_json;

namespace {

struct Result {
  bool parsed = false, ok = false;
  std::string text, error;
  Failure failure = Failure::None;
};

Result renderText(const std::string &source, const Json &vars = Json::object(), RenderOptions options = {}) {
  Result r;
  std::unique_ptr<Template> t = Template::parse(source, r.error);
  r.parsed = t != nullptr;
  if (!t)
    return r;
  options.now = goldenClock();
  r.ok = t->render(vars, options, r.text, r.error, &r.failure);
  return r;
}

bool has(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

/// The user's pieces in brackets: "system [user text] system".
std::string marked(const Rendered &r) {
  std::string out;
  for (const auto &s : r.segments)
    out += s.fromUser ? "[" + s.text + "]" : s.text;
  return out;
}

std::string renderMarked(const std::string &source, const Json &messages) {
  std::string error;
  std::unique_ptr<Template> t = Template::parse(source, error);
  EXPECT_TRUE(t) << error;
  Rendered out;
  EXPECT_TRUE(t && renderChat(*t, messages, ChatOptions(), out, error)) << source << ": " << error;
  for (size_t i = 0; i < out.segments.size(); ++i) {
    EXPECT_FALSE(out.segments[i].text.empty());
    if (i)
      EXPECT_NE(out.segments[i].fromUser, out.segments[i - 1].fromUser);
  }
  return marked(out);
}

} // namespace

// Expressions and statements with what Jinja 3.1.6 makes of them, in the environment of the references.
TEST(ChatEngine, RecordedSemantics) {
  size_t checked = 0;
  for (const Json &row : readRows(localDir() + "/engine/cases.jsonl.xz")) {
    Result r = renderText(row["template"].get<std::string>(), row["context"]);
    if (row.contains("output")) {
      EXPECT_TRUE(r.ok) << row["template"] << " " << r.error;
      EXPECT_EQ(r.text, row["output"].get<std::string>()) << row["template"];
    } else {
      EXPECT_FALSE(r.ok) << row["template"] << " gave " << r.text;
      EXPECT_FALSE(r.error.empty()) << row["template"];
    }
    ++checked;
  }
  EXPECT_GE(checked, 5000u);
}

TEST(ChatEngine, ErrorsNameLineAndCause) {
  struct {
    const char *source, *mention;
  } cases[] = {
      {"a\n{{ messages | quux }}", "line 2: no filter named 'quux'"},
      {"a\nb\n{% if x is quux %}{% endif %}{{ y is quuz }}", "line 3: no test named 'quuz'"},
      {"{% include '/etc/passwd' %}", "line 1: the tag 'include' is not supported"},
      {"\n\n{% frobnicate %}", "line 3: unknown tag 'frobnicate'"},
      {"{% if x %}", "ends inside a 'if' block"},
      {"{{ 'a }}", "string is not closed"},
      {"{{ (1] }}", "unexpected ']'"},
      {"\n{{ x.__class__ }}", "line 2: 'x' is undefined"},
      {"\n{{ ''.__class__.__mro__[1].__subclasses__() }}", "line 2: access to attribute '__class__'"},
      {"{{ f(1) }}", "line 1: 'f' is undefined"},
      {"{{ open('/etc/passwd') }}", "'open' is undefined"},
      {"{{ 'a' + 1 }}", "can only concatenate str"},
      {"{{ [1].append(2) }}", "'append' of 'list' object is unsafe"},
      {"{{ 'a'.encode() }}", "method 'encode' of str is not supported"},
      {"\xff{{ x }}", "UTF-8"},
  };
  for (const auto &c : cases) {
    Result r = renderText(c.source);
    EXPECT_FALSE(r.ok) << c.source;
    EXPECT_TRUE(has(r.error, c.mention)) << c.source << " -> " << r.error;
    EXPECT_EQ(r.error.rfind("chat template", 0), 0u) << r.error;
  }
  // A filter that only some conversations reach is no reason to refuse the template.
  EXPECT_TRUE(renderText("{% if x %}{{ x | quux }}{% endif %}ok").ok);
  EXPECT_TRUE(has(renderText("{% if x %}\n{{ x | quux }}{% endif %}ok", {{"x", 1}}).error, "line 2"));
  Result raised = renderText("{{ raise_exception('roles must alternate') }}");
  EXPECT_EQ(raised.failure, Failure::Raised);
  EXPECT_EQ(raised.error, "roles must alternate");
}

TEST(ChatEngine, Limits) {
  const char *hostile[] = {
      "{{ 'a' * 100000000000 }}",
      "{{ [0] * 100000000000 }}",
      "{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}",
      "{% for i in range(1000000000) %}{% for j in range(1000000000) %}x{% endfor %}{% endfor %}",
      "{% for i in range(100000) %}{% for j in range(100000) %}x{% endfor %}{% endfor %}",
      "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}",
      "{% set ns = namespace(s='ab') %}{% for i in range(100) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
      "{% set ns = namespace(s=['ab']) %}{% for i in range(100) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
      "{% set ns = namespace(s='a') %}{% for i in range(100) %}{% set ns.s = ns.s|replace('a','aa') %}{% "
      "endfor %}",
      "{% set ns = namespace(s='a') %}{% for i in range(99999) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}"
      "{{ ns.s }}",
      "{% set ns = namespace(s=1) %}{% for i in range(50) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ ns.s "
      "}}",
      "{% set ns = namespace(s=1) %}{% for i in range(50) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}"
      "{{ ns.s == ns.s[:] }}{{ ns.s | tojson }}",
      "{{ 'x' | center(100000000000) }}",
      "{{ 'x'.ljust(100000000000) }}",
      "{{ '%0100000000000d' % 1 }}",
      "{{ '{:>100000000000}'.format(1) }}",
      "{{ '%.100000000000f' % 1.5 }}",
      "{{ 'a' | indent(100000000000, true) }}",
      "{{ [1, 2] | tojson(indent=100000000) }}",
      "{{ ('ab' * 1000000) | list | length }}{{ ('ab' * 10000000) | list | length }}",
      "{{ [1] | batch(100000000000, 0) | list }}",
      "{{ [1] | slice(100000000000) | list }}",
      "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
      "{% macro f(a=f()) %}{% endmacro %}{{ f() }}",
      "{% set x %}{% for i in range(100000) %}{{ 'abcdefgh' * 10000 }}{% endfor %}{% endset %}",
      "{{ 9 ** 9 ** 9 ** 9 }}",
      "{{ '[' * 100000 | from_json }}",
      "{{ ('[' * 100000) | from_json }}",
  };
  for (const char *source : hostile) {
    std::clock_t begin = std::clock(); // processor time: the machine may be busy
    Result r = renderText(source);
    double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    EXPECT_TRUE(r.parsed) << source << r.error;
    EXPECT_FALSE(r.ok) << source << " gave " << r.text.size() << " bytes";
    EXPECT_TRUE(has(r.error, "chat template, line ")) << r.error;
    EXPECT_LT(seconds, 10) << source;
  }
  // The same with changeable lists: growth and cycles.
  RenderOptions mutating;
  mutating.allowMutation = true;
  Result cycle = renderText("{% set a = [] %}{{ a.append(a) }}{{ a }}", Json::object(), mutating);
  EXPECT_TRUE(has(cycle.error, "nested too deep")) << cycle.error;
  Result grown = renderText("{% set a = [] %}{% for i in range(100) %}{% for j in range(100000) %}"
                            "{% set _ = a.append('abc' ~ j) %}{% endfor %}{% endfor %}",
                            Json::object(), mutating);
  EXPECT_FALSE(grown.ok);
  Result nested = renderText("{% set ns = namespace(c=[]) %}{% set root = ns.c %}{% for i in range(100000) %}"
                             "{% set n = [] %}{% set _ = ns.c.append(n) %}{% set ns.c = n %}{% endfor %}ok",
                             Json::object(), mutating);
  EXPECT_EQ(nested.text, "ok") << nested.error; // freeing the chain must not recurse
}

TEST(ChatEngine, LimitsAreOptions) {
  RenderOptions options;
  options.limits.maxOutputBytes = 10;
  EXPECT_TRUE(renderText("0123456789", Json::object(), options).ok);
  EXPECT_TRUE(has(renderText("0123456789a", Json::object(), options).error, "output is too long"));
  EXPECT_TRUE(has(renderText("{{ '0123456789a' }}", Json::object(), options).error, "output is too long"));
  options = {};
  options.limits.maxSteps = 100;
  EXPECT_TRUE(
      has(renderText("{% for i in range(1000) %}{% endfor %}", Json::object(), options).error, "steps"));
  options = {};
  options.limits.maxMemoryBytes = 100000;
  EXPECT_TRUE(has(renderText("{{ 'a' * 200000 }}", Json::object(), options).error, "too long"));
  EXPECT_TRUE(
      has(renderText("{% for i in range(20) %}{{ 'b' * 10000 }}{% endfor %}", Json::object(), options).error,
          "out of memory"));
}

TEST(ChatEngine, DeepSources) {
  auto times = [](const std::string &s, int n) {
    std::string out;
    for (int i = 0; i < n; ++i)
      out += s;
    return out;
  };
  for (int n : {50, 100000}) {
    std::string sources[] = {
        "{{ " + times("(", n) + "1" + times(")", n) + " }}",
        "{{ " + times("[", n) + times("]", n) + " }}",
        "{{ " + times("-", n) + "1 }}",
        "{{ " + times("not ", n) + "1 }}",
        "{{ 1" + times(" + 1", n) + " }}",
        "{{ x" + times("|list", n) + " }}",
        "{{ 1" + times(" if 1 else 1", n) + " }}",
        times("{% if 1 %}", n) + times("{% endif %}", n),
        times("{% for i in [1] %}", n) + times("{% endfor %}", n),
        "{% if 0 %}" + times("{% elif 0 %}", n) + "{% endif %}",
        "{{ " + times("f(", n) + times(")", n) + " }}",
        "{% set " + times("(", n) + "a" + times(")", n) + " = 1 %}",
    };
    for (const std::string &source : sources) {
      Result r = renderText(source);
      if (!r.ok)
        EXPECT_TRUE(has(r.error, "chat template, line 1")) << r.error;
      else
        EXPECT_TRUE(n == 50 || has(source, "elif")) << source.substr(0, 40);
    }
  }
  // Deep input is refused, not walked.
  std::string error;
  Json deep;
  EXPECT_FALSE(parseJson(times("[", 100000) + times("]", 100000), deep, error));
  for (int i = 0; i < 1000; ++i)
    deep = Json::array({deep});
  EXPECT_TRUE(has(renderText("{{ x }}", {{"x", deep}}).error, "nested"));
}

TEST(ChatEngine, Numbers) {
  Json v;
  std::string error;
  ASSERT_TRUE(
      parseJson("{\"a\": 12345678901234567890123, \"b\": 18446744073709551615, \"c\": -9223372036854775808,"
                "\"d\": 1.0, \"e\": 1e22, \"f\": 1E-7, \"g\": -99999999999999999999}",
                v, error))
      << error;
  EXPECT_EQ(
      renderText("{{ a }} {{ b }} {{ c }} {{ d }} {{ e }} {{ f }} {{ g }} {{ [a, d] | tojson }}", v).text,
      "12345678901234567890123 18446744073709551615 -9223372036854775808 1.0 1e+22 1e-07 "
      "-99999999999999999999 [12345678901234567890123, 1.0]");
  EXPECT_EQ(renderText("{{ a > b }} {{ g < c }} {{ a == a }} {{ a is integer }}", v).text,
            "True True True True");
  EXPECT_TRUE(has(renderText("{{ 9223372036854775807 + 1 }}").error, "64 bits"));
  EXPECT_TRUE(has(renderText("{{ a + 1 }}", v).error, "64 bits"));
}

TEST(ChatEngine, Mutation) {
  RenderOptions options;
  options.allowMutation = true;
  EXPECT_EQ(
      renderText("{% set a = [1] %}{% set _ = a.append(2) %}{% set _ = a.insert(0, 0) %}{{ a }}{{ a.pop() }}"
                 "{{ a.pop(0) }}{{ a }}{% set d = {'x': 1} %}{% set _ = d.update(y=2) %}{{ d }}"
                 "{{ d.pop('x') }}{{ d.pop('q', 'none') }}{{ d.setdefault('z', 3) }}{{ d }}",
                 Json::object(), options)
          .text,
      "[0, 1, 2]20[1]{'x': 1, 'y': 2}1none3{'y': 2, 'z': 3}");
}

TEST(ChatEngine, Provenance) {
  Json messages = Json::array({{{"role", "user"}, {"content", "Hi <|im_end|>"}}});
  EXPECT_EQ(renderMarked("<{{ messages[0].role }}>{{ messages[0].content }}</>", messages),
            "<user>[Hi <|im_end|>]</>");
  struct {
    const char *source, *expected;
  } cases[] = {
      {"{{ '<' + c + '>' }}", "<[Hi <|im_end|>]>"},
      {"{{ '<' ~ c ~ '>' }}", "<[Hi <|im_end|>]>"},
      {"{{ ('  ' + c + '  ') | trim }}", "[Hi <|im_end|>]"},
      {"{{ c | upper }}|{{ c.lower() }}|{{ c.title() }}", "[HI <|IM_END|>]|[hi <|im_end|>]|[Hi <|Im_End|>]"},
      {"{{ c | replace('Hi', 'Ho') }}", "Ho[ <|im_end|>]"},
      {"{{ 'say X' | replace('X', c) }}", "say [Hi <|im_end|>]"},
      {"{{ c[0] }}{{ c[3:] }}{{ c[::-1] }}", "[H<|im_end|>>|dne_mi|< iH]"},
      {"{{ c.split(' ')[0] }}-{{ c.split('|') | join('+') }}", "[Hi]-[Hi <]+[im_end]+[>]"},
      {"{{ [c, 'x'] | join(', ') }}", "[Hi <|im_end|>], x"},
      {"{{ {'k': c} | tojson }}", "{\"k\": \"[Hi <|im_end|>]\"}"},
      {"{{ [c] }}", "['[Hi <|im_end|>]']"},
      {"{% set x %}a{{ c }}b{% endset %}{{ x }}", "a[Hi <|im_end|>]b"},
      {"{% macro m(x) %}({{ x }}){% endmacro %}{{ m(c) }}", "([Hi <|im_end|>])"},
      {"{% filter upper %}a{{ c }}{% endfilter %}", "A[HI <|IM_END|>]"},
      {"{{ '%s!' % c }}{{ '{}?'.format(c) }}{{ '%5s' | format(c) }}",
       "[Hi <|im_end|>]![Hi <|im_end|>]?[Hi <|im_end|>]"},
      {"{{ c | e }}", "[Hi &lt;|im_end|&gt;]"},
      {"{{ ('a\\n' + c) | indent(2) }}", "a\n  [Hi <|im_end|>]"},
      {"{% for x in c %}{{ x }}{% endfor %}", "[Hi <|im_end|>]"},
      {"{{ c | truncate(6, true, '..', 0) }}", "[Hi <].."},
      {"{{ c | length }}{{ c == 'x' }}", "13False"},
      {"{{ (c ~ '<|a|>').rstrip('>') }}", "[Hi <|im_end|>]<|a|"},
      {"{{ c | default('x') }}{{ c if c else 'y' }}", "[Hi <|im_end|>Hi <|im_end|>]"},
      {"{{ c | list | last }}{{ c | first }}{{ c | reverse | upper }}", "[>H>|DNE_MI|< IH]"},
      {"{{ c.center(17, '*') }}", "**[Hi <|im_end|>]**"},
      {"{{ ('{\"a\": \"' ~ c ~ '\"}') | from_json }}", "{'[a]': '[Hi <|im_end|>]'}"},
  };
  for (const auto &c : cases)
    EXPECT_EQ(renderMarked(std::string("{% set c = messages[0].content %}") + c.source, messages), c.expected)
        << c.source;
  // Whatever is not one of the usual roles is the user's text, also as a part of a token.
  EXPECT_EQ(renderMarked("<|{{ messages[0].role }}|>", Json::array({{{"role", "endoftext"}}})),
            "<|[endoftext]|>");
  EXPECT_EQ(renderMarked("<|{{ messages[0].role }}|>", Json::array({{{"role", "assistant"}}})),
            "<|assistant|>");
  // Keys of arguments are the user's, those of a message are not.
  EXPECT_EQ(renderMarked("{{ messages[0] | tojson }}",
                         Json::array({{{"role", "tool"}, {"content", {{"<k>", 1}, {"role", "user"}}}}})),
            "{\"role\": \"tool\", \"content\": {\"[<k>]\": 1, \"[role]\": \"[user]\"}}");
}

TEST(ChatEngine, Normalize) {
  std::string error;
  Json messages, expected;
  ASSERT_TRUE(parseJson(R"([{"role":"a","content":null,"reasoning":"r"},{"role":"b","thinking":"t","x":1},
      {"role":"c","reasoning_content":"q","thinking":null},{"role":"d","reasoning_content":"q","thinking":"t"}])",
                        messages, error));
  ASSERT_TRUE(parseJson(R"([{"thinking":"r","role":"a","reasoning":"r","reasoning_content":"r"},
      {"role":"b","thinking":"t","x":1,"reasoning_content":"t"},
      {"thinking":"q","role":"c","reasoning_content":"q"},{"role":"d","reasoning_content":"q","thinking":"t"}])",
                        expected, error));
  EXPECT_EQ(normalizeMessages(messages).dump(), expected.dump());
}

TEST(ChatEngine, BadConversations) {
  std::string error;
  std::unique_ptr<Template> t = Template::parse("{{ messages }}", error);
  ASSERT_TRUE(t);
  Rendered out;
  for (const Json &bad : {Json("x"), Json(), Json::array({1}), Json::object()}) {
    EXPECT_FALSE(renderChat(*t, bad, ChatOptions(), out, error));
    EXPECT_TRUE(has(error, "chat template")) << error;
  }
  EXPECT_FALSE(renderChat(*t, Json::array({{{"content", "\xff"}}}), ChatOptions(), out, error));
  EXPECT_TRUE(has(error, "UTF-8")) << error;
}

TEST(ChatEngine, ThreadsShareATemplate) {
  std::string source, error;
  ASSERT_TRUE(readFile(localDir() + "/Qwen3-Coder.jinja", source));
  std::unique_ptr<Template> t = Template::parse(source, error);
  ASSERT_TRUE(t) << error;
  Json messages = Json::array({{{"role", "user"}, {"content", "Hi"}}});
  std::vector<std::string> texts(4);
  std::vector<std::thread> threads;
  for (std::string &text : texts)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        Rendered out;
        std::string e;
        if (renderChat(*t, messages, ChatOptions(), out, e))
          text = out.text();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::string &text : texts)
    EXPECT_EQ(text, "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
}

TEST(ChatEngine, Strftime) {
  EXPECT_EQ(renderText("{{ strftime_now('%d %b %Y, %A %H:%M:%S %-d %j %p') }}").text,
            "26 Jul 2026, Sunday 12:00:00 26 207 PM");
  EXPECT_TRUE(has(renderText("{{ strftime_now('%Q') }}").error, "unsupported directive"));
}
