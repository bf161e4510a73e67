//===- Regex.cpp - Matching -----------------------------------------------===//
#include "runtime/token/Regex.h"
#include "runtime/token/Unicode.h"
#include "runtime/token/Utf8.h"
#include <algorithm>
#include <unordered_set>

namespace ingot::token {

// Unicode 16, Scripts.txt, Han.
static constexpr std::pair<uint32_t, uint32_t> kHan[] = {
    {0x2e80, 0x2e99},   {0x2e9b, 0x2ef3},   {0x2f00, 0x2fd5},   {0x3005, 0x3005},   {0x3007, 0x3007},
    {0x3021, 0x3029},   {0x3038, 0x303b},   {0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xf900, 0xfa6d},
    {0xfa70, 0xfad9},   {0x16fe2, 0x16fe3}, {0x16ff0, 0x16ff1}, {0x20000, 0x2a6df}, {0x2a700, 0x2b739},
    {0x2b740, 0x2b81d}, {0x2b820, 0x2cea1}, {0x2ceb0, 0x2ebe0}, {0x2ebf0, 0x2ee5d}, {0x2f800, 0x2fa1d},
    {0x30000, 0x3134a}, {0x31350, 0x323af}};

/// Oniguruma's \w: as isWord, and the numbers of Latin-1 that are not decimal (its single-byte table has
/// them).
static bool isRegexWord(uint32_t cp) {
  return isWord(cp) || cp == 0xb2 || cp == 0xb3 || cp == 0xb9 || (cp >= 0xbc && cp <= 0xbe);
}

bool CharSet::containsExact(uint32_t cp) const {
  bool in = false;
  for (const auto &r : ranges)
    if (cp >= r.first && cp <= r.second) {
      in = true;
      break;
    }
  if (!in && categories)
    in = categoryBit(cp) & categories;
  if (!in && props) {
    in = ((props & Space) && isSpace(cp)) || ((props & Word) && isRegexWord(cp)) ||
         ((props & PosixWord) && isWord(cp));
    if (!in && (props & Han))
      in = std::any_of(std::begin(kHan), std::end(kHan),
                       [&](const auto &r) { return cp >= r.first && cp <= r.second; });
  }
  for (size_t i = 0; !in && i < unions.size(); ++i)
    in = unions[i].contains(cp);
  for (size_t i = 0; in && i < intersections.size(); ++i)
    in = intersections[i].contains(cp);
  return in;
}

bool CharSet::contains(uint32_t cp) const {
  bool in = containsExact(cp);
  if (!in && ignoreCase) {
    uint32_t folded = foldCase(cp);
    in = containsExact(folded) || containsExact(upperCase(folded));
    if (!in && folded == 's')
      in = containsExact(0x17f);
    if (!in && folded == 'k')
      in = containsExact(0x212a);
  }
  return in != negate;
}

CompiledSet::CompiledSet(CharSet set) : set_(std::move(set)) {
  for (uint32_t cp = 0; cp < 0x800; ++cp)
    if (set_.contains(cp))
      bits_[cp >> 6] |= uint64_t(1) << (cp & 63);
}

/// One attempt at one place of the text.
struct Regex::Run {
  const Regex &re;
  const char *begin, *end;
  std::vector<Scratch::Frame> &stack;
  uint64_t steps = 0;

  // An attempt that took this many steps starts to remember; one that remembers this much gives up (fails).
  static constexpr uint64_t kRememberAfter = 20000;
  static constexpr size_t kMaxRemembered = size_t(1) << 22;

  bool wordEdge(const char *pos) const {
    bool before = false, after = false;
    if (pos > begin) {
      const char *p = pos;
      stepBack(p);
      before = isRegexWord(decodeValid(p));
    }
    if (pos < end) {
      const char *p = pos;
      after = isRegexWord(decodeValid(p));
    }
    return before != after;
  }

