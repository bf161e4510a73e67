// Making values, truth, order and arithmetic with Python's meaning (see Interp.h).
#include "runtime/chat/Interp.h"
#include "runtime/chat/Strings.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ingot::chat {

Value Interp::str(std::string_view text, bool tainted) {
  StrBuilder b(heap);
  b.add(text, tainted);
  return b.finish();
}

Value Interp::substr(const StrObj &s, size_t begin, size_t end) {
  StrBuilder b(heap);
  if (end > begin)
    b.add(s, begin, end);
  tick(b.size() >> 8);
  return b.finish(s.markup);
}

Value Interp::seq(SeqKind kind, std::vector<Value> list) {
  SeqObj *s = heap.make<SeqObj>(kind);
  Value v = Value::object(s);
  heap.charge(s, list.size() * sizeof(Value));
  s->items = std::move(list);
  tick(s->items.size() >> 4);
  return v;
}

Value Interp::dict() { return Value::object(heap.make<DictObj>()); }

Value Interp::bigInt(std::string decimal) {
  BigIntObj *b = heap.make<BigIntObj>(std::move(decimal));
  heap.charge(b, b->text.size());
  return Value::object(b);
}

const char *Interp::typeName(const Value &v) {
  switch (v.kind()) {
  case Kind::None:
    return "NoneType";
  case Kind::Bool:
    return "bool";
  case Kind::Int:
  case Kind::BigInt:
    return "int";
  case Kind::Float:
    return "float";
  case Kind::String:
    return "str";
  case Kind::Seq:
    switch (v.as<SeqObj>()->seq) {
    case SeqKind::List:
      return "list";
    case SeqKind::Tuple:
      return "tuple";
    case SeqKind::Generator:
      return "generator";
    case SeqKind::Keys:
      return "dict_keys";
    case SeqKind::Values:
      return "dict_values";
    case SeqKind::Items:
      return "dict_items";
    }
    return "list";
  case Kind::Dict:
    return "dict";
  case Kind::Range:
    return "range";
  case Kind::Namespace:
    return "Namespace";
  case Kind::Macro:
    return "Macro";
  case Kind::Native:
    return "function";
  case Kind::Bound:
    return "method";
  case Kind::Loop:
    return "LoopContext";
  case Kind::Missing:
  case Kind::Undefined:
  case Kind::Scope:
    break;
  }
  return "Undefined";
}

bool Interp::truth(const Value &v) {
  switch (v.kind()) {
  case Kind::Missing:
  case Kind::Undefined:
  case Kind::None:
    return false;
  case Kind::Bool:
  case Kind::Int:
    return v.asInt() != 0;
  case Kind::Float:
    return v.asFloat() != 0;
  case Kind::String:
    return !v.as<StrObj>()->bytes.empty();
  case Kind::Seq:
    return v.as<SeqObj>()->seq == SeqKind::Generator || !v.as<SeqObj>()->items.empty();
  case Kind::Dict:
    return !v.as<DictObj>()->entries.empty();
  case Kind::Range:
    return v.as<RangeObj>()->length != 0;
  default:
    return true;
  }
}

namespace {
double bigToDouble(const Value &v) { return std::strtod(v.as<BigIntObj>()->text.c_str(), nullptr); }

double toDouble(const Value &v) {
  if (v.is(Kind::Float))
    return v.asFloat();
  return v.is(Kind::BigInt) ? bigToDouble(v) : static_cast<double>(v.asInt());
}

/// -1, 0, 1; 2 when unordered (NaN).
int compareNumbers(const Value &a, const Value &b) {
  if (a.isIntegral() && b.isIntegral())
    return a.asInt() < b.asInt() ? -1 : a.asInt() > b.asInt();
  if (a.is(Kind::BigInt) && b.is(Kind::BigInt)) {
    const std::string &x = a.as<BigIntObj>()->text, &y = b.as<BigIntObj>()->text;
    if ((x[0] == '-') != (y[0] == '-'))
      return x[0] == '-' ? -1 : 1;
    int sign = x[0] == '-' ? -1 : 1;
    if (x.size() != y.size())
      return x.size() < y.size() ? -sign : sign;
    int c = x.compare(y);
    return c < 0 ? -sign : c > 0 ? sign : 0;
  }
  if (a.is(Kind::BigInt) && b.isIntegral())
    return a.as<BigIntObj>()->text[0] == '-' ? -1 : 1;
  if (a.isIntegral() && b.is(Kind::BigInt))
    return b.as<BigIntObj>()->text[0] == '-' ? 1 : -1;
  double x = toDouble(a), y = toDouble(b);
  if (std::isnan(x) || std::isnan(y))
    return 2;
  return x < y ? -1 : x > y;
}

/// Kinds of sequences that compare with each other: lists with lists, tuples with tuples.
bool sameSequence(const Value &a, const Value &b) {
  return a.is(Kind::Seq) && b.is(Kind::Seq) && a.as<SeqObj>()->seq == b.as<SeqObj>()->seq &&
         (a.as<SeqObj>()->seq == SeqKind::List || a.as<SeqObj>()->seq == SeqKind::Tuple);
}

/// The keys and the items of a dictionary behave as sets in comparisons.
bool isSetView(const Value &v) {
  return v.is(Kind::Seq) && (v.as<SeqObj>()->seq == SeqKind::Keys || v.as<SeqObj>()->seq == SeqKind::Items);
}
} // namespace

