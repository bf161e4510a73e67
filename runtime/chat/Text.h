// UTF-8, Unicode case and class tables, and Python's number formatting for the template language.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ingot::chat {

/// Number of code points of valid UTF-8.
size_t countPoints(std::string_view s);
/// Offset of the first byte that is not valid UTF-8 (overlong forms and surrogates are invalid), or npos.
size_t findInvalidUtf8(std::string_view s);
/// Decodes the code point at `at` (valid UTF-8) and moves `at` behind it.
uint32_t decodePoint(std::string_view s, size_t &at);
void appendPoint(std::string &out, uint32_t cp);
/// Byte offset of code point number `index` (clamped to the end).
size_t byteOffset(std::string_view s, size_t index, bool ascii);

bool isSpacePoint(uint32_t cp); // str.isspace
bool isPrintablePoint(uint32_t cp);
bool isAlphaPoint(uint32_t cp);
bool isDigitPoint(uint32_t cp);
bool isDecimalPoint(uint32_t cp);
bool isNumericPoint(uint32_t cp);
bool isUpperPoint(uint32_t cp);
bool isLowerPoint(uint32_t cp);
bool isTitlePoint(uint32_t cp);
/// True for what ends a line in str.splitlines.
bool isLineBreakPoint(uint32_t cp);

enum class CaseMap { Lower, Upper, Title };
/// Appends the full case mapping of one code point (without context rules such as the final sigma).
void appendCased(std::string &out, uint32_t cp, CaseMap map);

/// repr(float): the shortest text that reads back equal, in Python's notation.
std::string formatFloat(double d);
/// int(double) as decimal text, exact; `d` must be finite.
std::string formatIntegral(double d);
/// [begin, end) of `s` without white space at its ends.
void stripSpace(std::string_view s, size_t &begin, size_t &end, bool left, bool right);
/// Reads a float as Python's float(str) does (spaces, underscores, inf, nan); false if it is none.
bool parseFloat(std::string_view s, double &out);
/// Reads an int as Python's int(str, base); digits outside 64 bits leave `big` set and their text in `text`.
bool parseInt(std::string_view s, int base, int64_t &out, bool &big, std::string &text);

} // namespace ingot::chat
