//===- HfTokenizer.cpp - From tokenizer.json ------------------------------===//
#include "compiler/import/tokenizer/HfStages.h"
#include "compiler/import/tokenizer/TokenizerImport.h"
#include <algorithm>
#include <unordered_map>

namespace ingot::import_ {
namespace {

using Json = nlohmann::json;

class Importer {
public:
  Importer(std::string &error, uint64_t rows) : error_(error), stages_(t_, error), rows_(rows) {}

  bool run(std::string_view tokenizer, std::string_view config, std::vector<uint8_t> &out) {
    if (!readHfFile(tokenizer, file_, error_))
      return fail("tokenizer.json: " + error_);
    if (!parts())
      return fail("tokenizer.json: " + error_);
    if (!specials(config))
      return fail("tokenizer_config.json: " + error_);
    ends();
    if (!writeTokenizer(t_, out, error_))
      return fail("tokenizer.json: " + error_);
    return true;
  }

private:
  struct Added {
    std::string text;
    uint64_t id = 0;
    uint32_t flags = 0;
  };
  std::string &error_;
  TokenizerTables t_;
  HfStages stages_;
  uint64_t rows_;
  HfFile file_;
  std::vector<Added> added_;
  std::unordered_map<std::string_view, uint32_t> idOf_; // model.vocab

  bool fail(std::string what) {
    error_ = std::move(what);
    return false;
  }
  Json member(const Json &j, const char *key) const {
    auto it = j.find(key);
    return it == j.end() ? Json(nullptr) : *it;
  }

  bool parts() {
    const Json &root = file_.root;
    if (!stages_.knownFields(root, "the file",
                             {"version", "truncation", "padding", "added_tokens", "normalizer",
                              "pre_tokenizer", "post_processor", "decoder", "model"}))
      return false;
    Json version = member(root, "version");
    if (!version.is_null() && version != "1.0")
      return fail("version " + version.dump() + " is not supported");
    // The pipeline decides how the vocabulary's texts are to be read.
    return stages_.normalizer(member(root, "normalizer")) &&
           stages_.preTokenizer(member(root, "pre_tokenizer")) && model(member(root, "model")) &&
           added(member(root, "added_tokens")) && vocabulary() && merges() &&
           stages_.postProcessor(member(root, "post_processor")) && stages_.decoder(member(root, "decoder"));
  }

  bool model(const Json &m) {
    if (!m.is_object())
      return fail("model is not an object");
    std::string type = "BPE"; // files of the first versions do not say
    if (m.contains("type") && !stages_.text(m, "type", "model", type))
      return false;
    if (type != "BPE")
      return fail("model: type " + quoteText(type) + " is not supported (BPE is)");
    if (!stages_.knownFields(m, "model",
                             {"type", "dropout", "unk_token", "continuing_subword_prefix",
                              "end_of_word_suffix", "fuse_unk", "byte_fallback", "ignore_merges", "vocab",
                              "merges"}))
      return false;
    Json dropout = member(m, "dropout");
    if (!dropout.is_null() && !(dropout.is_number() && dropout.get<double>() == 0))
      return fail("model.dropout is not supported");
    for (const char *key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
      Json v = member(m, key);
      if (!v.is_null() && v != "")
        return fail(std::string("model.") + key + " is not supported");
    }
    bool fuse, fallback, ignore;
    if (!stages_.boolean(m, "fuse_unk", false, "model", fuse) ||
        !stages_.boolean(m, "byte_fallback", false, "model", fallback) ||
        !stages_.boolean(m, "ignore_merges", false, "model", ignore))
      return false;
    t_.flags |= (fuse ? INGOT_TOK_FUSE_UNK : 0) | (fallback ? INGOT_TOK_BYTE_FALLBACK : 0) |
                (ignore ? INGOT_TOK_IGNORE_MERGES : 0);
    if (!file_.hasVocab || file_.vocabIsList)
      return fail("model.vocab is not an object of tokens and ids");
    if (!file_.hasMerges)
      return fail("model.merges is missing");
    return true;
  }

