// Expressions of the template language (see Parser.h). Precedence, lowest first: inline if, or, and, not,
// comparisons, + -, ~, * / // %, **, unary + -, postfix, filters and tests.
#include "runtime/chat/Parser.h"

#include "runtime/chat/Text.h"

#include <algorithm>

namespace ingot::chat {

namespace {
constexpr int kMaxNesting = 150;
constexpr uint32_t kMaxHeight = 400;

struct Nest {
  explicit Nest(int &counter) : n(counter) { ++n; }
  ~Nest() { --n; }
  int &n;
};
} // namespace

std::nullptr_t Parser::fail(const std::string &text, uint32_t line) {
  if (!failed)
    message = "line " + std::to_string(line ? line : cur().line) + ": " + text;
  failed = true;
  return nullptr;
}

bool Parser::enter() {
  if (nesting < kMaxNesting)
    return true;
  fail("nested more than " + std::to_string(kMaxNesting) + " levels deep");
  return false;
}

std::string Parser::describe() const {
  switch (cur().kind) {
  case Tok::End:
    return "the end of the template";
  case Tok::Text:
    return "text";
  case Tok::VarBegin:
    return "'{{'";
  case Tok::VarEnd:
    return "'}}'";
  case Tok::BlockBegin:
    return "'{%'";
  case Tok::BlockEnd:
    return "'%}'";
  case Tok::String:
    return "a string";
  default:
    return "'" + cur().text + "'";
  }
}

bool Parser::skipOp(std::string_view op) {
  bool hit = isOp(op);
  if (hit)
    next();
  return hit;
}
bool Parser::skipName(std::string_view name) {
  bool hit = isName(name);
  if (hit)
    next();
  return hit;
}
bool Parser::expectOp(std::string_view op) {
  if (skipOp(op))
    return true;
  fail("expected '" + std::string(op) + "', got " + describe());
  return false;
}
bool Parser::expectName(std::string &name) {
  if (cur().kind != Tok::Name) {
    fail("expected a name, got " + describe());
    return false;
  }
  name = cur().text;
  next();
  return true;
}

uint32_t Parser::nameId(const std::string &name) {
  auto [it, fresh] = nameIds.emplace(name, static_cast<uint32_t>(prog.names.size()));
  if (fresh)
    prog.names.push_back(name);
  return it->second;
}
uint32_t Parser::stringId(std::string text) {
  prog.strings.push_back(std::move(text));
  return static_cast<uint32_t>(prog.strings.size() - 1);
}

ExprPtr Parser::make(ExprKind kind, uint32_t line) {
  auto e = std::make_unique<Expr>();
  e->kind = kind;
  e->line = line;
  return e;
}

ExprPtr Parser::done(ExprPtr e) {
  if (failed)
    return nullptr;
  uint32_t below = 0;
  auto look = [&](const ExprPtr &kid) {
    if (kid)
      below = std::max(below, kid->depth);
  };
  for (const ExprPtr &kid : e->kids)
    look(kid);
  for (const auto &kw : e->keywords)
    look(kw.second);
  look(e->starArgs);
  look(e->starKeywords);
  e->depth = below + 1;
  if (e->depth > kMaxHeight)
    return fail("expression of more than " + std::to_string(kMaxHeight) + " chained operations");
  return e;
}

/// An expression, or several with commas between them as a tuple. `endName` also ends it.
ExprPtr Parser::tuple(bool allowCond, bool parenthesised, std::string_view endName) {
  uint32_t line = cur().line;
  std::vector<ExprPtr> items;
  bool isTuple = false;
  for (;;) {
    if (cur().kind == Tok::VarEnd || cur().kind == Tok::BlockEnd || isOp(")") ||
        (!endName.empty() && isName(endName)))
      break;
    ExprPtr e = expression(allowCond);
    if (!e)
      return nullptr;
    items.push_back(std::move(e));
    if (!skipOp(","))
      break;
    isTuple = true;
  }
  if (!isTuple && !items.empty())
    return std::move(items[0]);
  if (items.empty() && !parenthesised)
    return fail("expected an expression, got " + describe());
  ExprPtr t = make(ExprKind::Tuple, line);
  t->kids = std::move(items);
  return done(std::move(t));
}

ExprPtr Parser::expression(bool allowCond) {
  if (!enter())
    return nullptr;
  Nest nest(nesting);
  return allowCond ? condition() : orExpr();
}

ExprPtr Parser::condition() {
  uint32_t line = cur().line;
  size_t known = unknown.size();
  ExprPtr e = orExpr();
  while (e && isName("if")) {
    next();
    ExprPtr test = orExpr();
    if (!test)
      return nullptr;
    ExprPtr other;
    if (skipName("else")) {
      if (!enter())
        return nullptr;
      Nest nest(nesting);
      other = condition();
      if (!other)
        return nullptr;
    }
    unknown.resize(known); // what stands in a condition counts once it is reached
    ExprPtr c = make(ExprKind::Cond, line);
    c->kids.push_back(std::move(e));
    c->kids.push_back(std::move(test));
    c->kids.push_back(std::move(other));
    e = done(std::move(c));
  }
  return e;
}

ExprPtr Parser::orExpr() {
  uint32_t line = cur().line;
  ExprPtr e = andExpr();
  if (!e || !isName("or"))
    return e;
  ExprPtr all = make(ExprKind::Or, line);
  all->kids.push_back(std::move(e));
  while (skipName("or")) {
    ExprPtr kid = andExpr();
    if (!kid)
      return nullptr;
    all->kids.push_back(std::move(kid));
  }
  return done(std::move(all));
}

ExprPtr Parser::andExpr() {
  uint32_t line = cur().line;
  ExprPtr e = notExpr();
  if (!e || !isName("and"))
    return e;
  ExprPtr all = make(ExprKind::And, line);
  all->kids.push_back(std::move(e));
  while (skipName("and")) {
    ExprPtr kid = notExpr();
    if (!kid)
      return nullptr;
    all->kids.push_back(std::move(kid));
  }
  return done(std::move(all));
}

ExprPtr Parser::notExpr() {
  if (!isName("not"))
    return compare();
  if (!enter())
    return nullptr;
  Nest nest(nesting);
  ExprPtr n = make(ExprKind::Not, cur().line);
  next();
  ExprPtr kid = notExpr();
  if (!kid)
    return nullptr;
  n->kids.push_back(std::move(kid));
  return done(std::move(n));
}

ExprPtr Parser::compare() {
  static constexpr std::pair<std::string_view, Op> ops[] = {{"==", Op::Eq}, {"!=", Op::Ne}, {"<", Op::Lt},
                                                            {"<=", Op::Le}, {">", Op::Gt},  {">=", Op::Ge}};
  uint32_t line = cur().line;
  ExprPtr e = math1();
  ExprPtr chain;
  if (!e)
    return nullptr;
  for (;;) {
    Op op;
    const auto *hit =
        std::find_if(std::begin(ops), std::end(ops), [&](const auto &o) { return isOp(o.first); });
    if (hit != std::end(ops)) {
      op = hit->second;
      next();
    } else if (skipName("in")) {
      op = Op::In;
    } else if (isName("not") && ahead().kind == Tok::Name && ahead().text == "in") {
      op = Op::NotIn;
      next();
      next();
    } else {
      break;
    }
    ExprPtr right = math1();
    if (!right)
      return nullptr;
    if (!chain) {
      chain = make(ExprKind::Compare, line);
      chain->kids.push_back(std::move(e));
    }
    chain->ops.push_back(op);
    chain->kids.push_back(std::move(right));
  }
  return chain ? done(std::move(chain)) : std::move(e);
}

ExprPtr Parser::math1() {
  ExprPtr e = concat();
  while (e && (isOp("+") || isOp("-"))) {
    ExprPtr b = make(ExprKind::Binary, cur().line);
    b->op = isOp("+") ? Op::Add : Op::Sub;
    next();
    ExprPtr right = concat();
    if (!right)
      return nullptr;
    b->kids.push_back(std::move(e));
    b->kids.push_back(std::move(right));
    e = done(std::move(b));
  }
  return e;
}

ExprPtr Parser::concat() {
  uint32_t line = cur().line;
  ExprPtr e = math2();
  if (!e || !isOp("~"))
    return e;
  ExprPtr all = make(ExprKind::Concat, line);
  all->kids.push_back(std::move(e));
  while (skipOp("~")) {
    ExprPtr kid = math2();
    if (!kid)
      return nullptr;
    all->kids.push_back(std::move(kid));
  }
  return done(std::move(all));
}

ExprPtr Parser::math2() {
  static constexpr std::pair<std::string_view, Op> ops[] = {
      {"*", Op::Mul}, {"/", Op::Div}, {"//", Op::FloorDiv}, {"%", Op::Mod}};
  ExprPtr e = power();
  while (e) {
    const auto *hit =
        std::find_if(std::begin(ops), std::end(ops), [&](const auto &o) { return isOp(o.first); });
    if (hit == std::end(ops))
      break;
    ExprPtr b = make(ExprKind::Binary, cur().line);
    b->op = hit->second;
    next();
    ExprPtr right = power();
    if (!right)
      return nullptr;
    b->kids.push_back(std::move(e));
    b->kids.push_back(std::move(right));
    e = done(std::move(b));
  }
  return e;
}

ExprPtr Parser::power() {
  ExprPtr e = unary(true);
  while (e && isOp("**")) {
    ExprPtr b = make(ExprKind::Binary, cur().line);
    b->op = Op::Pow;
    next();
    ExprPtr right = unary(true);
    if (!right)
      return nullptr;
    b->kids.push_back(std::move(e));
    b->kids.push_back(std::move(right));
    e = done(std::move(b));
  }
  return e;
}

ExprPtr Parser::unary(bool withFilter) {
  ExprPtr e;
  if (isOp("-") || isOp("+")) {
    if (!enter())
      return nullptr;
    Nest nest(nesting);
    ExprPtr n = make(isOp("-") ? ExprKind::Neg : ExprKind::Pos, cur().line);
    next();
    ExprPtr kid = unary(false);
    if (!kid)
      return nullptr;
    n->kids.push_back(std::move(kid));
    e = done(std::move(n));
  } else {
    e = primary();
  }
  e = postfix(std::move(e));
  return withFilter ? filters(std::move(e)) : std::move(e);
}

ExprPtr Parser::primary() {
  const Token t = cur();
  ExprPtr e;
  switch (t.kind) {
  case Tok::Name:
    next();
    if (t.text == "true" || t.text == "True" || t.text == "false" || t.text == "False") {
      e = make(ExprKind::Bool, t.line);
      e->integer = t.text == "true" || t.text == "True";
      return e;
    }
    if (t.text == "none" || t.text == "None")
      return make(ExprKind::None, t.line);
    e = make(ExprKind::Name, t.line);
    e->id = nameId(t.text);
    for (Stmt *macro : macros) {
      macro->usesCaller |= t.text == "caller";
      macro->usesKwargs |= t.text == "kwargs";
      macro->usesVarargs |= t.text == "varargs";
    }
    return e;
  case Tok::String: {
    std::string text;
    for (; cur().kind == Tok::String; next())
      text += cur().text;
    e = make(ExprKind::Str, t.line);
    e->id = stringId(std::move(text));
    return e;
  }
  case Tok::Int: {
    next();
    int64_t value = 0;
    bool big = false;
    std::string text;
    if (!parseInt(t.text, 10, value, big, text))
      return fail("bad number '" + t.text + "'", t.line);
    e = make(big ? ExprKind::Big : ExprKind::Int, t.line);
    e->integer = value;
    e->text = std::move(text);
    return e;
  }
  case Tok::Float: {
    next();
    double value = 0;
    if (!parseFloat(t.text, value))
      return fail("bad number '" + t.text + "'", t.line);
    e = make(ExprKind::Float, t.line);
    e->real = value;
    return e;
  }
  case Tok::Op:
    break;
  default:
    return fail("expected an expression, got " + describe());
  }
  if (skipOp("(")) {
    e = tuple(true, true);
    return e && expectOp(")") ? std::move(e) : nullptr;
  }
  if (isOp("[") || isOp("{")) {
    bool dict = isOp("{");
    const char *close = dict ? "}" : "]";
    e = make(dict ? ExprKind::Dict : ExprKind::List, t.line);
    next();
    while (!isOp(close)) {
      if (!e->kids.empty() && !expectOp(","))
        return nullptr;
      if (isOp(close))
        break;
      ExprPtr item = expression();
      if (!item)
        return nullptr;
      e->kids.push_back(std::move(item));
      if (!dict)
        continue;
      if (!expectOp(":"))
        return nullptr;
      item = expression();
      if (!item)
        return nullptr;
      e->kids.push_back(std::move(item));
    }
    next();
    return done(std::move(e));
  }
  return fail("expected an expression, got " + describe());
}

ExprPtr Parser::postfix(ExprPtr node) {
  while (node) {
    if (isOp(".") || isOp("["))
      node = subscript(std::move(node));
    else if (isOp("("))
      node = call(std::move(node));
    else
      break;
  }
  return node;
}

ExprPtr Parser::filters(ExprPtr node) {
  while (node) {
    if (skipOp("|"))
      node = filterAt(std::move(node));
    else if (isName("is"))
      node = testAt(std::move(node));
    else if (isOp("("))
      node = call(std::move(node));
    else
      break;
  }
  return node;
}

ExprPtr Parser::filterAt(ExprPtr node) {
  ExprPtr f = make(ExprKind::Filter, cur().line);
  std::string part;
  if (!expectName(f->text))
    return nullptr;
  while (skipOp(".")) {
    if (!expectName(part))
      return nullptr;
    f->text += "." + part;
  }
  f->filter = findFilter(f->text);
  if (!f->filter)
    noteUnknown(f->line, "no filter named '" + f->text + "'");
  f->kids.push_back(std::move(node));
  if (isOp("(") && !callArgs(*f))
    return nullptr;
  return done(std::move(f));
}

ExprPtr Parser::testAt(ExprPtr node) {
  uint32_t line = cur().line;
  next();
  bool negated = skipName("not");
  ExprPtr t = make(ExprKind::Test, line);
  std::string part;
  if (!expectName(t->text))
    return nullptr;
  while (skipOp(".")) {
    if (!expectName(part))
      return nullptr;
    t->text += "." + part;
  }
  t->test = findTest(t->text);
  if (!t->test)
    noteUnknown(line, "no test named '" + t->text + "'");
  t->kids.push_back(std::move(node));
  Tok k = cur().kind;
  if (isOp("(")) {
    if (!callArgs(*t))
      return nullptr;
  } else if ((k == Tok::Name && !isName("else") && !isName("or") && !isName("and")) || k == Tok::String ||
             k == Tok::Int || k == Tok::Float || isOp("[") || isOp("{")) {
    if (isName("is"))
      return fail("tests cannot be chained with 'is'");
    // `is defined if ...`, `is string in ...`: these names never begin an argument that can be meant.
    if (!isName("if") && !isName("in") && !isName("not")) {
      ExprPtr arg = postfix(primary());
      if (!arg)
        return nullptr;
      t->kids.push_back(std::move(arg));
    }
  }
  t = done(std::move(t));
  if (!t || !negated)
    return t;
  ExprPtr n = make(ExprKind::Not, line);
  n->kids.push_back(std::move(t));
  return done(std::move(n));
}

ExprPtr Parser::subscript(ExprPtr node) {
  uint32_t line = cur().line;
  if (skipOp(".")) {
    if (cur().kind == Tok::Name) {
      ExprPtr a = make(ExprKind::Attr, line);
      a->id = nameId(cur().text);
      next();
      a->kids.push_back(std::move(node));
      return done(std::move(a));
    }
    if (cur().kind != Tok::Int)
      return fail("expected a name or a number after '.', got " + describe());
    ExprPtr index = primary();
    if (!index)
      return nullptr;
    ExprPtr i = make(ExprKind::Item, line);
    i->kids.push_back(std::move(node));
    i->kids.push_back(std::move(index));
    return done(std::move(i));
  }
  next(); // [
  ExprPtr parts[3];
  bool slice = false;
  for (int n = 0;; ++n) {
    if (isOp("]"))
      break;
    if (!isOp(":") && !isOp(",")) {
      parts[n] = expression();
      if (!parts[n])
        return nullptr;
    }
    if (n == 2 || !skipOp(":"))
      break;
    slice = true;
  }
  if (!slice && isOp(",") && parts[0]) {
    ExprPtr t = make(ExprKind::Tuple, line);
    t->kids.push_back(std::move(parts[0]));
    while (skipOp(",") && !isOp("]")) {
      ExprPtr item = expression();
      if (!item)
        return nullptr;
      t->kids.push_back(std::move(item));
    }
    parts[0] = done(std::move(t));
  }
  if (!expectOp("]"))
    return nullptr;
  if (!slice && !parts[0])
    return fail("expected an index", line);
  ExprPtr i = make(slice ? ExprKind::Slice : ExprKind::Item, line);
  i->kids.push_back(std::move(node));
  for (int n = 0; n < (slice ? 3 : 1); ++n)
    i->kids.push_back(std::move(parts[n]));
  return done(std::move(i));
}

ExprPtr Parser::call(ExprPtr node) {
  ExprPtr c = make(ExprKind::Call, cur().line);
  c->kids.push_back(std::move(node));
  if (!callArgs(*c))
    return nullptr;
  return done(std::move(c));
}

/// The current token is "(". Positional arguments go behind `into.kids[0]`.
bool Parser::callArgs(Expr &into) {
  next();
  bool first = true;
  while (!isOp(")")) {
    if (!first && !expectOp(","))
      return false;
    first = false;
    if (isOp(")"))
      break;
    if (skipOp("*")) {
      if (into.starArgs || into.starKeywords) {
        fail("bad order of arguments");
        return false;
      }
      into.starArgs = expression();
    } else if (skipOp("**")) {
      if (into.starKeywords) {
        fail("bad order of arguments");
        return false;
      }
      into.starKeywords = expression();
    } else if (cur().kind == Tok::Name && ahead().kind == Tok::Op && ahead().text == "=") {
      std::string name = cur().text;
      next();
      next();
      if (into.starKeywords) {
        fail("bad order of arguments");
        return false;
      }
      for (const auto &kw : into.keywords)
        if (kw.first == name)
          fail("argument '" + name + "' is given twice");
      ExprPtr e = expression();
      if (!e)
        return false;
      into.keywords.emplace_back(std::move(name), std::move(e));
    } else {
      if (!into.keywords.empty() || into.starArgs || into.starKeywords) {
        fail("positional argument behind keyword arguments");
        return false;
      }
      ExprPtr e = expression();
      if (!e)
        return false;
      into.kids.push_back(std::move(e));
    }
    if (failed)
      return false;
  }
  next();
  return true;
}

} // namespace ingot::chat
