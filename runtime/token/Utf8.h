//===- Utf8.h - Stepping through UTF-8 --------------------------*- C++ -*-===//
//
// Two levels: `decodeValid` steps through text that is known to be valid UTF-8
// (every text inside the tokenizer is, after `toValidUtf8`), `decodeStrict`
// judges bytes that may be anything.
//
//===----------------------------------------------------------------------===//
#ifndef INGOT_RUNTIME_TOKEN_UTF8_H
#define INGOT_RUNTIME_TOKEN_UTF8_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ingot::token {

/// The code point at `p` of valid UTF-8; moves `p` behind it.
inline uint32_t decodeValid(const char *&p) {
  uint32_t b = static_cast<unsigned char>(*p++);
  if (b < 0x80)
    return b;
  auto next = [&] { return static_cast<uint32_t>(static_cast<unsigned char>(*p++) & 0x3f); };
  if (b < 0xe0)
    return (b & 0x1f) << 6 | next();
  if (b < 0xf0) {
    uint32_t c = (b & 0x0f) << 12;
    c |= next() << 6;
    return c | next();
  }
  uint32_t c = (b & 0x07) << 18;
  c |= next() << 12;
  c |= next() << 6;
  return c | next();
}

/// Moves `p` back to the start of the character before it; valid UTF-8, not at the text's start.
inline void stepBack(const char *&p) {
  do
    --p;
  while ((static_cast<unsigned char>(*p) & 0xc0) == 0x80);
}

/// Bytes of the character that starts with lead byte `b` of valid UTF-8.
inline size_t lengthOfLead(unsigned char b) { return b < 0x80 ? 1 : b < 0xe0 ? 2 : b < 0xf0 ? 3 : 4; }

inline void appendUtf8(std::string &out, uint32_t cp) {
  if (cp < 0x80) {
    out += static_cast<char>(cp);
  } else if (cp < 0x800) {
    out += static_cast<char>(0xc0 | cp >> 6);
    out += static_cast<char>(0x80 | (cp & 0x3f));
  } else if (cp < 0x10000) {
    out += static_cast<char>(0xe0 | cp >> 12);
    out += static_cast<char>(0x80 | (cp >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (cp & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | cp >> 18);
    out += static_cast<char>(0x80 | (cp >> 12 & 0x3f));
    out += static_cast<char>(0x80 | (cp >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (cp & 0x3f));
  }
}

enum class Utf8Step { Valid, Invalid, Incomplete };

/// Judges the sequence at the start of [p, end), which is not empty. `length` becomes the bytes of the
/// character (Valid), of the maximal subpart of an ill-formed sequence (Invalid; Unicode, "substitution of
/// maximal subparts"), or of the rest of the text, which may still become a character (Incomplete).
inline Utf8Step decodeStrict(const char *p, const char *end, size_t &length) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(p[i]); };
  size_t have = static_cast<size_t>(end - p);
  unsigned char b = byte(0);
  length = 1;
  if (b < 0x80)
    return Utf8Step::Valid;
  size_t need;
  unsigned char low = 0x80, high = 0xbf;
  if (b >= 0xc2 && b <= 0xdf) {
    need = 2;
  } else if (b >= 0xe0 && b <= 0xef) {
    need = 3;
    if (b == 0xe0)
      low = 0xa0;
    if (b == 0xed)
      high = 0x9f;
  } else if (b >= 0xf0 && b <= 0xf4) {
    need = 4;
    if (b == 0xf0)
      low = 0x90;
    if (b == 0xf4)
      high = 0x8f;
  } else {
    return Utf8Step::Invalid;
  }
  for (size_t i = 1; i < need; ++i) {
    if (i >= have) {
      length = have;
      return Utf8Step::Incomplete;
    }
    if (byte(i) < low || byte(i) > high) {
      length = i;
      return Utf8Step::Invalid;
    }
    low = 0x80;
    high = 0xbf;
  }
  length = need;
  return Utf8Step::Valid;
}

/// U+FFFD.
inline constexpr std::string_view kReplacement = "\xef\xbf\xbd";

/// True if the whole text is valid UTF-8.
bool isValidUtf8(std::string_view text);

/// Appends `text` with each maximal subpart of an ill-formed sequence replaced by U+FFFD. An incomplete
/// sequence at the end counts as one, unless `keep` is given: then it is stored there instead.
void appendValidUtf8(std::string &out, std::string_view text, std::string *keep = nullptr);

} // namespace ingot::token

#endif
