//===- TokenizerTables.cpp - Writing the binary form ----------------------===//
#include "compiler/import/tokenizer/TokenizerTables.h"
#include <algorithm>

namespace ingot::import_ {

/// Decodes one character; 0 if the bytes at `i` are not valid UTF-8. Moves `i`.
static uint32_t decodeAt(std::string_view s, size_t &i, bool &ok) {
  auto byte = [&](size_t k) { return k < s.size() ? static_cast<unsigned char>(s[k]) : 0u; };
  uint32_t b = byte(i);
  auto tail = [&](size_t k) {
    uint32_t c = byte(k);
    ok = ok && (c & 0xc0) == 0x80;
    return c & 0x3f;
  };
  if (b < 0x80) {
    ++i;
    return b;
  }
  if (b >= 0xc2 && b <= 0xdf) {
    uint32_t c = (b & 0x1f) << 6 | tail(i + 1);
    i += 2;
    return c;
  }
  if (b >= 0xe0 && b <= 0xef) {
    uint32_t c = (b & 0xf) << 12;
    c |= tail(i + 1) << 6;
    c |= tail(i + 2);
    ok = ok && c >= 0x800 && (c < 0xd800 || c > 0xdfff);
    i += 3;
    return c;
  }
  if (b >= 0xf0 && b <= 0xf4) {
    uint32_t c = (b & 7) << 18;
    c |= tail(i + 1) << 12;
    c |= tail(i + 2) << 6;
    c |= tail(i + 3);
    ok = ok && c >= 0x10000 && c <= 0x10ffff;
    i += 4;
    return c;
  }
  ok = false;
  ++i;
  return 0;
}

bool isUtf8(std::string_view text) {
  bool ok = true;
  for (size_t i = 0; ok && i < text.size();)
    decodeAt(text, i, ok);
  return ok;
}

bool rawBytesOf(std::string_view text, std::string &bytes) {
  bytes.clear();
  bool ok = true;
  for (size_t i = 0; i < text.size();) {
    int32_t b = ingot_tok_cp_to_byte(decodeAt(text, i, ok));
    if (!ok || b < 0)
      return false;
    bytes += static_cast<char>(b);
  }
  return true;
}

bool isByteToken(std::string_view t) {
  auto hex = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F') || (c >= 'a' && c <= 'f');
  };
  return t.size() == 6 && t.substr(0, 3) == "<0x" && t[5] == '>' && hex(t[3]) && hex(t[4]);
}

bool isKnownEnd(std::string_view t) {
  static constexpr std::string_view known[] = {"<|return|>", "<|call|>", "<|flush|>", "<|calls|>", "</s>",
                                               "<|eom_id|>", "[EOS]",    "<eos>",     "[e~["};
  return std::find(kEndsOfTurn.begin(), kEndsOfTurn.end(), t) != kEndsOfTurn.end() ||
         std::find(std::begin(known), std::end(known), t) != std::end(known);
}

std::string quoteText(std::string_view text) {
  std::string out = "'";
  for (char c : text.substr(0, 40))
    out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '.' : c;
  return out + (text.size() > 40 ? "...'" : "'");
}

namespace {

class Writer {
public:
  Writer(const TokenizerTables &in, std::vector<uint8_t> &out) : in_(in), out_(out) {}

  bool write(std::string &error) {
    const size_t vocab = in_.tokens.size();
    if (vocab == 0 || vocab > INGOT_TOK_MAX_VOCAB) {
      error = "a vocabulary of " + std::to_string(vocab) + " tokens is not supported";
      return false;
    }
    if (in_.merges.size() > INGOT_TOK_MAX_MERGES) {
      error = "too many merges: " + std::to_string(in_.merges.size());
      return false;
    }
    out_.assign(sizeof(header_), 0);
    header_.magic = INGOT_TOK_MAGIC;
    header_.version = INGOT_TOK_VERSION;
    header_.model = in_.model;
    header_.flags = in_.flags;
    header_.vocab = static_cast<uint32_t>(vocab);
    header_.bos = in_.bos;
    header_.eos = in_.eos;
    header_.unk = in_.unk;
    header_.pad = in_.pad;
    header_.eot = in_.eot;

    uint64_t total = 0;
    for (const std::string &t : in_.tokens)
      total += t.size();
    if (total > INGOT_TOK_MAX_BLOB / 4) {
      error = "the tokens' texts are too long";
      return false;
    }
    std::vector<uint32_t> offsets(1, 0);
    std::string bytes;
    for (const std::string &t : in_.tokens) {
      bytes += t;
      offsets.push_back(static_cast<uint32_t>(bytes.size()));
    }
    table(INGOT_TOK_T_OFFSETS, offsets.data(), offsets.size());
    table(INGOT_TOK_T_BYTES, bytes.data(), bytes.size());
    table(INGOT_TOK_T_TYPES, in_.types.data(), in_.types.size());
    table(INGOT_TOK_T_SCORES, in_.scores.data(), in_.scores.size());
    vocabSlots();
    table(INGOT_TOK_T_MERGES, in_.merges.data(), in_.merges.size());
    mergeSlots();
    texts();
    table(INGOT_TOK_T_SINGLE, in_.single.data(), in_.single.size());
    table(INGOT_TOK_T_PAIR, in_.pair.data(), in_.pair.size());
    std::vector<int32_t> ends = in_.ends;
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    table(INGOT_TOK_T_END, ends.data(), ends.size());
    header_.size = out_.size();
    memcpy(out_.data(), &header_, sizeof(header_));
    return true;
  }

private:
  const TokenizerTables &in_;
  std::vector<uint8_t> &out_;
  ingot_tok_header_v1 header_{};

