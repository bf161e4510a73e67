//===- PreTokenizer.h - Cutting normalized text into words ------*- C++ -*-===//
//
// A list of steps that cut a text into words (no merge crosses a word's edge)
// and may change characters on the way: ByteLevel maps bytes to printable code
// points, Metaspace writes U+2581 for spaces. Later steps see what earlier ones
// made, as in the reference implementation.
//
//===----------------------------------------------------------------------===//
#ifndef INGOT_RUNTIME_TOKEN_PRETOKENIZER_H
#define INGOT_RUNTIME_TOKEN_PRETOKENIZER_H

#include "runtime/token/Blob.h"
#include "runtime/token/Regex.h"

namespace ingot::token {

/// Words as byte ranges of a text.
struct Words {
  struct Span {
    size_t begin, end;
    bool atStart; // the first word of the whole input
  };
  std::string text;
  std::vector<Span> spans;
  bool mapped = false; // the text is in printable code points that stand for bytes
};

class PreTokenizer {
public:
  bool load(const Blob &blob, std::string &error);
  /// `words` holds one text, as one span or none; becomes its words.
  void apply(Words &words, Regex::Scratch &scratch) const;

private:
  struct Step {
    uint32_t kind, flags;
    std::string_view a;
    Regex regex;
  };
  std::vector<Step> steps_;
};

} // namespace ingot::token

#endif
