//===- PreTokenizer.cpp - Cutting normalized text into words --------------===//
#include "runtime/token/PreTokenizer.h"
#include "runtime/token/Normalizer.h"
#include "runtime/token/Unicode.h"
#include "runtime/token/Utf8.h"

namespace ingot::token {

/// GPT-2's split, which the ByteLevel step implies.
static constexpr std::string_view kGpt2Split =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

bool PreTokenizer::load(const Blob &blob, std::string &error) {
  bool mapped = false;
  for (uint64_t i = 0; i < blob.count(INGOT_TOK_T_NORMALIZERS); ++i)
    mapped |= blob.stage(INGOT_TOK_T_NORMALIZERS, i).kind == INGOT_TOK_N_BYTE_LEVEL;
  for (uint64_t i = 0; i < blob.count(INGOT_TOK_T_PRETOKENIZERS); ++i) {
    ingot_tok_stage_v1 s = blob.stage(INGOT_TOK_T_PRETOKENIZERS, i);
    Step step;
    step.kind = s.kind;
    step.flags = s.flags;
    step.a = blob.string(s.a, s.a_size);
    const std::string where = "pre_tokenizer " + std::to_string(i);
    auto compile = [&](std::string_view pattern) {
      std::string what;
      if (Regex::compile(pattern, step.regex, what))
        return true;
      error = where + ": regular expression '" + std::string(pattern) + "': " + what;
      return false;
    };
    uint32_t behavior = s.flags & 7;
    switch (s.kind) {
    case INGOT_TOK_P_BYTE_LEVEL:
      if (mapped) {
        error = where + ": a second ByteLevel step";
        return false;
      }
      mapped = true;
      if ((s.flags & 2) && !compile(kGpt2Split))
        return false;
      break;
    case INGOT_TOK_P_METASPACE:
      if (mapped) {
        error = where + ": Metaspace behind a ByteLevel step";
        return false;
      }
      if (step.a.empty() || step.a.size() != lengthOfLead(static_cast<unsigned char>(step.a[0])) ||
          (s.flags & 3) == 3) {
        error = where + ": Metaspace needs one replacement character and a known scheme";
        return false;
      }
      break;
    case INGOT_TOK_P_SPLIT_REGEX:
      if (!compile(step.a))
        return false;
      [[fallthrough]];
    case INGOT_TOK_P_SPLIT:
    case INGOT_TOK_P_PUNCTUATION:
      if (behavior > INGOT_TOK_CONTIGUOUS) {
        error = where + ": unknown behavior " + std::to_string(behavior);
        return false;
      }
      break;
    case INGOT_TOK_P_DIGITS:
    case INGOT_TOK_P_WHITESPACE_SPLIT:
    case INGOT_TOK_P_BERT:
      break;
    default:
      error = where + ": unknown kind " + std::to_string(s.kind);
      return false;
    }
    steps_.push_back(std::move(step));
  }
  if (mapped != blob.flag(INGOT_TOK_BYTE_LEVEL)) {
    error = "pre_tokenizer: byte-level steps and the vocabulary's form disagree";
    return false;
  }
  return true;
}

namespace {

/// Turns matches inside one span into new spans, by a behavior.
class Cutter {
public:
  Cutter(std::vector<Words::Span> &out, Words::Span span, uint32_t behavior, bool invert)
      : out_(out), span_(span), behavior_(behavior), invert_(invert), at_(span.begin) {}

  /// A match; ranges arrive in ascending order.
  void match(size_t begin, size_t end) {
    if (begin > at_)
      part(at_, begin, invert_);
    part(begin, end, !invert_);
    at_ = end;
  }
  void finish() {
    if (at_ < span_.end)
      part(at_, span_.end, invert_);
    if (behavior_ != INGOT_TOK_MERGED_WITH_NEXT)
      return;
    // The reference walks from the back: a match joins what follows it, unless that is a match too.
    std::vector<Words::Span> made;
    bool previous = false;
    for (size_t i = parts_.size(); i-- > 0;) {
      const Part &p = parts_[i];
      if (p.isMatch && !previous && !made.empty())
        made.back().begin = p.begin;
      else
        made.push_back({p.begin, p.end, false});
      previous = p.isMatch;
    }
    for (size_t i = made.size(); i-- > 0;)
      push(made[i].begin, made[i].end);
  }

private:
  struct Part {
    size_t begin, end;
    bool isMatch;
  };
  std::vector<Words::Span> &out_;
  Words::Span span_;
  uint32_t behavior_;
  bool invert_, previous_ = false, any_ = false;
  size_t at_;
  std::vector<Part> parts_;

