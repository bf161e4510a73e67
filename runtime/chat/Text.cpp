// UTF-8, Unicode tables and number formatting (see Text.h).
#include "runtime/chat/Text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <vector>

namespace ingot::chat {

namespace {
struct CodeRange {
  uint32_t first, last;
};
struct CaseRun { // first, first + stride, ... last map to themselves + delta
  uint32_t first, last, stride;
  int32_t delta;
};
struct CaseSpecial {
  uint32_t point, to[3];
};
#include "runtime/chat/UnicodeTables.inc"

template <size_t N> bool inRanges(const CodeRange (&table)[N], uint32_t cp) {
  auto it = std::upper_bound(std::begin(table), std::end(table), cp,
                             [](uint32_t c, const CodeRange &r) { return c < r.first; });
  return it != std::begin(table) && cp <= std::prev(it)->last;
}

template <size_t R, size_t S>
void applyCase(std::string &out, uint32_t cp, const CaseRun (&runs)[R], const CaseSpecial (&special)[S]) {
  for (const CaseSpecial &s : special)
    if (s.point == cp) {
      for (uint32_t c : s.to)
        if (c)
          appendPoint(out, c);
      return;
    }
  // Runs may interleave (stride 2), so look back over the few that can cover this point.
  auto it = std::upper_bound(std::begin(runs), std::end(runs), cp,
                             [](uint32_t c, const CaseRun &r) { return c < r.first; });
  for (int back = 0; back < 3 && it != std::begin(runs); ++back) {
    --it;
    if (cp <= it->last && (cp - it->first) % it->stride == 0) {
      appendPoint(out, static_cast<uint32_t>(static_cast<int64_t>(cp) + it->delta));
      return;
    }
  }
  appendPoint(out, cp);
}
} // namespace

size_t countPoints(std::string_view s) {
  size_t n = 0;
  for (char c : s)
    n += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return n;
}

size_t findInvalidUtf8(std::string_view s) {
  size_t i = 0, n = s.size();
  while (i < n) {
    unsigned char c = static_cast<unsigned char>(s[i]);
    if (c < 0x80) {
      ++i;
      continue;
    }
    size_t len = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
    if (c < 0xc2 || c > 0xf4 || n - i < len)
      return i;
    uint32_t cp = c & (0x7f >> len);
    for (size_t k = 1; k < len; ++k) {
      unsigned char d = static_cast<unsigned char>(s[i + k]);
      if ((d & 0xc0) != 0x80)
        return i;
      cp = (cp << 6) | (d & 0x3f);
    }
    if ((len == 3 && cp < 0x800) || (len == 4 && (cp < 0x10000 || cp > 0x10ffff)) ||
        (cp >= 0xd800 && cp <= 0xdfff))
      return i;
    i += len;
  }
  return std::string_view::npos;
}

uint32_t decodePoint(std::string_view s, size_t &at) {
  unsigned char c = static_cast<unsigned char>(s[at]);
  size_t len = c < 0x80 ? 1 : c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
  if (len == 1 || s.size() - at < len) {
    ++at;
    return c;
  }
  uint32_t cp = c & (0x7f >> len);
  for (size_t k = 1; k < len; ++k)
    cp = (cp << 6) | (static_cast<unsigned char>(s[at + k]) & 0x3f);
  at += len;
  return cp;
}

void appendPoint(std::string &out, uint32_t cp) {
  if (cp < 0x80) {
    out += static_cast<char>(cp);
  } else if (cp < 0x800) {
    out += static_cast<char>(0xc0 | (cp >> 6));
    out += static_cast<char>(0x80 | (cp & 0x3f));
  } else if (cp < 0x10000) {
    out += static_cast<char>(0xe0 | (cp >> 12));
    out += static_cast<char>(0x80 | ((cp >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (cp & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | (cp >> 18));
    out += static_cast<char>(0x80 | ((cp >> 12) & 0x3f));
    out += static_cast<char>(0x80 | ((cp >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (cp & 0x3f));
  }
}

size_t byteOffset(std::string_view s, size_t index, bool ascii) {
  if (ascii)
    return std::min(index, s.size());
  size_t at = 0;
  for (; index && at < s.size(); --index)
    decodePoint(s, at);
  return at;
}

bool isSpacePoint(uint32_t cp) {
  if (cp < 0x80)
    return (cp >= 9 && cp <= 13) || (cp >= 0x1c && cp <= 0x20);
  return cp == 0x85 || cp == 0xa0 || cp == 0x1680 || (cp >= 0x2000 && cp <= 0x200a) || cp == 0x2028 ||
         cp == 0x2029 || cp == 0x202f || cp == 0x205f || cp == 0x3000;
}
bool isPrintablePoint(uint32_t cp) {
  if (cp < 0x7f)
    return cp >= 0x20;
  return !inRanges(kNotPrintable, cp);
}
bool isAlphaPoint(uint32_t cp) { return inRanges(kAlpha, cp); }
bool isDigitPoint(uint32_t cp) { return inRanges(kDigit, cp); }
bool isDecimalPoint(uint32_t cp) { return inRanges(kDecimal, cp); }
bool isNumericPoint(uint32_t cp) { return inRanges(kNumeric, cp); }
bool isUpperPoint(uint32_t cp) { return inRanges(kUpperCase, cp); }
bool isLowerPoint(uint32_t cp) { return inRanges(kLowerCase, cp); }
bool isTitlePoint(uint32_t cp) { return inRanges(kTitleCase, cp); }
bool isLineBreakPoint(uint32_t cp) {
  return (cp >= 10 && cp <= 13) || (cp >= 0x1c && cp <= 0x1e) || cp == 0x85 || cp == 0x2028 || cp == 0x2029;
}

void appendCased(std::string &out, uint32_t cp, CaseMap map) {
  if (cp < 0x80) {
    bool upper = cp >= 'A' && cp <= 'Z', lower = cp >= 'a' && cp <= 'z';
    if (map == CaseMap::Lower && upper)
      cp += 32;
    else if (map != CaseMap::Lower && lower)
      cp -= 32;
    out += static_cast<char>(cp);
    return;
  }
  switch (map) {
  case CaseMap::Lower:
    return applyCase(out, cp, kLowerRuns, kLowerSpecial);
  case CaseMap::Upper:
    return applyCase(out, cp, kUpperRuns, kUpperSpecial);
  case CaseMap::Title:
    return applyCase(out, cp, kTitleRuns, kTitleSpecial);
  }
}

std::string formatFloat(double d) {
  if (std::isnan(d))
    return "nan";
  if (std::isinf(d))
    return d < 0 ? "-inf" : "inf";
  char buffer[40];
  auto end = std::to_chars(buffer, buffer + sizeof(buffer), d, std::chars_format::scientific).ptr;
  std::string_view text(buffer, static_cast<size_t>(end - buffer));
  std::string out;
  if (text[0] == '-') {
    out += '-';
    text.remove_prefix(1);
  }
  size_t e = text.find('e');
  int exponent = std::atoi(std::string(text.substr(e + 1)).c_str());
  std::string digits(1, text[0]);
  if (e > 2)
    digits += text.substr(2, e - 2);
  int count = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= 16) {
    out += digits[0];
    if (count > 1)
      out.append(".").append(digits, 1);
    char tail[8];
    std::snprintf(tail, sizeof(tail), "e%c%02d", exponent < 0 ? '-' : '+', std::abs(exponent));
    return out + tail;
  }
  if (exponent < 0)
    return out + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  if (count <= exponent + 1)
    return out + digits + std::string(static_cast<size_t>(exponent + 1 - count), '0') + ".0";
  return out + digits.substr(0, static_cast<size_t>(exponent + 1)) + "." +
         digits.substr(static_cast<size_t>(exponent + 1));
}

std::string formatIntegral(double d) {
  char buffer[400];
  int n = std::snprintf(buffer, sizeof(buffer), "%.0f", std::trunc(d));
  std::string text(buffer, static_cast<size_t>(n));
  return text == "-0" ? "0" : text;
}

void stripSpace(std::string_view s, size_t &begin, size_t &end, bool left, bool right) {
  while (left && begin < end) {
    size_t next = begin;
    if (!isSpacePoint(decodePoint(s, next)))
      break;
    begin = next;
  }
  while (right && begin < end) {
    size_t last = end - 1;
    while (last > begin && (static_cast<unsigned char>(s[last]) & 0xc0) == 0x80)
      --last;
    size_t at = last;
    if (!isSpacePoint(decodePoint(s, at)))
      break;
    end = last;
  }
}

namespace {
/// Removes underscores between digits; false if one stands elsewhere.
bool dropUnderscores(std::string_view s, std::string &out) {
  for (size_t i = 0; i < s.size(); ++i) {
    if (s[i] != '_') {
      out += s[i];
      continue;
    }
    bool ok = i > 0 && i + 1 < s.size() && std::isalnum(static_cast<unsigned char>(s[i - 1])) &&
              std::isalnum(static_cast<unsigned char>(s[i + 1]));
    if (!ok)
      return false;
  }
  return true;
}
} // namespace

bool parseFloat(std::string_view s, double &out) {
  size_t b = 0, e = s.size();
  stripSpace(s, b, e, true, true);
  std::string text;
  if (b == e || e - b > 4096 || !dropUnderscores(s.substr(b, e - b), text))
    return false;
  std::string lower;
  for (char c : text)
    lower += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  std::string_view body = lower;
  bool negative = body[0] == '-';
  if (body[0] == '-' || body[0] == '+')
    body.remove_prefix(1);
  if (body == "inf" || body == "infinity") {
    out = negative ? -HUGE_VAL : HUGE_VAL;
    return true;
  }
  if (body == "nan") {
    out = std::nan("");
    return true;
  }
  // from_chars knows no "1." exception: it accepts "1." and ".5" as Python does; hex and signs are refused
  // here.
  if (body.empty() || !(std::isdigit(static_cast<unsigned char>(body[0])) || body[0] == '.'))
    return false;
  double value = 0;
  auto r = std::from_chars(body.data(), body.data() + body.size(), value);
  if (r.ptr != body.data() + body.size() || r.ec == std::errc::invalid_argument)
    return false;
  if (r.ec == std::errc::result_out_of_range) {
    // Too large or too small: the exponent's sign tells which.
    size_t x = body.find('e');
    bool tiny = x != std::string_view::npos ? body.find('-', x) != std::string_view::npos : body[0] == '0';
    value = tiny ? 0.0 : HUGE_VAL;
  }
  out = negative ? -value : value;
  return true;
}

bool parseInt(std::string_view s, int base, int64_t &out, bool &big, std::string &text) {
  big = false;
  size_t b = 0, e = s.size();
  stripSpace(s, b, e, true, true);
  s = s.substr(b, e - b);
  bool negative = !s.empty() && s[0] == '-';
  if (!s.empty() && (s[0] == '-' || s[0] == '+'))
    s.remove_prefix(1);
  auto prefix = [&](char c, int value) {
    if ((base == value || base == 0) && s.size() > 2 && s[0] == '0' && (s[1] | 32) == c) {
      base = value;
      s.remove_prefix(s[2] == '_' ? 3 : 2);
      return true;
    }
    return false;
  };
  prefix('x', 16) || prefix('o', 8) || prefix('b', 2);
  if (base == 0)
    base = 10;
  std::string digits;
  if (s.empty() || s.size() > 4096 || base < 2 || base > 36 || !dropUnderscores(s, digits))
    return false;
  bool overflow = false;
  uint64_t value = 0;
  for (char c : digits) {
    int d = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'z' ? (c | 32) - 'a' + 10 : 99;
    if (d >= base)
      return false;
    overflow |= __builtin_mul_overflow(value, static_cast<uint64_t>(base), &value);
    overflow |= __builtin_add_overflow(value, static_cast<uint64_t>(d), &value);
  }
  uint64_t limit = negative ? 1ULL << 63 : (1ULL << 63) - 1;
  if (overflow || value > limit) {
    if (base != 10)
      return false;
    digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
    text = (negative ? "-" : "") + digits;
    big = true;
    return true;
  }
  out = negative ? static_cast<int64_t>(0 - value) : static_cast<int64_t>(value);
  return true;
}

} // namespace ingot::chat
