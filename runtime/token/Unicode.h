//===- Unicode.h - Character properties and normal forms --------*- C++ -*-===//
//
// Properties of code points (from utf8proc's tables) and the text transforms
// that tokenizers ask for. All texts here are valid UTF-8.
//
//===----------------------------------------------------------------------===//
#ifndef INGOT_RUNTIME_TOKEN_UNICODE_H
#define INGOT_RUNTIME_TOKEN_UNICODE_H

#include <cstdint>
#include <string>
#include <string_view>

namespace ingot::token {

/// General categories as bits, so that a class is one mask.
enum CategoryBit : uint32_t {
  CatLu = 1u << 1,
  CatLl = 1u << 2,
  CatLt = 1u << 3,
  CatLm = 1u << 4,
  CatLo = 1u << 5,
  CatMn = 1u << 6,
  CatMc = 1u << 7,
  CatMe = 1u << 8,
  CatNd = 1u << 9,
  CatNl = 1u << 10,
  CatNo = 1u << 11,
  CatPc = 1u << 12,
  CatPd = 1u << 13,
  CatPs = 1u << 14,
  CatPe = 1u << 15,
  CatPi = 1u << 16,
  CatPf = 1u << 17,
  CatPo = 1u << 18,
  CatSm = 1u << 19,
  CatSc = 1u << 20,
  CatSk = 1u << 21,
  CatSo = 1u << 22,
  CatZs = 1u << 23,
  CatZl = 1u << 24,
  CatZp = 1u << 25,
  CatCc = 1u << 26,
  CatCf = 1u << 27,
  CatCs = 1u << 28,
  CatCo = 1u << 29,
  CatCn = 1u << 0,
  CatL = CatLu | CatLl | CatLt | CatLm | CatLo,
  CatM = CatMn | CatMc | CatMe,
  CatN = CatNd | CatNl | CatNo,
  CatP = CatPc | CatPd | CatPs | CatPe | CatPi | CatPf | CatPo,
  CatS = CatSm | CatSc | CatSk | CatSo,
  CatZ = CatZs | CatZl | CatZp,
  CatC = CatCc | CatCf | CatCs | CatCo | CatCn,
};

/// The category of `cp` as its bit.
uint32_t categoryBit(uint32_t cp);
/// The property White_Space.
bool isSpace(uint32_t cp);
/// Letters, marks, decimal and letter numbers, connector punctuation: `\w`.
bool isWord(uint32_t cp);
/// Simple case folding (U+017F is an s, U+212A a k).
uint32_t foldCase(uint32_t cp);
uint32_t upperCase(uint32_t cp);
uint32_t lowerCase(uint32_t cp);

enum class NormalForm { NFC, NFD, NFKC, NFKD };
/// Linear in the text but for the sort inside runs of combining marks (n log n).
std::string normalizeUnicode(std::string_view text, NormalForm form);
/// Full lower-casing of each character by itself (no final-sigma rule).
std::string lowerCaseText(std::string_view text);

} // namespace ingot::token

#endif
