//===- RegexTest.cpp - The expression matcher against PCRE2 ---------------===//
#define PCRE2_CODE_UNIT_WIDTH 8
#include "runtime/token/Regex.h"
#include "runtime/token/Utf8.h"
#include <chrono>
#include <gtest/gtest.h>
#include <pcre2.h>
#include <random>

using namespace ingot::token;

namespace {

using Ranges = std::vector<std::pair<size_t, size_t>>;

Ranges ours(std::string_view pattern, std::string_view text) {
  Regex re;
  std::string error;
  Ranges out;
  if (!Regex::compile(pattern, re, error)) {
    ADD_FAILURE() << pattern << ": " << error;
    return out;
  }
  Regex::Scratch scratch;
  re.forEach(text, scratch, [&](size_t b, size_t e) { out.push_back({b, e}); });
  return out;
}

/// All matches by PCRE2, with the rule for empty matches that Regex::forEach has.
Ranges oracle(const std::string &pattern, const std::string &text) {
  int code;
  PCRE2_SIZE offset;
  pcre2_code *re = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                 PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE, &code, &offset, nullptr);
  EXPECT_TRUE(re) << pattern;
  Ranges out;
  if (!re)
    return out;
  pcre2_match_data *data = pcre2_match_data_create_from_pattern(re, nullptr);
  size_t from = 0, last = SIZE_MAX;
  while (from <= text.size() && pcre2_match(re, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from,
                                            0, data, nullptr) > 0) {
    PCRE2_SIZE *v = pcre2_get_ovector_pointer(data);
    if (v[0] != v[1] || v[1] != last)
      out.push_back({v[0], v[1]});
    last = v[1];
    from = v[1];
    if (v[0] == v[1]) {
      if (from >= text.size())
        break;
      for (++from; from < text.size() && (static_cast<unsigned char>(text[from]) & 0xc0) == 0x80;)
        ++from;
    }
  }
  pcre2_match_data_free(data);
  pcre2_code_free(re);
  return out;
}

const char *const kPublished[] = {
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)",
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
    R"([^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)",
    R"([一-龥぀-ゟ゠-ヿ]+)",
    R"( ?[^(\s|.,!?…。，、।۔،)]+)",
    R"(\d{1,3}(?=(?:\d{3})*\b))",
    R"((?=(\d{3})+(?!\d)))",
    R"([0-9][0-9][0-9])",
    R"(\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})",
    R"(\w+|[^\w\s]+)",
    R"((?:a|ab)(?:c|bcd)(?:d*))",
    R"((?:a*)*b|(?:|x)+y)",
    R"((a+?)(b??)[^\S\n]{0,2}$)",
    R"((?<=a)b|(?<!\d)\d(?>1*)1|^\s+|\Bx\b)",
    R"(\p{Han}+|\P{L}|[\p{L}\d_-]{2,4}?)",
};

TEST(Regex, AgreesWithPcreOnRandomTexts) {
  const char *const alphabet[] = {
      "a", "b",  "c",  "d",  "s",  "t", "'", "'s", "'LL",       "A",        "Z",
      "x", "y",  "0",  "1",  "23", " ", " ", "  ", "\n",        "\r\n",     "\t",
      ".", ",",  "!",  "(",  "|",  "_", "-", "é",  "e\xcc\x81", "Ж",        "ß",
      "ſ", "中", "の", "ア", "한", "١", "Ⅷ", "²",  "😀",        "\xc2\xa0", "\xe3\x80\x80",
      "€", "…",  "ǅ",  "ʰ",  "/"};
  std::mt19937 random(7);
  auto pick = [&](size_t n) { return random() % n; };
  for (const char *pattern : kPublished)
    for (int round = 0; round < 400; ++round) {
      std::string text;
      for (size_t i = 0, n = pick(30); i < n; ++i)
        text += alphabet[pick(sizeof(alphabet) / sizeof(*alphabet))];
      // Oniguruma's \\w has marks and no other numbers than decimal ones; PCRE2's is the other way round.
      std::string_view p = pattern;
      bool usesWord = p.find("\\w") != p.npos || p.find("\\b") != p.npos || p.find("\\B") != p.npos;
      if (usesWord && (text.find("\xc2\xb2") != text.npos || text.find("\xcc\x81") != text.npos))
        continue;
      ASSERT_EQ(ours(pattern, text), oracle(pattern, text)) << pattern << "\n  on '" << text << "'";
    }
}

