//===- GgufTokenizer.cpp - From GGUF metadata -----------------------------===//
#include "compiler/import/tokenizer/GgufPreTokenizers.h"
#include "compiler/import/tokenizer/TokenizerImport.h"
#include "compiler/import/tokenizer/TokenizerTables.h"
#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace ingot::import_ {
namespace {

/// tokenizer.ggml.token_type
enum GgufType { Undefined = 0, Normal = 1, Unknown = 2, Control = 3, UserDefined = 4, Unused = 5, Byte = 6 };

class Importer {
public:
  Importer(const GgufTokenizer &in, std::string &error, uint64_t rows)
      : in_(in), error_(error), rows_(rows) {}

  bool run(std::vector<uint8_t> &out) {
    if (in_.model == "llama")
      scores_ = true;
    else if (in_.model != "gpt2")
      return fail("tokenizer.ggml.model " + quoteText(in_.model) + " is not supported (gpt2 and llama are)");
    if (!scores_ && !findGgufPreTokenizer(in_.pre, pre_))
      return fail("tokenizer.ggml.pre " + quoteText(in_.pre) + " is not a known pre-tokenizer");
    if (!checkArrays() || !ids() || !vocabulary() || !merges())
      return false;
    ends();
    added();
    pipeline();
    return writeTokenizer(t_, out, error_);
  }

private:
  const GgufTokenizer &in_;
  std::string &error_;
  uint64_t rows_;
  bool scores_ = false;
  GgufPreTokenizer pre_;
  TokenizerTables t_;
  std::unordered_map<std::string_view, uint32_t> idOf_; // by the file's text

  bool fail(std::string what) {
    error_ = std::move(what);
    return false;
  }

  bool checkArrays() {
    const size_t n = in_.tokens.size();
    auto count = [](size_t k) { return std::to_string(k); };
    if (n == 0)
      return fail("tokenizer.ggml.tokens is missing or empty");
    if (n > INGOT_TOK_MAX_VOCAB)
      return fail("tokenizer.ggml.tokens has " + count(n) + " entries, more than supported");
    if (rows_ && n > rows_)
      return fail("tokenizer.ggml.tokens has " + count(n) +
                  " tokens, but the embedding (token_embd.weight) has " + count(rows_) + " rows");
    if (!in_.types.empty() && in_.types.size() < n)
      return fail("tokenizer.ggml.token_type has " + count(in_.types.size()) + " entries for " + count(n) +
                  " tokens");
    if (scores_ && in_.scores.size() < n)
      return fail("tokenizer.ggml.scores has " + count(in_.scores.size()) + " entries for " + count(n) +
                  " tokens");
    if (!scores_ && in_.merges.empty() && n > 256)
      return fail("tokenizer.ggml.merges is missing");
    return true;
  }

  bool id(const char *key, int64_t value, int32_t fallback, int32_t &out) {
    const auto n = static_cast<int64_t>(in_.tokens.size());
    if (value >= n)
      return fail(std::string("tokenizer.ggml.") + key + " " + std::to_string(value) +
                  " is outside the vocabulary of " + std::to_string(n) + " tokens");
    out = value >= 0 ? static_cast<int32_t>(value) : fallback < n ? fallback : -1;
    return true;
  }

  bool ids() {
    // SentencePiece files may leave the usual ids out.
    return id("bos_token_id", in_.bos, scores_ ? 1 : -1, t_.bos) &&
           id("eos_token_id", in_.eos, scores_ ? 2 : -1, t_.eos) &&
           id("unknown_token_id", in_.unk, scores_ ? 0 : -1, t_.unk) &&
           id("padding_token_id", in_.pad, -1, t_.pad) && id("eot_token_id", in_.eot, -1, t_.eot);
  }

