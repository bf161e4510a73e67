// Values as text: str(), repr(), json.dumps, and values from JSON (see Interp.h).
#include "runtime/chat/Interp.h"

#include "runtime/chat/Sort.h"
#include "runtime/chat/Text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace ingot::chat {

namespace {
void reprString(StrBuilder &out, const StrObj &s) {
  bool single = s.bytes.find('\'') != std::string::npos;
  char quote = single && s.bytes.find('"') == std::string::npos ? '"' : '\'';
  out.add(quote);
  size_t from = 0;
  for (size_t at = 0; at < s.bytes.size();) {
    size_t begin = at;
    uint32_t cp = decodePoint(s.bytes, at);
    char escaped[12];
    if (cp == static_cast<unsigned char>(quote) || cp == '\\')
      std::snprintf(escaped, sizeof(escaped), "\\%c", static_cast<char>(cp));
    else if (cp == '\n' || cp == '\r' || cp == '\t')
      std::snprintf(escaped, sizeof(escaped), "\\%c", cp == '\n' ? 'n' : cp == '\r' ? 'r' : 't');
    else if (isPrintablePoint(cp))
      continue;
    else if (cp < 0x100)
      std::snprintf(escaped, sizeof(escaped), "\\x%02x", cp);
    else
      std::snprintf(escaped, sizeof(escaped), cp < 0x10000 ? "\\u%04x" : "\\U%08x", cp);
    out.add(s, from, begin);
    out.add(escaped, s.taintedAt(begin));
    from = at;
  }
  out.add(s, from, s.bytes.size());
  out.add(quote);
}

void jsonString(StrBuilder &out, const StrObj &s, bool ensureAscii) {
  out.add('"');
  size_t from = 0;
  for (size_t at = 0; at < s.bytes.size();) {
    size_t begin = at;
    uint32_t cp = decodePoint(s.bytes, at);
    char escaped[16];
    static constexpr std::string_view special = "\"\\\n\r\t\b\f", letters = "\"\\nrtbf";
    size_t k = cp < 0x80 ? special.find(static_cast<char>(cp)) : std::string_view::npos;
    if (k != std::string_view::npos)
      std::snprintf(escaped, sizeof(escaped), "\\%c", letters[k]);
    else if (cp >= 0x20 && (cp < 0x7f || !ensureAscii))
      continue;
    else if (cp < 0x10000)
      std::snprintf(escaped, sizeof(escaped), "\\u%04x", cp);
    else
      std::snprintf(escaped, sizeof(escaped), "\\u%04x\\u%04x", 0xd800 + ((cp - 0x10000) >> 10),
                    0xdc00 + ((cp - 0x10000) & 0x3ff));
    out.add(s, from, begin);
    out.add(escaped, s.taintedAt(begin));
    from = at;
  }
  out.add(s, from, s.bytes.size());
  out.add('"');
}
} // namespace

void Interp::print(StrBuilder &out, const Value &v) {
  switch (v.kind()) {
  case Kind::Undefined:
    return;
  case Kind::String:
    out.add(*v.as<StrObj>());
    return;
  default:
    repr(out, v);
  }
}

Value Interp::toStr(const Value &v) {
  if (v.isString())
    return v;
  StrBuilder out(heap);
  print(out, v);
  return bad() ? str("") : out.finish();
}