  /// Runs the program at `pc` from `pos`; on success `stop` is where it ends. `exact`, if set, is the only
  /// place where it may end. Nested calls (look-around, atomic groups) are as deep as the pattern's groups.
  bool exec(uint32_t pc, const char *pos, const char *exact, const char *&stop) {
    const size_t base = stack.size();
    bool remember = re.remember_;
    std::unordered_set<uint64_t> seen;
    auto firstVisit = [&](uint32_t at, const char *p) {
      if (!remember) {
        remember = ++steps > kRememberAfter;
        return true;
      }
      if (seen.size() >= kMaxRemembered)
        return false;
      return seen.insert(uint64_t(at) << 40 ^ static_cast<uint64_t>(p - begin)).second;
    };
    for (;;) {
      const Instr &in = re.code_[pc];
      bool ok = true;
      switch (in.op) {
      case Op::Char: {
        ok = pos < end;
        if (ok) {
          const char *p = pos;
          ok = decodeValid(p) == in.arg;
          pos = p;
        }
        ++pc;
        break;
      }
      case Op::Set: {
        ok = pos < end;
        if (ok) {
          const char *p = pos;
          ok = re.sets_[in.arg].test(decodeValid(p));
          pos = p;
        }
        ++pc;
        break;
      }
      case Op::Run: {
        const CompiledSet &set = re.sets_[in.arg];
        const char *low = pos, *p = pos;
        uint32_t n = 0;
        while (n < in.max && p < end) {
          const char *q = p;
          if (!set.test(decodeValid(q)))
            break;
          p = q;
          if (++n == in.min)
            low = p;
        }
        ok = n >= in.min;
        if (ok && p > low && !in.flag)
          stack.push_back({pc + 1, p, low});
        pos = p;
        ++pc;
        break;
      }
      case Op::Split:
        ok = firstVisit(pc, pos);
        if (ok) {
          stack.push_back({in.y, pos, nullptr});
          pc = in.x;
        }
        break;
      case Op::Jump:
        pc = in.x;
        break;
      case Op::Match:
        ok = !exact || pos == exact;
        if (ok) {
          stop = pos;
          stack.resize(base);
          return true;
        }
        break;
      case Op::Look: {
        const char *from = pos;
        bool room = true;
        for (uint32_t i = 0; room && i < in.min; ++i) {
          room = from > begin;
          if (room)
            stepBack(from);
        }
        const char *ignored;
        bool found = room && exec(pc + 1, from, in.arg >= 2 ? pos : nullptr, ignored);
        ok = found != ((in.arg & 1) != 0);
        pc = in.x;
        break;
      }
      case Op::Atomic: {
        const char *after = pos;
        ok = exec(pc + 1, pos, nullptr, after);
        pos = after;
        pc = in.x;
        break;
      }
      case Op::LineBegin:
        ok = pos == begin || (pos[-1] == '\n' && pos < end);
        ++pc;
        break;
      case Op::LineEnd:
        ok = pos == end || *pos == '\n';
        ++pc;
        break;
      case Op::TextBegin:
        ok = pos == begin;
        ++pc;
        break;
      case Op::TextEnd:
        ok = pos == end;
        ++pc;
        break;
      case Op::TextEndNl:
        ok = pos == end || (pos + 1 == end && *pos == '\n');
        ++pc;
        break;
      case Op::WordEdge:
        ok = wordEdge(pos);
        ++pc;
        break;
      case Op::NotWordEdge:
        ok = !wordEdge(pos);
        ++pc;
        break;
      }
      while (!ok) {
        if (stack.size() == base)
          return false;
        Scratch::Frame &frame = stack.back();
        if (frame.low)
          stepBack(frame.pos);
        pc = frame.pc;
        pos = frame.pos;
        if (!frame.low || frame.pos == frame.low)
          stack.pop_back();
        // A place inside the program is told from a Split by its low bit of the key.
        ok = firstVisit(pc | 0x800000u, pos);
      }
    }
  }
};

bool Regex::search(std::string_view text, size_t from, size_t &begin, size_t &end, Scratch &scratch) const {
  const char *first = text.data(), *last = first + text.size();
  for (const char *p = first + from;; ++p) {
    // Between characters nothing can begin, and `first_` holds no continuation byte.
    while (p < last && !first_[static_cast<unsigned char>(*p)])
      ++p;
    if (p == last && !nullable_)
      return false;
    scratch.stack.clear();
    Run run{*this, first, last, scratch.stack};
    const char *stop;
    if (run.exec(0, p, nullptr, stop)) {
      begin = static_cast<size_t>(p - first);
      end = static_cast<size_t>(stop - first);
      return true;
    }
    if (p == last)
      return false;
  }
}

void Regex::findFirstBytes() {
  // Follow everything that consumes nothing from the start; collect what consumes. Reaching the end means
  // that the empty text matches.
  std::vector<bool> seen(code_.size());
  std::vector<uint32_t> todo{0};
  bool first[128] = {}, beyond = false;
  auto add = [&](uint32_t pc) { todo.push_back(pc); };
  while (!todo.empty()) {
    uint32_t pc = todo.back();
    todo.pop_back();
    if (seen[pc])
      continue;
    seen[pc] = true;
    const Instr &in = code_[pc];
    switch (in.op) {
    case Op::Char:
      if (in.arg < 128)
        first[in.arg] = true;
      else
        beyond = true;
      break;
    case Op::Set:
    case Op::Run:
      beyond = true;
      for (uint32_t c = 0; c < 128; ++c)
        first[c] = first[c] || sets_[in.arg].test(c);
      if (in.op == Op::Run && in.min == 0)
        add(pc + 1);
      break;
    case Op::Split:
      add(in.x);
      add(in.y);
      break;
    case Op::Jump:
    case Op::Look:
      add(in.x);
      break;
    case Op::Atomic:
      add(pc + 1); // its Match is taken for the end: conservative
      break;
    case Op::Match:
      nullable_ = true;
      break;
    default:
      add(pc + 1);
      break;
    }
  }
  for (uint32_t c = 0; c < 256; ++c)
    first_[c] = (c & 0xc0) != 0x80 && (nullable_ || (c < 128 ? first[c] : beyond));
}

} // namespace ingot::token
