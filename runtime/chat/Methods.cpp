// Methods of lists, tuples and dictionaries, and the lookup of methods.
//
// Lists and dictionaries can be changed by a template (append, pop, update, ...) where the options allow it:
// published templates do so. Nothing leaks out, as every rendering works on values of its own.
#include "runtime/chat/Methods.h"

#include "runtime/chat/Text.h"

#include <algorithm>

namespace ingot::chat {

namespace {

DictObj &dictOf(const Value &v) { return *v.as<DictObj>(); }
SeqObj &seqOf(const Value &v) { return *v.as<SeqObj>(); }

bool keyArg(Interp &in, const Value &key) {
  if (in.hashable(key))
    return true;
  in.fail(std::string("unhashable type: '") + Interp::typeName(key) + "'");
  return false;
}

Value dictGet(Interp &in, const Value &self, CallArgs &args) {
  Value a[2];
  if (!in.bind("get", args, {"key", "default"}, 1, a) || !keyArg(in, a[0]))
    return {};
  ptrdiff_t at = dictOf(self).indexOf(a[0]);
  if (at >= 0)
    return dictOf(self).entries[static_cast<size_t>(at)].second;
  return a[1].isMissing() ? Value::none() : a[1];
}

template <SeqKind view> Value dictView(Interp &in, const Value &self, CallArgs &args) {
  if (!in.bind("dict view", args, {}, 0, nullptr))
    return {};
  const auto &entries = dictOf(self).entries;
  std::vector<Value> list;
  list.reserve(entries.size());
  for (const auto &e : entries) {
    if (view == SeqKind::Items)
      list.push_back(in.seq(SeqKind::Tuple, {e.first, e.second}));
    else
      list.push_back(view == SeqKind::Keys ? e.first : e.second);
    if (in.bad())
      return {};
  }
  return in.seq(view, std::move(list));
}

Value dictCopy(Interp &in, const Value &self, CallArgs &args) {
  if (!in.bind("copy", args, {}, 0, nullptr))
    return {};
  Value d = in.dict();
  for (const auto &e : dictOf(self).entries)
    if (in.tick() && !in.bad())
      dictOf(d).set(e.first, e.second);
  return d;
}

Value dictPop(Interp &in, const Value &self, CallArgs &args) {
  Value a[2];
  if (!in.bind("pop", args, {"key", "default"}, 1, a) || !keyArg(in, a[0]))
    return {};
  ptrdiff_t at = dictOf(self).indexOf(a[0]);
  if (at < 0)
    return a[1].isMissing() ? in.fail("pop: no such key") : a[1];
  Value v = dictOf(self).entries[static_cast<size_t>(at)].second;
  in.tick(dictOf(self).entries.size() >> 3);
  dictOf(self).erase(static_cast<size_t>(at));
  return v;
}

Value dictSetDefault(Interp &in, const Value &self, CallArgs &args) {
  Value a[2];
  if (!in.bind("setdefault", args, {"key", "default"}, 1, a) || !keyArg(in, a[0]))
    return {};
  ptrdiff_t at = dictOf(self).indexOf(a[0]);
  if (at >= 0)
    return dictOf(self).entries[static_cast<size_t>(at)].second;
  Value v = a[1].isMissing() ? Value::none() : a[1];
  dictOf(self).set(a[0], v);
  return v;
}

Value dictUpdate(Interp &in, const Value &self, CallArgs &args) {
  if (args.pos.size() > 1)
    return in.fail("update() takes at most 1 positional argument");
  if (!args.pos.empty()) {
    if (args.pos[0].is(Kind::Dict)) {
      std::vector<std::pair<Value, Value>> entries = dictOf(args.pos[0]).entries;
      for (auto &e : entries)
        if (in.tick() && !in.bad())
          dictOf(self).set(e.first, e.second);
    } else {
      std::vector<Value> pairs;
      if (!in.items(args.pos[0], pairs))
        return {};
      for (const Value &p : pairs) {
        std::vector<Value> pair;
        if (!in.items(p, pair) || in.bad())
          return {};
        if (pair.size() != 2)
          return in.fail("update() needs a mapping or pairs");
        if (!keyArg(in, pair[0]))
          return {};
        dictOf(self).set(pair[0], pair[1]);
      }
    }
  }
  for (auto &kw : args.kw)
    dictOf(self).set(in.str(kw.first), kw.second);
  return Value::none();
}

Value dictClear(Interp &in, const Value &self, CallArgs &args) {
  if (!in.bind("clear", args, {}, 0, nullptr))
    return {};
  dictOf(self).clear();
  return Value::none();
}

bool push(Interp &in, SeqObj &list, size_t at, Value v) {
  in.tick((list.items.size() - at) >> 6);
  if (!in.heap.charge(&list, 2 * sizeof(Value)))
    return false;
  list.items.insert(list.items.begin() + static_cast<ptrdiff_t>(at), std::move(v));
  return true;
}

Value listAppend(Interp &in, const Value &self, CallArgs &args) {
  Value a[1];
  if (!in.bind("append", args, {"object"}, 1, a))
    return {};
  push(in, seqOf(self), seqOf(self).items.size(), a[0]);
  return Value::none();
}

Value listExtend(Interp &in, const Value &self, CallArgs &args) {
  Value a[1];
  std::vector<Value> more;
  if (!in.bind("extend", args, {"iterable"}, 1, a) || !in.items(a[0], more))
    return {};
  for (Value &v : more)
    if (!push(in, seqOf(self), seqOf(self).items.size(), std::move(v)))
      return {};
  return Value::none();
}

Value listInsert(Interp &in, const Value &self, CallArgs &args) {
  Value a[2];
  int64_t at;
  if (!in.bind("insert", args, {"index", "object"}, 2, a) || !in.intArg("insert", a[0], 0, at))
    return {};
  int64_t n = static_cast<int64_t>(seqOf(self).items.size());
  at = std::clamp<int64_t>(at < 0 ? std::max(at, -n) + n : at, 0, n);
  push(in, seqOf(self), static_cast<size_t>(at), a[1]);
  return Value::none();
}

Value listPop(Interp &in, const Value &self, CallArgs &args) {
  Value a[1];
  int64_t at;
  if (!in.bind("pop", args, {"index"}, 0, a) || !in.intArg("pop", a[0], -1, at))
    return {};
  auto &items = seqOf(self).items;
  int64_t n = static_cast<int64_t>(items.size());
  if (at < -n || at >= n)
    return in.fail("pop index out of range");
  at = at < 0 ? at + n : at;
  Value v = items[static_cast<size_t>(at)];
  in.tick(static_cast<uint64_t>(n - at) >> 6);
  items.erase(items.begin() + at);
  return v;
}

ptrdiff_t position(Interp &in, const SeqObj &s, const Value &v) {
  for (size_t i = 0; i < s.items.size() && !in.bad(); ++i)
    if (in.equal(s.items[i], v))
      return static_cast<ptrdiff_t>(i);
  return -1;
}

Value listRemove(Interp &in, const Value &self, CallArgs &args) {
  Value a[1];
  if (!in.bind("remove", args, {"value"}, 1, a))
    return {};
  ptrdiff_t at = position(in, seqOf(self), a[0]);
  if (at < 0)
    return in.fail("remove: the value is not in the list");
  Value dropped = seqOf(self).items[static_cast<size_t>(at)];
  seqOf(self).items.erase(seqOf(self).items.begin() + at);
  return Value::none();
}

Value listReverse(Interp &in, const Value &self, CallArgs &args) {
  if (!in.bind("reverse", args, {}, 0, nullptr))
    return {};
  in.tick(seqOf(self).items.size() >> 4);
  std::reverse(seqOf(self).items.begin(), seqOf(self).items.end());
  return Value::none();
}

Value listClear(Interp &in, const Value &self, CallArgs &args) {
  if (!in.bind("clear", args, {}, 0, nullptr))
    return {};
  std::vector<Value> dropped;
  dropped.swap(seqOf(self).items);
  return Value::none();
}

Value listCopy(Interp &in, const Value &self, CallArgs &args) {
  return in.bind("copy", args, {}, 0, nullptr) ? in.seq(SeqKind::List, seqOf(self).items) : Value();
}

Value seqIndex(Interp &in, const Value &self, CallArgs &args) {
  Value a[1];
  if (!in.bind("index", args, {"value"}, 1, a))
    return {};
  ptrdiff_t at = position(in, seqOf(self), a[0]);
  return at < 0 ? in.fail("index: the value is not in the sequence") : Value::integer(at);
}

Value seqCount(Interp &in, const Value &self, CallArgs &args) {
  Value a[1];
  if (!in.bind("count", args, {"value"}, 1, a))
    return {};
  int64_t n = 0;
  for (const Value &v : seqOf(self).items)
    n += in.equal(v, a[0]);
  return Value::integer(n);
}

constexpr MethodEntry kDictMethods[] = {
    {"clear", dictClear},
    {"copy", dictCopy},
    {"get", dictGet},
    {"items", dictView<SeqKind::Items>},
    {"keys", dictView<SeqKind::Keys>},
    {"pop", dictPop},
    {"setdefault", dictSetDefault},
    {"update", dictUpdate},
    {"values", dictView<SeqKind::Values>},
};
constexpr MethodEntry kListMethods[] = {
    {"append", listAppend}, {"clear", listClear},     {"copy", listCopy},     {"count", seqCount},
    {"extend", listExtend}, {"index", seqIndex},      {"insert", listInsert}, {"pop", listPop},
    {"remove", listRemove}, {"reverse", listReverse},
};
constexpr MethodEntry kTupleMethods[] = {{"count", seqCount}, {"index", seqIndex}};

NativeFn search(const MethodEntry *table, size_t count, std::string_view name, const char *&stable) {
  const MethodEntry *end = table + count;
  const MethodEntry *it =
      std::lower_bound(table, end, name, [](const MethodEntry &e, std::string_view n) { return e.name < n; });
  if (it == end || it->name != name)
    return nullptr;
  stable = it->name;
  return it->fn;
}

} // namespace

NativeFn findMethod(const Value &v, std::string_view name, const char *&stable) {
  switch (v.kind()) {
  case Kind::String:
    return search(kStrMethods, kStrMethodCount, name, stable);
  case Kind::Dict:
    return search(kDictMethods, std::size(kDictMethods), name, stable);
  case Kind::Seq:
    if (v.as<SeqObj>()->seq == SeqKind::List)
      return search(kListMethods, std::size(kListMethods), name, stable);
    if (v.as<SeqObj>()->seq == SeqKind::Tuple)
      return search(kTupleMethods, std::size(kTupleMethods), name, stable);
    return nullptr;
  default:
    return nullptr;
  }
}

bool isMutator(const Value &v, std::string_view name) {
  static constexpr std::string_view dict[] = {"clear", "pop", "setdefault", "update"};
  static constexpr std::string_view list[] = {"append", "clear",  "extend", "insert",
                                              "pop",    "remove", "reverse"};
  if (v.is(Kind::Dict))
    return std::find(std::begin(dict), std::end(dict), name) != std::end(dict);
  return v.is(Kind::Seq) && std::find(std::begin(list), std::end(list), name) != std::end(list);
}

bool isLeftOutMethod(const Value &v, std::string_view name) {
  static constexpr std::string_view str[] = {"encode",      "expandtabs", "format_map", "isidentifier",
                                             "isprintable", "istitle",    "maketrans",  "translate"};
  static constexpr std::string_view dict[] = {"fromkeys", "popitem"};
  auto in = [&](const auto &table) {
    return std::find(std::begin(table), std::end(table), name) != std::end(table);
  };
  if (v.isString())
    return in(str);
  if (v.is(Kind::Dict))
    return in(dict);
  return v.is(Kind::Seq) && v.as<SeqObj>()->seq == SeqKind::List && name == "sort";
}

} // namespace ingot::chat