TEST(Regex, ClassOperations) {
  // Oniguruma's set operations, which PCRE2 does not have.
  EXPECT_EQ(ours("[a-z&&[^aeiou]]+", "xyzab"), (Ranges{{0, 3}, {4, 5}}));
  EXPECT_EQ(ours("[\\p{L}&&[^a-z]]+", "abÀBc"), (Ranges{{2, 5}}));
  EXPECT_EQ(ours("[a[0-9]_]+", "b1a_-"), (Ranges{{1, 4}}));
  EXPECT_EQ(ours("[[:upper:][:digit:]]+|[^[:space:]]", "AB, 1"), (Ranges{{0, 2}, {2, 3}, {4, 5}}));
  EXPECT_EQ(ours("\\h+", "xyzBEEF"), (Ranges{{3, 7}}));
  EXPECT_EQ(ours("(?i)straSSe|K", "STRASSE \xe2\x84\xaa"), (Ranges{{0, 7}, {8, 11}}));
  EXPECT_EQ(ours("a(?i)b|c", "aBC"), (Ranges{{0, 2}}));
}

TEST(Regex, RefusesWithAReason) {
  for (const char *pattern : {"(", "a)", "[a", "a**b(", "*a", "\\p{Nope}", "\\1", "(?<=a+)b", "a{2,1}",
                              "[z-a]", "(?P", "\\", "\\p{L", "[[:nope:]]", "(?z)", "a{20000}"}) {
    Regex re;
    std::string error;
    EXPECT_FALSE(Regex::compile(pattern, re, error)) << pattern;
    EXPECT_FALSE(error.empty()) << pattern;
  }
  Regex re;
  std::string error;
  EXPECT_FALSE(Regex::compile(std::string(5000, '('), re, error));
  EXPECT_FALSE(Regex::compile("(?:(?:(?:a{100}){100}){100}){100}", re, error));
}

TEST(Regex, NoExponentialTime) {
  std::string text(200000, 'a');
  for (const char *pattern : {"(?:a*)*b", "(?:a|a)*b", "(?:a|aa)+$(?!a)b", "(?:(?:a?)*)*c"}) {
    Regex re;
    std::string error;
    ASSERT_TRUE(Regex::compile(pattern, re, error)) << error;
    Regex::Scratch scratch;
    size_t begin, end;
    auto start = std::chrono::steady_clock::now();
    EXPECT_FALSE(re.search(std::string_view(text).substr(0, 300), 0, begin, end, scratch));
    EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 5.0)
        << pattern;
  }
}

TEST(Regex, RandomPatternsNeverCrash) {
  std::mt19937 random(11);
  const char alphabet[] = "ab()[]{}|*+?\\^$.,:=!<>-&pLdsw01i#";
  for (int round = 0; round < 20000; ++round) {
    std::string pattern;
    for (size_t i = 0, n = random() % 14; i < n; ++i)
      pattern += alphabet[random() % (sizeof(alphabet) - 1)];
    Regex re;
    std::string error;
    if (!Regex::compile(pattern, re, error)) {
      EXPECT_FALSE(error.empty());
      continue;
    }
    Regex::Scratch scratch;
    size_t matches = 0;
    re.forEach("ab 01\nLpd-a(b)", scratch, [&](size_t b, size_t e) {
      EXPECT_LE(b, e);
      ++matches;
    });
    EXPECT_LE(matches, 15u);
  }
}

TEST(Utf8, MaximalSubparts) {
  std::string out, keep;
  appendValidUtf8(out, "a\xf0\x9f\x98z\xc0\x80\xed\xa0\x80\xe4\xbd", &keep);
  EXPECT_EQ(out, "a\xef\xbf\xbdz\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(keep, "\xe4\xbd");
}

} // namespace
