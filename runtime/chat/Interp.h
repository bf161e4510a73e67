// One rendering: evaluates a Program. Not shared between threads.
//
// Errors: the first one is kept; every function may be called after an error and then returns quickly with
// some harmless value. Loops and calls check bad() so that a failed rendering ends at once.
#pragma once

#include "runtime/chat/Ast.h"
#include "runtime/chat/Template.h"

namespace ingot::chat {

/// How a statement ended.
enum class Flow : uint8_t { Normal, Break, Continue };

class Interp {
public:
  Interp(const Program &program, const RenderOptions &options);
  ~Interp();

  /// Renders into `output`; false with `error` and `failure`.
  bool run(const nlohmann::ordered_json &vars, Rendered &output);

  // --- Errors and limits ---
  bool bad() const { return failed || heap.exhausted; }
  /// Records an error at the current line and returns an undefined value.
  Value fail(const std::string &message);
  /// Records the error of using an undefined value.
  Value failUndefined(const Value &v);
  Value raise(std::string message);
  /// Counts work; false once the limit is passed.
  bool tick(uint64_t n = 1) {
    steps += n;
    return steps <= opts.limits.maxSteps || tooManySteps();
  }

  // --- Making values ---
  Value str(std::string_view text, bool tainted = false);
  Value substr(const StrObj &s, size_t beginByte, size_t endByte);
  Value seq(SeqKind kind, std::vector<Value> items);
  Value dict();
  Value bigInt(std::string decimal);
  Value fromJson(const nlohmann::ordered_json &json, bool tainted, unsigned depth = 0);

  // --- Python semantics (Operators.cpp, Print.cpp) ---
  bool truth(const Value &v);
  bool equal(const Value &a, const Value &b, unsigned depth = 0);
  /// a < b; fails on types without an order.
  bool less(const Value &a, const Value &b, unsigned depth = 0);
  bool contains(const Value &container, const Value &item);
  Value binary(Op op, const Value &a, const Value &b);
  bool compare(Op op, const Value &a, const Value &b);
  Value negate(const Value &v);
  /// len(v); false after an error.
  bool length(const Value &v, int64_t &out);
  /// All items that iterating over `v` gives; consumes generators.
  bool items(const Value &v, std::vector<Value> &out);
  bool isIterable(const Value &v) const;
  bool hashable(const Value &v, unsigned depth = 0) const;
  Value getAttr(const Value &v, std::string_view name, const std::string *programName);
  Value getItem(const Value &v, const Value &key);
  /// The method `name` of v's type or null; an error if it would change v and templates must not.
  NativeFn method(const Value &v, std::string_view name, const char *&stableName);
  Value slice(const Value &v, const Value &start, const Value &stop, const Value &step);
  void print(StrBuilder &out, const Value &v); // str(v)
  void repr(StrBuilder &out, const Value &v, unsigned depth = 0);
  Value toStr(const Value &v); // str(v) as a value; a string is returned as it is
  void dumpJson(StrBuilder &out, const Value &v, const struct JsonStyle &style, unsigned depth = 0);
  Value call(const Value &callee, CallArgs &args);
  /// Follows a path such as "a.b.0" (or an integer), as the `attribute` of filters.
  Value attributePath(const Value &v, const Value &path);
  Value formatPercent(const StrObj &format, const Value &arg);
  Value formatBraces(const StrObj &format, CallArgs &args);
  Value strftimeNow(std::string_view format);
  static const char *typeName(const Value &v);

  /// Binds arguments to `names`; unset ones are Missing. The first `required` must be there.
  bool bind(const char *function, CallArgs &args, std::initializer_list<const char *> names, size_t required,
            Value *out);
  /// Reads an int argument, or the default when it is missing.
  bool intArg(const char *function, const Value &v, int64_t fallback, int64_t &out);

  // Loop variable.
  Value loopAttribute(LoopObj &loop, std::string_view name);

  Heap heap;
  const Program &prog;
  const RenderOptions &opts;
  std::string error;
  Failure failure = Failure::None;

private:
  friend struct DepthGuard;
  struct Undo;
  bool tooManySteps();

  Value eval(const Expr &e);
  Value evalName(const Expr &e);
  Value evalCall(const Expr &e);
  Value evalFilter(const Expr &e, const Value *innermost);
  bool evalTest(const Expr &e);
  Value evalCompare(const Expr &e);
  Value evalConcat(const Expr &e);
  Value evalContainer(const Expr &e);
  Value evalSlice(const Expr &e);
  Value evalBinary(const Expr &e);
  Value constant(uint32_t stringId);
  bool evalArgs(const Expr &e, CallArgs &args);
  Value callMacro(const MacroObj &macro, CallArgs &args);

  Flow exec(const Block &block);
  Flow exec(const Stmt &s);
  Flow execIf(const Stmt &s);
  Flow execFor(const Stmt &s);
  Flow runLoop(const Stmt &s, const Value &iterable, Ref<ScopeObj> outer, int64_t depth);
  Flow execCapture(const Stmt &s); // set block, filter block
  void execCallBlock(const Stmt &s);
  bool loopPeek(LoopObj &loop);
  bool assign(const Target &target, const Value &v);
  void setVar(ScopeObj &scope, uint32_t id, Value v);
  const Value *findVar(uint32_t id) const;
  void emit(const Value &v);
  Value loopCall(LoopObj &loop, CallArgs &args);

  Ref<ScopeObj> scope;
  StrBuilder *sink = nullptr;
  std::vector<Value> constants; // string literals, made on first use
  std::vector<int8_t> globals;  // per name: index of the global function or -1
  std::vector<Value> globalValues;
  uint32_t line = 0;
  uint32_t depth = 0;
  uint64_t steps = 0;
  bool failed = false;
};

struct JsonStyle {
  bool ensureAscii = false, sortKeys = false, pretty = false;
  std::string indent, itemSeparator = ", ", keySeparator = ": ";
};

/// Counts nested evaluation; `ok` is false (and the rendering failed) when it is too deep.
struct DepthGuard {
  explicit DepthGuard(Interp &i);
  ~DepthGuard() { --interp.depth; }
  Interp &interp;
  bool ok;
};

/// Methods of the built-in types; null if the type has none of that name.
NativeFn findMethod(const Value &v, std::string_view name, const char *&stableName);
/// True for methods that change their list or dictionary.
bool isMutator(const Value &v, std::string_view name);
/// True for methods that Python's type has and this language leaves out.
bool isLeftOutMethod(const Value &v, std::string_view name);

/// Global functions, by index.
struct GlobalEntry {
  const char *name;
  NativeFn fn;
};
const GlobalEntry *globalTable(size_t &count);

/// Maximal nesting of lists and dictionaries in anything that walks them.
constexpr unsigned kMaxNested = 200;

} // namespace ingot::chat
