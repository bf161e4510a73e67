// Values of the template language: what Python objects a chat template can touch, and no more.
//
// Invariants:
// - Every heap object belongs to the Heap of one rendering and is counted against its byte limit; reference
//   counts are not atomic, so a Value never leaves the thread and the rendering that made it.
// - Strings are valid UTF-8; indices seen by templates count code points, `taint` ranges count bytes.
// - Taint ranges are sorted, disjoint, non-empty: the bytes that came from the user's messages.
// - Destroying a deeply nested value never recurses (Heap::release drains a list).
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ingot::chat {

class Heap;
class Interp;
class Value;
struct Stmt;
struct CallArgs;

enum class Kind : uint8_t {
  Missing,   // internal: an argument that was not passed
  Undefined, // a missing variable, key or attribute
  None,
  Bool,
  Int,
  Float,
  // heap objects from here on
  BigInt, // an integer outside 64 bits, kept as its decimal text
  String,
  Seq,
  Dict,
  Range,
  Namespace,
  Macro,
  Native,
  Bound,
  Loop,
  Scope, // never the kind of a Value
};

struct Object {
  uint32_t refs = 0;
  Kind kind;
  size_t charged = 0;
  Heap *heap = nullptr;
  Object *prev = nullptr, *next = nullptr;

  explicit Object(Kind k) : kind(k) {}
  Object(const Object &) = delete;
  Object &operator=(const Object &) = delete;
  virtual ~Object() = default;
  /// Drops every reference to other objects (breaks cycles when a rendering ends).
  virtual void clear() {}
};

/// Owner and byte accountant of all objects of one rendering.
class Heap {
public:
  explicit Heap(size_t limitBytes) : limit(limitBytes) {}
  Heap(const Heap &) = delete;
  Heap &operator=(const Heap &) = delete;
  ~Heap();

  template <class T, class... A> T *make(A &&...args) {
    T *object = new T(std::forward<A>(args)...);
    adopt(object, sizeof(T) + 16);
    return object;
  }
  /// Counts `bytes` more; false (and `exhausted` for good) when the limit is passed.
  bool charge(size_t bytes) {
    live += bytes;
    if (live > limit)
      exhausted = true;
    return !exhausted;
  }
  void uncharge(size_t bytes) { live -= bytes; }
  bool charge(Object *object, size_t bytes) {
    object->charged += bytes;
    return charge(bytes);
  }
  /// True when `bytes` more would fit; otherwise the heap counts as exhausted.
  bool room(size_t bytes) {
    if (bytes > limit || live > limit - bytes)
      exhausted = true;
    return !exhausted;
  }
  void release(Object *object);

  size_t live = 0;
  size_t limit;
  bool exhausted = false;

private:
  void adopt(Object *object, size_t bytes);
  void destroy(Object *object);
  Object *first = nullptr;
  std::vector<Object *> pending;
  bool draining = false;
};

/// A counted pointer to a heap object.
template <class T> class Ref {
public:
  Ref() = default;
  Ref(T *object) : ptr(object) { retain(); }
  Ref(const Ref &other) : ptr(other.ptr) { retain(); }
  Ref(Ref &&other) noexcept : ptr(other.ptr) { other.ptr = nullptr; }
  ~Ref() { drop(); }
  Ref &operator=(Ref other) noexcept {
    std::swap(ptr, other.ptr);
    return *this;
  }
  T *get() const { return ptr; }
  T *operator->() const { return ptr; }
  T &operator*() const { return *ptr; }
  explicit operator bool() const { return ptr != nullptr; }

private:
  void retain() {
    if (ptr)
      ++ptr->refs;
  }
  void drop() {
    if (ptr && --ptr->refs == 0)
      ptr->heap->release(ptr);
  }
  T *ptr = nullptr;
};

/// What an undefined value was looked up in; only for messages.
enum class UndefinedIn : uint8_t { Variable, Attribute, Element, Parameter };

class Value {
public:
  Value() { u.i = 0; }
  Value(const Value &other) : kindField(other.kindField), flavor(other.flavor), u(other.u) { retain(); }
  Value(Value &&other) noexcept : kindField(other.kindField), flavor(other.flavor), u(other.u) {
    other.kindField = Kind::Undefined;
    other.u.i = 0;
  }
  ~Value() { drop(); }
  Value &operator=(const Value &other) {
    Value copy(other);
    swap(copy);
    return *this;
  }
  Value &operator=(Value &&other) noexcept {
    Value moved(std::move(other));
    swap(moved);
    return *this;
  }
  void swap(Value &other) noexcept {
    std::swap(kindField, other.kindField);
    std::swap(flavor, other.flavor);
    std::swap(u, other.u);
  }

  static Value missing() { return Value(Kind::Missing); }
  /// `name` must outlive the rendering (names in the program) or be null.
  static Value undefined(UndefinedIn where, const std::string *name, Kind owner = Kind::Undefined) {
    Value v(Kind::Undefined);
    v.flavor = static_cast<uint16_t>(static_cast<unsigned>(where) | (static_cast<unsigned>(owner) << 8));
    v.u.name = name;
    return v;
  }
  static Value none() { return Value(Kind::None); }
  static Value boolean(bool b) {
    Value v(Kind::Bool);
    v.u.i = b;
    return v;
  }
  static Value integer(int64_t i) {
    Value v(Kind::Int);
    v.u.i = i;
    return v;
  }
  static Value real(double d) {
    Value v(Kind::Float);
    v.u.d = d;
    return v;
  }
  static Value object(Object *o) {
    Value v(o->kind);
    v.u.o = o;
    ++o->refs;
    return v;
  }

  Kind kind() const { return kindField; }
  bool is(Kind k) const { return kindField == k; }
  bool isUndefined() const { return kindField == Kind::Undefined; }
  bool isNone() const { return kindField == Kind::None; }
  bool isMissing() const { return kindField == Kind::Missing; }
  bool isString() const { return kindField == Kind::String; }
  /// Bool and Int: Python's bool is an int.
  bool isIntegral() const { return kindField == Kind::Int || kindField == Kind::Bool; }
  bool isNumber() const { return isIntegral() || kindField == Kind::Float || kindField == Kind::BigInt; }
  bool asBool() const { return u.i != 0; }
  int64_t asInt() const { return u.i; }
  double asFloat() const { return u.d; }
  const std::string *undefinedName() const { return u.name; }
  UndefinedIn undefinedIn() const { return static_cast<UndefinedIn>(flavor & 0xff); }
  Kind undefinedOwner() const { return static_cast<Kind>(flavor >> 8); }
  Object *asObject() const { return u.o; }
  template <class T> T *as() const {
    assert(isObject());
    return static_cast<T *>(u.o);
  }
  bool isObject() const { return kindField >= Kind::BigInt; }

private:
  explicit Value(Kind k) : kindField(k) { u.i = 0; }
  void retain() {
    if (isObject())
      ++u.o->refs;
  }
  void drop() {
    if (isObject() && --u.o->refs == 0)
      u.o->heap->release(u.o);
  }
  Kind kindField = Kind::Undefined;
  uint16_t flavor = 0;
  union {
    int64_t i;
    double d;
    Object *o;
    const std::string *name;
  } u;
};

struct TaintRange {
  uint32_t begin, end; // bytes
};

struct BigIntObj : Object {
  explicit BigIntObj(std::string t) : Object(Kind::BigInt), text(std::move(t)) {}
  std::string text; // [-]digits, no leading zeros, |value| >= 2^63
};

struct StrObj : Object {
  StrObj() : Object(Kind::String) {}
  std::string bytes;
  std::vector<TaintRange> taint;
  size_t points = 0;   // code points
  bool markup = false; // result of `safe` or `escape`: `+` escapes the other operand
  bool ascii() const { return points == bytes.size(); }
  std::string_view view() const { return bytes; }
  bool taintedAt(size_t byte) const;
};

enum class SeqKind : uint8_t { List, Tuple, Generator, Keys, Values, Items };

struct SeqObj : Object {
  explicit SeqObj(SeqKind k) : Object(Kind::Seq), seq(k) {}
  SeqKind seq;
  std::vector<Value> items;
  size_t taken = 0; // generators: how many items were handed out
  void clear() override { items.clear(); }
};

/// An ordered mapping; keys compare as in Python (1 == 1.0 == true). Also the store of a namespace.
struct DictObj : Object {
  explicit DictObj(Kind k = Kind::Dict) : Object(k) {}
  std::vector<std::pair<Value, Value>> entries;
  const Value *find(std::string_view key) const;
  /// Index of `key`, or -1. The key must be hashable (see Interp::hashable).
  ptrdiff_t indexOf(const Value &key) const;
  /// Replaces or appends; charges the heap.
  void set(Value key, Value value);
  void erase(size_t at);
  void clear() override {
    entries.clear();
    index.clear();
  }

private:
  void buildIndex() const;
  mutable std::unordered_multimap<uint64_t, uint32_t> index; // empty while the dict is small
};

struct RangeObj : Object {
  RangeObj(int64_t b, int64_t e, int64_t s, int64_t n)
      : Object(Kind::Range), start(b), stop(e), step(s), length(n) {}
  int64_t start, stop, step, length;
};

/// A set of variables; `parent` is the lexically enclosing one.
struct ScopeObj : Object {
  explicit ScopeObj(Ref<ScopeObj> p) : Object(Kind::Scope), parent(std::move(p)) {}
  Ref<ScopeObj> parent;
  std::vector<std::pair<uint32_t, Value>> vars; // id of the name, value
  void clear() override {
    vars.clear();
    parent = Ref<ScopeObj>();
  }
};

/// A macro, or the body of a call block.
struct MacroObj : Object {
  MacroObj(const Stmt *n, Ref<ScopeObj> c) : Object(Kind::Macro), node(n), closure(std::move(c)) {}
  const Stmt *node;
  Ref<ScopeObj> closure;
  void clear() override { closure = Ref<ScopeObj>(); }
};

using NativeFn = Value (*)(Interp &, const Value &self, CallArgs &);

/// A global function, or an instance of `joiner` (then `state` and `position` are in use).
struct NativeObj : Object {
  NativeObj(const char *n, NativeFn f) : Object(Kind::Native), name(n), fn(f) {}
  const char *name;
  NativeFn fn;
  std::vector<Value> state;
  size_t position = 0;
  void clear() override { state.clear(); }
};

struct BoundObj : Object {
  BoundObj(Value s, const char *n, NativeFn f) : Object(Kind::Bound), self(std::move(s)), name(n), fn(f) {}
  Value self;
  const char *name;
  NativeFn fn;
  void clear() override { self = Value(); }
};

/// The `loop` variable. Items are looked at one ahead only, as a filter on the loop may depend on its body.
struct LoopObj : Object {
  LoopObj() : Object(Kind::Loop) {}
  const Stmt *node = nullptr;
  Ref<ScopeObj> outer;
  std::vector<Value> items; // candidates; with a filter some are skipped
  size_t cursor = 0;        // next candidate
  bool peeked = false, hasNext = false, knowsLength = false;
  Value next, current, previous, lastChanged;
  int64_t index0 = -1, length = 0;
  int64_t depth0 = 0;
  void clear() override {
    items.clear();
    next = current = previous = lastChanged = Value();
    outer = Ref<ScopeObj>();
  }
};

/// Positional and keyword arguments of a call.
struct CallArgs {
  std::vector<Value> pos;
  std::vector<std::pair<std::string, Value>> kw;
};

/// Builds a string with its taint; bytes are charged to the heap while it grows.
class StrBuilder {
public:
  explicit StrBuilder(Heap &h) : heap(h) {}
  StrBuilder(const StrBuilder &) = delete;
  StrBuilder &operator=(const StrBuilder &) = delete;
  ~StrBuilder() { heap.uncharge(charged); }
  void add(std::string_view text, bool tainted = false);
  void add(char c) { add(std::string_view(&c, 1)); }
  void add(const StrObj &s) { add(s, 0, s.bytes.size()); }
  /// Bytes [begin, end) of `s` with their taint.
  void add(const StrObj &s, size_t begin, size_t end);
  size_t size() const { return bytes.size(); }
  Value finish(bool markup = false);

  std::string bytes;
  std::vector<TaintRange> taint;

private:
  bool grow(size_t n);
  void mark(size_t begin, size_t end);
  Heap &heap;
  size_t charged = 0;
};

/// Python's hash/equality for keys: strings, numbers, booleans, none, undefined, tuples of these.
uint64_t hashKey(const Value &key);
bool equalKeys(const Value &a, const Value &b);

} // namespace ingot::chat
