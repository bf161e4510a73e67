// The lexer of the template language (see Lexer.h).
#include "runtime/chat/Lexer.h"

#include "runtime/chat/Text.h"

#include <algorithm>

namespace ingot::chat {

namespace {

class Lexer {
public:
  Lexer(std::string_view source, std::vector<Token> &tokens, std::string &message)
      : src(source), out(tokens), error(message) {}
  bool run();

private:
  bool fail(uint32_t line, const std::string &message) {
    error = "line " + std::to_string(line) + ": " + message;
    return false;
  }
  /// Line number of byte `at`; asked in rising order.
  uint32_t lineOf(size_t at) {
    for (; counted < at; ++counted)
      line += src[counted] == '\n';
    return line;
  }
  size_t skipSpace(size_t at) const {
    size_t end = src.size();
    stripSpace(src, at, end, true, false);
    return at;
  }
  bool startsWith(size_t at, std::string_view what) const { return src.compare(at, what.size(), what) == 0; }
  void push(Tok kind, size_t at, std::string text = {}) {
    out.push_back({kind, lineOf(at), std::move(text)});
  }
  void emitText(size_t begin, size_t end, char sign, bool mayStrip);
  size_t afterTag(size_t close, size_t contentBegin, std::string_view mark);
  bool comment(size_t open, size_t begin);
  bool rawBlock(size_t nameEnd, size_t open, bool &isRaw);
  bool tag(bool variable, size_t open, size_t begin);
  bool stringLiteral(size_t &at);
  bool number(size_t &at);

