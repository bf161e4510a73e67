// `%` formatting and str.format of the template language (see Interp.h).
#include "runtime/chat/Strings.h"
#include "runtime/chat/Text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace ingot::chat {

namespace {
constexpr int64_t kMaxPrecision = 500;
constexpr int64_t kMaxWidth = 1'000'000;

/// What a conversion asks for, in both notations.
struct Spec {
  std::string fill = " ";
  char align = 0; // < > ^ =
  char sign = '-';
  bool alternate = false;
  char group = 0; // ',' or '_'
  int64_t width = 0;
  int64_t precision = -1;
  char type = 0;
};

std::string floatText(double d, char type, int64_t precision, bool alternate) {
  if (std::isnan(d) || std::isinf(d)) {
    std::string s = std::isnan(d) ? "nan" : "inf";
    if (type == 'F' || type == 'E' || type == 'G')
      std::transform(s.begin(), s.end(), s.begin(), [](char c) { return static_cast<char>(c - 32); });
    return s;
  }
  char format[8] = {'%', '.', '*', type, 0};
  if (alternate) {
    format[1] = '#';
    format[2] = '.';
    format[3] = '*';
    format[4] = type;
  }
  char buffer[1024];
  int n = std::snprintf(buffer, sizeof(buffer), format, static_cast<int>(precision), d);
  return std::string(buffer, static_cast<size_t>(std::clamp<int>(n, 0, sizeof(buffer) - 1)));
}

std::string intText(uint64_t magnitude, char type) {
  int base = type == 'x' || type == 'X' ? 16 : type == 'o' ? 8 : type == 'b' ? 2 : 10;
  std::string out;
  do {
    int d = static_cast<int>(magnitude % static_cast<uint64_t>(base));
    out += static_cast<char>(d < 10 ? '0' + d : (type == 'X' ? 'A' : 'a') + d - 10);
    magnitude /= static_cast<uint64_t>(base);
  } while (magnitude);
  std::reverse(out.begin(), out.end());
  return out;
}

void groupDigits(std::string &digits, char separator, size_t every) {
  size_t end = digits.find_first_of(".eE%");
  if (end == std::string::npos)
    end = digits.size();
  for (size_t at = end; at > every; at -= every)
    digits.insert(at - every, 1, separator);
}

/// Sign, prefix and digits of a number for `spec`; false with an error for a type that does not fit.
bool numberText(Interp &in, const Value &v, const Spec &spec, bool &negative, std::string &prefix,
                std::string &digits) {
  char type = spec.type;
  bool wantsFloat = type && std::string_view("eEfFgG%").find(type) != std::string_view::npos;
  if (v.is(Kind::Float) || wantsFloat) {
    double d = v.is(Kind::Float)    ? v.asFloat()
               : v.is(Kind::BigInt) ? std::strtod(v.as<BigIntObj>()->text.c_str(), nullptr)
                                    : static_cast<double>(v.asInt());
    negative = std::signbit(d) && !std::isnan(d);
    d = std::abs(d);
    if (type == 0 && spec.precision < 0) {
      digits = formatFloat(d);
    } else if (type == '%') {
      digits = floatText(d * 100, 'f', spec.precision < 0 ? 6 : spec.precision, spec.alternate) + "%";
    } else if (type == 0) {
      // Without a type: as 'g', with at least one digit behind the point.
      digits = floatText(d, 'g', std::max<int64_t>(spec.precision, 1), spec.alternate);
      if (digits.find_first_of(".en") == std::string::npos)
        digits += ".0";
    } else if (wantsFloat) {
      int64_t precision = spec.precision < 0 ? 6 : spec.precision;
      digits = floatText(d, type, precision, spec.alternate);
    } else {
      in.fail(std::string("format code '") + type + "' does not fit a float");
      return false;
    }
    if (spec.group)
      groupDigits(digits, spec.group, 3);
    return true;
  }
  if (spec.precision >= 0) {
    in.fail("precision is not allowed for integers");
    return false;
  }
  if (type && std::string_view("dnxXob").find(type) == std::string_view::npos) {
    in.fail(std::string("format code '") + type + "' does not fit an integer");
    return false;
  }
  if (v.is(Kind::BigInt)) {
    if (type && type != 'd' && type != 'n') {
      in.fail("integers beyond 64 bits print in decimal only");
      return false;
    }
    digits = v.as<BigIntObj>()->text;
    negative = digits[0] == '-';
    digits.erase(0, negative);
  } else {
    int64_t i = v.asInt();
    negative = i < 0;
    digits = intText(negative ? 0 - static_cast<uint64_t>(i) : static_cast<uint64_t>(i), type);
    if (spec.alternate && (type == 'x' || type == 'X' || type == 'o' || type == 'b'))
      prefix = std::string("0") + type;
  }
  if (spec.group)
    groupDigits(digits, spec.group, type == 'x' || type == 'X' || type == 'o' || type == 'b' ? 4 : 3);
  return true;
}

/// Writes `v` as format(v, spec).
void writeFormatted(Interp &in, StrBuilder &out, const Value &v, const Spec &spec) {
  if (spec.width > kMaxWidth) {
    in.fail("format width too large");
    return;
  }
  bool number = v.isNumber();
  Value body;
  char align = spec.align;
  if (number && spec.type != 'c') {
    bool negative = false;
    std::string prefix, digits;
    if (!numberText(in, v, spec, negative, prefix, digits))
      return;
    std::string sign = negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
    if (align == '=') {
      int64_t have = static_cast<int64_t>(sign.size() + prefix.size() + digits.size());
      std::string padding;
      for (int64_t i = have; i < spec.width; ++i)
        padding += spec.fill;
      out.add(sign + prefix + padding + digits);
      return;
    }
    if (!align)
      align = '>';
    body = in.str(sign + prefix + digits);
  } else if (spec.type == 'c' && v.isIntegral()) {
    if (v.asInt() < 0 || v.asInt() > 0x10ffff || (v.asInt() >= 0xd800 && v.asInt() <= 0xdfff)) {
      in.fail("format code 'c' needs a code point");
      return;
    }
    std::string c;
    appendPoint(c, static_cast<uint32_t>(v.asInt()));
    body = in.str(c);
  } else {
    if (!v.isString()) {
      in.fail(std::string("a format does not fit a ") + Interp::typeName(v));
      return;
    }
    if (spec.type && spec.type != 's') {
      in.fail(std::string("format code '") + spec.type + "' does not fit a " + Interp::typeName(v));
      return;
    }
    if (align == '=') {
      in.fail("'=' alignment does not fit a string");
      return;
    }
    body = v;
    if (spec.precision >= 0) {
      const StrObj &s = *body.as<StrObj>();
      body = in.substr(s, 0, byteOffset(s.bytes, static_cast<size_t>(spec.precision), s.ascii()));
    }
  }
  if (in.bad())
    return;
  if (spec.width > 0)
    body = pad(in, *body.as<StrObj>(), spec.width, spec.fill, align == '^' ? '=' : align ? align : '<');
  if (!in.bad())
    out.add(*body.as<StrObj>());
}

bool readNumber(std::string_view text, size_t &at, int64_t &out) {
  size_t begin = at;
  int64_t n = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
    n = std::min<int64_t>(n * 10 + (text[at] - '0'), int64_t(1) << 40);
  if (at > begin)
    out = n;
  return at > begin;
}

/// Parses [[fill]align][sign][#][0][width][,][.precision][type].
bool parseSpec(Interp &in, std::string_view text, Spec &spec) {
  size_t at = 0;
  auto isAlign = [&](size_t i) {
    return i < text.size() && std::string_view("<>^=").find(text[i]) != std::string_view::npos;
  };
  if (!text.empty()) {
    size_t next = 0;
    decodePoint(text, next);
    if (isAlign(next)) {
      spec.fill = std::string(text.substr(0, next));
      spec.align = text[next];
      at = next + 1;
    } else if (isAlign(0)) {
      spec.align = text[0];
      at = 1;
    }
  }
  if (at < text.size() && (text[at] == '+' || text[at] == '-' || text[at] == ' '))
    spec.sign = text[at++];
  if (at < text.size() && text[at] == '#') {
    spec.alternate = true;
    ++at;
  }
  if (at < text.size() && text[at] == '0') {
    if (!spec.align) {
      spec.fill = "0";
      spec.align = '=';
    }
    ++at;
  }
  readNumber(text, at, spec.width);
  if (at < text.size() && (text[at] == ',' || text[at] == '_'))
    spec.group = text[at++];
  if (at < text.size() && text[at] == '.') {
    ++at;
    if (!readNumber(text, at, spec.precision)) {
      in.fail("format specifier misses its precision");
      return false;
    }
  }
  if (at < text.size())
    spec.type = text[at++];
  if (at != text.size() || (spec.precision > kMaxPrecision && spec.type != 's' && spec.type)) {
    in.fail("invalid format specifier '" + std::string(text) + "'");
    return false;
  }
  return true;
}

/// Reads "0.name[key]" style fields.
Value lookField(Interp &in, std::string_view field, CallArgs &args, size_t &automatic) {
  size_t end = std::min(field.find_first_of(".["), field.size());
  std::string_view first = field.substr(0, end);
  Value v;
  int64_t index = 0;
  size_t at = 0;
  if (first.empty() || (readNumber(first, at, index) && at == first.size())) {
    if (first.empty())
      index = static_cast<int64_t>(automatic++);
    if (index >= static_cast<int64_t>(args.pos.size()))
      return in.fail("format: no positional argument " + std::to_string(index));
    v = args.pos[static_cast<size_t>(index)];
  } else {
    auto it = std::find_if(args.kw.begin(), args.kw.end(), [&](const auto &kw) { return kw.first == first; });
    if (it == args.kw.end())
      return in.fail("format: no argument '" + std::string(first) + "'");
    v = it->second;
  }
  while (end < field.size() && !in.bad()) {
    if (field[end] == '.') {
      size_t stop = std::min(field.find_first_of(".[", end + 1), field.size());
      v = in.getAttr(v, field.substr(end + 1, stop - end - 1), nullptr);
      end = stop;
      continue;
    }
    size_t stop = field.find(']', end);
    if (field[end] != '[' || stop == std::string_view::npos)
      return in.fail("format: malformed field");
    std::string_view key = field.substr(end + 1, stop - end - 1);
    at = 0;
    if (readNumber(key, at, index) && at == key.size())
      v = in.getItem(v, Value::integer(index));
    else
      v = in.getItem(v, in.str(key));
    end = stop + 1;
  }
  return v;
}
} // namespace