void Interp::repr(StrBuilder &out, const Value &v, unsigned nested) {
  if (!tick() || bad())
    return;
  if (nested > kMaxNested) {
    fail("a value nested too deep to print");
    return;
  }
  switch (v.kind()) {
  case Kind::None:
    out.add("None");
    return;
  case Kind::Bool:
    out.add(v.asBool() ? "True" : "False");
    return;
  case Kind::Int:
    out.add(std::to_string(v.asInt()));
    return;
  case Kind::Float:
    out.add(formatFloat(v.asFloat()));
    return;
  case Kind::BigInt:
    out.add(v.as<BigIntObj>()->text);
    return;
  case Kind::String:
    tick(v.as<StrObj>()->bytes.size() >> 6);
    reprString(out, *v.as<StrObj>());
    return;
  case Kind::Undefined:
    out.add("Undefined");
    return;
  case Kind::Range: {
    const RangeObj &r = *v.as<RangeObj>();
    out.add("range(" + std::to_string(r.start) + ", " + std::to_string(r.stop));
    if (r.step != 1)
      out.add(", " + std::to_string(r.step));
    out.add(")");
    return;
  }
  case Kind::Seq: {
    const SeqObj &s = *v.as<SeqObj>();
    if (s.seq == SeqKind::Generator) {
      fail("a generator has no text; make a list of it with the filter 'list'");
      return;
    }
    bool tuple = s.seq == SeqKind::Tuple;
    const char *open = tuple                      ? "("
                       : s.seq == SeqKind::List   ? "["
                       : s.seq == SeqKind::Keys   ? "dict_keys(["
                       : s.seq == SeqKind::Values ? "dict_values(["
                                                  : "dict_items([";
    out.add(open);
    for (size_t i = 0; i < s.items.size() && !bad(); ++i) {
      if (i)
        out.add(", ");
      repr(out, s.items[i], nested + 1);
    }
    out.add(tuple ? (s.items.size() == 1 ? ",)" : ")") : s.seq == SeqKind::List ? "]" : "])");
    return;
  }
  case Kind::Dict:
  case Kind::Namespace: {
    bool first = true;
    out.add(v.is(Kind::Namespace) ? "<Namespace {" : "{");
    for (const auto &e : v.as<DictObj>()->entries) {
      if (bad())
        return;
      if (!first)
        out.add(", ");
      first = false;
      repr(out, e.first, nested + 1);
      out.add(": ");
      repr(out, e.second, nested + 1);
    }
    out.add(v.is(Kind::Namespace) ? "}>" : "}");
    return;
  }
  case Kind::Macro:
    out.add("<Macro '" + prog.names[v.as<MacroObj>()->node->id] + "'>");
    return;
  default:
    fail(std::string("a ") + typeName(v) + " has no text");
  }
}

void Interp::dumpJson(StrBuilder &out, const Value &v, const JsonStyle &style, unsigned nested) {
  if (!tick() || bad())
    return;
  if (nested > kMaxNested) {
    fail("a value nested too deep for JSON");
    return;
  }
  auto newline = [&](unsigned level) {
    if (!style.pretty)
      return;
    out.add('\n');
    for (; level && !bad(); --level)
      out.add(style.indent);
  };
  switch (v.kind()) {
  case Kind::None:
    out.add("null");
    return;
  case Kind::Bool:
    out.add(v.asBool() ? "true" : "false");
    return;
  case Kind::Float:
    if (std::isnan(v.asFloat()))
      out.add("NaN");
    else if (std::isinf(v.asFloat()))
      out.add(v.asFloat() < 0 ? "-Infinity" : "Infinity");
    else
      out.add(formatFloat(v.asFloat()));
    return;
  case Kind::Int:
  case Kind::BigInt:
    repr(out, v);
    return;
  case Kind::String:
    tick(v.as<StrObj>()->bytes.size() >> 6);
    jsonString(out, *v.as<StrObj>(), style.ensureAscii);
    return;
  case Kind::Seq: {
    const SeqObj &s = *v.as<SeqObj>();
    if (s.seq > SeqKind::Generator)
      break;
    // A generator is written as the list of its items.
    std::vector<Value> list;
    if (!items(v, list))
      return;
    if (list.empty())
      return out.add("[]");
    out.add('[');
    for (size_t i = 0; i < list.size() && !bad(); ++i) {
      if (i)
        out.add(style.itemSeparator);
      newline(nested + 1);
      dumpJson(out, list[i], style, nested + 1);
    }
    newline(nested);
    out.add(']');
    return;
  }
  case Kind::Dict: {
    const auto &entries = v.as<DictObj>()->entries;
    if (entries.empty())
      return out.add("{}");
    std::vector<size_t> order;
    if (style.sortKeys)
      order = stableOrder(entries.size(),
                          [&](size_t a, size_t b) { return less(entries[a].first, entries[b].first); });
    out.add('{');
    for (size_t i = 0; i < entries.size(); ++i) {
      const auto &e = entries[order.empty() ? i : order[i]];
      if (bad())
        return;
      if (i)
        out.add(style.itemSeparator);
      newline(nested + 1);
      const Value &key = e.first;
      if (key.isString()) {
        jsonString(out, *key.as<StrObj>(), style.ensureAscii);
      } else if (key.isNumber() || key.isNone()) {
        out.add('"');
        dumpJson(out, key, style, nested + 1);
        out.add('"');
      } else {
        fail(std::string("keys must be str, int, float, bool or None, not ") + typeName(key));
        return;
      }
      out.add(style.keySeparator);
      dumpJson(out, e.second, style, nested + 1);
    }
    newline(nested);
    out.add('}');
    return;
  }
  default:
    break;
  }
  fail(std::string("Object of type ") + typeName(v) + " is not JSON serializable");
}

