// Tokens to AST. Refuses by name what the language subset does not have.
//
// Invariants: nesting of the source and height of every expression tree are bounded, so that neither parsing,
// evaluating nor destroying a tree can exhaust the stack. An unknown filter or test is an error here when the
// template reaches it on every path; inside a condition it becomes an error once it is reached, as in Jinja.
#pragma once

#include "runtime/chat/Ast.h"
#include "runtime/chat/Lexer.h"

#include <initializer_list>
#include <unordered_map>

namespace ingot::chat {

class Parser {
public:
  Parser(std::vector<Token> tokens, Program &program) : toks(std::move(tokens)), prog(program) {}
  /// False with `error` ("line N: ...").
  bool run(std::string &error);

private:
  // Statements (ParserStmt.cpp).
  bool block(Block &out, std::initializer_list<std::string_view> ends, std::string_view opener);
  StmtPtr statement();
  StmtPtr parseFor();
  StmtPtr parseIf();
  StmtPtr parseSet();
  StmtPtr parseMacro();
  StmtPtr parseCallBlock();
  StmtPtr parseFilterBlock();
  StmtPtr parseWith();
  StmtPtr parseGeneration();
  bool signature(Stmt &macro);
  bool target(Target &out, bool allowAttribute, bool toIn);
  bool targetPart(Target &out, bool allowAttribute);
  bool blockEnd();

  // Expressions (ParserExpr.cpp); null after an error.
  ExprPtr tuple(bool allowCond, bool parenthesised, std::string_view endName = {});
  ExprPtr expression(bool allowCond = true);
  ExprPtr condition();
  ExprPtr orExpr();
  ExprPtr andExpr();
  ExprPtr notExpr();
  ExprPtr compare();
  ExprPtr math1();
  ExprPtr concat();
  ExprPtr math2();
  ExprPtr power();
  ExprPtr unary(bool withFilter);
  ExprPtr primary();
  ExprPtr postfix(ExprPtr node);
  ExprPtr filters(ExprPtr node);
  ExprPtr filterAt(ExprPtr node); // the current token is the filter's name
  ExprPtr testAt(ExprPtr node);   // the current token is `is`
  ExprPtr subscript(ExprPtr node);
  ExprPtr call(ExprPtr node);
  bool callArgs(Expr &into);

  // Helpers.
  const Token &cur() const { return toks[at]; }
  const Token &ahead() const { return toks[at + 1 < toks.size() ? at + 1 : at]; }
  void next() { at += at + 1 < toks.size(); }
  bool isOp(std::string_view op) const { return cur().kind == Tok::Op && cur().text == op; }
  bool isName(std::string_view name) const { return cur().kind == Tok::Name && cur().text == name; }
  bool skipOp(std::string_view op);
  bool skipName(std::string_view name);
  bool expectOp(std::string_view op);
  bool expectName(std::string &name);
  std::string describe() const;
  ExprPtr make(ExprKind kind, uint32_t line);
  /// Sets the height of `e`; null with an error when the tree is too high.
  ExprPtr done(ExprPtr e);
  std::nullptr_t fail(const std::string &message, uint32_t line = 0);
  bool enter();
  uint32_t nameId(const std::string &name);
  uint32_t stringId(std::string text);
  void noteUnknown(uint32_t line, std::string message) { unknown.emplace_back(line, std::move(message)); }

  std::vector<Token> toks;
  Program &prog;
  size_t at = 0;
  int nesting = 0;
  int loops = 0; // enclosing loops of the current macro or call block
  std::vector<Stmt *> macros;
  std::unordered_map<std::string, uint32_t> nameIds;
  std::vector<std::pair<uint32_t, std::string>> unknown; // filters and tests reached unconditionally
  std::string message;
  bool failed = false;
};

} // namespace ingot::chat
