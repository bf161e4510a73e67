// Filters on text, numbers and JSON.
#include "runtime/chat/Filters.h"

#include "runtime/chat/Strings.h"
#include "runtime/chat/Text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace ingot::chat {

namespace {

const StrObj &text(const Value &v) { return *v.as<StrObj>(); }

template <CaseMode mode> Value caseFilter(Interp &in, const Value &self, CallArgs &args) {
  Value s = in.toStr(self);
  return in.bad() || !in.bind("case filter", args, {}, 0, nullptr) ? Value() : changeCase(in, text(s), mode);
}

Value titleFilter(Interp &in, const Value &self, CallArgs &args) {
  Value s = in.toStr(self);
  return in.bad() || !in.bind("title", args, {}, 0, nullptr) ? Value() : titleWords(in, text(s));
}

Value trimFilter(Interp &in, const Value &self, CallArgs &args) {
  Value a[1], s = in.toStr(self);
  return in.bad() || !in.bind("trim", args, {"chars"}, 0, a) ? Value()
                                                             : stripChars(in, text(s), a[0], true, true);
}

Value stringFilter(Interp &in, const Value &self, CallArgs &args) {
  return in.bind("string", args, {}, 0, nullptr) ? in.toStr(self) : Value();
}

Value safeFilter(Interp &in, const Value &self, CallArgs &args) {
  if (!in.bind("safe", args, {}, 0, nullptr))
    return {};
  Value s = in.toStr(self);
  if (in.bad() || text(s).markup)
    return s;
  StrBuilder out(in.heap);
  out.add(text(s));
  return out.finish(true);
}

template <bool force> Value escapeFilter(Interp &in, const Value &self, CallArgs &args) {
  return in.bind("escape", args, {}, 0, nullptr) ? escapeHtml(in, self, force) : Value();
}

Value replaceFilter(Interp &in, const Value &self, CallArgs &args) {
  Value a[3];
  int64_t count;
  if (!in.bind("replace", args, {"old", "new", "count"}, 2, a))
    return {};
  if (a[2].isNone())
    a[2] = Value::missing();
  if (!in.intArg("replace", a[2], -1, count))
    return {};
  Value s = in.toStr(self), from = in.toStr(a[0]), to = in.toStr(a[1]);
  return in.bad() ? Value() : replaceText(in, text(s), text(from), text(to), count);
}

Value formatFilter(Interp &in, const Value &self, CallArgs &args) {
  Value s = in.toStr(self);
  if (in.bad())
    return {};
  if (!args.pos.empty() && !args.kw.empty())
    return in.fail("format: positional and keyword arguments cannot be mixed");
  if (args.kw.empty())
    return in.formatPercent(text(s), in.seq(SeqKind::Tuple, args.pos));
  Value d = in.dict();
  for (auto &kw : args.kw)
    d.as<DictObj>()->set(in.str(kw.first), kw.second);
  return in.formatPercent(text(s), d);
}

Value centerFilter(Interp &in, const Value &self, CallArgs &args) {
  Value a[1], s = in.toStr(self);
  int64_t width;
  if (in.bad() || !in.bind("center", args, {"width"}, 0, a) || !in.intArg("center", a[0], 80, width))
    return {};
  return pad(in, text(s), width, " ", '^');
}

Value indentFilter(Interp &in, const Value &self, CallArgs &args) {
  Value a[3];
  if (!in.bind("indent", args, {"width", "first", "blank"}, 0, a))
    return {};
  if (!self.isString())
    return self.isUndefined() ? in.failUndefined(self)
                              : in.fail(std::string("indent needs a string, not ") + Interp::typeName(self));
  Value indention;
  if (a[0].isString()) {
    indention = a[0];
  } else {
    int64_t width;
    if (!in.intArg("indent", a[0], 4, width))
      return {};
    Value blank = in.str(" ");
    indention = in.binary(Op::Mul, blank, Value::integer(width));
  }
  if (in.bad())
    return {};
  bool first = in.truth(a[1]), blank = in.truth(a[2]);
  // The newline added here makes a trailing line break count as one more (empty) line, as in Jinja.
  StrBuilder whole(in.heap);
  whole.add(text(self));
  whole.add('\n');
  Value source = whole.finish();
  std::vector<Value> lines;
  splitLines(in, text(source), false, lines);
  StrBuilder out(in.heap);
  for (size_t i = 0; i < lines.size() && !in.bad(); ++i) {
    if (i)
      out.add('\n');
    bool indented = i == 0 ? first : blank || !text(lines[i]).bytes.empty();
    if (indented)
      out.add(text(indention));
    out.add(text(lines[i]));
  }
  in.tick(out.size() >> 6);
  return in.bad() ? Value() : out.finish(text(self).markup);
}

Value truncateFilter(Interp &in, const Value &self, CallArgs &args) {
  Value a[4];
  int64_t length, leeway;
  if (!in.bind("truncate", args, {"length", "killwords", "end", "leeway"}, 0, a) ||
      !in.intArg("truncate", a[0], 255, length))
    return {};
  if (a[3].isNone())
    a[3] = Value::missing();
  if (!in.intArg("truncate", a[3], 5, leeway))
    return {};
  Value end = a[2].isMissing() ? in.str("...") : in.toStr(a[2]), s = in.toStr(self);
  if (in.bad())
    return {};
  int64_t ending = static_cast<int64_t>(text(end).points), have = static_cast<int64_t>(text(s).points);
  if (length < ending || leeway < 0)
    return in.fail("truncate: bad length or leeway");
  if (!self.isString()) {
    // Anything with a length passes while it is short.
    if (!in.length(self, have))
      return {};
    return have - leeway <= length ? self : in.fail("truncate needs a string");
  }
  if (have - leeway <= length)
    return s;
  size_t cut = byteOffset(text(s).bytes, static_cast<size_t>(length - ending), text(s).ascii());
  if (!in.truth(a[1])) {
    size_t blank = text(s).bytes.substr(0, cut).rfind(' ');
    if (blank != std::string::npos)
      cut = blank;
  }
  StrBuilder out(in.heap);
  out.add(text(s), 0, cut);
  out.add(text(end));
  return out.finish();
}

Value wordCountFilter(Interp &in, const Value &self, CallArgs &args) {
  Value s = in.toStr(self);
  if (in.bad() || !in.bind("wordcount", args, {}, 0, nullptr))
    return {};
  in.tick(text(s).bytes.size() >> 6);
  int64_t n = 0;
  bool inside = false;
  for (size_t at = 0; at < text(s).bytes.size();) {
    uint32_t cp = decodePoint(text(s).bytes, at);
    bool word = cp == '_' || isAlphaPoint(cp) || isNumericPoint(cp);
    n += word && !inside;
    inside = word;
  }
  return Value::integer(n);
}

void quoteUrl(StrBuilder &out, const StrObj &s, bool keepSlash) {
  for (size_t i = 0; i < s.bytes.size(); ++i) {
    unsigned char c = static_cast<unsigned char>(s.bytes[i]);
    bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
                 c == '.' || c == '-' || c == '~' || (c == '/' && keepSlash);
    if (plain) {
      out.add(s, i, i + 1);
      continue;
    }
    char buffer[8];
    std::snprintf(buffer, sizeof(buffer), "%%%02X", c);
    out.add(c == ' ' && !keepSlash ? "+" : buffer, s.taintedAt(i));
  }
}

Value urlencodeFilter(Interp &in, const Value &self, CallArgs &args) {
  if (!in.bind("urlencode", args, {}, 0, nullptr))
    return {};
  StrBuilder out(in.heap);
  if (self.isString() || !in.isIterable(self)) {
    Value s = in.toStr(self);
    if (in.bad())
      return {};
    in.tick(text(s).bytes.size() >> 4);
    quoteUrl(out, text(s), true);
    return out.finish();
  }
  std::vector<Value> pairs;
  if (self.is(Kind::Dict)) {
    for (const auto &e : self.as<DictObj>()->entries)
      pairs.push_back(in.seq(SeqKind::Tuple, {e.first, e.second}));
  } else if (!in.items(self, pairs)) {
    return {};
  }
  for (size_t i = 0; i < pairs.size() && in.tick() && !in.bad(); ++i) {
    std::vector<Value> pair;
    if (!in.items(pairs[i], pair))
      return {};
    if (pair.size() != 2)
      return in.fail("urlencode needs a mapping or pairs");
    Value key = in.toStr(pair[0]), value = in.toStr(pair[1]);
    if (in.bad())
      return {};
    if (i)
      out.add('&');
    quoteUrl(out, text(key), false);
    out.add('=');
    quoteUrl(out, text(value), false);
  }
  return in.bad() ? Value() : out.finish();
}

Value floatToInt(Interp &in, double d) {
  if (std::abs(d) < 9.2e18)
    return Value::integer(static_cast<int64_t>(d));
  return in.bigInt(formatIntegral(d));
}

Value intFilter(Interp &in, const Value &self, CallArgs &args) {
  Value a[2];
  int64_t base;
  if (!in.bind("int", args, {"default", "base"}, 0, a) || !in.intArg("int", a[1], 10, base))
    return {};
  Value fallback = a[0].isMissing() ? Value::integer(0) : a[0];
  if (self.isUndefined())
    return in.failUndefined(self);
  if (self.is(Kind::Float)) {
    // int(nan) and int(inf) raise; the first is a ValueError and gives the default, as the second.
    return std::isfinite(self.asFloat()) ? floatToInt(in, self.asFloat()) : fallback;
  }
  if (self.is(Kind::BigInt))
    return self;
  if (self.isIntegral())
    return Value::integer(self.asInt());
  if (!self.isString())
    return fallback;
  int64_t value;
  bool big = false;
  std::string digits;
  in.tick(text(self).bytes.size() >> 4);
  if (base >= 0 && base <= 36 && parseInt(text(self).bytes, static_cast<int>(base), value, big, digits))
    return big ? in.bigInt(digits) : Value::integer(value);
  double d;
  if (parseFloat(text(self).bytes, d) && std::isfinite(d))
    return floatToInt(in, d);
  return fallback;
}

Value floatFilter(Interp &in, const Value &self, CallArgs &args) {
  Value a[1];
  if (!in.bind("float", args, {"default"}, 0, a))
    return {};
  if (self.isUndefined())
    return in.failUndefined(self);
  if (self.is(Kind::Float))
    return self;
  if (self.isIntegral())
    return Value::real(static_cast<double>(self.asInt()));
  double d;
  std::string digits = self.is(Kind::BigInt) ? self.as<BigIntObj>()->text : std::string();
  if (self.isString() ? parseFloat(text(self).bytes, d) : !digits.empty() && parseFloat(digits, d))
    return Value::real(d);
  return a[0].isMissing() ? Value::real(0) : a[0];
}

Value absFilter(Interp &in, const Value &self, CallArgs &args) {
  if (!in.bind("abs", args, {}, 0, nullptr))
    return {};
  if (self.isUndefined())
    return in.failUndefined(self);
  if (!self.isNumber())
    return in.fail(std::string("bad operand type for abs(): '") + Interp::typeName(self) + "'");
  if (self.is(Kind::Float))
    return Value::real(std::abs(self.asFloat()));
  bool negative = self.is(Kind::BigInt) ? self.as<BigIntObj>()->text[0] == '-' : self.asInt() < 0;
  if (negative)
    return in.negate(self);
  return self.is(Kind::BigInt) ? self : Value::integer(self.asInt());
}

Value roundFilter(Interp &in, const Value &self, CallArgs &args) {
  Value a[2];
  int64_t precision;
  if (!in.bind("round", args, {"precision", "method"}, 0, a) || !in.intArg("round", a[0], 0, precision))
    return {};
  if (self.isUndefined())
    return in.failUndefined(self);
  if (!self.isNumber())
    return in.fail(std::string("round needs a number, not ") + Interp::typeName(self));
  std::string method = a[1].isString() ? text(a[1]).bytes : a[1].isMissing() ? "common" : "";
  precision = std::clamp<int64_t>(precision, -400, 400);
  if (method == "ceil" || method == "floor") {
    if (self.is(Kind::BigInt))
      return in.fail("round: integers beyond 64 bits are not supported");
    double v = self.is(Kind::Float) ? self.asFloat() : static_cast<double>(self.asInt());
    double scale = std::pow(10.0, static_cast<double>(precision));
    double r = method == "ceil" ? std::ceil(v * scale) : std::floor(v * scale);
    return Value::real(r / scale + 0.0); // no negative zero, as the rounded number is an integer
  }
  if (method != "common")
    return in.fail("method must be common, ceil or floor");
  if (!self.is(Kind::Float)) {
    if (precision >= 0)
      return self.is(Kind::BigInt) ? self : Value::integer(self.asInt());
    return in.fail("round: a negative precision of an integer is not supported");
  }
  double v = self.asFloat();
  if (!std::isfinite(v))
    return self;
  if (precision >= 0) {
    // printf rounds the exact binary value, ties to even, as Python's round does.
    char buffer[800];
    std::snprintf(buffer, sizeof(buffer), "%.*f", static_cast<int>(std::min<int64_t>(precision, 330)), v);
    return Value::real(std::strtod(buffer, nullptr));
  }
  double scale = std::pow(10.0, static_cast<double>(-precision));
  return Value::real(std::isfinite(scale) ? std::nearbyint(v / scale) * scale : 0.0 * v);
}

Value tojsonFilter(Interp &in, const Value &self, CallArgs &args) {
  Value a[4];
  if (!in.bind("tojson", args, {"ensure_ascii", "indent", "separators", "sort_keys"}, 0, a))
    return {};
  JsonStyle style;
  style.ensureAscii = in.truth(a[0]);
  style.sortKeys = in.truth(a[3]);
  if (a[1].isString()) {
    style.pretty = true;
    style.indent = text(a[1]).bytes;
  } else if (!a[1].isMissing() && !a[1].isNone()) {
    int64_t width;
    if (!in.intArg("tojson", a[1], 0, width))
      return {};
    if (width > 1000)
      return in.fail("tojson: indent too large");
    style.pretty = true;
    style.indent.assign(static_cast<size_t>(std::max<int64_t>(width, 0)), ' ');
  }
  if (style.pretty)
    style.itemSeparator = ",";
  if (!a[2].isMissing() && !a[2].isNone()) {
    std::vector<Value> pair;
    if (!in.items(a[2], pair))
      return {};
    if (pair.size() != 2 || !pair[0].isString() || !pair[1].isString())
      return in.fail("tojson: separators must be two strings");
    style.itemSeparator = text(pair[0]).bytes;
    style.keySeparator = text(pair[1]).bytes;
  }
  StrBuilder out(in.heap);
  in.dumpJson(out, self, style);
  in.tick(out.size() >> 6);
  return in.bad() ? Value() : out.finish();
}

Value fromjsonFilter(Interp &in, const Value &self, CallArgs &args) {
  if (!in.bind("from_json", args, {}, 0, nullptr))
    return {};
  if (!self.isString())
    return self.isUndefined()
               ? in.failUndefined(self)
               : in.fail(std::string("from_json needs a string, not ") + Interp::typeName(self));
  nlohmann::ordered_json parsed;
  std::string error;
  // The parsed document lives outside the heap for a moment; it is bounded by a multiple of its text.
  if (!in.tick(text(self).bytes.size() >> 4) || !in.heap.room(text(self).bytes.size() * 16))
    return {};
  if (!parseJson(text(self).bytes, parsed, error))
    return in.fail("from_json: " + error);
  return in.fromJson(parsed, !text(self).taint.empty(), 2);
}

Value defaultFilter(Interp &in, const Value &self, CallArgs &args) {
  Value a[2];
  if (!in.bind("default", args, {"default_value", "boolean"}, 0, a))
    return {};
  if (!self.isUndefined() && !(in.truth(a[1]) && !in.truth(self)))
    return self;
  return a[0].isMissing() ? in.str("") : a[0];
}

Value attrFilter(Interp &in, const Value &self, CallArgs &args) {
  Value a[1];
  if (!in.bind("attr", args, {"name"}, 1, a))
    return {};
  if (!a[0].isString())
    return in.fail("attr needs a string");
  // Unlike a dot, `attr` does not look at the keys of a mapping.
  const char *stable = nullptr;
  if (self.is(Kind::Dict) && !findMethod(self, text(a[0]).view(), stable))
    return Value::undefined(UndefinedIn::Attribute, nullptr, Kind::Dict);
  return in.getAttr(self, text(a[0]).view(), nullptr);
}

} // namespace

