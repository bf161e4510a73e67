// Evaluation of expressions (see Interp.h).
#include "runtime/chat/Interp.h"

#include "runtime/chat/Text.h"

namespace ingot::chat {

DepthGuard::DepthGuard(Interp &i) : interp(i), ok(true) {
  if (++interp.depth > interp.opts.limits.maxDepth) {
    interp.fail("recursion too deep (limit " + std::to_string(interp.opts.limits.maxDepth) + ")");
    ok = false;
  }
}

Value Interp::constant(uint32_t stringId) {
  Value &slot = constants[stringId];
  if (!slot.isString())
    slot = str(prog.strings[stringId]);
  return slot;
}

Value Interp::eval(const Expr &e) {
  line = e.line;
  if (!tick() || bad())
    return {};
  switch (e.kind) {
  case ExprKind::Name:
    return evalName(e);
  case ExprKind::Str:
    return constant(e.id);
  case ExprKind::Int:
    return Value::integer(e.integer);
  case ExprKind::Big:
    return bigInt(e.text);
  case ExprKind::Float:
    return Value::real(e.real);
  case ExprKind::Bool:
    return Value::boolean(e.integer != 0);
  case ExprKind::None:
    return Value::none();
  default:
    break;
  }
  DepthGuard guard(*this);
  if (!guard.ok)
    return {};
  switch (e.kind) {
  case ExprKind::Tuple:
  case ExprKind::List:
  case ExprKind::Dict:
    return evalContainer(e);
  case ExprKind::Attr: {
    Value v = eval(*e.kids[0]);
    line = e.line;
    return bad() ? Value() : getAttr(v, prog.names[e.id], &prog.names[e.id]);
  }
  case ExprKind::Item: {
    Value v = eval(*e.kids[0]);
    Value key = eval(*e.kids[1]);
    line = e.line;
    return bad() ? Value() : getItem(v, key);
  }
  case ExprKind::Slice:
    return evalSlice(e);
  case ExprKind::Call:
    return evalCall(e);
  case ExprKind::Filter:
    return evalFilter(e, nullptr);
  case ExprKind::Test:
    return Value::boolean(evalTest(e));
  case ExprKind::Not: {
    Value v = eval(*e.kids[0]);
    return Value::boolean(!truth(v));
  }
  case ExprKind::Neg:
  case ExprKind::Pos: {
    Value v = eval(*e.kids[0]);
    if (bad())
      return {};
    if (v.isUndefined())
      return failUndefined(v);
    if (!v.isNumber())
      return fail(std::string("bad operand for a sign: ") + typeName(v));
    if (e.kind == ExprKind::Neg)
      return negate(v);
    return v.is(Kind::Bool) ? Value::integer(v.asInt()) : v;
  }
  case ExprKind::Binary:
    return evalBinary(e);
  case ExprKind::Concat:
    return evalConcat(e);
  case ExprKind::Compare:
    return evalCompare(e);
  case ExprKind::And:
  case ExprKind::Or: {
    Value v;
    for (const ExprPtr &kid : e.kids) {
      v = eval(*kid);
      if (bad() || truth(v) == (e.kind == ExprKind::Or))
        break;
    }
    return v;
  }
  case ExprKind::Cond: {
    bool yes = truth(eval(*e.kids[1]));
    if (bad())
      return {};
    if (yes)
      return eval(*e.kids[0]);
    if (e.kids[2])
      return eval(*e.kids[2]);
    return Value();
  }
  default:
    assert(false && "expression kind without evaluation");
    return {};
  }
}

Value Interp::evalName(const Expr &e) {
  if (const Value *v = findVar(e.id))
    return *v;
  int8_t g = globals[e.id];
  if (g >= 0) {
    Value &slot = globalValues[static_cast<size_t>(g)];
    if (!slot.is(Kind::Native)) {
      size_t count;
      const GlobalEntry &entry = globalTable(count)[g];
      slot = Value::object(heap.make<NativeObj>(entry.name, entry.fn));
    }
    return slot;
  }
  return Value::undefined(UndefinedIn::Variable, &prog.names[e.id]);
}

Value Interp::evalContainer(const Expr &e) {
  if (e.kind == ExprKind::Dict) {
    Value d = dict();
    for (size_t i = 0; i < e.kids.size() && !bad(); i += 2) {
      Value key = eval(*e.kids[i]);
      Value value = eval(*e.kids[i + 1]);
      if (bad())
        break;
      if (!hashable(key))
        return fail(std::string("unhashable type: '") + typeName(key) + "'");
      d.as<DictObj>()->set(std::move(key), std::move(value));
    }
    return d;
  }
  std::vector<Value> list;
  list.reserve(e.kids.size());
  for (const ExprPtr &kid : e.kids) {
    list.push_back(eval(*kid));
    if (bad())
      return {};
  }
  return seq(e.kind == ExprKind::Tuple ? SeqKind::Tuple : SeqKind::List, std::move(list));
}

Value Interp::evalSlice(const Expr &e) {
  Value v = eval(*e.kids[0]);
  Value part[3];
  for (int i = 0; i < 3; ++i)
    part[i] = e.kids[static_cast<size_t>(i) + 1] ? eval(*e.kids[static_cast<size_t>(i) + 1]) : Value::none();
  line = e.line;
  return bad() ? Value() : slice(v, part[0], part[1], part[2]);
}

Value Interp::evalBinary(const Expr &e) {
  Value a = eval(*e.kids[0]);
  Value b = eval(*e.kids[1]);
  line = e.line;
  return bad() ? Value() : binary(e.op, a, b);
}

Value Interp::evalConcat(const Expr &e) {
  StrBuilder out(heap);
  for (const ExprPtr &kid : e.kids) {
    Value v = eval(*kid);
    if (bad())
      return {};
    print(out, v);
  }
  tick(out.size() >> 8);
  return bad() ? Value() : out.finish();
}

Value Interp::evalCompare(const Expr &e) {
  Value left = eval(*e.kids[0]);
  for (size_t i = 0; i < e.ops.size(); ++i) {
    Value right = eval(*e.kids[i + 1]);
    line = e.line;
    if (bad() || !compare(e.ops[i], left, right))
      return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
}

bool Interp::evalArgs(const Expr &e, CallArgs &args) {
  args.pos.reserve(e.kids.size());
  for (size_t i = 1; i < e.kids.size(); ++i) {
    args.pos.push_back(eval(*e.kids[i]));
    if (bad())
      return false;
  }
  for (const auto &kw : e.keywords) {
    args.kw.emplace_back(kw.first, eval(*kw.second));
    if (bad())
      return false;
  }
  if (e.starArgs) {
    Value v = eval(*e.starArgs);
    if (bad() || !items(v, args.pos))
      return false;
  }
  if (e.starKeywords) {
    Value v = eval(*e.starKeywords);
    if (!bad() && !v.is(Kind::Dict))
      fail(std::string("argument after ** must be a mapping, not ") + typeName(v));
    if (bad())
      return false;
    for (const auto &entry : v.as<DictObj>()->entries) {
      if (!entry.first.isString()) {
        fail("keywords must be strings");
        return false;
      }
      args.kw.emplace_back(entry.first.as<StrObj>()->bytes, entry.second);
    }
  }
  return true;
}

Value Interp::evalCall(const Expr &e) {
  const Expr &target = *e.kids[0];
  CallArgs args;
  if (target.kind == ExprKind::Attr) {
    // A method: no bound object is needed when the receiver's type has it.
    Value self = eval(*target.kids[0]);
    if (bad())
      return {};
    const char *name = nullptr;
    if (NativeFn fn = method(self, prog.names[target.id], name)) {
      if (!evalArgs(e, args))
        return {};
      line = e.line;
      return fn(*this, self, args);
    }
    line = target.line;
    Value callee = getAttr(self, prog.names[target.id], &prog.names[target.id]);
    if (bad() || !evalArgs(e, args))
      return {};
    line = e.line;
    return call(callee, args);
  }
  Value callee = eval(target);
  if (bad() || !evalArgs(e, args))
    return {};
  line = e.line;
  return call(callee, args);
}

/// `innermost` is the operand of the first filter of a filter block's chain.
Value Interp::evalFilter(const Expr &e, const Value *innermost) {
  DepthGuard guard(*this);
  if (!guard.ok)
    return {};
  const ExprPtr &operand = e.kids[0];
  Value v;
  if (!operand)
    v = innermost ? *innermost : Value();
  else if (innermost && operand->kind == ExprKind::Filter)
    v = evalFilter(*operand, innermost);
  else
    v = eval(*operand);
  CallArgs args;
  if (bad() || !evalArgs(e, args))
    return {};
  line = e.line;
  if (!e.filter)
    return fail("no filter named '" + e.text + "' (unsupported)");
  return e.filter(*this, v, args);
}

bool Interp::evalTest(const Expr &e) {
  Value v = eval(*e.kids[0]);
  CallArgs args;
  if (bad() || !evalArgs(e, args))
    return false;
  line = e.line;
  if (!e.test) {
    fail("no test named '" + e.text + "' (unsupported)");
    return false;
  }
  return e.test(*this, v, args);
}

Value Interp::call(const Value &callee, CallArgs &args) {
  if (!tick() || bad())
    return {};
  DepthGuard guard(*this);
  if (!guard.ok)
    return {};
  switch (callee.kind()) {
  case Kind::Macro:
    return callMacro(*callee.as<MacroObj>(), args);
  case Kind::Native:
    return callee.as<NativeObj>()->fn(*this, callee, args);
  case Kind::Bound:
    return callee.as<BoundObj>()->fn(*this, callee.as<BoundObj>()->self, args);
  case Kind::Loop:
    return loopCall(*callee.as<LoopObj>(), args);
  case Kind::Undefined:
    return failUndefined(callee);
  default:
    return fail(std::string("'") + typeName(callee) + "' object is not callable");
  }
}

} // namespace ingot::chat