  void push(size_t begin, size_t end) {
    if (begin < end)
      out_.push_back({begin, end, span_.atStart && begin == span_.begin});
  }
  /// A span that may still grow; empty ones cannot be told apart afterwards, so they are kept out.
  void part(size_t begin, size_t end, bool isMatch) {
    switch (behavior_) {
    case INGOT_TOK_ISOLATED:
      push(begin, end);
      break;
    case INGOT_TOK_REMOVED:
      if (!isMatch)
        push(begin, end);
      break;
    case INGOT_TOK_MERGED_WITH_PREVIOUS:
      join(isMatch && !previous_, begin, end);
      previous_ = isMatch;
      break;
    case INGOT_TOK_CONTIGUOUS:
      join(isMatch == previous_, begin, end);
      previous_ = isMatch;
      break;
    default:
      parts_.push_back({begin, end, isMatch});
      break;
    }
  }
  void join(bool withLast, size_t begin, size_t end) {
    if (begin == end)
      return;
    if (withLast && any_)
      out_.back().end = end;
    else
      push(begin, end);
    any_ = true;
  }
};

} // namespace

/// Cuts every span at the characters for which `test` holds.
template <typename F> static void cutAtCharacters(Words &w, uint32_t behavior, F test) {
  std::vector<Words::Span> out;
  out.reserve(w.spans.size() * 2);
  for (const Words::Span &span : w.spans) {
    Cutter cut(out, span, behavior, false);
    const char *base = w.text.data(), *p = base + span.begin, *end = base + span.end;
    while (p < end) {
      const char *from = p;
      if (test(decodeValid(p)))
        cut.match(static_cast<size_t>(from - base), static_cast<size_t>(p - base));
    }
    cut.finish();
  }
  w.spans = std::move(out);
}

static void cutAtRegex(Words &w, const Regex &regex, uint32_t behavior, bool invert,
                       Regex::Scratch &scratch) {
  std::vector<Words::Span> out;
  out.reserve(w.spans.size() * 2);
  for (const Words::Span &span : w.spans) {
    Cutter cut(out, span, behavior, invert);
    regex.forEach(std::string_view(w.text).substr(span.begin, span.end - span.begin), scratch,
                  [&](size_t begin, size_t end) { cut.match(span.begin + begin, span.begin + end); });
    cut.finish();
  }
  w.spans = std::move(out);
}

static void cutAtText(Words &w, std::string_view what, uint32_t behavior, bool invert) {
  std::vector<Words::Span> out;
  for (const Words::Span &span : w.spans) {
    Cutter cut(out, span, behavior, invert);
    std::string_view text = std::string_view(w.text).substr(0, span.end);
    size_t at = span.begin;
    for (size_t hit; !what.empty() && (hit = text.find(what, at)) != std::string_view::npos;
         at = hit + what.size())
      cut.match(hit, hit + what.size());
    cut.finish();
  }
  w.spans = std::move(out);
}

/// Rebuilds the text span by span; `make(text of the span, span, out)` appends the new text.
template <typename F> static void rebuild(Words &w, F make) {
  std::string text;
  text.reserve(w.text.size() + w.text.size() / 8 + 8);
  for (Words::Span &span : w.spans) {
    size_t begin = text.size();
    make(std::string_view(w.text).substr(span.begin, span.end - span.begin), span, text);
    span.begin = begin;
    span.end = text.size();
  }
  w.text = std::move(text);
}

static bool isPunctuation(uint32_t cp) {
  if (cp < 0x80)
    return (cp > ' ' && cp < '0') || (cp > '9' && cp < 'A') || (cp > 'Z' && cp < 'a') ||
           (cp > 'z' && cp < 0x7f);
  return categoryBit(cp) & CatP;
}

void PreTokenizer::apply(Words &w, Regex::Scratch &scratch) const {
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step &s = steps_[i];
    switch (s.kind) {
    case INGOT_TOK_P_BYTE_LEVEL:
      if (s.flags & 1)
        rebuild(w, [](std::string_view text, const Words::Span &, std::string &out) {
          if (text[0] != ' ')
            out += ' ';
          out += text;
        });
      if (s.flags & 2)
        cutAtRegex(w, s.regex, INGOT_TOK_ISOLATED, false, scratch);
      // What is mapped is mapped back for the look-up; the last step saves both.
      if (i + 1 < steps_.size()) {
        rebuild(w, [](std::string_view text, const Words::Span &, std::string &out) {
          appendMappedBytes(out, text);
        });
        w.mapped = true;
      }
      break;
    case INGOT_TOK_P_METASPACE: {
      uint32_t scheme = s.flags & 3;
      rebuild(w, [&](std::string_view text, const Words::Span &span, std::string &out) {
        bool marked = text[0] == ' ' || text.substr(0, s.a.size()) == s.a;
        if (!marked &&
            (scheme == INGOT_TOK_PREPEND_ALWAYS || (scheme == INGOT_TOK_PREPEND_FIRST && span.atStart)))
          out += s.a;
        for (char c : text)
          if (c == ' ')
            out += s.a;
          else
            out += c;
      });
      if (s.flags & 4)
        cutAtText(w, s.a, INGOT_TOK_MERGED_WITH_NEXT, false);
      break;
    }
    case INGOT_TOK_P_SPLIT:
      cutAtText(w, s.a, s.flags & 7, s.flags & 8);
      break;
    case INGOT_TOK_P_SPLIT_REGEX:
      cutAtRegex(w, s.regex, s.flags & 7, s.flags & 8, scratch);
      break;
    case INGOT_TOK_P_DIGITS:
      cutAtCharacters(w, s.flags & 1 ? INGOT_TOK_ISOLATED : INGOT_TOK_CONTIGUOUS,
                      [](uint32_t cp) { return (categoryBit(cp) & CatN) != 0; });
      break;
    case INGOT_TOK_P_PUNCTUATION:
      cutAtCharacters(w, s.flags & 7, isPunctuation);
      break;
    case INGOT_TOK_P_WHITESPACE_SPLIT:
      cutAtCharacters(w, INGOT_TOK_REMOVED, isSpace);
      break;
    case INGOT_TOK_P_BERT:
      cutAtCharacters(w, INGOT_TOK_REMOVED, isSpace);
      cutAtCharacters(w, INGOT_TOK_ISOLATED, isPunctuation);
      break;
    }
  }
}

} // namespace ingot::token
