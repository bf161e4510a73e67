// Evaluation of statements, macros and loops (see Interp.h).
#include "runtime/chat/Interp.h"

#include "runtime/chat/Text.h"

#include <algorithm>

namespace ingot::chat {

namespace {
// Strings count their bytes in 32 bits; a larger limit would be meaningless.
constexpr size_t kMaxMemory = size_t(1) << 30;
} // namespace

Interp::Interp(const Program &program, const RenderOptions &options)
    : heap(std::min(options.limits.maxMemoryBytes, kMaxMemory)), prog(program), opts(options),
      constants(program.strings.size()), globals(program.names.size(), -1) {
  size_t count;
  const GlobalEntry *table = globalTable(count);
  for (size_t i = 0; i < program.names.size(); ++i)
    for (size_t g = 0; g < count; ++g)
      if (program.names[i] == table[g].name)
        globals[i] = static_cast<int8_t>(g);
  globalValues.resize(count);
}

Interp::~Interp() = default;

Value Interp::fail(const std::string &message) {
  if (!failed) {
    failed = true;
    failure = Failure::Runtime;
    error = "chat template, line " + std::to_string(line) + ": " + message;
  }
  return {};
}

namespace {
std::string kindName(Kind k) {
  switch (k) {
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
    return "list";
  case Kind::Dict:
    return "dict";
  case Kind::Namespace:
    return "namespace";
  case Kind::Loop:
    return "loop";
  default:
    return "value";
  }
}
} // namespace

Value Interp::failUndefined(const Value &v) {
  if (!v.undefinedName())
    return fail("a missing element or attribute is used (undefined)");
  std::string name = "'" + *v.undefinedName() + "'";
  switch (v.undefinedIn()) {
  case UndefinedIn::Variable:
    return fail(name + " is undefined");
  case UndefinedIn::Attribute:
  case UndefinedIn::Element:
    return fail("'" + kindName(v.undefinedOwner()) + "' object has no attribute " + name);
  case UndefinedIn::Parameter:
    return fail("parameter " + name + " was not given (undefined)");
  }
  return {};
}

Value Interp::raise(std::string message) {
  if (!failed) {
    failed = true;
    failure = Failure::Raised;
    error = std::move(message);
  }
  return {};
}

bool Interp::tooManySteps() {
  fail("too many steps (limit " + std::to_string(opts.limits.maxSteps) + ")");
  return false;
}

bool Interp::run(const nlohmann::ordered_json &vars, Rendered &output) {
  line = 1;
  StrBuilder out(heap);
  sink = &out;
  Ref<ScopeObj> base(heap.make<ScopeObj>(Ref<ScopeObj>()));
  if (vars.is_object()) {
    for (const auto &item : vars.items()) {
      // Only variables that the template names need a value.
      auto it = std::find(prog.names.begin(), prog.names.end(), item.key());
      if (it == prog.names.end())
        continue;
      bool user = std::find(opts.userVariables.begin(), opts.userVariables.end(), item.key()) !=
                  opts.userVariables.end();
      Value v = fromJson(item.value(), user);
      if (bad())
        break;
      setVar(*base, static_cast<uint32_t>(it - prog.names.begin()), std::move(v));
    }
  } else if (!vars.is_null()) {
    fail("the variables are not an object");
  }
  scope = Ref<ScopeObj>(heap.make<ScopeObj>(base));
  if (!bad())
    exec(prog.body);
  if (heap.exhausted && !failed)
    fail("out of memory (limit " + std::to_string(heap.limit >> 20) + " MiB)");
  if (!failed) {
    size_t at = 0;
    auto piece = [&](size_t end, bool user) {
      if (end > at)
        output.segments.push_back({out.bytes.substr(at, end - at), user});
      at = end;
    };
    for (const TaintRange &r : out.taint) {
      piece(r.begin, false);
      piece(r.end, true);
    }
    piece(out.bytes.size(), false);
  }
  sink = nullptr;
  scope = base = Ref<ScopeObj>();
  constants.clear();
  globalValues.clear();
  return !failed;
}

void Interp::setVar(ScopeObj &s, uint32_t id, Value v) {
  for (auto &entry : s.vars)
    if (entry.first == id) {
      entry.second = std::move(v);
      return;
    }
  s.vars.emplace_back(id, std::move(v));
}

const Value *Interp::findVar(uint32_t id) const {
  for (const ScopeObj *s = scope.get(); s; s = s->parent.get())
    for (const auto &entry : s->vars)
      if (entry.first == id)
        return &entry.second;
  return nullptr;
}

void Interp::emit(const Value &v) {
  size_t before = sink->size();
  print(*sink, v);
  tick((sink->size() - before) >> 8);
  if (sink->size() > opts.limits.maxOutputBytes)
    fail("the output is too long (limit " + std::to_string(opts.limits.maxOutputBytes) + " bytes)");
}

Flow Interp::exec(const Block &block) {
  for (const StmtPtr &s : block) {
    Flow flow = exec(*s);
    if (bad())
      return Flow::Normal;
    if (flow != Flow::Normal)
      return flow;
  }
  return Flow::Normal;
}

namespace {
/// Puts a member back when a scope of evaluation ends.
template <class T> struct Restore {
  Restore(T &s, T now) : slot(s), old(std::move(s)) { slot = std::move(now); }
  ~Restore() { slot = std::move(old); }
  T &slot;
  T old;
};
} // namespace

Flow Interp::exec(const Stmt &s) {
  line = s.line;
  if (!tick())
    return Flow::Normal;
  switch (s.kind) {
  case StmtKind::Text: {
    const std::string &text = prog.strings[s.id];
    tick(text.size() >> 8);
    sink->add(text);
    if (sink->size() > opts.limits.maxOutputBytes)
      fail("the output is too long (limit " + std::to_string(opts.limits.maxOutputBytes) + " bytes)");
    return Flow::Normal;
  }
  case StmtKind::Output: {
    Value v = eval(*s.value);
    if (!bad())
      emit(v);
    return Flow::Normal;
  }
  case StmtKind::Break:
    return Flow::Break;
  case StmtKind::Continue:
    return Flow::Continue;
  case StmtKind::Set: {
    Value v = eval(*s.value);
    if (!bad())
      assign(s.target, v);
    return Flow::Normal;
  }
  case StmtKind::Macro:
    setVar(*scope, s.id, Value::object(heap.make<MacroObj>(&s, scope)));
    return Flow::Normal;
  default:
    break;
  }
  DepthGuard guard(*this);
  if (!guard.ok)
    return Flow::Normal;
  switch (s.kind) {
  case StmtKind::If:
    return execIf(s);
  case StmtKind::For:
    return execFor(s);
  case StmtKind::SetBlock:
  case StmtKind::FilterBlock:
    return execCapture(s);
  case StmtKind::CallBlock:
    execCallBlock(s);
    return Flow::Normal;
  case StmtKind::With: {
    Ref<ScopeObj> inner(heap.make<ScopeObj>(scope));
    std::vector<Value> values;
    for (const auto &a : s.assigns) {
      values.push_back(eval(*a.second));
      if (bad())
        return Flow::Normal;
    }
    Restore<Ref<ScopeObj>> restore(scope, inner);
    for (size_t i = 0; i < values.size(); ++i)
      if (!assign(s.assigns[i].first, values[i]))
        return Flow::Normal;
    return exec(s.body);
  }
  case StmtKind::Scoped: {
    Restore<Ref<ScopeObj>> restore(scope, Ref<ScopeObj>(heap.make<ScopeObj>(scope)));
    return exec(s.body);
  }
  default:
    assert(false && "statement kind without execution");
    return Flow::Normal;
  }
}

Flow Interp::execIf(const Stmt &s) {
  for (const auto &branch : s.branches) {
    bool yes = truth(eval(*branch.first));
    if (bad())
      return Flow::Normal;
    if (yes)
      return exec(branch.second);
  }
  return exec(s.orelse);
}

Flow Interp::execCapture(const Stmt &s) {
  StrBuilder text(heap);
  Flow flow;
  {
    Restore<StrBuilder *> to(sink, &text);
    Restore<Ref<ScopeObj>> restore(scope, Ref<ScopeObj>(heap.make<ScopeObj>(scope)));
    flow = exec(s.body);
  }
  if (bad() || flow != Flow::Normal)
    return flow;
  Value v = text.finish();
  if (s.value)
    v = evalFilter(*s.value, &v);
  if (bad())
    return Flow::Normal;
  if (s.kind == StmtKind::SetBlock)
    assign(s.target, v);
  else
    emit(v);
  return Flow::Normal;
}

void Interp::execCallBlock(const Stmt &s) {
  // The call's expression is evaluated with one keyword more: the body as the macro `caller`.
  const Expr &e = *s.value;
  Value callee = eval(*e.kids[0]);
  CallArgs args;
  if (bad() || !evalArgs(e, args))
    return;
  args.kw.emplace_back("caller", Value::object(heap.make<MacroObj>(&s, scope)));
  Value v = call(callee, args);
  if (!bad())
    emit(v);
}

bool Interp::assign(const Target &target, const Value &v) {
  line = target.line;
  switch (target.kind) {
  case Target::Name:
    setVar(*scope, target.id, v);
    return true;
  case Target::Attribute: {
    const Value *ns = findVar(target.id);
    if (!ns || !ns->is(Kind::Namespace)) {
      fail("cannot assign attribute '" + prog.names[target.attribute] + "' on a value that is no namespace");
      return false;
    }
    Value keep = *ns;
    keep.as<DictObj>()->set(str(prog.names[target.attribute]), v);
    return !bad();
  }
  case Target::Tuple: {
    std::vector<Value> parts;
    if (v.isUndefined()) {
      failUndefined(v);
      return false;
    }
    if (!items(v, parts))
      return false;
    if (parts.size() != target.parts.size()) {
      fail("cannot unpack " + std::to_string(parts.size()) + " values into " +
           std::to_string(target.parts.size()));
      return false;
    }
    for (size_t i = 0; i < parts.size(); ++i)
      if (!assign(target.parts[i], parts[i]))
        return false;
    return true;
  }
  }
  return false;
}

Flow Interp::execFor(const Stmt &s) {
  Value iterable = eval(*s.value);
  if (bad())
    return Flow::Normal;
  return runLoop(s, iterable, scope, 0);
}

/// Finds the next item, so that loop.last and loop.nextitem know it.
bool Interp::loopPeek(LoopObj &loop) {
  if (loop.peeked)
    return loop.hasNext;
  loop.peeked = true;
  loop.hasNext = false;
  while (loop.cursor < loop.items.size() && !bad()) {
    Value v = loop.items[loop.cursor++];
    if (!tick())
      return false;
    if (loop.node->condition) {
      Restore<Ref<ScopeObj>> restore(scope, Ref<ScopeObj>(heap.make<ScopeObj>(loop.outer)));
      if (!assign(loop.node->target, v))
        return false;
      bool keep = truth(eval(*loop.node->condition));
      if (bad())
        return false;
      if (!keep)
        continue;
    }
    loop.next = std::move(v);
    return loop.hasNext = true;
  }
  return false;
}

Flow Interp::runLoop(const Stmt &s, const Value &iterable, Ref<ScopeObj> outer, int64_t depth0) {
  LoopObj *loop = heap.make<LoopObj>();
  Value loopValue = Value::object(loop);
  loop->node = &s;
  loop->outer = outer;
  loop->depth0 = depth0;
  if (!items(iterable, loop->items))
    return Flow::Normal;
  heap.charge(loop, loop->items.size() * sizeof(Value));
  bool entered = false;
  Ref<ScopeObj> inner;
  while (!bad() && loopPeek(*loop)) {
    entered = true;
    loop->peeked = false;
    ++loop->index0;
    loop->previous = std::move(loop->current);
    loop->current = std::move(loop->next);
    if (inner && inner->refs == 1)
      inner->vars.clear(); // nothing captured the last iteration's variables
    else
      inner = Ref<ScopeObj>(heap.make<ScopeObj>(outer));
    Restore<Ref<ScopeObj>> restore(scope, inner);
    setVar(*inner, s.id, loopValue); // id of the name `loop`
    if (!assign(s.target, loop->current))
      return Flow::Normal;
    Flow flow = exec(s.body);
    if (bad())
      return Flow::Normal;
    if (flow == Flow::Break)
      break;
  }
  if (inner)
    inner->vars.clear();
  if (bad() || entered)
    return Flow::Normal;
  Restore<Ref<ScopeObj>> restore(scope, Ref<ScopeObj>(heap.make<ScopeObj>(outer)));
  return exec(s.orelse);
}

Value Interp::loopCall(LoopObj &loop, CallArgs &args) {
  if (!loop.node->recursive)
    return fail("the loop is not marked 'recursive', so it cannot be called");
  Value iterable[1];
  if (!bind("loop", args, {"iterable"}, 1, iterable))
    return {};
  StrBuilder text(heap);
  {
    Restore<StrBuilder *> to(sink, &text);
    Restore<Ref<ScopeObj>> restore(scope, loop.outer);
    runLoop(*loop.node, iterable[0], loop.outer, loop.depth0 + 1);
  }
  return bad() ? Value() : text.finish();
}

namespace {
Value loopCycle(Interp &in, const Value &self, CallArgs &args) {
  if (args.pos.empty())
    return in.fail("no items for cycling given");
  return args.pos[static_cast<size_t>(self.as<LoopObj>()->index0) % args.pos.size()];
}
Value loopChanged(Interp &in, const Value &self, CallArgs &args) {
  LoopObj &loop = *self.as<LoopObj>();
  Value now = in.seq(SeqKind::Tuple, args.pos);
  bool changed = loop.lastChanged.isUndefined() || !in.equal(loop.lastChanged, now);
  if (changed)
    loop.lastChanged = now;
  return Value::boolean(changed);
}
} // namespace

Value Interp::loopAttribute(LoopObj &loop, std::string_view name) {
  if (name == "index0")
    return Value::integer(loop.index0);
  if (name == "index")
    return Value::integer(loop.index0 + 1);
  if (name == "first")
    return Value::boolean(loop.index0 == 0);
  if (name == "last")
    return Value::boolean(!loopPeek(loop));
  if (name == "length" || name == "revindex" || name == "revindex0") {
    if (!loop.knowsLength) {
      // With a filter the rest must be filtered now.
      if (loop.node->condition) {
        std::vector<Value> rest;
        while (loopPeek(loop)) {
          rest.push_back(loop.next);
          loop.peeked = false;
        }
        if (bad())
          return {};
        loop.length = loop.index0 + 1 + static_cast<int64_t>(rest.size());
        // From here on the remaining items are given; they passed the filter already and pass it again.
        loop.items = std::move(rest);
        loop.cursor = 0;
        loop.peeked = false;
      } else {
        loop.length = static_cast<int64_t>(loop.items.size());
      }
      loop.knowsLength = true;
    }
    int64_t done = name == "length" ? 0 : name == "revindex" ? loop.index0 : loop.index0 + 1;
    return Value::integer(loop.length - done);
  }
  if (name == "previtem")
    return loop.index0 == 0 ? Value() : loop.previous;
  if (name == "nextitem")
    return loopPeek(loop) ? loop.next : Value();
  if (name == "depth")
    return Value::integer(loop.depth0 + 1);
  if (name == "depth0")
    return Value::integer(loop.depth0);
  if (name == "cycle")
    return Value::object(heap.make<BoundObj>(Value::object(&loop), "cycle", loopCycle));
  if (name == "changed")
    return Value::object(heap.make<BoundObj>(Value::object(&loop), "changed", loopChanged));
  return Value::undefined(UndefinedIn::Attribute, nullptr, Kind::Loop);
}

Value Interp::callMacro(const MacroObj &macro, CallArgs &args) {
  const Stmt &node = *macro.node;
  const std::string &name = prog.names[node.id];
  Ref<ScopeObj> inner(heap.make<ScopeObj>(macro.closure));
  Value keep = Value::object(const_cast<MacroObj *>(&macro)); // the call may drop the last other reference
  size_t given = std::min(args.pos.size(), node.params.size());
  std::vector<Value> bound(node.params.size(), Value::missing());
  for (size_t i = 0; i < given; ++i)
    bound[i] = args.pos[i];
  bool callerIsParam = false;
  Value caller, rest = node.usesKwargs ? dict() : Value();
  for (auto &kw : args.kw) {
    size_t p = given;
    while (p < node.params.size() && prog.names[node.params[p].id] != kw.first)
      ++p;
    if (p < node.params.size()) {
      if (!bound[p].isMissing())
        return fail("macro '" + name + "' got two values for '" + kw.first + "'");
      bound[p] = std::move(kw.second);
      callerIsParam |= kw.first == "caller";
    } else if (kw.first == "caller" && node.usesCaller) {
      caller = std::move(kw.second);
    } else if (node.usesKwargs) {
      rest.as<DictObj>()->set(str(kw.first), std::move(kw.second));
    } else {
      return fail("macro '" + name + "' takes no keyword argument '" + kw.first + "'");
    }
  }
  if (args.pos.size() > node.params.size() && !node.usesVarargs)
    return fail("macro '" + name + "' takes not more than " + std::to_string(node.params.size()) +
                " argument(s)");
  if (bad())
    return {};
  StrBuilder text(heap);
  Restore<Ref<ScopeObj>> restore(scope, inner);
  Restore<StrBuilder *> to(sink, &text);
  for (size_t i = 0; i < bound.size(); ++i) {
    if (bound[i].isMissing()) {
      const Param &p = node.params[i];
      bound[i] = p.fallback ? eval(*p.fallback) : Value::undefined(UndefinedIn::Parameter, &prog.names[p.id]);
      if (bad())
        return {};
    }
    setVar(*inner, node.params[i].id, bound[i]);
  }
  auto special = [&](const char *what, Value v) {
    auto it = std::find(prog.names.begin(), prog.names.end(), what);
    if (it != prog.names.end())
      setVar(*inner, static_cast<uint32_t>(it - prog.names.begin()), std::move(v));
  };
  if (node.usesCaller && !callerIsParam)
    special("caller", caller);
  if (node.usesKwargs)
    special("kwargs", rest);
  if (node.usesVarargs)
    special("varargs",
            seq(SeqKind::Tuple,
                std::vector<Value>(args.pos.begin() + static_cast<ptrdiff_t>(given), args.pos.end())));
  exec(node.body);
  return bad() ? Value() : text.finish();
}

} // namespace ingot::chat