Value Interp::formatBraces(const StrObj &format, CallArgs &args) {
  StrBuilder out(heap);
  std::string_view text = format.bytes;
  size_t automatic = 0, from = 0;
  for (size_t at = 0; at < text.size() && !bad();) {
    char c = text[at];
    if (c != '{' && c != '}') {
      ++at;
      continue;
    }
    out.add(format, from, at);
    if (at + 1 < text.size() && text[at + 1] == c) {
      out.add(format, at, at + 1);
      from = at += 2;
      continue;
    }
    if (c == '}')
      return fail("format: single '}' in the format string");
    size_t end = at + 1;
    int brackets = 1;
    for (; end < text.size() && brackets; ++end)
      brackets += text[end] == '{' ? 1 : text[end] == '}' ? -1 : 0;
    if (brackets)
      return fail("format: '{' is not closed");
    std::string_view field = text.substr(at + 1, end - at - 2);
    size_t cut = std::min(field.find_first_of("!:"), field.size());
    Value v = lookField(*this, field.substr(0, cut), args, automatic);
    if (bad() || !tick())
      return {};
    std::string_view rest = field.substr(cut);
    if (!rest.empty() && rest[0] == '!') {
      char conversion = rest.size() > 1 ? rest[1] : 0;
      if (conversion == 'r') {
        StrBuilder r(heap);
        repr(r, v);
        v = r.finish();
      } else if (conversion == 's') {
        v = toStr(v);
      } else {
        return fail("format: unsupported conversion");
      }
      rest.remove_prefix(2);
    }
    if (!rest.empty() && rest[0] != ':')
      return fail("format: malformed field");
    Spec spec;
    if (!rest.empty())
      rest.remove_prefix(1);
    if (rest.find('{') != std::string_view::npos)
      return fail("format: nested fields are not supported");
    if (!parseSpec(*this, rest, spec))
      return {};
    if (rest.empty())
      print(out, v);
    else
      writeFormatted(*this, out, v, spec);
    from = at = end;
  }
  out.add(format, from, text.size());
  tick(out.size() >> 6);
  return bad() ? Value() : out.finish(format.markup);
}