  template <typename T> void table(ingot_tok_table_id id, const T *data, size_t count) {
    out_.resize((out_.size() + 7) / 8 * 8);
    header_.tables[id] = {out_.size(), count};
    const auto *p = reinterpret_cast<const uint8_t *>(data);
    out_.insert(out_.end(), p, p + count * sizeof(T));
  }

  static size_t slotCount(size_t entries) {
    size_t n = 4;
    while (n < entries + entries / 2 + 1)
      n *= 2;
    return n;
  }

  void vocabSlots() {
    size_t entries = 0;
    for (uint8_t t : in_.types)
      entries += (t & INGOT_TOK_LOOKUP) != 0;
    std::vector<uint32_t> slots(slotCount(entries), INGOT_TOK_NONE);
    const size_t mask = slots.size() - 1;
    for (uint32_t id = 0; id < in_.tokens.size(); ++id) {
      if (!(in_.types[id] & INGOT_TOK_LOOKUP))
        continue;
      const std::string &t = in_.tokens[id];
      size_t i = ingot_tok_hash_bytes(t.data(), t.size()) & mask;
      while (slots[i] != INGOT_TOK_NONE && in_.tokens[slots[i]] != t)
        i = (i + 1) & mask;
      if (slots[i] == INGOT_TOK_NONE)
        slots[i] = id;
    }
    table(INGOT_TOK_T_VOCAB_SLOTS, slots.data(), slots.size());
  }

  void mergeSlots() {
    std::vector<uint32_t> slots(slotCount(in_.merges.size()), INGOT_TOK_NONE);
    const size_t mask = slots.size() - 1;
    for (uint32_t m = 0; m < in_.merges.size(); ++m) {
      const ingot_tok_merge_v1 &merge = in_.merges[m];
      size_t i = ingot_tok_hash_pair(merge.left, merge.right) & mask;
      while (slots[i] != INGOT_TOK_NONE &&
             (in_.merges[slots[i]].left != merge.left || in_.merges[slots[i]].right != merge.right))
        i = (i + 1) & mask;
      if (slots[i] == INGOT_TOK_NONE || in_.lastMergeWins)
        slots[i] = m;
    }
    table(INGOT_TOK_T_MERGE_SLOTS, slots.data(), slots.size());
  }

  void texts() {
    std::string strings;
    auto put = [&](const std::string &s) {
      auto at = static_cast<uint32_t>(strings.size());
      strings += s;
      return at;
    };
    std::vector<ingot_tok_added_v1> added;
    for (const auto &[text, a] : in_.added) // a map: ascending by text, as the format asks
      added.push_back({a.id, a.flags, put(text), static_cast<uint32_t>(text.size())});
    auto stages = [&](const std::vector<TokenizerTables::Stage> &in) {
      std::vector<ingot_tok_stage_v1> list;
      for (const TokenizerTables::Stage &s : in) {
        uint32_t a = put(s.a), b = put(s.b);
        list.push_back(
            {s.kind, s.flags, a, static_cast<uint32_t>(s.a.size()), b, static_cast<uint32_t>(s.b.size())});
      }
      return list;
    };
    auto normalizers = stages(in_.normalizers), pre = stages(in_.preTokenizers), dec = stages(in_.decoders);
    table(INGOT_TOK_T_ADDED, added.data(), added.size());
    table(INGOT_TOK_T_STRINGS, strings.data(), strings.size());
    table(INGOT_TOK_T_NORMALIZERS, normalizers.data(), normalizers.size());
    table(INGOT_TOK_T_PRETOKENIZERS, pre.data(), pre.size());
    table(INGOT_TOK_T_DECODERS, dec.data(), dec.size());
  }
};

} // namespace

bool writeTokenizer(const TokenizerTables &in, std::vector<uint8_t> &out, std::string &error) {
  return Writer(in, out).write(error);
}

} // namespace ingot::import_
