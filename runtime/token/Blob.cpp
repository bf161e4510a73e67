//===- Blob.cpp - Opening and checking a tokenizer's bytes ----------------===//
#include "runtime/token/Blob.h"
#include "runtime/token/Utf8.h"

namespace ingot::token {

static_assert(sizeof(ingot_tok_merge_v1) == 12 && sizeof(ingot_tok_added_v1) == 16 &&
                  sizeof(ingot_tok_stage_v1) == 24 && sizeof(ingot_tok_table_v1) == 16 &&
                  sizeof(ingot_tok_header_v1) == 48 + 16 * INGOT_TOK_TABLES,
              "the records are read as they lie");

static constexpr uint64_t kElementSize[INGOT_TOK_TABLES] = {
    4, 1, 1, 4, 4, 12, 4, 16, 1, 24, 24, 24, 4, 4, 4,
};
static constexpr const char *kTableName[INGOT_TOK_TABLES] = {
    "offsets",        "bytes",       "types",        "scores",  "vocab slots",
    "merges",         "merge slots", "added tokens", "strings", "normalizers",
    "pre-tokenizers", "decoders",    "single",       "pair",    "end"};

static bool refuse(std::string &error, std::string what) {
  error = "tokenizer data: " + std::move(what);
  return false;
}

bool Blob::open(const uint8_t *data, size_t size, std::string &error) {
  data_ = data;
  if (size < sizeof(header_))
    return refuse(error, "too short for a header (" + std::to_string(size) + " bytes)");
  std::memcpy(&header_, data, sizeof(header_));
  if (header_.magic != INGOT_TOK_MAGIC)
    return refuse(error, "bad magic");
  if (header_.version != INGOT_TOK_VERSION)
    return refuse(error, "version " + std::to_string(header_.version) + " is not known");
  if (header_.size > size || header_.size < sizeof(header_) || header_.size > INGOT_TOK_MAX_BLOB)
    return refuse(error, "claims " + std::to_string(header_.size) + " bytes, has " + std::to_string(size));
  if (header_.model != INGOT_TOK_MODEL_MERGES && header_.model != INGOT_TOK_MODEL_SCORES)
    return refuse(error, "unknown model " + std::to_string(header_.model));
  if (header_.flags >= INGOT_TOK_LONGEST_FIRST * 2)
    return refuse(error, "unknown flags");
  if (header_.vocab == 0 || header_.vocab > INGOT_TOK_MAX_VOCAB)
    return refuse(error, "a vocabulary of " + std::to_string(header_.vocab) + " tokens");
  return checkTables(error) && checkVocab(error) && checkMerges(error) && checkTexts(error) &&
         checkIds(error);
}

bool Blob::checkTables(std::string &error) const {
  for (int t = 0; t < INGOT_TOK_TABLES; ++t) {
    const ingot_tok_table_v1 &tab = header_.tables[t];
    if (tab.offset % 8 || tab.offset < sizeof(header_) || tab.offset > header_.size ||
        tab.count > (header_.size - tab.offset) / kElementSize[t])
      return refuse(error, std::string("table '") + kTableName[t] + "' is out of bounds");
  }
  const uint64_t vocab = header_.vocab;
  auto want = [&](ingot_tok_table_id t, uint64_t n) {
    return count(t) == n ||
           refuse(error, std::string("table '") + kTableName[t] + "' has " + std::to_string(count(t)) +
                             " entries instead of " + std::to_string(n));
  };
  auto atMost = [&](ingot_tok_table_id t, uint64_t n) {
    return count(t) <= n || refuse(error, std::string("table '") + kTableName[t] + "' is too long");
  };
  return want(INGOT_TOK_T_OFFSETS, vocab + 1) && want(INGOT_TOK_T_TYPES, vocab) &&
         want(INGOT_TOK_T_SCORES, header_.model == INGOT_TOK_MODEL_SCORES ? vocab : 0) &&
         atMost(INGOT_TOK_T_MERGES, INGOT_TOK_MAX_MERGES) && atMost(INGOT_TOK_T_ADDED, vocab * 2) &&
         atMost(INGOT_TOK_T_NORMALIZERS, INGOT_TOK_MAX_STAGES) &&
         atMost(INGOT_TOK_T_PRETOKENIZERS, INGOT_TOK_MAX_STAGES) &&
         atMost(INGOT_TOK_T_DECODERS, INGOT_TOK_MAX_STAGES) &&
         atMost(INGOT_TOK_T_SINGLE, INGOT_TOK_MAX_TEMPLATE) &&
         atMost(INGOT_TOK_T_PAIR, INGOT_TOK_MAX_TEMPLATE) && atMost(INGOT_TOK_T_END, vocab);
}

bool Blob::checkVocab(std::string &error) const {
  const uint32_t vocab = header_.vocab;
  const uint64_t size = count(INGOT_TOK_T_BYTES);
  uint32_t last = 0;
  bool ok = true;
  for (uint32_t i = 0; i <= vocab; ++i) {
    uint32_t at = u32(INGOT_TOK_T_OFFSETS, i);
    ok &= at >= last && at <= size;
    last = at;
  }
  if (!ok)
    return refuse(error, "token offsets do not ascend inside their bytes");
  for (uint32_t i = 0; i < vocab; ++i)
    ok &= type(i) <= INGOT_TOK_HOLE && typeByte(i) < INGOT_TOK_SPECIAL * 2;
  if (!ok)
    return refuse(error, "unknown token type");
  const uint64_t slots = count(INGOT_TOK_T_VOCAB_SLOTS);
  if (slots == 0 || (slots & (slots - 1)))
    return refuse(error, "the number of vocabulary slots is not a power of two");
  uint64_t empty = 0;
  for (uint64_t i = 0; i < slots; ++i) {
    uint32_t id = u32(INGOT_TOK_T_VOCAB_SLOTS, i);
    empty += id == INGOT_TOK_NONE;
    ok &= id == INGOT_TOK_NONE || id < vocab;
  }
  if (!ok || !empty)
    return refuse(error, "vocabulary slots are full or point outside");
  return true;
}

bool Blob::checkMerges(std::string &error) const {
  const uint32_t vocab = header_.vocab;
  const uint64_t merges = count(INGOT_TOK_T_MERGES);
  bool ok = true;
  for (uint64_t i = 0; i < merges; ++i) {
    ingot_tok_merge_v1 m = merge(i);
    ok &= m.left < vocab && m.right < vocab && m.result < vocab;
  }
  if (!ok)
    return refuse(error, "a merge names an id outside the vocabulary");
  const uint64_t slots = count(INGOT_TOK_T_MERGE_SLOTS);
  if (slots == 0 || (slots & (slots - 1)))
    return refuse(error, "the number of merge slots is not a power of two");
  uint64_t empty = 0;
  for (uint64_t i = 0; i < slots; ++i) {
    uint32_t index = u32(INGOT_TOK_T_MERGE_SLOTS, i);
    empty += index == INGOT_TOK_NONE;
    ok &= index == INGOT_TOK_NONE || index < merges;
  }
  if (!ok || !empty)
    return refuse(error, "merge slots are full or point outside");
  return true;
}

bool Blob::checkTexts(std::string &error) const {
  const uint64_t size = count(INGOT_TOK_T_STRINGS);
  auto inside = [&](uint32_t at, uint32_t n) { return at <= size && n <= size - at; };
  std::string_view last;
  for (uint64_t i = 0; i < count(INGOT_TOK_T_ADDED); ++i) {
    ingot_tok_added_v1 a = added(i);
    if (a.id >= header_.vocab || a.text_size == 0 || !inside(a.text, a.text_size) ||
        a.flags >= INGOT_TOK_ADDED_NORMALIZED * 2u)
      return refuse(error, "an added token is out of bounds");
    std::string_view text = string(a.text, a.text_size);
    if (!isValidUtf8(text) || (i > 0 && !(last < text)))
      return refuse(error, "added tokens are not valid UTF-8 in ascending order");
    last = text;
  }
  for (auto t : {INGOT_TOK_T_NORMALIZERS, INGOT_TOK_T_PRETOKENIZERS, INGOT_TOK_T_DECODERS})
    for (uint64_t i = 0; i < count(t); ++i) {
      ingot_tok_stage_v1 s = stage(t, i);
      if (!inside(s.a, s.a_size) || !inside(s.b, s.b_size) || !isValidUtf8(string(s.a, s.a_size)) ||
          !isValidUtf8(string(s.b, s.b_size)))
        return refuse(error, std::string("a text of table '") + kTableName[t] + "' is out of bounds");
    }
  return true;
}

bool Blob::checkIds(std::string &error) const {
  const int64_t vocab = header_.vocab;
  auto good = [&](int64_t id, int64_t least) { return id >= least && id < vocab; };
  if (!good(header_.bos, -1) || !good(header_.eos, -1) || !good(header_.unk, -1) || !good(header_.pad, -1) ||
      !good(header_.eot, -1))
    return refuse(error, "a special token's id is outside the vocabulary");
  int texts = 0;
  for (uint64_t i = 0; i < count(INGOT_TOK_T_SINGLE); ++i) {
    if (!good(i32(INGOT_TOK_T_SINGLE, i), -1))
      return refuse(error, "the template names an id outside the vocabulary");
    texts += i32(INGOT_TOK_T_SINGLE, i) == -1;
  }
  if (texts > 1)
    return refuse(error, "the template holds the text twice");
  for (uint64_t i = 0; i < count(INGOT_TOK_T_PAIR); ++i)
    if (!good(i32(INGOT_TOK_T_PAIR, i), -2))
      return refuse(error, "the pair template names an id outside the vocabulary");
  for (uint64_t i = 0; i < count(INGOT_TOK_T_END); ++i)
    if (!good(i32(INGOT_TOK_T_END, i), 0))
      return refuse(error, "an end token's id is outside the vocabulary");
  return true;
}

} // namespace ingot::token
