// The parsed form of a template: immutable, shared by all renderings (also of several threads at once).
#pragma once

#include "runtime/chat/Value.h"

#include <memory>

namespace ingot::chat {

using FilterFn = Value (*)(Interp &, const Value &self, CallArgs &);
/// A test answers true or false; an error is recorded in the interpreter.
using TestFn = bool (*)(Interp &, const Value &self, CallArgs &);

enum class ExprKind : uint8_t {
  Name,  // id
  Str,   // id: index into Program::strings
  Int,   // integer
  Big,   // text: decimal digits
  Float, // real
  Bool,  // integer
  None,
  Tuple,
  List,
  Dict,   // kids: key, value, key, value, ...
  Attr,   // kids[0] . names[id]
  Item,   // kids[0] [ kids[1] ]
  Slice,  // kids: object, start, stop, step; null where absent
  Call,   // kids[0] called with kids[1..]
  Filter, // kids[0] | text(kids[1..])
  Test,   // kids[0] is text(kids[1..])
  Not,
  Neg,
  Pos,
  Binary, // op
  Concat,
  Compare, // kids[0] ops[0] kids[1] ops[1] ...
  And,
  Or,
  Cond, // kids: value, condition, else or null
};

enum class Op : uint8_t { Add, Sub, Mul, Div, FloorDiv, Mod, Pow, Eq, Ne, Lt, Le, Gt, Ge, In, NotIn };

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct Expr {
  ExprKind kind;
  Op op = Op::Add;
  uint32_t line = 0;
  uint32_t depth = 1; // height of the tree below; bounded by the parser
  uint32_t id = 0;
  union {
    int64_t integer = 0;
    double real;
  };
  std::string text;
  std::vector<ExprPtr> kids;
  std::vector<Op> ops;
  std::vector<std::pair<std::string, ExprPtr>> keywords;
  ExprPtr starArgs, starKeywords;
  FilterFn filter = nullptr; // null: unknown, an error once it is reached
  TestFn test = nullptr;
};

enum class StmtKind : uint8_t {
  Text,   // id: index into Program::strings
  Output, // value
  For,    // target in value if condition: body else orelse
  If,     // branches, orelse
  Set,    // target = value
  SetBlock,
  Macro,
  CallBlock,   // value: the call; body is the macro named caller
  FilterBlock, // value: a chain of filters around a null innermost operand
  With,
  Scoped, // generation block: a scope of its own, nothing else
  Break,
  Continue,
};

struct Stmt;
using StmtPtr = std::unique_ptr<Stmt>;
using Block = std::vector<StmtPtr>;

/// What can be assigned to: a name, an attribute of a namespace, or a tuple of these.
struct Target {
  enum Kind : uint8_t { Name, Attribute, Tuple } kind = Name;
  uint32_t id = 0;        // name
  uint32_t attribute = 0; // id of the attribute's name
  uint32_t line = 0;
  std::vector<Target> parts;
};

struct Param {
  uint32_t id = 0;
  ExprPtr fallback; // null: none
};

struct Stmt {
  StmtKind kind;
  uint32_t line = 0;
  uint32_t id = 0;
  bool recursive = false;
  bool usesCaller = false, usesKwargs = false, usesVarargs = false;
  Target target;
  ExprPtr value, condition;
  std::vector<Param> params;                       // macro, call block
  std::vector<std::pair<Target, ExprPtr>> assigns; // with
  std::vector<std::pair<ExprPtr, Block>> branches; // if
  Block body, orelse;
};

struct Program {
  std::vector<std::string> names;
  std::vector<std::string> strings; // text and string literals
  Block body;
};

FilterFn findFilter(std::string_view name);
TestFn findTest(std::string_view name);

} // namespace ingot::chat
