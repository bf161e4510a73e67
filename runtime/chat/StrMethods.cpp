// Methods of strings.
#include "runtime/chat/Methods.h"
#include "runtime/chat/Strings.h"
#include "runtime/chat/Text.h"

#include <algorithm>

namespace ingot::chat {

namespace {

const StrObj &text(const Value &v) { return *v.as<StrObj>(); }

bool noArgs(Interp &in, const char *name, CallArgs &args) { return in.bind(name, args, {}, 0, nullptr); }

template <CaseMode mode> Value caseMethod(Interp &in, const Value &self, CallArgs &args) {
  return noArgs(in, "str case method", args) ? changeCase(in, text(self), mode) : Value();
}

template <bool left, bool right> Value stripMethod(Interp &in, const Value &self, CallArgs &args) {
  Value chars[1];
  if (!in.bind("strip", args, {"chars"}, 0, chars))
    return {};
  return stripChars(in, text(self), chars[0], left, right);
}

template <bool fromRight> Value splitMethod(Interp &in, const Value &self, CallArgs &args) {
  Value a[2];
  int64_t maxSplits;
  std::vector<Value> parts;
  if (!in.bind("split", args, {"sep", "maxsplit"}, 0, a) || !in.intArg("split", a[1], -1, maxSplits) ||
      !splitText(in, text(self), a[0], maxSplits, fromRight, parts))
    return {};
  return in.seq(SeqKind::List, std::move(parts));
}

Value splitLinesMethod(Interp &in, const Value &self, CallArgs &args) {
  Value a[1];
  if (!in.bind("splitlines", args, {"keepends"}, 0, a))
    return {};
  std::vector<Value> parts;
  splitLines(in, text(self), in.truth(a[0]), parts);
  return in.seq(SeqKind::List, std::move(parts));
}

/// Byte range [begin, end) of the optional start and end arguments; false if it is empty by order.
bool subRange(Interp &in, const StrObj &s, const Value &start, const Value &end, size_t &b, size_t &e) {
  int64_t n = static_cast<int64_t>(s.points), from = 0, to = n;
  auto read = [&](const Value &v, int64_t fallback, int64_t &out) {
    if (v.isNone() || v.isMissing()) {
      out = fallback;
      return true;
    }
    if (!in.intArg("str method", v, fallback, out))
      return false;
    if (out < 0)
      out = std::max<int64_t>(0, std::max(out, -n) + n);
    return true;
  };
  if (!read(start, 0, from) || !read(end, n, to))
    return false;
  to = std::min(to, n);
  if (from > to)
    return false;
  b = byteOffset(s.bytes, static_cast<size_t>(from), s.ascii());
  e = byteOffset(s.bytes, static_cast<size_t>(to), s.ascii());
  in.tick(s.bytes.size() >> 8);
  return true;
}

template <bool atStart> Value affixMethod(Interp &in, const Value &self, CallArgs &args) {
  const char *name = atStart ? "startswith" : "endswith";
  Value a[3];
  if (!in.bind(name, args, {"prefix", "start", "end"}, 1, a))
    return {};
  size_t b = 0, e = 0;
  bool range = subRange(in, text(self), a[1], a[2], b, e);
  auto one = [&](const Value &v) {
    if (v.isUndefined()) {
      in.failUndefined(v);
      return false;
    }
    if (!v.isString()) {
      in.fail(std::string(name) + " needs a str or a tuple of str, not " + Interp::typeName(v));
      return false;
    }
    const std::string &affix = text(v).bytes;
    if (!range || affix.size() > e - b)
      return false;
    return text(self).bytes.compare(atStart ? b : e - affix.size(), affix.size(), affix) == 0;
  };
  if (a[0].is(Kind::Seq) && a[0].as<SeqObj>()->seq == SeqKind::Tuple) {
    for (const Value &v : a[0].as<SeqObj>()->items)
      if (one(v) || in.bad())
        return Value::boolean(!in.bad());
    return Value::boolean(false);
  }
  return Value::boolean(one(a[0]));
}

bool stringArg(Interp &in, const char *name, const Value &v) {
  if (v.isString())
    return true;
  if (v.isUndefined())
    in.failUndefined(v);
  else
    in.fail(std::string(name) + "() needs a string, not " + Interp::typeName(v));
  return false;
}

template <bool last, bool must> Value findMethodImpl(Interp &in, const Value &self, CallArgs &args) {
  Value a[3];
  if (!in.bind("find", args, {"sub", "start", "end"}, 1, a) || !stringArg(in, "find", a[0]))
    return {};
  const StrObj &s = text(self);
  in.tick(s.bytes.size() >> 6);
  size_t b = 0, e = 0, hit = std::string_view::npos;
  if (subRange(in, s, a[1], a[2], b, e)) {
    std::string_view window = std::string_view(s.bytes).substr(b, e - b);
    hit = last ? window.rfind(text(a[0]).bytes) : window.find(text(a[0]).bytes);
  }
  if (hit == std::string_view::npos)
    return must ? in.fail("substring not found") : Value::integer(-1);
  return Value::integer(static_cast<int64_t>(countPoints(std::string_view(s.bytes).substr(0, b + hit))));
}

Value countMethod(Interp &in, const Value &self, CallArgs &args) {
  Value a[3];
  if (!in.bind("count", args, {"sub", "start", "end"}, 1, a) || !stringArg(in, "count", a[0]))
    return {};
  const StrObj &s = text(self);
  in.tick(s.bytes.size() >> 6);
  size_t b = 0, e = 0;
  if (!subRange(in, s, a[1], a[2], b, e))
    return Value::integer(0);
  std::string_view window = std::string_view(s.bytes).substr(b, e - b), sub = text(a[0]).bytes;
  if (sub.empty())
    return Value::integer(static_cast<int64_t>(countPoints(window)) + 1);
  int64_t n = 0;
  for (size_t at = window.find(sub); at != std::string_view::npos; at = window.find(sub, at + sub.size()))
    ++n;
  return Value::integer(n);
}

Value replaceMethod(Interp &in, const Value &self, CallArgs &args) {
  Value a[3];
  int64_t count;
  if (!in.bind("replace", args, {"old", "new", "count"}, 2, a) || !stringArg(in, "replace", a[0]) ||
      !stringArg(in, "replace", a[1]) || !in.intArg("replace", a[2], -1, count))
    return {};
  if (text(self).markup)
    a[1] = escapeHtml(in, a[1], false);
  return in.bad() ? Value() : replaceText(in, text(self), text(a[0]), text(a[1]), count);
}

Value joinMethod(Interp &in, const Value &self, CallArgs &args) {
  Value a[1];
  std::vector<Value> list;
  if (!in.bind("join", args, {"iterable"}, 1, a) || !in.items(a[0], list))
    return {};
  StrBuilder out(in.heap);
  for (size_t i = 0; i < list.size() && !in.bad(); ++i) {
    if (!list[i].isString())
      return in.fail("sequence item " + std::to_string(i) + ": expected str instance, " +
                     Interp::typeName(list[i]) + " found");
    if (i)
      out.add(text(self));
    out.add(text(list[i]));
  }
  in.tick(out.size() >> 8);
  return out.finish();
}

Value formatMethod(Interp &in, const Value &self, CallArgs &args) {
  return in.formatBraces(text(self), args);
}

template <bool (*is)(uint32_t)> Value everyPoint(Interp &in, const Value &self, CallArgs &args) {
  if (!noArgs(in, "str test", args))
    return {};
  const std::string &s = text(self).bytes;
  in.tick(s.size() >> 6);
  for (size_t at = 0; at < s.size();)
    if (!is(decodePoint(s, at)))
      return Value::boolean(false);
  return Value::boolean(!s.empty());
}
bool alnumPoint(uint32_t cp) { return isAlphaPoint(cp) || isNumericPoint(cp); }

Value isLowerMethod(Interp &in, const Value &self, CallArgs &args) {
  return noArgs(in, "islower", args) ? Value::boolean(isLowerText(text(self))) : Value();
}
Value isUpperMethod(Interp &in, const Value &self, CallArgs &args) {
  return noArgs(in, "isupper", args) ? Value::boolean(isUpperText(text(self))) : Value();
}
Value isAsciiMethod(Interp &in, const Value &self, CallArgs &args) {
  return noArgs(in, "isascii", args) ? Value::boolean(text(self).ascii()) : Value();
}

template <char align> Value justMethod(Interp &in, const Value &self, CallArgs &args) {
  Value a[2];
  int64_t width;
  if (!in.bind("just", args, {"width", "fillchar"}, 1, a) || !in.intArg("just", a[0], 0, width))
    return {};
  std::string fill = " ";
  if (!a[1].isMissing()) {
    if (!stringArg(in, "just", a[1]))
      return {};
    if (text(a[1]).points != 1)
      return in.fail("the fill character must be exactly one character long");
    fill = text(a[1]).bytes;
  }
  return pad(in, text(self), width, fill, align);
}

Value zfillMethod(Interp &in, const Value &self, CallArgs &args) {
  Value a[1];
  int64_t width;
  if (!in.bind("zfill", args, {"width"}, 1, a) || !in.intArg("zfill", a[0], 0, width))
    return {};
  const StrObj &s = text(self);
  bool sign = !s.bytes.empty() && (s.bytes[0] == '-' || s.bytes[0] == '+');
  if (!sign || width <= static_cast<int64_t>(s.points))
    return pad(in, s, width, "0", '>');
  Value body = in.substr(s, 1, s.bytes.size());
  if (in.bad())
    return {};
  body = pad(in, text(body), width - 1, "0", '>');
  if (in.bad())
    return {};
  StrBuilder out(in.heap);
  out.add(s, 0, 1);
  out.add(text(body));
  return out.finish();
}

template <bool atStart> Value removeAffix(Interp &in, const Value &self, CallArgs &args) {
  Value a[1];
  if (!in.bind("remove affix", args, {"affix"}, 1, a) || !stringArg(in, "removeprefix", a[0]))
    return {};
  const std::string &s = text(self).bytes, &affix = text(a[0]).bytes;
  if (affix.empty() || affix.size() > s.size() ||
      s.compare(atStart ? 0 : s.size() - affix.size(), affix.size(), affix) != 0)
    return self;
  return atStart ? in.substr(text(self), affix.size(), s.size())
                 : in.substr(text(self), 0, s.size() - affix.size());
}

template <bool last> Value partitionMethod(Interp &in, const Value &self, CallArgs &args) {
  Value a[1];
  if (!in.bind("partition", args, {"sep"}, 1, a) || !stringArg(in, "partition", a[0]))
    return {};
  const std::string &s = text(self).bytes, &sep = text(a[0]).bytes;
  if (sep.empty())
    return in.fail("empty separator");
  in.tick(s.size() >> 6);
  size_t hit = last ? s.rfind(sep) : s.find(sep);
  std::vector<Value> parts;
  if (hit == std::string::npos) {
    parts = last ? std::vector<Value>{in.str(""), in.str(""), self}
                 : std::vector<Value>{self, in.str(""), in.str("")};
  } else {
    parts = {in.substr(text(self), 0, hit), a[0], in.substr(text(self), hit + sep.size(), s.size())};
  }
  return in.seq(SeqKind::Tuple, std::move(parts));
}

} // namespace

const MethodEntry kStrMethods[] = {
    {"capitalize", caseMethod<CaseMode::Capitalize>},
    {"casefold", caseMethod<CaseMode::Fold>},
    {"center", justMethod<'^'>},
    {"count", countMethod},
    {"endswith", affixMethod<false>},
    {"find", findMethodImpl<false, false>},
    {"format", formatMethod},
    {"index", findMethodImpl<false, true>},
    {"isalnum", everyPoint<alnumPoint>},
    {"isalpha", everyPoint<isAlphaPoint>},
    {"isascii", isAsciiMethod},
    {"isdecimal", everyPoint<isDecimalPoint>},
    {"isdigit", everyPoint<isDigitPoint>},
    {"islower", isLowerMethod},
    {"isnumeric", everyPoint<isNumericPoint>},
    {"isspace", everyPoint<isSpacePoint>},
    {"isupper", isUpperMethod},
    {"join", joinMethod},
    {"ljust", justMethod<'<'>},
    {"lower", caseMethod<CaseMode::Lower>},
    {"lstrip", stripMethod<true, false>},
    {"partition", partitionMethod<false>},
    {"removeprefix", removeAffix<true>},
    {"removesuffix", removeAffix<false>},
    {"replace", replaceMethod},
    {"rfind", findMethodImpl<true, false>},
    {"rindex", findMethodImpl<true, true>},
    {"rjust", justMethod<'>'>},
    {"rpartition", partitionMethod<true>},
    {"rsplit", splitMethod<true>},
    {"rstrip", stripMethod<false, true>},
    {"split", splitMethod<false>},
    {"splitlines", splitLinesMethod},
    {"startswith", affixMethod<true>},
    {"strip", stripMethod<true, true>},
    {"swapcase", caseMethod<CaseMode::Swap>},
    {"title", caseMethod<CaseMode::Title>},
    {"upper", caseMethod<CaseMode::Upper>},
    {"zfill", zfillMethod},
};
const size_t kStrMethodCount = sizeof(kStrMethods) / sizeof(kStrMethods[0]);

} // namespace ingot::chat