namespace {
/// Roles that a template may build special tokens from. Any other role is text of the user.
bool usualRole(const std::string &role) {
  static constexpr std::string_view roles[] = {"system",  "user",     "assistant", "tool",  "developer",
                                               "ipython", "function", "model",     "human", "observation"};
  return std::find(std::begin(roles), std::end(roles), role) != std::end(roles);
}
} // namespace

Value Interp::fromJson(const nlohmann::ordered_json &json, bool tainted, unsigned nested) {
  if (!tick() || bad())
    return {};
  if (nested > kMaxNested)
    return fail("the input is nested more than " + std::to_string(kMaxNested) + " levels deep");
  using Type = nlohmann::ordered_json::value_t;
  switch (json.type()) {
  case Type::null:
  case Type::discarded:
    return Value::none();
  case Type::boolean:
    return Value::boolean(json.get<bool>());
  case Type::number_integer:
    return Value::integer(json.get<int64_t>());
  case Type::number_unsigned: {
    uint64_t u = json.get<uint64_t>();
    return u > static_cast<uint64_t>(INT64_MAX) ? bigInt(std::to_string(u))
                                                : Value::integer(static_cast<int64_t>(u));
  }
  case Type::number_float:
    return Value::real(json.get<double>());
  case Type::binary: {
    const auto &bytes = json.get_binary();
    return bigInt(std::string(bytes.begin(), bytes.end()));
  }
  case Type::string: {
    const std::string &text = json.get_ref<const std::string &>();
    if (findInvalidUtf8(text) != std::string_view::npos)
      return fail("a string of the input is not valid UTF-8");
    return str(text, tainted);
  }
  case Type::array: {
    std::vector<Value> list;
    list.reserve(json.size());
    for (const auto &item : json) {
      list.push_back(fromJson(item, tainted, nested + 1));
      if (bad())
        return {};
    }
    return seq(SeqKind::List, std::move(list));
  }
  case Type::object: {
    Value d = dict();
    for (const auto &item : json.items()) {
      if (findInvalidUtf8(item.key()) != std::string_view::npos)
        return fail("a key of the input is not valid UTF-8");
      const auto &value = item.value();
      // A message is an object inside the array of messages; its own keys are no text of the user's.
      bool message = nested == 1;
      bool plain = message && item.key() == "role" && value.is_string() &&
                   usualRole(value.get_ref<const std::string &>());
      Value v = fromJson(value, tainted && !plain, nested + 1);
      if (bad())
        return {};
      d.as<DictObj>()->set(str(item.key(), tainted && !message), std::move(v));
    }
    return d;
  }
  }
  return Value::none();
}

} // namespace ingot::chat
