//===- TokenizerTables.h - A tokenizer on its way to bytes ------*- C++ -*-===//
//
// What both importers fill, and the writer that turns it into the format of
// runtime/abi/ingot_tok.h. The writer is deterministic.
//
//===----------------------------------------------------------------------===//
#ifndef INGOT_COMPILER_IMPORT_TOKENIZER_TOKENIZERTABLES_H
#define INGOT_COMPILER_IMPORT_TOKENIZER_TOKENIZERTABLES_H

#include "runtime/abi/ingot_tok.h"
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::import_ {

struct TokenizerTables {
  struct Added {
    uint32_t id = 0, flags = 0;
  };
  struct Stage {
    uint32_t kind = 0, flags = 0;
    std::string a, b;
  };
  uint32_t model = INGOT_TOK_MODEL_MERGES;
  uint32_t flags = 0;
  int32_t bos = -1, eos = -1, unk = -1, pad = -1, eot = -1;
  std::vector<std::string> tokens; // by id
  std::vector<uint8_t> types;      // as in the format, with flags
  std::vector<float> scores;       // MODEL_SCORES only
  std::vector<ingot_tok_merge_v1> merges;
  bool lastMergeWins = false; // where a pair occurs twice
  std::map<std::string, Added, std::less<>> added;
  std::vector<Stage> normalizers, preTokenizers, decoders;
  std::vector<int32_t> single, pair, ends;
};

bool writeTokenizer(const TokenizerTables &in, std::vector<uint8_t> &out, std::string &error);

/// The raw bytes that a byte-level vocabulary's text stands for; false if it holds other characters.
bool rawBytesOf(std::string_view text, std::string &bytes);
bool isUtf8(std::string_view text);
/// `<0xXX>` with two hexadecimal digits.
bool isByteToken(std::string_view text);

/// A text that is known to end a turn or a generation (`<|im_end|>`, `</s>`, ...).
bool isKnownEnd(std::string_view text);
/// Those of them that end a turn, the likelier first.
inline constexpr std::array<std::string_view, 11> kEndsOfTurn = {
    "<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>",         "<|endoftext|>",     "<|end_of_text|>",
    "<EOT>",      "_<EOT>",     "[EOT]",   "<｜end▁of▁sentence｜>", "<end_of_utterance>"};

/// A text for messages: quoted, cut at 40 bytes, control characters as dots.
std::string quoteText(std::string_view text);

} // namespace ingot::import_

#endif
