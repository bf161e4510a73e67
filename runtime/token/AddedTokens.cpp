//===- AddedTokens.cpp - Tokens that are found in the text itself ---------===//
#include "runtime/token/AddedTokens.h"
#include "runtime/token/Unicode.h"
#include "runtime/token/Utf8.h"
#include <algorithm>

namespace ingot::token {

void Regions::add(size_t begin, size_t end) {
  if (begin == end)
    return;
  if (!ranges_.empty() && ranges_.back().second == begin)
    ranges_.back().second = end;
  else
    ranges_.push_back({begin, end});
}

bool Regions::contains(size_t begin, size_t end) const {
  auto it = std::upper_bound(ranges_.begin(), ranges_.end(), begin,
                             [](size_t at, const auto &r) { return at < r.first; });
  return it != ranges_.begin() && (--it)->second >= end;
}

bool Regions::disjoint(size_t begin, size_t end) const {
  auto it = std::upper_bound(ranges_.begin(), ranges_.end(), begin,
                             [](size_t at, const auto &r) { return at < r.first; });
  if (it != ranges_.end() && it->first < end)
    return false;
  return it == ranges_.begin() || (--it)->second <= begin;
}

void AddedTokens::Set::prepare() {
  std::sort(entries.begin(), entries.end(),
            [](const Entry &x, const Entry &y) { return x.text != y.text ? x.text < y.text : x.id < y.id; });
  for (const Entry &e : entries)
    first[static_cast<unsigned char>(e.text[0])] = true;
}

template <typename F> void AddedTokens::Set::prefixes(std::string_view text, size_t at, F each) const {
  if (!first[static_cast<unsigned char>(text[at])])
    return;
  // Narrow the sorted entries to those that agree with the text so far; the first of them may be the text so
  // far itself.
  size_t lo = 0, hi = entries.size();
  for (size_t depth = 0; at + depth < text.size() && lo < hi; ++depth) {
    auto c = static_cast<unsigned char>(text[at + depth]);
    auto byteAt = [&](const Entry &e) {
      return depth < e.text.size() ? static_cast<int>(static_cast<unsigned char>(e.text[depth])) : -1;
    };
    auto b = entries.begin();
    lo = static_cast<size_t>(std::partition_point(b + static_cast<long>(lo), b + static_cast<long>(hi),
                                                  [&](const Entry &e) { return byteAt(e) < c; }) -
                             b);
    hi = static_cast<size_t>(std::partition_point(b + static_cast<long>(lo), b + static_cast<long>(hi),
                                                  [&](const Entry &e) { return byteAt(e) <= c; }) -
                             b);
    if (lo < hi && entries[lo].text.size() == depth + 1)
      each(entries[lo]);
  }
}

void AddedTokens::load(const Blob &blob, const Normalizer &normalizer) {
  longestFirst_ = blob.flag(INGOT_TOK_LONGEST_FIRST);
  Regex::Scratch scratch;
  for (uint64_t i = 0; i < blob.count(INGOT_TOK_T_ADDED); ++i) {
    ingot_tok_added_v1 a = blob.added(i);
    Entry e{blob.string(a.text, a.text_size), static_cast<int32_t>(a.id), a.flags};
    if (longestFirst_) {
      auto it = std::find_if(groups_.begin(), groups_.end(),
                             [&](const LengthGroup &g) { return g.length == e.text.size(); });
      if (it == groups_.end()) {
        groups_.emplace_back();
        it = groups_.end() - 1;
        it->length = e.text.size();
      }
      it->entries.push_back(e);
      it->first[static_cast<unsigned char>(e.text[0])] = true;
      it->allSpecial = it->allSpecial && (e.flags & INGOT_TOK_ADDED_SPECIAL);
      continue;
    }
    bool special = e.flags & INGOT_TOK_ADDED_SPECIAL;
    if (!(e.flags & INGOT_TOK_ADDED_NORMALIZED)) {
      raw_.entries.push_back(e);
      continue;
    }
    if (special) {
      hasNormalizedSpecial_ = true;
      rawAll_.entries.push_back(e);
    }
    owned_.push_back(normalizer.apply(e.text, scratch));
    if (owned_.back().empty())
      continue;
    e.text = owned_.back();
    normalized_.entries.push_back(e);
  }
  std::sort(groups_.begin(), groups_.end(),
            [](const LengthGroup &x, const LengthGroup &y) { return x.length > y.length; });
  if (hasNormalizedSpecial_)
    rawAll_.entries.insert(rawAll_.entries.end(), raw_.entries.begin(), raw_.entries.end());
  raw_.prepare();
  rawAll_.prepare();
  normalized_.prepare();
}

/// As the reference implementation's `\w`: the joiners are in it.
static bool isWordOrJoiner(uint32_t cp) { return isWord(cp) || cp == 0x200c || cp == 0x200d; }

/// The character before `at` / at `at` of valid text belongs to a word.
static bool wordBefore(std::string_view text, size_t at) {
  if (at == 0)
    return false;
  const char *p = text.data() + at;
  stepBack(p);
  return isWordOrJoiner(decodeValid(p));
}
static bool wordAt(std::string_view text, size_t at) {
  if (at >= text.size())
    return false;
  const char *p = text.data() + at;
  return isWordOrJoiner(decodeValid(p));
}

void AddedTokens::splitLeftmost(const Set &set, std::string_view text, const Regions &special,
                                std::vector<Piece> &out) const {
  size_t done = 0; // everything before is in `out`
  for (size_t at = 0; at < text.size();) {
    const Entry *best = nullptr;
    bool wanted = true;
    set.prefixes(text, at, [&](const Entry &e) {
      size_t end = at + e.text.size();
      if (!(e.flags & INGOT_TOK_ADDED_SPECIAL) || special.contains(at, end)) {
        best = &e;
        wanted = true;
      } else if (special.disjoint(at, end)) {
        best = &e;
        wanted = false;
      } // across an edge between the two: no match, and it must not hide one
    });
    if (!best) {
      ++at;
      continue;
    }
    size_t begin = at, end = at + best->text.size();
    at = end;
    if (!wanted)
      continue;
    if ((best->flags & INGOT_TOK_ADDED_SINGLE_WORD) && (wordBefore(text, begin) || wordAt(text, end)))
      continue;
    if (best->flags & INGOT_TOK_ADDED_LSTRIP) {
      const char *p = text.data() + begin;
      while (p > text.data() + done) {
        const char *q = p;
        stepBack(q);
        const char *r = q;
        if (!isSpace(decodeValid(r)))
          break;
        p = q;
      }
      begin = static_cast<size_t>(p - text.data());
    }
    if (best->flags & INGOT_TOK_ADDED_RSTRIP) {
      const char *p = text.data() + end, *last = text.data() + text.size();
      while (p < last) {
        const char *q = p;
        if (!isSpace(decodeValid(q)))
          break;
        p = q;
      }
      end = static_cast<size_t>(p - text.data());
    }
    if (done < begin)
      out.push_back({done, begin, -1});
    out.push_back({begin, end, best->id});
    done = end;
  }
  if (done < text.size())
    out.push_back({done, text.size(), -1});
}

void AddedTokens::splitLongestFirst(std::string_view text, const Regions &special,
                                    std::vector<Piece> &out) const {
  std::vector<bool> taken(text.size());
  std::vector<Piece> found;
  auto space = [&](size_t i) { return text[i] == ' ' || (text[i] >= 9 && text[i] <= 13); };
  for (const LengthGroup &g : groups_) {
    if (g.length > text.size() || (g.allSpecial && special.disjoint(0, text.size())))
      continue;
    for (size_t at = 0; at + g.length <= text.size();) {
      if (!g.first[static_cast<unsigned char>(text[at])]) {
        ++at;
        continue;
      }
      std::string_view part = text.substr(at, g.length);
      auto it = std::lower_bound(g.entries.begin(), g.entries.end(), part,
                                 [](const Entry &e, std::string_view v) { return e.text < v; });
      bool ok = it != g.entries.end() && it->text == part &&
                (!(it->flags & INGOT_TOK_ADDED_SPECIAL) || special.contains(at, at + g.length));
      for (size_t i = at; ok && i < at + g.length; ++i)
        ok = !taken[i];
      if (!ok) {
        ++at;
        continue;
      }
      size_t begin = at, end = at + g.length;
      if (it->flags & INGOT_TOK_ADDED_LSTRIP)
        while (begin > 0 && !taken[begin - 1] && space(begin - 1))
          --begin;
      if (it->flags & INGOT_TOK_ADDED_RSTRIP)
        while (end < text.size() && !taken[end] && space(end))
          ++end;
      std::fill(taken.begin() + static_cast<long>(begin), taken.begin() + static_cast<long>(end), true);
      found.push_back({begin, end, it->id});
      at = end;
    }
  }
  std::sort(found.begin(), found.end(), [](const Piece &x, const Piece &y) { return x.begin < y.begin; });
  size_t done = 0;
  for (const Piece &p : found) {
    if (done < p.begin)
      out.push_back({done, p.begin, -1});
    out.push_back(p);
    done = p.end;
  }
  if (done < text.size())
    out.push_back({done, text.size(), -1});
}

void AddedTokens::splitRaw(std::string_view text, const Regions &special, bool rawNormalized,
                           std::vector<Piece> &out) const {
  if (longestFirst_)
    splitLongestFirst(text, special, out);
  else
    splitLeftmost(rawNormalized && hasNormalizedSpecial_ ? rawAll_ : raw_, text, special, out);
}

void AddedTokens::splitNormalized(std::string_view text, bool special, std::vector<Piece> &out) const {
  Regions all;
  if (special)
    all.add(0, text.size());
  splitLeftmost(normalized_, text, all, out);
}

} // namespace ingot::token
