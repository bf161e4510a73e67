//===- Unicode.cpp - Character properties and normal forms ----------------===//
#include "runtime/token/Unicode.h"
#include "runtime/token/Utf8.h"
#include <algorithm>
#include <utf8proc.h>
#include <vector>

namespace ingot::token {

static_assert(UTF8PROC_CATEGORY_CN == 0 && UTF8PROC_CATEGORY_LU == 1 && UTF8PROC_CATEGORY_ND == 9 &&
                  UTF8PROC_CATEGORY_PO == 18 && UTF8PROC_CATEGORY_CO == 29,
              "CategoryBit follows utf8proc's order");

uint32_t categoryBit(uint32_t cp) {
  return 1u << static_cast<unsigned>(utf8proc_category(static_cast<utf8proc_int32_t>(cp)));
}

bool isSpace(uint32_t cp) {
  if (cp < 0x80)
    return cp == ' ' || (cp >= 9 && cp <= 13);
  return cp == 0x85 || cp == 0xa0 || cp == 0x1680 || (cp >= 0x2000 && cp <= 0x200a) || cp == 0x2028 ||
         cp == 0x2029 || cp == 0x202f || cp == 0x205f || cp == 0x3000;
}

bool isWord(uint32_t cp) {
  // The letters in circles and squares are symbols by category and Alphabetic by property.
  if ((cp >= 0x24b6 && cp <= 0x24e9) || (cp >= 0x1f130 && cp <= 0x1f149) ||
      (cp >= 0x1f150 && cp <= 0x1f169) || (cp >= 0x1f170 && cp <= 0x1f189))
    return true;
  return categoryBit(cp) & (CatL | CatM | CatNd | CatNl | CatPc);
}

uint32_t upperCase(uint32_t cp) {
  return static_cast<uint32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(cp)));
}

uint32_t lowerCase(uint32_t cp) {
  return static_cast<uint32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(cp)));
}

uint32_t foldCase(uint32_t cp) {
  if (cp < 0x80)
    return cp >= 'A' && cp <= 'Z' ? cp + 32 : cp;
  return lowerCase(upperCase(cp));
}

bool isValidUtf8(std::string_view text) {
  const char *p = text.data(), *end = p + text.size();
  while (p < end) {
    size_t n;
    if (decodeStrict(p, end, n) != Utf8Step::Valid)
      return false;
    p += n;
  }
  return true;
}

void appendValidUtf8(std::string &out, std::string_view text, std::string *keep) {
  const char *p = text.data(), *end = p + text.size();
  while (p < end) {
    size_t n;
    switch (decodeStrict(p, end, n)) {
    case Utf8Step::Valid:
      out.append(p, n);
      break;
    case Utf8Step::Invalid:
      out += kReplacement;
      break;
    case Utf8Step::Incomplete:
      if (keep)
        keep->assign(p, n);
      else
        out += kReplacement;
      break;
    }
    p += n;
  }
}

/// True if no character of `text` can change under `form`: below U+0300 nothing composes, and in ASCII
/// nothing decomposes.
static bool isTriviallyNormal(std::string_view text, NormalForm form) {
  unsigned char limit = form == NormalForm::NFC ? 0xcc : 0x80;
  return std::all_of(text.begin(), text.end(), [&](char c) { return static_cast<unsigned char>(c) < limit; });
}

std::string normalizeUnicode(std::string_view text, NormalForm form) {
  if (isTriviallyNormal(text, form))
    return std::string(text);
  bool compat = form == NormalForm::NFKC || form == NormalForm::NFKD;
  bool compose = form == NormalForm::NFC || form == NormalForm::NFKC;
  int options = UTF8PROC_STABLE | (compat ? UTF8PROC_COMPAT : 0) | UTF8PROC_DECOMPOSE;
  std::vector<utf8proc_int32_t> cps;
  cps.reserve(text.size() + 8);
  const char *p = text.data(), *end = p + text.size();
  int lastBoundClass = 0;
  while (p < end) {
    auto cp = static_cast<utf8proc_int32_t>(decodeValid(p));
    utf8proc_int32_t piece[64];
    utf8proc_ssize_t n =
        utf8proc_decompose_char(cp, piece, 64, static_cast<utf8proc_option_t>(options), &lastBoundClass);
    if (n <= 0 || n > 64)
      cps.push_back(cp);
    else
      cps.insert(cps.end(), piece, piece + n);
  }
  std::vector<std::pair<uint64_t, utf8proc_int32_t>> marks;
  // Canonical order: a stable sort of each run of marks. utf8proc's own is quadratic in the run.
  auto ccc = [](utf8proc_int32_t c) { return utf8proc_get_property(c)->combining_class; };
  for (size_t i = 0; i < cps.size();) {
    if (ccc(cps[i]) == 0) {
      ++i;
      continue;
    }
    size_t j = i + 1;
    while (j < cps.size() && ccc(cps[j]) != 0)
      ++j;
    if (j - i > 1) {
      marks.clear(); // class and place as one number: the sort is stable
      for (size_t k = i; k < j; ++k)
        marks.push_back({static_cast<uint64_t>(ccc(cps[k])) << 48 | k, cps[k]});
      std::sort(marks.begin(), marks.end());
      for (size_t k = i; k < j; ++k)
        cps[k] = marks[k - i].second;
    }
    i = j;
  }
  size_t count = cps.size();
  if (compose && count) {
    utf8proc_ssize_t n = utf8proc_normalize_utf32(
        cps.data(), static_cast<utf8proc_ssize_t>(count),
        static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE | (compat ? UTF8PROC_COMPAT : 0)));
    if (n >= 0)
      count = static_cast<size_t>(n);
  }
  std::string out;
  out.reserve(text.size() + 8);
  for (size_t i = 0; i < count; ++i)
    appendUtf8(out, static_cast<uint32_t>(cps[i]));
  return out;
}

std::string lowerCaseText(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  const char *p = text.data(), *end = p + text.size();
  while (p < end) {
    uint32_t cp = decodeValid(p);
    if (cp == 0x130) // the only character whose lower case is two
      out += "i\xcc\x87";
    else
      appendUtf8(out, cp < 0x80 ? (cp >= 'A' && cp <= 'Z' ? cp + 32 : cp) : lowerCase(cp));
  }
  return out;
}

} // namespace ingot::token