bool Interp::equal(const Value &a, const Value &b, unsigned nested) {
  if (nested > kMaxNested) {
    fail("values are nested too deep to compare");
    return false;
  }
  if (!tick())
    return false;
  if (a.isNumber() && b.isNumber())
    return compareNumbers(a, b) == 0;
  if (a.kind() != b.kind())
    return false;
  switch (a.kind()) {
  case Kind::String: {
    const std::string &x = a.as<StrObj>()->bytes, &y = b.as<StrObj>()->bytes;
    if (x.size() == y.size())
      tick(x.size() >> 8);
    return x == y;
  }
  case Kind::Seq: {
    if (a.asObject() == b.asObject())
      return true;
    const auto &x = a.as<SeqObj>()->items, &y = b.as<SeqObj>()->items;
    if (isSetView(a) && isSetView(b)) { // equal as sets; the items of a view are distinct
      if (x.size() != y.size())
        return false;
      for (const Value &v : x)
        if (std::none_of(y.begin(), y.end(), [&](const Value &w) { return equal(v, w, nested + 1); }))
          return false;
      return !bad();
    }
    if (!sameSequence(a, b) || x.size() != y.size())
      return false;
    for (size_t i = 0; i < x.size(); ++i)
      if (!equal(x[i], y[i], nested + 1))
        return false;
    return true;
  }
  case Kind::Dict: {
    if (a.asObject() == b.asObject())
      return true;
    const auto &x = *a.as<DictObj>(), &y = *b.as<DictObj>();
    if (x.entries.size() != y.entries.size())
      return false;
    for (const auto &e : x.entries) {
      ptrdiff_t at = y.indexOf(e.first);
      if (at < 0 || !equal(e.second, y.entries[static_cast<size_t>(at)].second, nested + 1))
        return false;
    }
    return true;
  }
  case Kind::Range: {
    const auto &x = *a.as<RangeObj>(), &y = *b.as<RangeObj>();
    return x.length == y.length &&
           (x.length == 0 || (x.start == y.start && (x.length == 1 || x.step == y.step)));
  }
  case Kind::Undefined:
  case Kind::None:
    return true;
  default:
    return a.isObject() && a.asObject() == b.asObject();
  }
}

bool Interp::less(const Value &a, const Value &b, unsigned nested) {
  if (!tick() || bad())
    return false;
  if (a.isNumber() && b.isNumber())
    return compareNumbers(a, b) == -1;
  if (a.isString() && b.isString())
    return a.as<StrObj>()->bytes < b.as<StrObj>()->bytes; // UTF-8 keeps the order of code points
  if (sameSequence(a, b) && nested < kMaxNested) {
    const auto &x = a.as<SeqObj>()->items, &y = b.as<SeqObj>()->items;
    for (size_t i = 0; i < std::min(x.size(), y.size()); ++i)
      if (!equal(x[i], y[i], nested + 1))
        return less(x[i], y[i], nested + 1);
    return x.size() < y.size();
  }
  if (a.isUndefined() || b.isUndefined()) {
    failUndefined(a.isUndefined() ? a : b);
    return false;
  }
  fail(std::string("no order between ") + typeName(a) + " and " + typeName(b));
  return false;
}

bool Interp::compare(Op op, const Value &a, const Value &b) {
  switch (op) {
  case Op::Eq:
    return equal(a, b);
  case Op::Ne:
    return !equal(a, b);
  case Op::In:
    return contains(b, a);
  case Op::NotIn:
    return !contains(b, a) && !bad();
  default:
    break;
  }
  if (a.isNumber() && b.isNumber()) {
    int c = compareNumbers(a, b);
    return op == Op::Lt   ? c == -1
           : op == Op::Gt ? c == 1
           : op == Op::Le ? c == -1 || c == 0
                          : c == 1 || c == 0;
  }
  switch (op) {
  case Op::Lt:
    return less(a, b);
  case Op::Gt:
    return less(b, a);
  case Op::Le:
    return !less(b, a) && !bad();
  default:
    return !less(a, b) && !bad();
  }
}

