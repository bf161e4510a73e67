// Splits a template into text and the tokens inside its tags.
//
// White space control is resolved here: trim_blocks and lstrip_blocks are on, one newline at the end of the
// template is dropped, `-` and `+` signs and raw blocks are handled, line ends become "\n".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::chat {

enum class Tok : uint8_t { Text, VarBegin, VarEnd, BlockBegin, BlockEnd, Name, Int, Float, String, Op, End };

struct Token {
  Tok kind;
  uint32_t line;
  std::string text; // decoded for Text and String
};

/// False with `error` ("line N: ...") if the template cannot be split.
bool tokenize(std::string_view source, std::vector<Token> &out, std::string &error);

} // namespace ingot::chat