  std::string_view src;
  std::vector<Token> &out;
  std::string &error;
  size_t pos = 0, counted = 0;
  uint32_t line = 1;
  bool lineStarting = true; // the text at `pos` begins a line
};

/// Text before a tag, with the white space that the tag's sign or lstrip_blocks takes away.
void Lexer::emitText(size_t begin, size_t end, char sign, bool mayStrip) {
  if (sign == '-') {
    stripSpace(src, begin, end, false, true);
  } else if (sign != '+' && mayStrip) {
    size_t newline = end > begin ? src.rfind('\n', end - 1) : std::string_view::npos;
    bool hasNewline = newline != std::string_view::npos && newline >= begin;
    size_t lineBegin = hasNewline ? newline + 1 : begin;
    if ((hasNewline || lineStarting) && skipSpace(lineBegin) >= end && lineBegin < end)
      end = lineBegin;
  }
  if (end > begin)
    push(Tok::Text, begin, std::string(src.substr(begin, end - begin)));
}

/// Position behind a closing mark at `close`, after trim_blocks or the sign before the mark.
size_t Lexer::afterTag(size_t close, size_t contentBegin, std::string_view mark) {
  size_t at = close + mark.size();
  char sign = close > contentBegin ? src[close - 1] : 0;
  if (sign == '-')
    at = skipSpace(at);
  else if (sign != '+' && mark != "}}" && at < src.size() && src[at] == '\n')
    ++at;
  return at;
}

bool Lexer::comment(size_t open, size_t begin) {
  size_t close = src.find("#}", begin);
  if (close == std::string_view::npos)
    return fail(lineOf(open), "comment is not closed");
  pos = afterTag(close, begin, "#}");
  lineStarting = src[pos - 1] == '\n';
  return true;
}

/// `nameEnd` is behind `raw` in the tag that opens at `open`.
bool Lexer::rawBlock(size_t nameEnd, size_t open, bool &isRaw) {
  size_t at = skipSpace(nameEnd);
  isRaw = false;
  if (startsWith(at, "-%}"))
    at = skipSpace(at + 3);
  else if (startsWith(at, "%}"))
    at += 2;
  else
    return true;
  isRaw = true;
  lineStarting = src[at - 1] == '\n';
  for (size_t search = at;;) {
    size_t end = src.find("{%", search);
    if (end == std::string_view::npos)
      return fail(lineOf(open), "raw block is not closed");
    size_t name = end + 2;
    char sign = name < src.size() && (src[name] == '-' || src[name] == '+') ? src[name] : 0;
    name = skipSpace(name + (sign != 0));
    if (!startsWith(name, "endraw")) {
      search = end + 2;
      continue;
    }
    size_t close = skipSpace(name + 6);
    size_t signAt = close;
    if (close < src.size() && (src[close] == '-' || src[close] == '+'))
      ++close;
    if (!startsWith(close, "%}")) {
      search = end + 2;
      continue;
    }
    emitText(at, end, sign, true);
    pos = afterTag(close, signAt, "%}");
    lineStarting = src[pos - 1] == '\n';
    return true;
  }
}

bool isNameByte(char c) {
  unsigned char u = static_cast<unsigned char>(c);
  return u >= 0x80 || u == '_' || (u >= '0' && u <= '9') || (u >= 'a' && u <= 'z') || (u >= 'A' && u <= 'Z');
}
bool isDigit(char c) { return c >= '0' && c <= '9'; }

bool Lexer::number(size_t &at) {
  size_t begin = at;
  auto digits = [&](size_t from) {
    size_t p = from;
    while (p < src.size() && (isDigit(src[p]) || (src[p] == '_' && p > from && p + 1 < src.size() &&
                                                  isDigit(src[p + 1]) && src[p - 1] != '_')))
      ++p;
    return p;
  };
  auto clean = [&](size_t end) {
    std::string text(src.substr(begin, end - begin));
    text.erase(std::remove(text.begin(), text.end(), '_'), text.end());
    return text;
  };
  if (src[at] == '0' && at + 1 < src.size() &&
      std::string_view("xXoObB").find(src[at + 1]) != std::string::npos) {
    size_t p = at + 2;
    while (p < src.size() && (std::isxdigit(static_cast<unsigned char>(src[p])) || src[p] == '_'))
      ++p;
    int64_t value = 0;
    bool big = false;
    std::string text;
    if (!parseInt(src.substr(begin, p - begin), 0, value, big, text) || big)
      return fail(lineOf(begin), "bad number '" + std::string(src.substr(begin, p - begin)) + "'");
    push(Tok::Int, begin, std::to_string(value));
    at = p;
    return true;
  }
  size_t p = digits(at);
  bool isFloat = false;
  // After a dot ("a.0.1") a number is an index.
  if (begin == 0 || src[begin - 1] != '.') {
    if (p + 1 < src.size() && src[p] == '.' && isDigit(src[p + 1])) {
      p = digits(p + 1);
      isFloat = true;
    }
    if (p < src.size() && (src[p] | 32) == 'e') {
      size_t q = p + 1;
      if (q < src.size() && (src[q] == '+' || src[q] == '-'))
        ++q;
      if (q < src.size() && isDigit(src[q])) {
        p = digits(q);
        isFloat = true;
      }
    }
  }
  push(isFloat ? Tok::Float : Tok::Int, begin, clean(p));
  at = p;
  return true;
}

/// Decodes a quoted literal with the escapes of Python.
bool Lexer::stringLiteral(size_t &at) {
  size_t begin = at;
  char quote = src[at++];
  std::string text;
  while (at < src.size() && src[at] != quote) {
    char c = src[at++];
    if (c != '\\') {
      text += c;
      continue;
    }
    if (at >= src.size())
      break;
    c = src[at++];
    size_t hex = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    static constexpr std::string_view from = "\\'\"abfnrtv", to = "\\'\"\a\b\f\n\r\t\v";
    if (size_t k = from.find(c); k != std::string_view::npos) {
      text += to[k];
    } else if (c == '\n') {
      continue;
    } else if (c >= '0' && c <= '7') {
      uint32_t cp = static_cast<uint32_t>(c - '0');
      for (int i = 0; i < 2 && at < src.size() && src[at] >= '0' && src[at] <= '7'; ++i)
        cp = cp * 8 + static_cast<uint32_t>(src[at++] - '0');
      appendPoint(text, cp);
    } else if (hex) {
      uint32_t cp = 0;
      for (size_t i = 0; i < hex; ++i) {
        if (at >= src.size() || !std::isxdigit(static_cast<unsigned char>(src[at])))
          return fail(lineOf(begin), std::string("bad \\") + c + " escape in a string");
        char d = src[at++];
        cp = cp * 16 + static_cast<uint32_t>(isDigit(d) ? d - '0' : (d | 32) - 'a' + 10);
      }
      if (cp > 0x10ffff || (cp >= 0xd800 && cp <= 0xdfff))
        return fail(lineOf(begin), std::string("\\") + c + " escape that is no character");
      appendPoint(text, cp);
    } else if (c == 'N') {
      return fail(lineOf(begin), "\\N escapes are not supported");
    } else {
      text += '\\';
      text += c;
    }
  }
  if (at >= src.size())
    return fail(lineOf(begin), "string is not closed");
  ++at;
  push(Tok::String, begin, std::move(text));
  return true;
}

bool Lexer::tag(bool variable, size_t open, size_t begin) {
  static constexpr std::string_view two[] = {"//", "**", "==", "!=", ">=", "<="};
  std::string_view mark = variable ? "}}" : "%}";
  std::string brackets; // the closing ones still to come
  size_t at = begin;
  push(variable ? Tok::VarBegin : Tok::BlockBegin, open);
  uint32_t tagLine = line;
  for (;;) {
    at = skipSpace(at);
    if (at >= src.size())
      return fail(tagLine, std::string("tag is not closed, expected '") + std::string(mark) + "'");
    char c = src[at];
    if (brackets.empty()) {
      bool sign = (c == '-' || (c == '+' && !variable)) && startsWith(at + 1, mark);
      if (sign || startsWith(at, mark)) {
        size_t close = at + sign;
        push(variable ? Tok::VarEnd : Tok::BlockEnd, at);
        pos = afterTag(close, at, mark);
        lineStarting = src[pos - 1] == '\n';
        return true;
      }
    }
    if (c == '\'' || c == '"') {
      if (!stringLiteral(at))
        return false;
    } else if (isDigit(c)) {
      if (!number(at))
        return false;
    } else if (isNameByte(c)) {
      size_t e = at;
      while (e < src.size() && isNameByte(src[e]))
        ++e;
      push(Tok::Name, at, std::string(src.substr(at, e - at)));
      at = e;
    } else {
      size_t length = 0;
      for (std::string_view op : two)
        if (startsWith(at, op))
          length = 2;
      if (!length && std::string_view("+-*/%~[](){}=<>.:|,;").find(c) != std::string_view::npos)
        length = 1;
      if (!length)
        return fail(lineOf(at), std::string("unexpected character '") + c + "'");
      if (c == '(' || c == '[' || c == '{') {
        brackets += c == '(' ? ')' : c == '[' ? ']' : '}';
      } else if (c == ')' || c == ']' || c == '}') {
        if (brackets.empty() || brackets.back() != c)
          return fail(lineOf(at), std::string("unexpected '") + c + "'");
        brackets.pop_back();
      }
      push(Tok::Op, at, std::string(src.substr(at, length)));
      at += length;
    }
  }
}

bool Lexer::run() {
  while (pos < src.size()) {
    size_t open = pos;
    for (;; ++open) {
      open = src.find('{', open);
      if (open == std::string_view::npos || open + 1 >= src.size()) {
        open = std::string_view::npos;
        break;
      }
      char c = src[open + 1];
      if (c == '{' || c == '%' || c == '#')
        break;
    }
    if (open == std::string_view::npos) {
      push(Tok::Text, pos, std::string(src.substr(pos)));
      pos = src.size();
      break;
    }
    char kind = src[open + 1];
    size_t begin = open + 2;
    char sign = begin < src.size() && (src[begin] == '-' || src[begin] == '+') ? src[begin] : 0;
    begin += sign != 0;
    emitText(pos, open, sign, kind != '{');
    if (kind == '#') {
      if (!comment(open, begin))
        return false;
      continue;
    }
    if (kind == '%') {
      size_t name = skipSpace(begin);
      bool isRaw = false;
      if (startsWith(name, "raw") && !rawBlock(name + 3, open, isRaw))
        return false;
      if (isRaw)
        continue;
    }
    if (!tag(kind == '{', open, begin))
      return false;
  }
  push(Tok::End, src.size());
  return true;
}

} // namespace

bool tokenize(std::string_view source, std::vector<Token> &out, std::string &error) {
  size_t bad = findInvalidUtf8(source);
  if (bad != std::string_view::npos) {
    error = "the template is not valid UTF-8 (byte " + std::to_string(bad) + ")";
    return false;
  }
  std::string text;
  text.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      text += '\n';
      i += i + 1 < source.size() && source[i + 1] == '\n';
    } else {
      text += source[i];
    }
  }
  if (!text.empty() && text.back() == '\n')
    text.pop_back();
  return Lexer(text, out, error).run();
}

} // namespace ingot::chat