bool Interp::contains(const Value &container, const Value &item) {
  switch (container.kind()) {
  case Kind::String: {
    if (!item.isString()) {
      fail(std::string("'in <string>' requires string as left operand, not ") + typeName(item));
      return false;
    }
    const std::string &text = container.as<StrObj>()->bytes;
    tick(text.size() >> 6);
    return text.find(item.as<StrObj>()->bytes) != std::string::npos;
  }
  case Kind::Dict:
    if (!hashable(item)) {
      fail(std::string("unhashable type: '") + typeName(item) + "'");
      return false;
    }
    tick();
    return container.as<DictObj>()->indexOf(item) >= 0;
  case Kind::Undefined:
    return false;
  default: {
    bool keys = container.is(Kind::Seq) && container.as<SeqObj>()->seq == SeqKind::Keys;
    if (keys && !hashable(item)) {
      fail(std::string("unhashable type: '") + typeName(item) + "'");
      return false;
    }
    std::vector<Value> list;
    if (!items(container, list))
      return false;
    for (const Value &v : list)
      if (equal(v, item) || bad())
        return !bad();
    return false;
  }
  }
}

namespace {
/// Floor division and modulo of integers, as in Python. The divisor is not zero.
int64_t floorDiv(int64_t a, int64_t b) {
  int64_t q = a / b;
  return q - ((a % b != 0) && ((a < 0) != (b < 0)));
}
double floatMod(double a, double b) {
  double m = std::fmod(a, b);
  if (m != 0 && (m < 0) != (b < 0))
    m += b;
  else if (m == 0)
    m = std::copysign(0.0, b);
  return m;
}
double floatFloorDiv(double a, double b) {
  double q = (a - floatMod(a, b)) / b;
  if (q == 0)
    return std::copysign(0.0, a / b);
  double f = std::floor(q);
  return q - f > 0.5 ? f + 1 : f;
}
const char *opName(Op op) {
  switch (op) {
  case Op::Add:
    return "+";
  case Op::Sub:
    return "-";
  case Op::Mul:
    return "*";
  case Op::Div:
    return "/";
  case Op::FloorDiv:
    return "//";
  case Op::Mod:
    return "%";
  default:
    return "**";
  }
}
} // namespace

namespace {
Value intPower(Interp &in, int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 0)
      return in.fail("0 cannot be raised to a negative power");
    return Value::real(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  int64_t result = 1;
  bool overflow = false, tooBig = false;
  for (; exponent; exponent >>= 1) {
    if (exponent & 1) {
      overflow |= tooBig;
      overflow |= __builtin_mul_overflow(result, base, &result);
    }
    if (exponent > 1)
      tooBig |= __builtin_mul_overflow(base, base, &base);
  }
  return overflow ? in.fail("integer result beyond 64 bits") : Value::integer(result);
}

/// Concatenation; a markup operand escapes the other one.
Value concatStrings(Interp &in, const Value &a, const Value &b) {
  bool markup = a.as<StrObj>()->markup || b.as<StrObj>()->markup;
  Value x = markup ? escapeHtml(in, a, false) : a, y = markup ? escapeHtml(in, b, false) : b;
  if (in.bad())
    return {};
  StrBuilder out(in.heap);
  out.add(*x.as<StrObj>());
  out.add(*y.as<StrObj>());
  in.tick(out.size() >> 8);
  return out.finish(markup);
}

Value repeat(Interp &in, const Value &v, int64_t times) {
  uint64_t n = times < 0 ? 0 : static_cast<uint64_t>(times);
  if (v.isString()) {
    const StrObj &s = *v.as<StrObj>();
    if (s.bytes.empty())
      n = 0;
    if (n && (n > in.heap.limit / s.bytes.size() || !in.heap.room(n * s.bytes.size())))
      return in.fail("a string of " + std::to_string(n) + " x " + std::to_string(s.bytes.size()) +
                     " bytes is too long");
    StrBuilder out(in.heap);
    for (; n && in.tick((s.bytes.size() >> 8) + 1) && !in.bad(); --n)
      out.add(s);
    return in.bad() ? Value() : out.finish(s.markup);
  }
  const SeqObj &s = *v.as<SeqObj>();
  size_t bytes = s.items.size() * sizeof(Value);
  if (n && bytes && (n > in.heap.limit / bytes || !in.heap.room(n * bytes)))
    return in.fail("a list of " + std::to_string(n) + " x " + std::to_string(s.items.size()) +
                   " items is too long");
  std::vector<Value> list;
  for (; n && bytes && in.tick(s.items.size()) && !in.bad(); --n)
    list.insert(list.end(), s.items.begin(), s.items.end());
  return in.seq(s.seq, std::move(list));
}
} // namespace