  GgufType typeOf(size_t i) const {
    std::string_view text = in_.tokens[i];
    if (in_.types.empty())
      return scores_ && isByteToken(text) ? Byte : Normal;
    int32_t type = in_.types[i];
    // Files exist in which the tokens that end a turn, or mark a place to fill in, are normal ones.
    static constexpr std::string_view fill[] = {"<|fim_prefix|>",  "<fim_prefix>",    "<fim-prefix>",
                                                "<|fim_suffix|>",  "<fim_suffix>",    "<fim-suffix>",
                                                "<|fim_middle|>",  "<fim_middle>",    "<fim-middle>",
                                                "<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>"};
    static constexpr std::string_view harmony[] = {"<|channel|>", "<|message|>", "<|start|>",
                                                   "<|constrain|>"};
    if (std::find(std::begin(harmony), std::end(harmony), text) != std::end(harmony))
      return UserDefined; // their text is part of what a caller has to see
    if (type == Normal &&
        (isKnownEnd(text) || std::find(std::begin(fill), std::end(fill), text) != std::end(fill)))
      return Control;
    return type < Undefined || type > Byte ? Undefined : static_cast<GgufType>(type);
  }

  bool vocabulary() {
    const size_t n = in_.tokens.size();
    t_.tokens.resize(n);
    t_.types.resize(n);
    idOf_.reserve(n);
    if (scores_) {
      t_.scores.assign(in_.scores.begin(), in_.scores.begin() + static_cast<long>(n));
      for (float &s : t_.scores)
        if (std::isnan(s))
          return fail("tokenizer.ggml.scores holds a NaN");
    }
    for (size_t i = 0; i < n; ++i) {
      std::string_view text = in_.tokens[i];
      uint8_t &type = t_.types[i];
      if (text.empty()) {
        type = INGOT_TOK_HOLE;
        continue;
      }
      auto [it, fresh] = idOf_.emplace(text, static_cast<uint32_t>(i));
      if (!fresh)
        return fail("tokenizer.ggml.tokens: " + quoteText(text) + " is token " + std::to_string(it->second) +
                    " and token " + std::to_string(i));
      GgufType kind = typeOf(i);
      bool literal = false; // the text is not in printable code points for bytes
      switch (kind) {
      case Undefined:
      case Normal:
        type = INGOT_TOK_NORMAL;
        break;
      case Unused:
        type = INGOT_TOK_UNUSED;
        break;
      case Byte:
        type = INGOT_TOK_BYTE;
        break;
      case Unknown:
        type = INGOT_TOK_UNKNOWN | INGOT_TOK_SPECIAL, literal = true;
        break;
      case Control:
        type = INGOT_TOK_CONTROL | INGOT_TOK_SPECIAL, literal = true;
        break;
      case UserDefined:
        type = INGOT_TOK_USER, literal = true;
        break;
      }
      if (kind == Byte && !isByteToken(text))
        type = INGOT_TOK_NORMAL;
      t_.tokens[i] = text;
      if (scores_) {
        type |= INGOT_TOK_LOOKUP;
        continue;
      }
      std::string raw;
      if (rawBytesOf(text, raw) && (!literal || raw == text)) {
        t_.tokens[i] = raw;
        type |= INGOT_TOK_LOOKUP;
      }
    }
    return true;
  }

  bool merges() {
    if (scores_)
      return true; // pairs merge by their scores
    t_.merges.reserve(in_.merges.size());
    for (size_t i = 0; i < in_.merges.size(); ++i) {
      std::string_view text = in_.merges[i];
      auto where = [&] { return "tokenizer.ggml.merges[" + std::to_string(i) + "] " + quoteText(text); };
      size_t space = text.find(' ', 1);
      if (text.empty() || space == std::string_view::npos)
        return fail(where() + ": no space between the two tokens of the merge");
      std::string_view left = text.substr(0, space), right = text.substr(space + 1);
      std::string joined(left);
      joined += right;
      ingot_tok_merge_v1 m;
      using Slot = std::pair<std::string_view, uint32_t *>;
      for (auto [part, to] : {Slot{left, &m.left}, Slot{right, &m.right}, Slot{joined, &m.result}}) {
        auto it = idOf_.find(part);
        if (it == idOf_.end())
          return fail(where() + ": the merge's token " + quoteText(part) + " is not in the vocabulary");
        *to = it->second;
      }
      t_.merges.push_back(m);
    }
    return true;
  }

