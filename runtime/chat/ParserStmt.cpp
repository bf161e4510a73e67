// Statements of the template language (see Parser.h).
#include "runtime/chat/Parser.h"

#include <algorithm>

namespace ingot::chat {

namespace {
struct Nest {
  explicit Nest(int &counter) : n(counter) { ++n; }
  ~Nest() { --n; }
  int &n;
};
StmtPtr makeStmt(StmtKind kind, uint32_t line) {
  auto s = std::make_unique<Stmt>();
  s->kind = kind;
  s->line = line;
  return s;
}
} // namespace

bool Parser::run(std::string &error) {
  bool ok = block(prog.body, {}, {});
  if (ok && !unknown.empty()) {
    fail(unknown[0].second + " (unsupported)", unknown[0].first);
    ok = false;
  }
  error = message;
  return ok && !failed;
}

/// Statements up to a tag whose name is in `ends`; the parser then stands on that name.
bool Parser::block(Block &out, std::initializer_list<std::string_view> ends, std::string_view opener) {
  if (!enter())
    return false;
  Nest nest(nesting);
  uint32_t opened = cur().line;
  for (;;) {
    switch (cur().kind) {
    case Tok::Text: {
      StmtPtr s = makeStmt(StmtKind::Text, cur().line);
      s->id = stringId(cur().text);
      next();
      out.push_back(std::move(s));
      break;
    }
    case Tok::VarBegin: {
      StmtPtr s = makeStmt(StmtKind::Output, cur().line);
      next();
      s->value = tuple(true, false);
      if (!s->value)
        return false;
      if (cur().kind != Tok::VarEnd) {
        fail("expected '}}', got " + describe());
        return false;
      }
      next();
      out.push_back(std::move(s));
      break;
    }
    case Tok::BlockBegin: {
      next();
      if (cur().kind != Tok::Name) {
        fail("expected the name of a tag, got " + describe());
        return false;
      }
      if (std::any_of(ends.begin(), ends.end(), [&](std::string_view e) { return cur().text == e; }))
        return true;
      StmtPtr s = statement();
      if (!s)
        return false;
      out.push_back(std::move(s));
      break;
    }
    default:
      if (ends.size() == 0 && cur().kind == Tok::End)
        return true;
      if (cur().kind == Tok::End)
        fail("the template ends inside a '" + std::string(opener) + "' block opened near line " +
             std::to_string(opened));
      else
        fail("unexpected " + describe());
      return false;
    }
  }
}

bool Parser::blockEnd() {
  if (cur().kind != Tok::BlockEnd) {
    fail("expected '%}', got " + describe());
    return false;
  }
  next();
  return true;
}

StmtPtr Parser::statement() {
  const Token t = cur();
  next();
  if (t.text == "for")
    return parseFor();
  if (t.text == "if")
    return parseIf();
  if (t.text == "set")
    return parseSet();
  if (t.text == "macro")
    return parseMacro();
  if (t.text == "call")
    return parseCallBlock();
  if (t.text == "filter")
    return parseFilterBlock();
  if (t.text == "with")
    return parseWith();
  if (t.text == "generation")
    return parseGeneration();
  if (t.text == "break" || t.text == "continue") {
    if (!loops)
      return fail("'" + t.text + "' outside of a loop", t.line);
    StmtPtr s = makeStmt(t.text == "break" ? StmtKind::Break : StmtKind::Continue, t.line);
    return blockEnd() ? std::move(s) : nullptr;
  }
  static constexpr std::string_view known[] = {"include", "import",     "from",  "extends", "block",
                                               "do",      "autoescape", "trans", "debug"};
  for (std::string_view k : known)
    if (t.text == k)
      return fail("the tag '" + t.text + "' is not supported", t.line);
  return fail("unknown tag '" + t.text + "'", t.line);
}

bool Parser::targetPart(Target &out, bool allowAttribute) {
  if (!enter())
    return false;
  Nest nest(nesting);
  out.line = cur().line;
  if (skipOp("(")) {
    if (!target(out, allowAttribute, false))
      return false;
    return expectOp(")");
  }
  std::string name;
  if (!expectName(name))
    return false;
  static constexpr std::string_view reserved[] = {"true", "True", "false", "False", "none", "None"};
  if (std::find(std::begin(reserved), std::end(reserved), name) != std::end(reserved)) {
    fail("cannot assign to '" + name + "'");
    return false;
  }
  out.id = nameId(name);
  if (!isOp("."))
    return true;
  if (!allowAttribute) {
    fail("cannot assign to an attribute here");
    return false;
  }
  next();
  if (!expectName(name))
    return false;
  out.kind = Target::Attribute;
  out.attribute = nameId(name);
  return true;
}

bool Parser::target(Target &out, bool allowAttribute, bool toIn) {
  if (!targetPart(out, allowAttribute))
    return false;
  if (!isOp(","))
    return true;
  Target all;
  all.kind = Target::Tuple;
  all.line = out.line;
  all.parts.push_back(std::move(out));
  while (skipOp(",")) {
    if (isOp(")") || isOp("=") || (toIn && isName("in")))
      break;
    all.parts.emplace_back();
    if (!targetPart(all.parts.back(), allowAttribute))
      return false;
  }
  out = std::move(all);
  return true;
}

StmtPtr Parser::parseFor() {
  StmtPtr s = makeStmt(StmtKind::For, cur().line);
  s->id = nameId("loop");
  if (!target(s->target, false, true))
    return nullptr;
  if (!skipName("in"))
    return fail("expected 'in', got " + describe());
  s->value = tuple(false, false, "recursive");
  if (!s->value)
    return nullptr;
  if (skipName("if")) {
    s->condition = expression();
    if (!s->condition)
      return nullptr;
  }
  s->recursive = skipName("recursive");
  ++loops;
  bool ok = blockEnd() && block(s->body, {"endfor", "else"}, "for");
  --loops;
  if (!ok)
    return nullptr;
  if (skipName("else") && !(blockEnd() && block(s->orelse, {"endfor"}, "for")))
    return nullptr;
  if (!skipName("endfor"))
    return fail("expected 'endfor'");
  return blockEnd() ? std::move(s) : nullptr;
}

StmtPtr Parser::parseIf() {
  StmtPtr s = makeStmt(StmtKind::If, cur().line);
  size_t known = unknown.size();
  for (;;) {
    ExprPtr test = tuple(false, false);
    if (!test || !blockEnd())
      return nullptr;
    s->branches.emplace_back(std::move(test), Block());
    if (!block(s->branches.back().second, {"elif", "else", "endif"}, "if"))
      return nullptr;
    if (!skipName("elif"))
      break;
  }
  if (skipName("else") && !(blockEnd() && block(s->orelse, {"endif"}, "if")))
    return nullptr;
  if (!skipName("endif"))
    return fail("expected 'endif', got " + describe());
  unknown.resize(known); // reached on some paths only
  return blockEnd() ? std::move(s) : nullptr;
}

StmtPtr Parser::parseSet() {
  StmtPtr s = makeStmt(StmtKind::Set, cur().line);
  if (!target(s->target, true, false))
    return nullptr;
  if (skipOp("=")) {
    s->value = tuple(true, false);
    return s->value && blockEnd() ? std::move(s) : nullptr;
  }
  s->kind = StmtKind::SetBlock;
  ExprPtr chain;
  while (skipOp("|")) {
    chain = filterAt(std::move(chain));
    if (!chain)
      return nullptr;
  }
  s->value = std::move(chain);
  if (!blockEnd() || !block(s->body, {"endset"}, "set"))
    return nullptr;
  next();
  return blockEnd() ? std::move(s) : nullptr;
}

bool Parser::signature(Stmt &macro) {
  if (!expectOp("("))
    return false;
  bool defaults = false;
  while (!isOp(")")) {
    if (!macro.params.empty() && !expectOp(","))
      return false;
    if (isOp(")"))
      break;
    std::string name;
    if (!expectName(name))
      return false;
    Param p;
    p.id = nameId(name);
    for (const Param &other : macro.params)
      if (other.id == p.id) {
        fail("parameter '" + name + "' is given twice");
        return false;
      }
    if (skipOp("=")) {
      p.fallback = expression();
      if (!p.fallback)
        return false;
      defaults = true;
    } else if (defaults) {
      fail("parameter '" + name + "' without default follows one with a default");
      return false;
    }
    macro.params.push_back(std::move(p));
  }
  next();
  return true;
}

StmtPtr Parser::parseMacro() {
  StmtPtr s = makeStmt(StmtKind::Macro, cur().line);
  std::string name;
  if (!expectName(name))
    return nullptr;
  s->id = nameId(name);
  macros.push_back(s.get());
  int outer = loops;
  loops = 0;
  bool ok = signature(*s) && blockEnd() && block(s->body, {"endmacro"}, "macro");
  loops = outer;
  macros.pop_back();
  if (!ok)
    return nullptr;
  next();
  return blockEnd() ? std::move(s) : nullptr;
}

StmtPtr Parser::parseCallBlock() {
  StmtPtr s = makeStmt(StmtKind::CallBlock, cur().line);
  s->id = nameId("caller");
  if (isOp("(") && !signature(*s))
    return nullptr;
  s->value = expression();
  if (!s->value)
    return nullptr;
  if (s->value->kind != ExprKind::Call)
    return fail("expected a call in the 'call' tag", s->line);
  macros.push_back(s.get());
  int outer = loops;
  loops = 0;
  bool ok = blockEnd() && block(s->body, {"endcall"}, "call");
  loops = outer;
  macros.pop_back();
  if (!ok)
    return nullptr;
  next();
  return blockEnd() ? std::move(s) : nullptr;
}

StmtPtr Parser::parseFilterBlock() {
  StmtPtr s = makeStmt(StmtKind::FilterBlock, cur().line);
  ExprPtr chain = filterAt(nullptr);
  while (chain && skipOp("|"))
    chain = filterAt(std::move(chain));
  if (!chain)
    return nullptr;
  s->value = std::move(chain);
  if (!blockEnd() || !block(s->body, {"endfilter"}, "filter"))
    return nullptr;
  next();
  return blockEnd() ? std::move(s) : nullptr;
}

StmtPtr Parser::parseWith() {
  StmtPtr s = makeStmt(StmtKind::With, cur().line);
  while (cur().kind != Tok::BlockEnd) {
    if (!s->assigns.empty() && !expectOp(","))
      return nullptr;
    Target t;
    if (!targetPart(t, false) || !expectOp("="))
      return nullptr;
    ExprPtr e = expression();
    if (!e)
      return nullptr;
    s->assigns.emplace_back(std::move(t), std::move(e));
  }
  if (!blockEnd() || !block(s->body, {"endwith"}, "with"))
    return nullptr;
  next();
  return blockEnd() ? std::move(s) : nullptr;
}

StmtPtr Parser::parseGeneration() {
  StmtPtr s = makeStmt(StmtKind::Scoped, cur().line);
  if (!blockEnd() || !block(s->body, {"endgeneration"}, "generation"))
    return nullptr;
  next();
  return blockEnd() ? std::move(s) : nullptr;
}

} // namespace ingot::chat
