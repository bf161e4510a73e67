// String operations that methods and filters share. All keep the taint of the bytes they move.
#pragma once

#include "runtime/chat/Interp.h"

namespace ingot::chat {

enum class CaseMode : uint8_t { Lower, Upper, Title, Capitalize, Swap, Fold };

Value changeCase(Interp &in, const StrObj &s, CaseMode mode);
/// str.title of Jinja's filter: words begin after white space, hyphens and opening brackets.
Value titleWords(Interp &in, const StrObj &s);
/// `chars` is a string, or none/missing for white space.
Value stripChars(Interp &in, const StrObj &s, const Value &chars, bool left, bool right);
/// At most `count` replacements; all when negative.
Value replaceText(Interp &in, const StrObj &s, const StrObj &from, const StrObj &to, int64_t count);
/// Appends the pieces of str.split (or rsplit); `separator` none or missing splits at white space.
bool splitText(Interp &in, const StrObj &s, const Value &separator, int64_t maxSplits, bool fromRight,
               std::vector<Value> &out);
void splitLines(Interp &in, const StrObj &s, bool keepEnds, std::vector<Value> &out);
/// Pads to `width` code points; `align` is '<', '>' or '^'.
Value pad(Interp &in, const StrObj &s, int64_t width, std::string_view fill, char align);
/// Escapes & < > ' " for HTML; the result is markup.
Value escapeHtml(Interp &in, const Value &v, bool evenMarkup);
bool isLowerText(const StrObj &s);
bool isUpperText(const StrObj &s);

} // namespace ingot::chat