Value Interp::binary(Op op, const Value &a, const Value &b) {
  if (op == Op::Mod && a.isString())
    return formatPercent(*a.as<StrObj>(), b);
  if (a.isUndefined() || b.isUndefined())
    return failUndefined(a.isUndefined() ? a : b);
  if (a.isNumber() && b.isNumber()) {
    if (a.isIntegral() && b.isIntegral()) {
      int64_t x = a.asInt(), y = b.asInt(), r = 0;
      bool overflow = false;
      if ((op == Op::Div || op == Op::FloorDiv || op == Op::Mod) && y == 0)
        return fail("division by zero");
      switch (op) {
      case Op::Add:
        overflow = __builtin_add_overflow(x, y, &r);
        break;
      case Op::Sub:
        overflow = __builtin_sub_overflow(x, y, &r);
        break;
      case Op::Mul:
        overflow = __builtin_mul_overflow(x, y, &r);
        break;
      case Op::Div:
        return Value::real(static_cast<double>(x) / static_cast<double>(y));
      case Op::FloorDiv:
        overflow = x == std::numeric_limits<int64_t>::min() && y == -1;
        r = overflow ? 0 : floorDiv(x, y);
        break;
      case Op::Mod:
        r = y == -1 ? 0 : x - floorDiv(x, y) * y;
        break;
      default:
        return intPower(*this, x, y);
      }
      return overflow ? fail("integer result beyond 64 bits") : Value::integer(r);
    }
    bool anyFloat = a.is(Kind::Float) || b.is(Kind::Float);
    if (!anyFloat && op != Op::Div)
      return fail("arithmetic on integers beyond 64 bits is not supported");
    double x = toDouble(a), y = toDouble(b);
    if ((op == Op::Div || op == Op::FloorDiv || op == Op::Mod) && y == 0)
      return fail("division by zero");
    switch (op) {
    case Op::Add:
      return Value::real(x + y);
    case Op::Sub:
      return Value::real(x - y);
    case Op::Mul:
      return Value::real(x * y);
    case Op::Div:
      return Value::real(x / y);
    case Op::FloorDiv:
      return Value::real(floatFloorDiv(x, y));
    case Op::Mod:
      return Value::real(floatMod(x, y));
    default:
      if (x == 0 && y < 0)
        return fail("0.0 cannot be raised to a negative power");
      if (x < 0 && y != std::floor(y))
        return fail("a negative number cannot be raised to a fractional power");
      double power = std::pow(x, y);
      return std::isinf(power) && std::isfinite(x) && std::isfinite(y) ? fail("float result out of range")
                                                                       : Value::real(power);
    }
  }
  if (op == Op::Add) {
    if (a.isString() && b.isString())
      return concatStrings(*this, a, b);
    if (sameSequence(a, b)) {
      std::vector<Value> list = a.as<SeqObj>()->items;
      const auto &more = b.as<SeqObj>()->items;
      list.insert(list.end(), more.begin(), more.end());
      return seq(a.as<SeqObj>()->seq, std::move(list));
    }
    if (a.isString())
      return fail(std::string("can only concatenate str (not \"") + typeName(b) + "\") to str");
  }
  auto repeatable = [](const Value &v) {
    return v.isString() || (v.is(Kind::Seq) && v.as<SeqObj>()->seq <= SeqKind::Tuple);
  };
  if (op == Op::Mul && repeatable(a) && b.isIntegral())
    return repeat(*this, a, b.asInt());
  if (op == Op::Mul && repeatable(b) && a.isIntegral())
    return repeat(*this, b, a.asInt());
  return fail(std::string("unsupported operand types for ") + opName(op) + ": '" + typeName(a) + "' and '" +
              typeName(b) + "'");
}

Value Interp::negate(const Value &v) {
  if (v.is(Kind::Float))
    return Value::real(-v.asFloat());
  if (v.is(Kind::BigInt)) {
    const std::string &text = v.as<BigIntObj>()->text;
    if (text == "9223372036854775808")
      return Value::integer(std::numeric_limits<int64_t>::min());
    return bigInt(text[0] == '-' ? text.substr(1) : "-" + text);
  }
  if (v.asInt() == std::numeric_limits<int64_t>::min())
    return bigInt("9223372036854775808");
  return Value::integer(-v.asInt());
}

} // namespace ingot::chat
