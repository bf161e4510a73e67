// Tests of the template language (`x is name`).
#include "runtime/chat/Strings.h"

#include <algorithm>

namespace ingot::chat {

namespace {

bool one(Interp &in, const char *name, CallArgs &args, Value *other) {
  return in.bind(name, args, {"other"}, 1, other);
}

template <Op op> bool compareTest(Interp &in, const Value &self, CallArgs &args) {
  Value other[1];
  return one(in, "comparison test", args, other) && in.compare(op, self, other[0]) && !in.bad();
}

/// value % divisor == remainder
bool moduloTest(Interp &in, const Value &self, int64_t divisor, int64_t remainder) {
  Value m = in.binary(Op::Mod, self, Value::integer(divisor));
  return !in.bad() && in.equal(m, Value::integer(remainder));
}
bool oddTest(Interp &in, const Value &self, CallArgs &) { return moduloTest(in, self, 2, 1); }
bool evenTest(Interp &in, const Value &self, CallArgs &) { return moduloTest(in, self, 2, 0); }
bool divisibleTest(Interp &in, const Value &self, CallArgs &args) {
  Value other[1];
  if (!one(in, "divisibleby", args, other))
    return false;
  Value m = in.binary(Op::Mod, self, other[0]);
  return !in.bad() && in.equal(m, Value::integer(0));
}
bool definedTest(Interp &, const Value &self, CallArgs &) { return !self.isUndefined(); }
bool undefinedTest(Interp &, const Value &self, CallArgs &) { return self.isUndefined(); }
bool noneTest(Interp &, const Value &self, CallArgs &) { return self.isNone(); }
bool booleanTest(Interp &, const Value &self, CallArgs &) { return self.is(Kind::Bool); }
bool trueTest(Interp &, const Value &self, CallArgs &) { return self.is(Kind::Bool) && self.asBool(); }
bool falseTest(Interp &, const Value &self, CallArgs &) { return self.is(Kind::Bool) && !self.asBool(); }
bool integerTest(Interp &, const Value &self, CallArgs &) {
  return self.is(Kind::Int) || self.is(Kind::BigInt);
}
bool floatTest(Interp &, const Value &self, CallArgs &) { return self.is(Kind::Float); }
bool numberTest(Interp &, const Value &self, CallArgs &) { return self.isNumber(); }
bool stringTest(Interp &, const Value &self, CallArgs &) { return self.isString(); }
bool mappingTest(Interp &, const Value &self, CallArgs &) { return self.is(Kind::Dict); }
bool iterableTest(Interp &in, const Value &self, CallArgs &) { return in.isIterable(self); }
bool sequenceTest(Interp &, const Value &self, CallArgs &) {
  switch (self.kind()) {
  case Kind::Undefined:
  case Kind::String:
  case Kind::Dict:
  case Kind::Range:
    return true;
  case Kind::Seq:
    return self.as<SeqObj>()->seq <= SeqKind::Tuple;
  default:
    return false;
  }
}
bool callableTest(Interp &, const Value &self, CallArgs &) {
  switch (self.kind()) {
  case Kind::Undefined: // an undefined value has a call operator, which fails
  case Kind::Macro:
  case Kind::Native:
  case Kind::Bound:
  case Kind::Loop:
    return true;
  default:
    return false;
  }
}
bool sameTest(Interp &in, const Value &self, CallArgs &args) {
  Value other[1];
  if (!one(in, "sameas", args, other) || self.kind() != other[0].kind())
    return false;
  return self.isObject() ? self.asObject() == other[0].asObject() : in.equal(self, other[0]);
}
bool escapedTest(Interp &, const Value &self, CallArgs &) {
  return self.isString() && self.as<StrObj>()->markup;
}
bool lowerTest(Interp &in, const Value &self, CallArgs &) {
  Value s = in.toStr(self);
  return !in.bad() && isLowerText(*s.as<StrObj>());
}
bool upperTest(Interp &in, const Value &self, CallArgs &) {
  Value s = in.toStr(self);
  return !in.bad() && isUpperText(*s.as<StrObj>());
}
bool nameOf(Interp &in, const Value &self) {
  if (!in.hashable(self))
    in.fail(std::string("unhashable type: '") + Interp::typeName(self) + "'");
  return self.isString();
}
bool filterTest(Interp &in, const Value &self, CallArgs &) {
  return nameOf(in, self) && findFilter(self.as<StrObj>()->view()) != nullptr;
}
bool testTest(Interp &in, const Value &self, CallArgs &) {
  return nameOf(in, self) && findTest(self.as<StrObj>()->view()) != nullptr;
}

struct TestEntry {
  const char *name;
  TestFn fn;
};
// Sorted by name.
constexpr TestEntry kTests[] = {
    {"!=", compareTest<Op::Ne>},
    {"<", compareTest<Op::Lt>},
    {"<=", compareTest<Op::Le>},
    {"==", compareTest<Op::Eq>},
    {">", compareTest<Op::Gt>},
    {">=", compareTest<Op::Ge>},
    {"boolean", booleanTest},
    {"callable", callableTest},
    {"defined", definedTest},
    {"divisibleby", divisibleTest},
    {"eq", compareTest<Op::Eq>},
    {"equalto", compareTest<Op::Eq>},
    {"escaped", escapedTest},
    {"even", evenTest},
    {"false", falseTest},
    {"filter", filterTest},
    {"float", floatTest},
    {"ge", compareTest<Op::Ge>},
    {"greaterthan", compareTest<Op::Gt>},
    {"gt", compareTest<Op::Gt>},
    {"in", compareTest<Op::In>},
    {"integer", integerTest},
    {"iterable", iterableTest},
    {"le", compareTest<Op::Le>},
    {"lessthan", compareTest<Op::Lt>},
    {"lower", lowerTest},
    {"lt", compareTest<Op::Lt>},
    {"mapping", mappingTest},
    {"ne", compareTest<Op::Ne>},
    {"none", noneTest},
    {"number", numberTest},
    {"odd", oddTest},
    {"sameas", sameTest},
    {"sequence", sequenceTest},
    {"string", stringTest},
    {"test", testTest},
    {"true", trueTest},
    {"undefined", undefinedTest},
    {"upper", upperTest},
};
} // namespace

TestFn findTest(std::string_view name) {
  auto it = std::lower_bound(std::begin(kTests), std::end(kTests), name,
                             [](const TestEntry &e, std::string_view n) { return e.name < n; });
  return it != std::end(kTests) && it->name == name ? it->fn : nullptr;
}

} // namespace ingot::chat
