//===- Normalizer.h - Text before it is split -------------------*- C++ -*-===//
//
// The normalizer of a tokenizer: a list of steps on a text. Every chain that
// loads has a bounded growth (see kMaxGrowth), so no text can make it use more
// than that factor of memory.
//
//===----------------------------------------------------------------------===//
#ifndef INGOT_RUNTIME_TOKEN_NORMALIZER_H
#define INGOT_RUNTIME_TOKEN_NORMALIZER_H

#include "runtime/token/Blob.h"
#include "runtime/token/Regex.h"

namespace ingot::token {

class Normalizer {
public:
  /// A chain that can make a text longer than this factor is refused.
  static constexpr double kMaxGrowth = 4096;

  bool load(const Blob &blob, std::string &error);
  bool empty() const { return steps_.empty(); }
  /// Maps to printable code points (see ingot_tok.h): then the text is so from here on.
  bool mapsBytes() const { return mapsBytes_; }

  /// The text after all steps. `movedStart`, if given, becomes true if characters were taken from the front.
  std::string apply(std::string_view text, Regex::Scratch &scratch, bool *movedStart = nullptr) const;

private:
  struct Step {
    uint32_t kind, flags;
    std::string_view a, b;
    Regex regex;
  };
  std::vector<Step> steps_;
  bool mapsBytes_ = false;
};

/// Each byte of `text` as its printable code point.
void appendMappedBytes(std::string &out, std::string_view text);

} // namespace ingot::token

#endif
