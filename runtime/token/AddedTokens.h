//===- AddedTokens.h - Tokens that are found in the text itself -*- C++ -*-===//
//
// Added tokens (special tokens among them) are cut out of a text before it is
// normalized or split. Special ones may match only inside given regions, so that
// what a user writes is never read as one.
//
// Two rules exist, and a tokenizer has one of them:
//  - tokenizer.json: leftmost-longest, left to right; a special match that is
//    not wanted is passed over as plain text;
//  - GGUF: the longest tokens take their places in the whole text first.
//
//===----------------------------------------------------------------------===//
#ifndef INGOT_RUNTIME_TOKEN_ADDEDTOKENS_H
#define INGOT_RUNTIME_TOKEN_ADDEDTOKENS_H

#include "runtime/token/Blob.h"
#include "runtime/token/Normalizer.h"
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::token {

/// Where special tokens may match: disjoint, ascending, not touching byte ranges.
class Regions {
public:
  void add(size_t begin, size_t end);
  bool contains(size_t begin, size_t end) const;
  /// True if the range touches no region.
  bool disjoint(size_t begin, size_t end) const;

private:
  std::vector<std::pair<size_t, size_t>> ranges_;
};

/// A part of a text: a token, or plain text if `id` is negative.
struct Piece {
  size_t begin, end;
  int32_t id;
};

class AddedTokens {
public:
  void load(const Blob &blob, const Normalizer &normalizer);

  /// Cuts the text at tokens that are not `normalized`. With `rawNormalized`, special tokens that match in
  /// normalized text are found here, by their literal text, too.
  void splitRaw(std::string_view text, const Regions &special, bool rawNormalized,
                std::vector<Piece> &out) const;
  bool hasNormalized() const { return !normalized_.entries.empty(); }
  bool hasNormalizedSpecial() const { return hasNormalizedSpecial_; }
  /// Cuts a normalized text at `normalized` tokens; special ones match only if `special`.
  void splitNormalized(std::string_view text, bool special, std::vector<Piece> &out) const;

private:
  struct Entry {
    std::string_view text;
    int32_t id;
    uint32_t flags;
  };
  struct Set {
    std::vector<Entry> entries; // ascending by text
    bool first[256] = {};
    void prepare();
    /// Calls `each(entry)` for the entries that the text has at `at`, from short to long.
    template <typename F> void prefixes(std::string_view text, size_t at, F each) const;
  };
  struct LengthGroup {
    size_t length;
    bool allSpecial = true;
    bool first[256] = {};
    std::vector<Entry> entries;
  };

  void splitLeftmost(const Set &set, std::string_view text, const Regions &special,
                     std::vector<Piece> &out) const;
  void splitLongestFirst(std::string_view text, const Regions &special, std::vector<Piece> &out) const;

  Set raw_, rawAll_, normalized_;
  std::vector<LengthGroup> groups_; // longest first
  std::deque<std::string> owned_;   // texts of normalized_
  bool longestFirst_ = false, hasNormalizedSpecial_ = false;
};

} // namespace ingot::token

#endif
