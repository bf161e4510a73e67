//===- RobustnessTest.cpp - Bytes that are no tokenizer -------------------===//
#include "runtime/abi/ingot_tok.h"
#include "test/unit/token/Support.h"
#include <cstring>
#include <random>

using namespace ingot;
using namespace ingot::test;

namespace {

/// Loads; if that works, uses every part. Nothing may crash, and output must stay in range.
void exercise(const std::vector<uint8_t> &blob) {
  std::string error;
  auto t = token::Tokenizer::load(blob.data(), blob.size(), error);
  if (!t) {
    EXPECT_FALSE(error.empty());
    return;
  }
  for (bool special : {false, true}) {
    std::vector<int32_t> ids =
        t->encode(" Hello w\xc3\xb6rld 123 <s>\n\n<|im_end|> \xe2\x96\x81", true, special);
    for (int32_t id : ids) {
      EXPECT_GE(id, 0);
      EXPECT_LT(id, t->vocabSize());
    }
    t->decode(ids.data(), ids.size(), special);
    t->encodePair("ab", "c d", special, special);
    token::StreamDecoder stream(*t, special);
    for (int32_t id : ids)
      stream.push(id);
    stream.flush();
  }
  t->tokenText(t->vocabSize() - 1);
  t->tokenText(-1);
  t->findToken("<s>");
}

std::vector<std::vector<uint8_t>> goodBlobs() {
  std::vector<std::vector<uint8_t>> out;
  for (const char *name : {"bpe_added_token_flags", "bpe_llama2_legacy", "bpe_falcon_punctuation"})
    out.push_back(loadHf(goldenDir() + name + ".tokenizer.json.xz").blob);
  return out;
}

TEST(Robustness, RandomBytes) {
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    std::vector<uint8_t> blob(random() % 2000);
    for (uint8_t &b : blob)
      b = static_cast<uint8_t>(random());
    if (round % 2 && blob.size() > sizeof(ingot_tok_header_v1)) {
      uint32_t head[2] = {INGOT_TOK_MAGIC, INGOT_TOK_VERSION};
      std::memcpy(blob.data(), head, 8);
    }
    std::string error;
    EXPECT_FALSE(token::Tokenizer::load(blob.data(), blob.size(), error));
    EXPECT_FALSE(error.empty());
  }
}

TEST(Robustness, Truncated) {
  for (const auto &blob : goodBlobs())
    for (size_t n = 0; n < blob.size(); n += n < 600 ? 1 : 997) {
      std::string error;
      std::vector<uint8_t> part(blob.begin(),
                                blob.begin() + static_cast<long>(n)); // exact size, for sanitizers
      EXPECT_FALSE(token::Tokenizer::load(part.data(), part.size(), error)) << n;
    }
}

TEST(Robustness, DamagedHeader) {
  std::mt19937_64 random(5);
  auto blobs = goodBlobs();
  for (int round = 0; round < 3000; ++round) {
    std::vector<uint8_t> blob = blobs[random() % blobs.size()];
    size_t word = random() % (sizeof(ingot_tok_header_v1) / 4);
    uint32_t value;
    switch (random() % 4) {
    case 0:
      value = static_cast<uint32_t>(random());
      break;
    case 1:
      value = 0xffffffffu;
      break;
    case 2:
      value = static_cast<uint32_t>(random() % 4096);
      break;
    default:
      std::memcpy(&value, blob.data() + word * 4, 4);
      value += static_cast<uint32_t>(random() % 17) - 8;
    }
    std::memcpy(blob.data() + word * 4, &value, 4);
    exercise(blob);
  }
}

TEST(Robustness, DamagedTables) {
  std::mt19937_64 random(9);
  auto blobs = goodBlobs();
  for (int round = 0; round < 1500; ++round) {
    std::vector<uint8_t> blob = blobs[random() % blobs.size()];
    // Most damage goes to the end, where strings, stages and templates lie.
    for (uint64_t i = 0, n = 1 + random() % 4; i < n; ++i) {
      size_t tail = std::min<size_t>(blob.size(), 2000);
      size_t at = random() % 3 ? blob.size() - 1 - random() % tail : random() % blob.size();
      blob[at] = static_cast<uint8_t>(random() % 3 ? random() : blob[at] + 1);
    }
    exercise(blob);
  }
}

TEST(Robustness, UnalignedData) {
  std::vector<uint8_t> blob = loadHf(goldenDir() + "bpe_gpt2.tokenizer.json.xz").blob;
  std::vector<uint8_t> shifted(blob.size() + 1);
  std::memcpy(shifted.data() + 1, blob.data(), blob.size());
  std::string error;
  auto t = token::Tokenizer::load(shifted.data() + 1, blob.size(), error);
  ASSERT_TRUE(t) << error;
  EXPECT_EQ(t->encode("the", false, false).size(), 1u);
}

} // namespace
