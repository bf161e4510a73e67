//===- Regex.h - The regular expressions of tokenizers ----------*- C++ -*-===//
//
// Tokenizer files carry their split rules as expressions in Oniguruma's syntax.
// This is a matcher of our own for the part of it that they use: alternation,
// groups (also (?i:...), atomic), greedy, lazy and possessive quantifiers,
// classes with \p{...}, negation, nesting and &&, ^ $ \A \z \Z \b \B,
// look-ahead, and look-behind of fixed length. What it does not know (back
// references, \X, conditions) is an error at compile time.
//
// Meaning: leftmost, first alternative wins, as in a backtracking matcher.
// Cost: a backtracking machine whose runs of one class are single steps; when
// one attempt takes long, it starts to remember (instruction, place) pairs that
// failed, so no expression takes exponential time.
//
// Texts are valid UTF-8; places are byte offsets at character boundaries.
//
//===----------------------------------------------------------------------===//
#ifndef INGOT_RUNTIME_TOKEN_REGEX_H
#define INGOT_RUNTIME_TOKEN_REGEX_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ingot::token {

/// A set of code points: a union of ranges, categories, properties and other sets, cut with further sets,
/// then possibly negated.
struct CharSet {
  enum Prop : uint8_t { Space = 1, Word = 2, Han = 4, PosixWord = 8 };
  std::vector<std::pair<uint32_t, uint32_t>> ranges;
  uint32_t categories = 0;
  uint8_t props = 0;
  bool negate = false;
  bool ignoreCase = false;
  std::vector<CharSet> unions;
  std::vector<CharSet> intersections;

  bool contains(uint32_t cp) const;

private:
  bool containsExact(uint32_t cp) const;
};

/// A set made ready for matching: a bitmap for the first 0x800 code points.
class CompiledSet {
public:
  explicit CompiledSet(CharSet set);
  bool test(uint32_t cp) const { return cp < 0x800 ? bits_[cp >> 6] >> (cp & 63) & 1 : set_.contains(cp); }

private:
  CharSet set_;
  uint64_t bits_[32] = {};
};

class Regex {
public:
  enum class Op : uint8_t {
    Char,   // arg = code point
    Set,    // arg = set
    Run,    // arg = set, min..max of it, greedy; possessive if flag
    Split,  // try x first, then y
    Jump,   // x
    Match,  // the end of the program or of a group of its own
    Look,   // a program of its own at pc + 1; x = where to go on; arg: 0 ahead, 1 not ahead, 2 behind, 3 not
            // behind; min = characters to step back
    Atomic, // a program of its own at pc + 1; x = where to go on
    LineBegin, // ^
    LineEnd,   // $
    TextBegin, // \A
    TextEnd,   // \z
    TextEndNl, // \Z
    WordEdge,  // \b
    NotWordEdge
  };
  struct Instr {
    Op op;
    bool flag = false;
    uint32_t arg = 0;
    uint32_t x = 0, y = 0;
    uint32_t min = 0, max = 0;
  };
  /// Working memory of a match, to be reused.
  struct Scratch {
    struct Frame {
      uint32_t pc;
      const char *pos;
      const char *low; // a run: may give back down to here; else null
    };
    std::vector<Frame> stack;
  };

  /// False and `error` (with the offset in the pattern) if the pattern is ill-formed or not supported.
  static bool compile(std::string_view pattern, Regex &out, std::string &error);

  /// The first match that begins at or after `from`.
  bool search(std::string_view text, size_t from, size_t &begin, size_t &end, Scratch &scratch) const;

  /// Calls `each(begin, end)` for all matches from left to right. A match is never empty directly behind
  /// another.
  template <typename F> void forEach(std::string_view text, Scratch &scratch, F each) const {
    size_t from = 0, last = static_cast<size_t>(-1), begin, end;
    while (from <= text.size() && search(text, from, begin, end, scratch)) {
      if (begin == end) {
        if (end != last) {
          each(begin, end);
          last = end;
        }
        if (end >= text.size())
          return;
        from = end + 1;
        while (from < text.size() && (static_cast<unsigned char>(text[from]) & 0xc0) == 0x80)
          ++from;
        continue;
      }
      each(begin, end);
      last = from = end;
    }
  }

  /// True if the expression can match the empty text (then a replacement may be inserted at every place).
  bool canMatchEmpty() const { return nullable_; }

private:
  friend class RegexBuilder;
  struct Run;
  void findFirstBytes();

  std::vector<Instr> code_;
  std::vector<CompiledSet> sets_;
  bool nullable_ = false;
  bool remember_ = false; // a loop whose body can be empty: remember from the first step
  bool first_[256] = {};  // bytes that a match can begin with
};

} // namespace ingot::token

#endif
