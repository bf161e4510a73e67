//===- GgufReferenceTest.cpp - GGUF vocabularies against the references ---===//
#include "test/unit/token/Support.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sstream>

using namespace ingot;
using namespace ingot::test;

namespace {

constexpr std::string_view kMark = "\n__ggml_vocab_test__\n";

/// `.inp` and `.out` of a vocabulary (format: the references' README).
void checkPairs(const token::Tokenizer &t, const std::string &inp, const std::string &out, bool byteLevel) {
  std::istringstream lines(out);
  size_t at = 0, n = 0;
  for (std::string line; std::getline(lines, line); ++n) {
    size_t end = inp.find(kMark, at);
    ASSERT_NE(end, std::string::npos) << "text " << n;
    std::string text = inp.substr(at, end - at);
    at = end + kMark.size();
    std::vector<int32_t> want;
    std::istringstream numbers(line);
    for (int32_t id; numbers >> id;)
      want.push_back(id);
    std::vector<int32_t> ids = t.encode(text, false, false);
    EXPECT_EQ(ids, want) << "text " << n << ": " << text;
    if (byteLevel) {
      EXPECT_EQ(t.decode(ids.data(), ids.size(), false), text) << "text " << n;
    }
  }
  EXPECT_EQ(n, 46u);
  EXPECT_EQ(at, inp.size());
}

class GgufVocab : public testing::TestWithParam<const char *> {};

TEST_P(GgufVocab, Pairs) {
  if (sharedDir().empty())
    GTEST_SKIP() << "the full references are not here";
  std::string name = GetParam(), base = sharedDir() + "tokenizers/gguf_vocab/" + name;
  Loaded t = loadGguf(base + ".gguf.xz");
  ASSERT_TRUE(t);
  bool byteLevel = name != "llama-spm" && name != "phi-3";
  checkPairs(*t.tokenizer, readFile(base + ".inp"), readFile(base + ".out"), byteLevel);
}

INSTANTIATE_TEST_SUITE_P(All, GgufVocab,
                         testing::Values("deepseek-coder", "falcon", "gpt-2", "llama-spm", "phi-3"),
                         [](const auto &info) {
                           std::string s = info.param;
                           for (char &c : s)
                             if (c == '-')
                               c = '_';
                           return s;
                         });

/// One real vocabulary of each kind is in the repository.
TEST(GgufCompact, Pairs) {
  Loaded spm = loadGguf(goldenDir() + "llama-spm.gguf.xz");
  ASSERT_TRUE(spm);
  checkPairs(*spm.tokenizer, readFile(goldenDir() + "gguf_vocab.inp"),
             readFile(goldenDir() + "llama-spm.out"), false);
  Loaded bpe = loadGguf(goldenDir() + "deepseek-coder.gguf.xz");
  ASSERT_TRUE(bpe);
  checkPairs(*bpe.tokenizer, readFile(goldenDir() + "gguf_vocab.inp"),
             readFile(goldenDir() + "deepseek-coder.out"), true);
}

TEST(GgufShared, Samples) {
  if (sharedDir().empty())
    GTEST_SKIP() << "the full references are not here";
  auto all = nlohmann::json::parse(readFile(sharedDir() + "golden/gguf/tokenizer_samples.json"));
  size_t rows = 0;
  for (const auto &file : all.items()) {
    SCOPED_TRACE(file.key());
    Loaded t = loadGguf(sharedDir() + "golden/gguf/" + file.key());
    ASSERT_TRUE(t);
    for (const auto &row : file.value()) {
      std::vector<int32_t> ids =
          t->encode(row["text"].get<std::string>(), row["add_special"], row["parse_special"]);
      EXPECT_EQ(ids, row["ids"].get<std::vector<int32_t>>()) << row.dump();
      ++rows;
    }
  }
  EXPECT_GT(rows, 200u);
}

/// Real models: INGOT_MODELS names a folder with smollm2.gguf and gemma3.gguf.
void checkPrompts(const char *file, const char *folder, int32_t vocab, bool addBos) {
  const char *models = std::getenv("INGOT_MODELS");
  std::string path = std::string(models ? models : "") + "/" + file;
  if (sharedDir().empty() || !models || !exists(path))
    GTEST_SKIP() << "needs the references and INGOT_MODELS";
  Loaded t = loadGguf(path);
  ASSERT_TRUE(t);
  EXPECT_EQ(t->vocabSize(), vocab);
  EXPECT_EQ(t->addBos(), addBos);
  auto prompts =
      nlohmann::json::parse(readFile(sharedDir() + "golden/real/" + folder + "/prompts.json"))["prompts"];
  for (const auto &p : prompts) {
    std::string text = p["text"];
    std::vector<int32_t> want = p["ids"];
    EXPECT_EQ(t->encode(text, true, true), want) << p["name"];
    std::vector<int32_t> plain = t->encode(text, false, true);
    EXPECT_EQ(t->decode(plain.data(), plain.size(), false), text) << p["name"];
  }
  auto items = nlohmann::json::parse(readFile(sharedDir() + "golden/real/" + folder + "/mc.json"))["items"];
  size_t compared = 0;
  for (const auto &item : items) {
    if (!item.contains("context"))
      continue;
    EXPECT_EQ(t->encode(item["context"].get<std::string>(), true, false),
              item["context_ids"].get<std::vector<int32_t>>());
    ++compared;
  }
  EXPECT_EQ(compared, 60u);
  // The perplexity text, tokenized as one string: the first 20 x 512 tokens and the number of all.
  std::string base = sharedDir() + "golden/real/" + folder + "/ppl", st = readFile(base + ".safetensors");
  uint64_t headerSize;
  ASSERT_GE(st.size(), sizeof(headerSize));
  std::memcpy(&headerSize, st.data(), sizeof(headerSize));
  auto offsets = nlohmann::json::parse(st.substr(8, headerSize))["tokens"]["data_offsets"];
  std::vector<int32_t> want((offsets[1].get<size_t>() - offsets[0].get<size_t>()) / 4);
  std::memcpy(want.data(), st.data() + 8 + headerSize + offsets[0].get<size_t>(), want.size() * 4);
  std::string text = readFile(sharedDir() + "text/wikitext2_raw_test.txt.xz");
  if (!text.empty() && text.back() == '\n')
    text.pop_back();
  std::vector<int32_t> ids = t->encode(text, true, false);
  EXPECT_EQ(ids.size(), nlohmann::json::parse(readFile(base + ".json"))["total_tokens"].get<size_t>());
  ASSERT_GE(ids.size(), want.size());
  EXPECT_TRUE(std::equal(want.begin(), want.end(), ids.begin()));
}

TEST(GgufReal, SmolLM2) { checkPrompts("smollm2.gguf", "smollm2-135m-q4_1", 49152, false); }
TEST(GgufReal, Gemma3) { checkPrompts("gemma3.gguf", "gemma3-270m-q4_k_m", 262144, true); }

} // namespace
