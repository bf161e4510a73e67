//===- HfReferenceTest.cpp - tokenizer.json against the references --------===//
#include "test/unit/token/Support.h"
#include <chrono>

using namespace ingot;
using namespace ingot::test;

namespace {

/// A compact part of the references, which the repository carries.
TEST(HfCompact, BpeForms) {
  for (const char *name : {"bpe_added_token_flags", "bpe_falcon_punctuation", "bpe_gpt2",
                           "bpe_gpt4_removed_invert", "bpe_llama2_legacy", "bpe_llama3_ignore_merges",
                           "bpe_metaspace_first", "bpe_metaspace_never", "bpe_starcoder_digits"}) {
    SCOPED_TRACE(name);
    Loaded t = loadHf(goldenDir() + name + ".tokenizer.json.xz");
    ASSERT_TRUE(t);
    checkHfRows(*t.tokenizer, readRows(goldenDir() + name + ".vectors.jsonl.xz"));
  }
}

class HfShared : public testing::TestWithParam<const char *> {};

TEST_P(HfShared, Encodings) {
  if (sharedDir().empty())
    GTEST_SKIP() << "the full references are not here";
  std::string name = GetParam(), dir = sharedDir() + "tokenizers/" + name + "/";
  Loaded t = loadHf(dir + "tokenizer.json.xz", dir + "tokenizer_config.json");
  ASSERT_TRUE(t);
  checkHfRows(*t.tokenizer, readRows(sharedDir() + "golden/tokenizers/" + name + ".jsonl.xz"));
  checkHfStreams(*t.tokenizer, readRows(sharedDir() + "golden/tokenizers/" + name + ".stream.jsonl.xz"));
}

TEST_P(HfShared, LoadsFast) {
  if (sharedDir().empty())
    GTEST_SKIP() << "the full references are not here";
  std::string name = GetParam();
  Loaded t = loadHf(sharedDir() + "tokenizers/" + name + "/tokenizer.json.xz");
  ASSERT_TRUE(t);
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    auto start = std::chrono::steady_clock::now();
    std::string error;
    auto again = token::Tokenizer::load(t.blob.data(), t.blob.size(), error);
    ASSERT_TRUE(again);
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  RecordProperty("microseconds", static_cast<int>(best * 1e6));
  // Generous, for sanitizers and busy machines; the property shows the value.
  EXPECT_LT(best, 0.4);
}

INSTANTIATE_TEST_SUITE_P(Real, HfShared, testing::Values("llama3_1", "qwen3", "llama2", "gemma3"),
                         [](const auto &info) { return std::string(info.param); });

class HfSynthetic : public testing::TestWithParam<const char *> {};

TEST_P(HfSynthetic, Encodings) {
  if (sharedDir().empty())
    GTEST_SKIP() << "the full references are not here";
  std::string dir = sharedDir() + "golden/tokenizers/synthetic/" + GetParam() + "/";
  Loaded t = loadHf(dir + "tokenizer.json.xz");
  ASSERT_TRUE(t);
  checkHfRows(*t.tokenizer, readRows(dir + "vectors.jsonl.xz"));
}

INSTANTIATE_TEST_SUITE_P(Forms, HfSynthetic,
                         testing::Values("bpe_added_token_flags", "bpe_falcon_punctuation", "bpe_gpt2",
                                         "bpe_gpt4_removed_invert", "bpe_llama2_legacy",
                                         "bpe_llama3_ignore_merges", "bpe_metaspace_first",
                                         "bpe_metaspace_never", "bpe_starcoder_digits"),
                         [](const auto &info) { return std::string(info.param); });

TEST(HfShared, UnigramIsRefusedByName) {
  if (sharedDir().empty())
    GTEST_SKIP() << "the full references are not here";
  std::vector<uint8_t> blob;
  std::string error;
  EXPECT_FALSE(import_::importHfTokenizer(
      readFile(sharedDir() + "golden/tokenizers/synthetic/unigram_precompiled/tokenizer.json.xz"), "", blob,
      error));
  EXPECT_NE(error.find("Precompiled"), std::string::npos) << error;
}

TEST(HfShared, ModelDirectories) {
  if (sharedDir().empty())
    GTEST_SKIP() << "the full references are not here";
  for (const char *name : {"llama", "mistral", "qwen2", "qwen3", "gemma3_text", "llama_rope_llama3"}) {
    std::string dir = sharedDir() + "golden/models/" + name + "/";
    Loaded t = loadHf(dir + "tokenizer.json", dir + "tokenizer_config.json");
    ASSERT_TRUE(t) << name;
    EXPECT_EQ(t->eos(), t->findToken("<|im_end|>")) << name;
    EXPECT_TRUE(t->isEnd(t->eos()));
    EXPECT_FALSE(t->addBos());
    EXPECT_EQ(t->bos(), t->findToken("<|endoftext|>"));
  }
}

} // namespace