  bool added(const Json &list) {
    if (list.is_null())
      return true;
    if (!list.is_array())
      return fail("added_tokens is not an array");
    for (size_t i = 0; i < list.size(); ++i) {
      const std::string where = "added_tokens[" + std::to_string(i) + "]";
      const Json &a = list[i];
      Added token;
      bool word, left, right, special, normalized;
      if (!a.is_object())
        return fail(where + " is not an object");
      if (!stages_.knownFields(
              a, where, {"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"}) ||
          !stages_.text(a, "content", where, token.text) ||
          !stages_.boolean(a, "single_word", false, where, word) ||
          !stages_.boolean(a, "lstrip", false, where, left) ||
          !stages_.boolean(a, "rstrip", false, where, right) ||
          !stages_.boolean(a, "special", false, where, special) ||
          !stages_.boolean(a, "normalized", !special, where, normalized))
        return false;
      auto id = a.find("id");
      if (id == a.end() || !id->is_number_unsigned())
        return fail(where + ".id is not an id");
      token.id = id->get<uint64_t>();
      token.flags = (special ? INGOT_TOK_ADDED_SPECIAL : 0) | (left ? INGOT_TOK_ADDED_LSTRIP : 0) |
                    (right ? INGOT_TOK_ADDED_RSTRIP : 0) | (word ? INGOT_TOK_ADDED_SINGLE_WORD : 0) |
                    (normalized ? INGOT_TOK_ADDED_NORMALIZED : 0);
      if (!token.text.empty())
        added_.push_back(std::move(token));
    }
    return true;
  }

  std::string idError(std::string_view text, uint64_t id, uint64_t limit) const {
    std::string what = "token " + quoteText(text) + " has id " + std::to_string(id);
    return rows_ && limit == rows_ ? what + ", but the embedding has " + std::to_string(rows_) + " rows"
                                   : what + "; ids up to " + std::to_string(limit) + " are supported";
  }

  bool vocabulary() {
    uint64_t count = 0;
    const uint64_t limit = rows_ && rows_ < INGOT_TOK_MAX_VOCAB ? rows_ : INGOT_TOK_MAX_VOCAB;
    for (const auto &[text, id] : file_.vocab) {
      if (id < 0 || static_cast<uint64_t>(id) >= limit)
        return fail("model.vocab: " + idError(text, static_cast<uint64_t>(id), limit));
      count = std::max(count, static_cast<uint64_t>(id) + 1);
    }
    for (const Added &a : added_) {
      if (a.id >= INGOT_TOK_MAX_VOCAB)
        return fail("added_tokens: " + idError(a.text, a.id, INGOT_TOK_MAX_VOCAB));
      if (a.id < limit)
        count = std::max(count, a.id + 1);
    }
    t_.tokens.resize(count);
    t_.types.assign(count, INGOT_TOK_HOLE);
    idOf_.reserve(file_.vocab.size());
    std::vector<const std::string *> textOf(count, nullptr);
    for (const auto &[text, wide] : file_.vocab) {
      auto id = static_cast<uint32_t>(wide);
      if (textOf[id])
        return fail("model.vocab: " + quoteText(*textOf[id]) + " and " + quoteText(text) +
                    " have the same id " + std::to_string(id));
      textOf[id] = &text;
      if (!idOf_.emplace(text, id).second)
        return fail("model.vocab: " + quoteText(text) + " occurs twice (duplicate)");
      t_.types[id] =
          isByteToken(text) && (t_.flags & INGOT_TOK_BYTE_FALLBACK) ? INGOT_TOK_BYTE : INGOT_TOK_NORMAL;
      setText(id, text, true);
    }
    if (!unknown())
      return false;
    for (const Added &a : added_) {
      // A text that the model has keeps the model's id.
      auto known = idOf_.find(a.text);
      uint64_t id = known != idOf_.end() ? known->second : a.id;
      if (id >= count)
        continue; // without a row in the embedding
      auto at = static_cast<uint32_t>(id);
      if (known == idOf_.end()) {
        if (textOf[at] && *textOf[at] != a.text)
          return fail("added_tokens: " + quoteText(a.text) + " has the id " + std::to_string(id) + " of " +
                      quoteText(*textOf[at]));
        textOf[at] = &a.text;
        setText(at, a.text, false);
      }
      bool special = a.flags & INGOT_TOK_ADDED_SPECIAL;
      t_.types[at] = static_cast<uint8_t>((t_.types[at] & INGOT_TOK_LOOKUP) |
                                          (special ? INGOT_TOK_CONTROL | INGOT_TOK_SPECIAL : INGOT_TOK_USER));
      t_.added[a.text] = {at, a.flags};
    }
    return true;
  }

  void setText(uint32_t id, const std::string &text, bool lookUp) {
    t_.tokens[id] = text;
    std::string raw;
    if (t_.flags & INGOT_TOK_BYTE_LEVEL) {
      if (!rawBytesOf(text, raw))
        return; // the byte-level steps never make this text
      t_.tokens[id] = raw;
    }
    if (lookUp && !t_.tokens[id].empty())
      t_.types[id] |= INGOT_TOK_LOOKUP;
  }