  void ends() {
    auto has = [&](std::string_view text) { return idOf_.count(text) != 0; };
    for (size_t i = 0; t_.eot < 0 && i < kEndsOfTurn.size(); ++i)
      if (auto it = idOf_.find(kEndsOfTurn[i]); it != idOf_.end())
        t_.eot = static_cast<int32_t>(it->second);
    // In the harmony format <|end|> ends a message and not the answer.
    bool endIsMessage = (has("<|return|>") && has("<|call|>")) || (has("<|calls|>") && has("<|flush|>"));
    for (uint32_t i = 0; i < in_.tokens.size(); ++i)
      if (isKnownEnd(in_.tokens[i]) && !(endIsMessage && in_.tokens[i] == "<|end|>"))
        t_.ends.push_back(static_cast<int32_t>(i));
    for (int32_t e : {t_.eos, t_.eot})
      if (e >= 0 && !(endIsMessage && in_.tokens[static_cast<size_t>(e)] == "<|end|>"))
        t_.ends.push_back(e);
  }

  void added() {
    std::string lower = in_.name;
    for (char &c : lower)
      if (c >= 'A' && c <= 'Z')
        c = static_cast<char>(c + 32);
    // Phi-3's special tokens take the white space behind them; a GGUF file has no field for that.
    bool phi3 = lower.find("phi-3") != std::string::npos || lower.find("phi3") != std::string::npos;
    for (uint32_t i = 0; i < in_.tokens.size(); ++i) {
      uint32_t type = t_.types[i] & INGOT_TOK_TYPE_MASK;
      std::string_view text = in_.tokens[i];
      bool special = type == INGOT_TOK_CONTROL || type == INGOT_TOK_UNKNOWN;
      if ((!special && type != INGOT_TOK_USER) || !isUtf8(text))
        continue;
      uint32_t flags = special ? INGOT_TOK_ADDED_SPECIAL : 0;
      if (phi3 && text != "<unk>" && text != "<s>" && text != "<|endoftext|>")
        flags |= INGOT_TOK_ADDED_RSTRIP;
      t_.added[std::string(text)] = {i, flags};
    }
  }

  void pipeline() {
    t_.flags |= INGOT_TOK_LONGEST_FIRST;
    bool addBos = scores_ || pre_.addBos;
    if (scores_) {
      t_.model = INGOT_TOK_MODEL_SCORES;
      if (in_.addSpacePrefix != 0)
        t_.flags |= INGOT_TOK_ADD_SPACE_PREFIX;
      t_.decoders.push_back({INGOT_TOK_D_SCORES, 0, "", ""});
    } else {
      t_.flags |= INGOT_TOK_BYTE_LEVEL;
      if (pre_.ignoreMerges)
        t_.flags |= INGOT_TOK_IGNORE_MERGES;
      for (std::string_view e : pre_.expressions)
        t_.preTokenizers.push_back({INGOT_TOK_P_SPLIT_REGEX, INGOT_TOK_ISOLATED, std::string(e), ""});
      t_.preTokenizers.push_back({INGOT_TOK_P_BYTE_LEVEL, 0, "", ""});
      t_.decoders.push_back({INGOT_TOK_D_BYTE_LEVEL, 0, "", ""});
    }
    if (in_.addBos >= 0)
      addBos = in_.addBos != 0;
    bool addEos = in_.addEos > 0;
    if (addBos && t_.bos >= 0)
      t_.single.push_back(t_.bos);
    t_.single.push_back(-1);
    if (addEos && t_.eos >= 0)
      t_.single.push_back(t_.eos);
    t_.pair = t_.single;
    t_.pair.push_back(-2);
    if (addEos && t_.eos >= 0)
      t_.pair.push_back(t_.eos);
  }
};

} // namespace

bool importGgufTokenizer(const GgufTokenizer &in, std::vector<uint8_t> &out, std::string &error,
                         uint64_t embeddingRows) {
  error.clear();
  std::vector<uint8_t> made;
  if (!Importer(in, error, embeddingRows).run(made))
    return false;
  out = std::move(made);
  return true;
}

} // namespace ingot::import_
