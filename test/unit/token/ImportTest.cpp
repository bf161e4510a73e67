//===- ImportTest.cpp - What the importers refuse, and how ----------------===//
#include "test/unit/token/Support.h"
#include <algorithm>
#include <functional>

using namespace ingot;
using namespace ingot::test;
using Json = nlohmann::json;

namespace {

/// A byte-level tokenizer with the letters a to e and three merges.
Json smallHf() {
  return Json::parse(R"({
    "version": "1.0", "truncation": null, "padding": null,
    "added_tokens": [{"id": 6, "content": "<s>", "single_word": false, "lstrip": false, "rstrip": false,
                      "normalized": false, "special": true}],
    "normalizer": null,
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
    "post_processor": null,
    "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
    "model": {"type": "BPE", "dropout": null, "unk_token": null, "fuse_unk": false, "byte_fallback": false,
              "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, "abc": 4, "\u0120": 5}, "merges": [["a", "b"], "ab c"]}})");
}

std::string hfError(const Json &j, uint64_t rows = 0, const std::string &config = "") {
  std::vector<uint8_t> blob;
  std::string error;
  if (import_::importHfTokenizer(j.dump(), config, blob, error, rows)) {
    EXPECT_TRUE(error.empty());
    if (token::Tokenizer::load(blob.data(), blob.size(), error))
      return "";
  }
  EXPECT_FALSE(error.empty());
  return error;
}

void expectHf(const Json &j, const std::string &mention, uint64_t rows = 0) {
  std::string error = hfError(j, rows);
  EXPECT_NE(error.find(mention), std::string::npos) << "got '" << error << "', wanted '" << mention << "'";
}

TEST(HfImport, SmallWorks) {
  EXPECT_EQ(hfError(smallHf()), "");
  std::vector<uint8_t> blob;
  std::string error;
  ASSERT_TRUE(import_::importHfTokenizer(
      smallHf().dump(), R"({"bos_token": {"content": "<s>"}, "eos_token": "<s>"})", blob, error))
      << error;
  Loaded t = load(blob);
  EXPECT_EQ(t->encode("abc ab", true, true), (std::vector<int32_t>{4, 5, 3}));
  EXPECT_EQ(t->bos(), 6);
  EXPECT_EQ(t->eos(), 6);
  EXPECT_TRUE(t->isControl(6));
  EXPECT_TRUE(t->isEnd(6));
  EXPECT_FALSE(t->isControl(5));
  EXPECT_EQ(t->tokenText(5), " ");
  EXPECT_EQ(t->tokenText(99), "");
  EXPECT_EQ(t->vocabSize(), 7);
  std::vector<uint8_t> again;
  ASSERT_TRUE(import_::importHfTokenizer(
      smallHf().dump(), R"({"bos_token": {"content": "<s>"}, "eos_token": "<s>"})", again, error));
  EXPECT_EQ(blob, again) << "the same input must give the same bytes";
}

TEST(HfImport, UnknownTypesAndFieldsAreNamed) {
  struct Case {
    const char *pointer;
    Json value;
    const char *mention;
  };
  const Case cases[] = {
      {"/model/type", "Quux", "Quux"},
      {"/model/type", "Unigram", "Unigram"},
      {"/model/strange", 1, "strange"},
      {"/model/dropout", 0.1, "dropout"},
      {"/model/continuing_subword_prefix", "##", "continuing_subword_prefix"},
      {"/model/end_of_word_suffix", "</w>", "end_of_word_suffix"},
      {"/model/unk_token", 3, "unk_token"},
      {"/model/fuse_unk", "yes", "fuse_unk"},
      {"/version", "2.0", "2.0"},
      {"/extra", 1, "extra"},
      {"/normalizer", Json{{"type", "Nmt"}}, "Nmt"},
      {"/normalizer", Json{{"type", "NFC"}, {"odd", 1}}, "odd"},
      {"/normalizer", Json{{"type", "Sequence"}, {"normalizers", {Json{{"type", "Precompiled"}}}}},
       "Precompiled"},
      {"/normalizer", Json{{"type", "Replace"}, {"pattern", {{"Glob", "x"}}}, {"content", ""}}, "Glob"},
      {"/normalizer", Json{{"type", "Replace"}, {"pattern", {{"Regex", "("}}}, {"content", ""}},
       "regular expression"},
      {"/normalizer", "NFC", "normalizer"},
      {"/pre_tokenizer", Json{{"type", "UnicodeScripts"}}, "UnicodeScripts"},
      {"/pre_tokenizer",
       Json{{"type", "Split"}, {"pattern", {{"Regex", "a("}}}, {"behavior", "Isolated"}, {"invert", false}},
       "decoder"},
      {"/pre_tokenizer",
       Json{{"type", "Split"}, {"pattern", {{"String", "a"}}}, {"behavior", "Sideways"}, {"invert", false}},
       "Sideways"},
      {"/pre_tokenizer/odd", true, "odd"},
      {"/post_processor", Json{{"type", "Whatever"}}, "Whatever"},
      {"/post_processor",
       Json{{"type", "TemplateProcessing"},
            {"single", {Json{{"SpecialToken", {{"id", "<x>"}, {"type_id", 0}}}}}},
            {"pair", Json::array()},
            {"special_tokens", Json::object()}},
       "<x>"},
      {"/decoder", Json{{"type", "CTC"}}, "CTC"},
      {"/decoder", nullptr, "decoder"},
      {"/added_tokens/0/odd", 1, "odd"},
      {"/added_tokens/0/id", -1, "id"},
      {"/added_tokens/0/id", 4000000000u, "4000000000"},
      {"/added_tokens/0/id", 3, "'ab'"},
      {"/model/vocab/x", 70000000, "70000000"},
      {"/model/vocab/x", -4, "'x'"},
      {"/model/vocab/x", "1", "'x'"},
      {"/model/vocab/x", 2, "same id"},
      {"/model/merges/0", "nospace", "nospace"},
      {"/model/merges/0", Json{"a", "q"}, "merge"},
      {"/model/merges/0", Json{"a", "b", "c"}, "merge"},
      {"/model/merges/0", 5, "merges"},
      {"/model/merges", "x", "merges"},
  };
  for (const Case &c : cases) {
    SCOPED_TRACE(std::string(c.pointer) + " = " + c.value.dump());
    Json j = smallHf();
    j[Json::json_pointer(c.pointer)] = c.value;
    expectHf(j, c.mention);
  }
  Json noMerges = smallHf();
  noMerges["model"].erase("merges");
  expectHf(noMerges, "merges");
}

TEST(HfImport, BadExpressionShowsAtLoad) {
  Json j = smallHf();
  j["pre_tokenizer"] = Json{{"type", "Sequence"},
                            {"pretokenizers",
                             {Json{{"type", "Split"},
                                   {"pattern", {{"Regex", "(\\s+"}}},
                                   {"behavior", "Isolated"},
                                   {"invert", false}},
                              smallHf()["pre_tokenizer"]}}};
  expectHf(j, "unmatched parenthesis");
}

TEST(HfImport, GrowthIsBounded) {
  Json j = smallHf(), list = Json::array();
  for (int i = 0; i < 40; ++i)
    list.push_back(Json{{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "aa"}});
  j["normalizer"] = Json{{"type", "Sequence"}, {"normalizers", list}};
  expectHf(j, "normalizer");
}

TEST(HfImport, EmbeddingRows) {
  Json j = smallHf();
  EXPECT_EQ(hfError(j, 7), "");
  EXPECT_EQ(hfError(j, 6), "") << "an added token without a row is left out";
  expectHf(j, "embedding", 5);
  std::vector<uint8_t> blob;
  std::string error;
  ASSERT_TRUE(import_::importHfTokenizer(j.dump(), "", blob, error, 6));
  Loaded t = load(blob);
  EXPECT_EQ(t->vocabSize(), 6);
  EXPECT_EQ(t->findToken("<s>"), -1);
}

TEST(HfImport, CutFiles) {
  std::string whole = smallHf().dump();
  for (size_t n = 0; n < whole.size(); ++n) {
    std::vector<uint8_t> blob;
    std::string error;
    EXPECT_FALSE(import_::importHfTokenizer(whole.substr(0, n), "", blob, error)) << n;
    EXPECT_NE(error.find("tokenizer.json"), std::string::npos);
    EXPECT_TRUE(blob.empty());
  }
  std::vector<uint8_t> blob;
  std::string error;
  EXPECT_FALSE(import_::importHfTokenizer(std::string(100000, '['), "", blob, error));
  EXPECT_FALSE(import_::importHfTokenizer(whole, "{", blob, error));
  EXPECT_NE(error.find("tokenizer_config.json"), std::string::npos);
}

TEST(HfImport, MalformedReferences) {
  if (sharedDir().empty())
    GTEST_SKIP() << "the full references are not here";
  std::string bad = sharedDir() + "golden/bad/";
  auto cases = Json::parse(readFile(bad + "manifest.json"))["cases"];
  Loaded good = loadHf(bad + "hf_good/tokenizer.json");
  size_t seen = 0;
  for (const auto &c : cases) {
    std::string id = c["id"];
    if (id.rfind("hf_tok_", 0) != 0)
      continue;
    ++seen;
    std::vector<uint8_t> blob;
    std::string error;
    bool ok = import_::importHfTokenizer(readFile(bad + c["path"].get<std::string>() + "/tokenizer.json"), "",
                                         blob, error, 280);
    std::unique_ptr<token::Tokenizer> t;
    if (ok)
      t = token::Tokenizer::load(blob.data(), blob.size(), error);
    if (t) {
      EXPECT_NE(c["expect"], "error") << id;
      EXPECT_EQ(t->encode("the cat of", true, true), good->encode("the cat of", true, true)) << id;
      continue;
    }
    EXPECT_NE(c["expect"], "accept") << id;
    bool mentioned = c["mention"].empty();
    auto lower = [](std::string s) {
      for (char &ch : s)
        ch = static_cast<char>(tolower(ch));
      return s;
    };
    for (const auto &m : c["mention"])
      mentioned |= lower(error).find(lower(m.get<std::string>())) != std::string::npos;
    EXPECT_TRUE(mentioned) << id << ": " << error;
  }
  EXPECT_GE(seen, 8u);
}

struct SmallGguf {
  import_::GgufTokenizer g;
  SmallGguf() {
    g.model = "gpt2";
    g.pre = "gpt-2";
    g.tokens = {"a", "b", "ab", "\xc4\xa0", "<|im_end|>", "<u u>"};
    g.merges = {"a b"};
    g.types = {1, 1, 1, 1, 3, 4};
    g.eos = 4;
  }
};

std::string ggufError(const import_::GgufTokenizer &g, uint64_t rows = 0) {
  std::vector<uint8_t> blob;
  std::string error;
  if (import_::importGgufTokenizer(g, blob, error, rows))
    return token::Tokenizer::load(blob.data(), blob.size(), error) ? "" : error;
  EXPECT_TRUE(blob.empty());
  return error;
}

TEST(GgufImport, Refusals) {
  auto expect = [](const std::function<void(import_::GgufTokenizer &)> &change, const std::string &mention,
                   uint64_t rows = 0) {
    SmallGguf s;
    change(s.g);
    std::string error = ggufError(s.g, rows);
    EXPECT_NE(error.find(mention), std::string::npos) << "got '" << error << "', wanted '" << mention << "'";
  };
  EXPECT_EQ(ggufError(SmallGguf().g), "");
  expect([](auto &g) { g.model = "quux"; }, "quux");
  expect([](auto &g) { g.pre = "strange-pre"; }, "strange-pre");
  expect([](auto &g) { g.tokens.clear(); }, "tokenizer.ggml.tokens");
  expect([](auto &g) { g.types.pop_back(); }, "token_type");
  expect([](auto &g) { g.merges = {"ab"}; }, "merge");
  expect([](auto &g) { g.merges = {"a q"}; }, "merge");
  expect([](auto &g) { g.bos = 99999; }, "bos_token_id");
  expect([](auto &g) { g.eos = int64_t(1) << 40; }, "eos_token_id");
  expect([](auto &g) { g.tokens[1] = "a"; }, "'a'");
  expect([](auto &g) { g.model = "llama"; }, "scores");
  expect([](auto &) {}, "embedding", 5);
}

TEST(GgufImport, MalformedReferences) {
  if (sharedDir().empty())
    GTEST_SKIP() << "the full references are not here";
  std::string bad = sharedDir() + "golden/bad/";
  const char *const ids[] = {"tokens_more",       "tokens_missing", "token_type_short", "merges_no_space",
                             "tokenizer_unknown", "bos_range",      "spm_no_scores"};
  auto cases = Json::parse(readFile(bad + "manifest.json"))["cases"];
  size_t seen = 0;
  for (const auto &c : cases) {
    if (std::find(std::begin(ids), std::end(ids), c["id"].get<std::string>()) == std::end(ids))
      continue;
    ++seen;
    std::string bytes = readFile(bad + c["path"].get<std::string>());
    import_::GgufTokenizer g;
    ASSERT_TRUE(readGguf(bytes, g)) << c["id"];
    std::string error = ggufError(g, 280);
    ASSERT_FALSE(error.empty()) << c["id"];
    bool mentioned = false;
    for (const auto &m : c["mention"])
      mentioned |= error.find(m.get<std::string>()) != std::string::npos;
    EXPECT_TRUE(mentioned) << c["id"] << ": " << error;
  }
  EXPECT_EQ(seen, std::size(ids));
}

TEST(GgufImport, EveryNamedPreTokenizerLoads) {
  for (const char *pre :
       {"",           "default",      "llama3",         "llama-v3",    "llama-bpe",  "dbrx",      "smaug-bpe",
        "jais-2",     "deepseek-llm", "deepseek-coder", "deepseek-v3", "falcon",     "starcoder", "refact",
        "command-r",  "smollm",       "codeshell",      "exaone",      "minerva-7b", "gpt-2",     "phi-2",
        "mpt",        "olmo",         "jais",           "qwen2",       "stablelm2",  "qwen35",    "poro-chat",
        "bloom",      "viking",       "tekken",         "gpt-4o",      "llama4",     "tiny_aya",  "superbpe",
        "bailingmoe", "seed-coder",   "exaone-moe"}) {
    SmallGguf s;
    s.g.pre = pre;
    EXPECT_EQ(ggufError(s.g), "") << pre;
  }
}

TEST(GgufImport, UserDefinedAlwaysMatches) {
  SmallGguf s;
  std::vector<uint8_t> blob;
  std::string error;
  ASSERT_TRUE(import_::importGgufTokenizer(s.g, blob, error));
  Loaded t = load(blob);
  EXPECT_EQ(t->encode("ab<u u>ab", false, false), (std::vector<int32_t>{2, 5, 2}));
  EXPECT_EQ(t->encode("ab<|im_end|>", false, true), (std::vector<int32_t>{2, 4}));
  EXPECT_EQ(t->eot(), 4);
  int32_t ids[] = {2, 4, 5};
  EXPECT_EQ(t->decode(ids, 3, true), "ab<u u>");
  EXPECT_EQ(t->decode(ids, 3, false), "ab<|im_end|><u u>");
}

} // namespace