  bool unknown() {
    Json unk = member(file_.root["model"], "unk_token");
    if (unk.is_null())
      return true;
    if (!unk.is_string())
      return fail("model.unk_token is not a string");
    auto it = idOf_.find(unk.get_ref<const std::string &>());
    if (it != idOf_.end())
      t_.unk = static_cast<int32_t>(it->second);
    else if (!(t_.flags & INGOT_TOK_BYTE_LEVEL)) // there no character is unknown
      return fail("model.unk_token " + quoteText(unk.get_ref<const std::string &>()) +
                  " is not in the vocabulary");
    return true;
  }

  bool merges() {
    t_.lastMergeWins = true;
    t_.merges.reserve(file_.merges.size());
    std::string joined;
    for (size_t i = 0; i < file_.merges.size(); ++i) {
      const auto &[left, right] = file_.merges[i];
      joined.assign(left).append(right);
      ingot_tok_merge_v1 m;
      using Slot = std::pair<const std::string *, uint32_t *>;
      for (auto [part, to] : {Slot{&left, &m.left}, Slot{&right, &m.right}, Slot{&joined, &m.result}}) {
        auto it = idOf_.find(*part);
        if (it == idOf_.end())
          return fail("model.merges[" + std::to_string(i) + "] " + quoteText(left) + " " + quoteText(right) +
                      ": the merge's token " + quoteText(*part) + " is not in the vocabulary");
        *to = it->second;
      }
      t_.merges.push_back(m);
    }
    return true;
  }

  int32_t idOfToken(const std::string &text) const {
    auto a = t_.added.find(text);
    if (a != t_.added.end())
      return static_cast<int32_t>(a->second.id);
    auto v = idOf_.find(text);
    return v == idOf_.end() ? -1 : static_cast<int32_t>(v->second);
  }

  /// BOS and the others: tokenizer_config.json says which they are; without it the template tells the first
  /// two.
  bool specials(std::string_view text) {
    if (text.empty()) {
      if (!t_.single.empty() && t_.single.front() >= 0)
        t_.bos = t_.single.front();
      if (!t_.single.empty() && t_.single.back() >= 0)
        t_.eos = t_.single.back();
      return true;
    }
    Json config = Json::parse(text.begin(), text.end(), nullptr, false);
    if (config.is_discarded() || !config.is_object())
      return fail("not a JSON object");
    using Slot = std::pair<const char *, int32_t *>;
    for (auto [key, to] : {Slot{"bos_token", &t_.bos}, Slot{"eos_token", &t_.eos}, Slot{"unk_token", &t_.unk},
                           Slot{"pad_token", &t_.pad}}) {
      Json v = member(config, key);
      if (v.is_object())
        v = member(v, "content");
      if (v.is_null())
        continue;
      if (!v.is_string())
        return fail(std::string(key) + " is neither a string nor a token");
      int32_t id = idOfToken(v.get_ref<const std::string &>());
      // The model's unknown token is what its byte-pair encoding uses; the configuration cannot change it.
      if (key != std::string_view("unk_token"))
        *to = id;
    }
    return true;
  }

  void ends() {
    auto id = [&](std::string_view text) {
      auto it = t_.added.find(text);
      return it == t_.added.end() ? -1 : static_cast<int32_t>(it->second.id);
    };
    for (size_t i = 0; t_.eot < 0 && i < kEndsOfTurn.size(); ++i)
      t_.eot = id(kEndsOfTurn[i]);
    // In the harmony format <|end|> ends a message and not the answer.
    bool endIsMessage = id("<|return|>") >= 0 && id("<|call|>") >= 0;
    for (const auto &[text, a] : t_.added)
      if ((a.flags & INGOT_TOK_ADDED_SPECIAL) && isKnownEnd(text) && !(endIsMessage && text == "<|end|>"))
        t_.ends.push_back(static_cast<int32_t>(a.id));
    if (t_.eos >= 0)
      t_.ends.push_back(t_.eos);
  }
};

} // namespace

bool importHfTokenizer(std::string_view tokenizerJson, std::string_view tokenizerConfigJson,
                       std::vector<uint8_t> &out, std::string &error, uint64_t embeddingRows) {
  error.clear();
  std::vector<uint8_t> made;
  if (!Importer(error, embeddingRows).run(tokenizerJson, tokenizerConfigJson, made))
    return false;
  out = std::move(made);
  return true;
}

} // namespace ingot::import_