Value Interp::formatPercent(const StrObj &format, const Value &arg) {
  StrBuilder out(heap);
  std::string_view text = format.bytes;
  std::vector<Value> list;
  if (arg.is(Kind::Seq) && arg.as<SeqObj>()->seq == SeqKind::Tuple)
    list = arg.as<SeqObj>()->items;
  else
    list.push_back(arg);
  size_t used = 0, from = 0;
  bool byName = false;
  auto take = [&]() -> Value {
    if (used >= list.size())
      return fail("not enough arguments for the format string");
    return list[used++];
  };
  for (size_t at = 0; at < text.size() && !bad();) {
    if (text[at] != '%') {
      ++at;
      continue;
    }
    out.add(format, from, at++);
    Spec spec;
    Value v = Value::missing();
    if (at < text.size() && text[at] == '(') {
      size_t close = text.find(')', at);
      if (close == std::string_view::npos || !arg.is(Kind::Dict))
        return fail("format requires a mapping");
      byName = true;
      Value key = str(text.substr(at + 1, close - at - 1));
      ptrdiff_t hit = bad() ? -1 : arg.as<DictObj>()->indexOf(key);
      if (hit < 0)
        return fail("format: no such key");
      v = arg.as<DictObj>()->entries[static_cast<size_t>(hit)].second;
      at = close + 1;
    }
    bool zero = false, left = false;
    for (; at < text.size(); ++at) {
      char c = text[at];
      if (c == '-')
        left = true;
      else if (c == '0')
        zero = true;
      else if (c == '+' || (c == ' ' && spec.sign != '+'))
        spec.sign = c;
      else if (c == '#')
        spec.alternate = true;
      else if (c != ' ')
        break;
    }
    auto number = [&](int64_t &into) {
      if (at < text.size() && text[at] == '*') {
        ++at;
        Value n = take();
        return !bad() && intArg("%", n, 0, into);
      }
      readNumber(text, at, into);
      return true;
    };
    if (!number(spec.width))
      return {};
    if (at < text.size() && text[at] == '.') {
      ++at;
      spec.precision = 0;
      if (!number(spec.precision))
        return {};
    }
    if (at >= text.size())
      return fail("incomplete format");
    char type = text[at++];
    from = at;
    if (type == '%') {
      out.add("%");
      continue;
    }
    if (v.isMissing())
      v = take();
    if (bad() || !tick())
      return {};
    left |= spec.width < 0;
    spec.width = std::abs(spec.width);
    spec.align = left ? '<' : '>';
    bool isInt = type == 'd' || type == 'i' || type == 'u' || type == 'x' || type == 'X' || type == 'o';
    bool isFloat = std::string_view("eEfFgG").find(type) != std::string_view::npos;
    if (type == 's' || type == 'r' || type == 'c') {
      if (type == 'r') {
        StrBuilder r(heap);
        repr(r, v);
        v = r.finish();
      }
      spec.type = type == 'c' && v.isIntegral() ? 'c' : 's';
      if (type == 'c' && v.isString() && v.as<StrObj>()->points != 1)
        return fail("%c requires an int or a single character");
      if (spec.type == 's')
        v = toStr(v);
    } else if (isInt || isFloat) {
      if (v.isUndefined())
        return failUndefined(v);
      if (!v.isNumber())
        return fail(std::string("%") + type + " format: a number is required, not " + typeName(v));
      spec.type = type == 'i' || type == 'u' ? 'd' : type;
      if (isInt && v.is(Kind::Float)) {
        double d = v.asFloat();
        if (!(std::abs(d) < 9.2e18) || (type != 'd' && type != 'i' && type != 'u'))
          return fail(std::string("%") + type + " format: the number does not fit");
        v = Value::integer(static_cast<int64_t>(d));
      }
      if (spec.precision > kMaxPrecision)
        return fail("precision too large");
      if (isInt && spec.precision >= 0) {
        zero = false;
        spec.precision = -1;
      }
      if (zero && !left) {
        spec.fill = "0";
        spec.align = '=';
      }
    } else {
      return fail(std::string("unsupported format character '") + type + "'");
    }
    if (bad())
      return {};
    writeFormatted(*this, out, v, spec);
  }
  // Whatever has elements counts as a mapping, of which nothing need be used.
  bool mapping = arg.isUndefined() || arg.is(Kind::Dict) || arg.is(Kind::Range) ||
                 (arg.is(Kind::Seq) && arg.as<SeqObj>()->seq == SeqKind::List);
  if (!bad() && used < list.size() && !byName && !mapping)
    return fail("not all arguments converted during string formatting");
  out.add(format, from, text.size());
  tick(out.size() >> 6);
  return bad() ? Value() : out.finish(format.markup);
}

} // namespace ingot::chat