const FilterEntry kTextFilters[] = {
    {"abs", absFilter},
    {"attr", attrFilter},
    {"capitalize", caseFilter<CaseMode::Capitalize>},
    {"center", centerFilter},
    {"d", defaultFilter},
    {"default", defaultFilter},
    {"e", escapeFilter<false>},
    {"escape", escapeFilter<false>},
    {"float", floatFilter},
    {"forceescape", escapeFilter<true>},
    {"format", formatFilter},
    {"from_json", fromjsonFilter},
    {"fromjson", fromjsonFilter},
    {"indent", indentFilter},
    {"int", intFilter},
    {"lower", caseFilter<CaseMode::Lower>},
    {"replace", replaceFilter},
    {"round", roundFilter},
    {"safe", safeFilter},
    {"string", stringFilter},
    {"title", titleFilter},
    {"tojson", tojsonFilter},
    {"trim", trimFilter},
    {"truncate", truncateFilter},
    {"upper", caseFilter<CaseMode::Upper>},
    {"urlencode", urlencodeFilter},
    {"wordcount", wordCountFilter},
};
const size_t kTextFilterCount = sizeof(kTextFilters) / sizeof(kTextFilters[0]);

FilterFn findFilter(std::string_view name) {
  auto search = [&](const FilterEntry *table, size_t count) -> FilterFn {
    const FilterEntry *end = table + count;
    const FilterEntry *it = std::lower_bound(
        table, end, name, [](const FilterEntry &e, std::string_view n) { return e.name < n; });
    return it != end && it->name == name ? it->fn : nullptr;
  };
  FilterFn fn = search(kTextFilters, kTextFilterCount);
  return fn ? fn : search(kSequenceFilters, kSequenceFilterCount);
}

} // namespace ingot::chat
