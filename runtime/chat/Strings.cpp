// Shared string operations (see Strings.h).
#include "runtime/chat/Strings.h"

#include "runtime/chat/Text.h"

#include <algorithm>

namespace ingot::chat {

namespace {
/// Collects mapped text and hands it on in runs of equal taint.
class RunWriter {
public:
  RunWriter(StrBuilder &o, const StrObj &s) : out(o), source(s) {}
  ~RunWriter() { flush(); }
  std::string &at(size_t byte) {
    bool now = !source.taint.empty() && source.taintedAt(byte);
    if (now != tainted || run.size() > 4096) {
      flush();
      tainted = now;
    }
    return run;
  }

private:
  void flush() {
    out.add(run, tainted);
    run.clear();
  }
  StrBuilder &out;
  const StrObj &source;
  std::string run;
  bool tainted = false;
};

bool isCased(uint32_t cp) { return isLowerPoint(cp) || isUpperPoint(cp) || isTitlePoint(cp); }

/// Capital sigma becomes the final form at the end of a word.
bool finalSigma(const StrObj &s, size_t begin, size_t end, uint32_t before) {
  if (!isAlphaPoint(before))
    return false;
  return end >= s.bytes.size() || !isAlphaPoint(decodePoint(s.bytes, end));
}
} // namespace

Value changeCase(Interp &in, const StrObj &s, CaseMode mode) {
  if (!in.tick(s.bytes.size() >> 6))
    return {};
  StrBuilder out(in.heap);
  {
    RunWriter writer(out, s);
    bool first = true, previousCased = false;
    uint32_t before = 0;
    for (size_t at = 0; at < s.bytes.size();) {
      size_t begin = at;
      uint32_t cp = decodePoint(s.bytes, at);
      CaseMap map = CaseMap::Lower;
      if (mode == CaseMode::Upper || (mode == CaseMode::Swap && isLowerPoint(cp)))
        map = CaseMap::Upper;
      else if ((mode == CaseMode::Title && !previousCased) || (mode == CaseMode::Capitalize && first))
        map = CaseMap::Title;
      if (mode == CaseMode::Fold && (cp == 0xdf || cp == 0x1e9e))
        writer.at(begin) += "ss";
      else if (mode == CaseMode::Fold && cp == 0x3c2)
        appendPoint(writer.at(begin), 0x3c3);
      else if (map == CaseMap::Lower && mode != CaseMode::Fold && cp == 0x3a3 &&
               finalSigma(s, begin, at, before))
        appendPoint(writer.at(begin), 0x3c2);
      else
        appendCased(writer.at(begin), cp, map);
      previousCased = isCased(cp);
      before = cp;
      first = false;
    }
  }
  return out.finish(s.markup);
}

Value titleWords(Interp &in, const StrObj &s) {
  if (!in.tick(s.bytes.size() >> 6))
    return {};
  StrBuilder out(in.heap);
  {
    RunWriter writer(out, s);
    bool start = true;
    uint32_t before = 0;
    for (size_t at = 0; at < s.bytes.size();) {
      size_t begin = at;
      uint32_t cp = decodePoint(s.bytes, at);
      if (!start && cp == 0x3a3 && finalSigma(s, begin, at, before))
        appendPoint(writer.at(begin), 0x3c2);
      else
        appendCased(writer.at(begin), cp, start ? CaseMap::Upper : CaseMap::Lower);
      before = cp;
      start = cp == '-' || cp == '(' || cp == '{' || cp == '[' || cp == '<' || isSpacePoint(cp);
    }
  }
  return out.finish();
}

Value stripChars(Interp &in, const StrObj &s, const Value &chars, bool left, bool right) {
  size_t begin = 0, end = s.bytes.size();
  in.tick(end >> 8);
  if (chars.isMissing() || chars.isNone()) {
    stripSpace(s.bytes, begin, end, left, right);
    return in.substr(s, begin, end);
  }
  if (!chars.isString())
    return in.fail(std::string("strip arg must be None or str, not ") + Interp::typeName(chars));
  std::vector<uint32_t> set;
  const std::string &list = chars.as<StrObj>()->bytes;
  for (size_t at = 0; at < list.size();)
    set.push_back(decodePoint(list, at));
  auto hit = [&](uint32_t cp) { return std::find(set.begin(), set.end(), cp) != set.end(); };
  while (left && begin < end) {
    size_t next = begin;
    if (!hit(decodePoint(s.bytes, next)))
      break;
    begin = next;
    if (!in.tick(1 + (set.size() >> 6)))
      return {};
  }
  while (right && begin < end) {
    size_t last = end - 1;
    while (last > begin && (static_cast<unsigned char>(s.bytes[last]) & 0xc0) == 0x80)
      --last;
    size_t at = last;
    if (!hit(decodePoint(s.bytes, at)))
      break;
    end = last;
    if (!in.tick(1 + (set.size() >> 6)))
      return {};
  }
  return in.substr(s, begin, end);
}

Value replaceText(Interp &in, const StrObj &s, const StrObj &from, const StrObj &to, int64_t count) {
  StrBuilder out(in.heap);
  in.tick(s.bytes.size() >> 6);
  uint64_t left = count < 0 ? UINT64_MAX : static_cast<uint64_t>(count);
  if (from.bytes.empty()) {
    // Python puts the new text before every character and at the end.
    size_t at = 0;
    for (; left && !in.bad() && in.tick(); --left) {
      out.add(to);
      if (at >= s.bytes.size())
        break;
      size_t begin = at;
      decodePoint(s.bytes, at);
      out.add(s, begin, at);
    }
    out.add(s, at, s.bytes.size());
    return out.finish(s.markup);
  }
  size_t at = 0;
  for (; left && !in.bad() && in.tick(); --left) {
    size_t hit = s.bytes.find(from.bytes, at);
    if (hit == std::string::npos)
      break;
    out.add(s, at, hit);
    out.add(to);
    at = hit + from.bytes.size();
  }
  out.add(s, at, s.bytes.size());
  return out.finish(s.markup);
}

namespace {
bool splitAtSpace(Interp &in, const StrObj &s, int64_t maxSplits, bool fromRight, std::vector<Value> &out) {
  std::string_view text = s.bytes;
  size_t begin = 0, end = text.size();
  for (int64_t n = 0; !in.bad() && in.tick(); ++n) {
    stripSpace(text, begin, end, !fromRight, fromRight);
    if (begin >= end)
      break;
    if (maxSplits >= 0 && n == maxSplits) {
      stripSpace(text, begin, end, true, true);
      if (begin < end)
        out.push_back(in.substr(s, begin, end));
      break;
    }
    if (!fromRight) {
      size_t at = begin;
      for (size_t next = at; at < end; at = next)
        if (isSpacePoint(decodePoint(text, next)))
          break;
      out.push_back(in.substr(s, begin, at));
      begin = at;
    } else {
      size_t at = end;
      while (at > begin) {
        size_t last = at - 1;
        while (last > begin && (static_cast<unsigned char>(text[last]) & 0xc0) == 0x80)
          --last;
        size_t next = last;
        if (isSpacePoint(decodePoint(text, next)))
          break;
        at = last;
      }
      out.push_back(in.substr(s, at, end));
      end = at;
    }
  }
  return !in.bad();
}
} // namespace

bool splitText(Interp &in, const StrObj &s, const Value &separator, int64_t maxSplits, bool fromRight,
               std::vector<Value> &out) {
  in.tick(s.bytes.size() >> 6);
  size_t first = out.size();
  bool ok = true;
  if (separator.isMissing() || separator.isNone()) {
    ok = splitAtSpace(in, s, maxSplits, fromRight, out);
  } else if (!separator.isString()) {
    in.fail(std::string("must be str or None, not ") + Interp::typeName(separator));
    return false;
  } else {
    const std::string &sep = separator.as<StrObj>()->bytes;
    if (sep.empty()) {
      in.fail("empty separator");
      return false;
    }
    size_t begin = 0, end = s.bytes.size();
    for (int64_t n = 0; (maxSplits < 0 || n < maxSplits) && !in.bad() && in.tick(); ++n) {
      size_t hit;
      if (!fromRight) {
        hit = s.bytes.find(sep, begin);
        if (hit == std::string::npos)
          break;
        out.push_back(in.substr(s, begin, hit));
        begin = hit + sep.size();
      } else {
        if (end < sep.size())
          break;
        hit = s.bytes.rfind(sep, end - sep.size());
        if (hit == std::string::npos)
          break;
        out.push_back(in.substr(s, hit + sep.size(), end));
        end = hit;
      }
    }
    out.push_back(in.substr(s, begin, end));
  }
  if (fromRight)
    std::reverse(out.begin() + static_cast<ptrdiff_t>(first), out.end());
  return ok && !in.bad();
}

void splitLines(Interp &in, const StrObj &s, bool keepEnds, std::vector<Value> &out) {
  in.tick(s.bytes.size() >> 6);
  size_t begin = 0;
  for (size_t at = 0; at < s.bytes.size() && !in.bad();) {
    size_t here = at;
    uint32_t cp = decodePoint(s.bytes, at);
    if (!isLineBreakPoint(cp))
      continue;
    if (cp == '\r' && at < s.bytes.size() && s.bytes[at] == '\n')
      ++at;
    out.push_back(in.substr(s, begin, keepEnds ? at : here));
    in.tick();
    begin = at;
  }
  if (begin < s.bytes.size())
    out.push_back(in.substr(s, begin, s.bytes.size()));
}

Value pad(Interp &in, const StrObj &s, int64_t width, std::string_view fill, char align) {
  int64_t have = static_cast<int64_t>(s.points), missing = width > have ? width - have : 0;
  size_t n = static_cast<size_t>(missing);
  if (n && (n > in.heap.limit || !in.heap.room(n * fill.size())))
    return in.fail("a string of " + std::to_string(width) + " characters is too long");
  // str.center puts the odd blank on the left when the width is odd.
  size_t left = align == '>'   ? n
                : align == '^' ? n / 2 + (n & static_cast<size_t>(width) & 1)
                : align == '=' ? n / 2 // format(): the odd one on the right
                               : 0;
  StrBuilder out(in.heap);
  for (size_t i = 0; i < left; ++i)
    out.add(fill);
  out.add(s);
  for (size_t i = left; i < n; ++i)
    out.add(fill);
  in.tick(out.size() >> 6);
  return out.finish(s.markup);
}

Value escapeHtml(Interp &in, const Value &v, bool evenMarkup) {
  Value text = in.toStr(v);
  if (in.bad())
    return {};
  const StrObj &s = *text.as<StrObj>();
  if (s.markup && !evenMarkup)
    return text;
  in.tick(s.bytes.size() >> 6);
  StrBuilder out(in.heap);
  size_t from = 0;
  for (size_t i = 0; i < s.bytes.size(); ++i) {
    static constexpr std::string_view special = "&<>'\"";
    static constexpr const char *to[] = {"&amp;", "&lt;", "&gt;", "&#39;", "&#34;"};
    size_t k = special.find(s.bytes[i]);
    if (k == std::string_view::npos)
      continue;
    out.add(s, from, i);
    out.add(to[k], s.taintedAt(i));
    from = i + 1;
  }
  out.add(s, from, s.bytes.size());
  return out.finish(true);
}

namespace {
bool allCased(const StrObj &s, bool (*wanted)(uint32_t)) {
  bool any = false;
  for (size_t at = 0; at < s.bytes.size();) {
    uint32_t cp = decodePoint(s.bytes, at);
    if (wanted(cp))
      any = true;
    else if (isCased(cp))
      return false;
  }
  return any;
}
} // namespace

bool isLowerText(const StrObj &s) { return allCased(s, isLowerPoint); }
bool isUpperText(const StrObj &s) { return allCased(s, isUpperPoint); }

} // namespace ingot::chat
