// Filters on sequences and mappings. Where Jinja gives a generator, the result is one here, too (it can be
// iterated once, has no length and no text), but its items are computed at once.
#include "runtime/chat/Filters.h"
#include "runtime/chat/Sort.h"
#include "runtime/chat/Strings.h"

#include <algorithm>

namespace ingot::chat {

namespace {

const StrObj &text(const Value &v) { return *v.as<StrObj>(); }

/// Strings in lower case unless `caseSensitive`; other values as they are.
Value sortKey(Interp &in, const Value &v, bool caseSensitive) {
  return v.isString() && !caseSensitive ? changeCase(in, text(v), CaseMode::Lower) : v;
}

Value lengthFilter(Interp &in, const Value &self, CallArgs &args) {
  int64_t n = 0;
  if (!in.bind("length", args, {}, 0, nullptr) || !in.length(self, n))
    return {};
  return Value::integer(n);
}

Value listFilter(Interp &in, const Value &self, CallArgs &args) {
  std::vector<Value> list;
  if (!in.bind("list", args, {}, 0, nullptr) || !in.items(self, list))
    return {};
  return in.seq(SeqKind::List, std::move(list));
}

Value firstFilter(Interp &in, const Value &self, CallArgs &args) {
  std::vector<Value> list;
  if (!in.bind("first", args, {}, 0, nullptr) || !in.items(self, list))
    return {};
  return list.empty() ? Value() : list.front();
}

Value lastFilter(Interp &in, const Value &self, CallArgs &args) {
  if (!in.bind("last", args, {}, 0, nullptr))
    return {};
  if (self.is(Kind::Seq) && self.as<SeqObj>()->seq == SeqKind::Generator)
    return in.fail("a generator cannot be reversed");
  std::vector<Value> list;
  if (!in.items(self, list))
    return {};
  return list.empty() ? Value() : list.back();
}

Value joinFilter(Interp &in, const Value &self, CallArgs &args) {
  Value a[2];
  std::vector<Value> list;
  if (!in.bind("join", args, {"d", "attribute"}, 0, a) || !in.items(self, list))
    return {};
  Value separator = a[0].isMissing() ? in.str("") : in.toStr(a[0]);
  StrBuilder out(in.heap);
  for (size_t i = 0; i < list.size() && in.tick() && !in.bad(); ++i) {
    if (i)
      out.add(text(separator));
    Value item = in.attributePath(list[i], a[1]);
    if (!in.bad())
      in.print(out, item);
  }
  in.tick(out.size() >> 8);
  return in.bad() ? Value() : out.finish();
}

Value reverseFilter(Interp &in, const Value &self, CallArgs &args) {
  if (!in.bind("reverse", args, {}, 0, nullptr))
    return {};
  if (self.isString())
    return in.slice(self, Value::none(), Value::none(), Value::integer(-1));
  std::vector<Value> list;
  if (!in.items(self, list))
    return {};
  std::reverse(list.begin(), list.end());
  bool wasGenerator = self.is(Kind::Seq) && self.as<SeqObj>()->seq == SeqKind::Generator;
  return in.seq(wasGenerator ? SeqKind::List : SeqKind::Generator, std::move(list));
}

Value itemsFilter(Interp &in, const Value &self, CallArgs &args) {
  if (!in.bind("items", args, {}, 0, nullptr))
    return {};
  std::vector<Value> list;
  if (self.is(Kind::Dict)) {
    for (const auto &e : self.as<DictObj>()->entries) {
      list.push_back(in.seq(SeqKind::Tuple, {e.first, e.second}));
      if (in.bad())
        return {};
    }
  } else if (!self.isUndefined()) {
    return in.fail(std::string("can only get item pairs from a mapping, not from ") + Interp::typeName(self));
  }
  return in.seq(SeqKind::Generator, std::move(list));
}

/// Sorts `list` by keys of equal index, keeping the order of equal ones.
bool sortBy(Interp &in, std::vector<Value> &list, const std::vector<Value> &keys, bool reverse) {
  std::vector<size_t> order = stableOrder(list.size(), [&](size_t x, size_t y) {
    return reverse ? in.less(keys[y], keys[x]) : in.less(keys[x], keys[y]);
  });
  std::vector<Value> sorted;
  sorted.reserve(list.size());
  for (size_t i : order)
    sorted.push_back(list[i]);
  list = std::move(sorted);
  return !in.bad();
}

Value dictsortFilter(Interp &in, const Value &self, CallArgs &args) {
  Value a[3];
  if (!in.bind("dictsort", args, {"case_sensitive", "by", "reverse"}, 0, a))
    return {};
  bool byValue = a[1].isString() && text(a[1]).bytes == "value";
  if (!a[1].isMissing() && !byValue && !(a[1].isString() && text(a[1]).bytes == "key"))
    return in.fail("dictsort sorts by either \"key\" or \"value\"");
  if (self.isUndefined())
    return in.failUndefined(self);
  if (!self.is(Kind::Dict))
    return in.fail(std::string("dictsort needs a mapping, not ") + Interp::typeName(self));
  std::vector<Value> list, keys;
  for (const auto &e : self.as<DictObj>()->entries) {
    list.push_back(in.seq(SeqKind::Tuple, {e.first, e.second}));
    keys.push_back(sortKey(in, byValue ? e.second : e.first, in.truth(a[0])));
    if (in.bad())
      return {};
  }
  return sortBy(in, list, keys, in.truth(a[2])) ? in.seq(SeqKind::List, std::move(list)) : Value();
}

Value sortFilter(Interp &in, const Value &self, CallArgs &args) {
  Value a[3];
  std::vector<Value> list, keys;
  if (!in.bind("sort", args, {"reverse", "case_sensitive", "attribute"}, 0, a) || !in.items(self, list))
    return {};
  // "a,b" sorts by several attributes.
  std::vector<Value> paths;
  if (a[2].isString()) {
    if (!splitText(in, text(a[2]), in.str(","), -1, false, paths))
      return {};
  } else {
    paths.push_back(a[2]);
  }
  for (const Value &v : list) {
    std::vector<Value> key;
    for (const Value &path : paths)
      key.push_back(sortKey(in, in.attributePath(v, path), in.truth(a[1])));
    // Keys are lists, as equal elements (also undefined ones) then need no order.
    keys.push_back(in.seq(SeqKind::List, std::move(key)));
    if (in.bad())
      return {};
  }
  return sortBy(in, list, keys, in.truth(a[0])) ? in.seq(SeqKind::List, std::move(list)) : Value();
}

Value uniqueFilter(Interp &in, const Value &self, CallArgs &args) {
  Value a[2];
  std::vector<Value> list, kept;
  if (!in.bind("unique", args, {"case_sensitive", "attribute"}, 0, a) || !in.items(self, list))
    return {};
  Value seen = in.dict();
  for (const Value &v : list) {
    Value key = sortKey(in, in.attributePath(v, a[1]), in.truth(a[0]));
    if (!in.tick() || in.bad())
      return {};
    if (!in.hashable(key))
      return in.fail(std::string("unhashable type: '") + Interp::typeName(key) + "'");
    if (seen.as<DictObj>()->indexOf(key) >= 0)
      continue;
    seen.as<DictObj>()->set(key, Value::none());
    kept.push_back(v);
  }
  return in.seq(SeqKind::Generator, std::move(kept));
}

template <bool wantMax> Value extremeFilter(Interp &in, const Value &self, CallArgs &args) {
  Value a[2];
  std::vector<Value> list;
  if (!in.bind(wantMax ? "max" : "min", args, {"case_sensitive", "attribute"}, 0, a) || !in.items(self, list))
    return {};
  Value best, bestKey;
  for (size_t i = 0; i < list.size() && !in.bad(); ++i) {
    Value key = sortKey(in, in.attributePath(list[i], a[1]), in.truth(a[0]));
    if (i == 0 || (wantMax ? in.less(bestKey, key) : in.less(key, bestKey))) {
      best = list[i];
      bestKey = key;
    }
  }
  return best;
}

Value sumFilter(Interp &in, const Value &self, CallArgs &args) {
  Value a[2];
  std::vector<Value> list;
  if (!in.bind("sum", args, {"attribute", "start"}, 0, a) || !in.items(self, list))
    return {};
  Value total = a[1].isMissing() ? Value::integer(0) : a[1];
  if (total.isString())
    return in.fail("sum() can't sum strings");
  for (const Value &v : list) {
    total = in.binary(Op::Add, total, in.attributePath(v, a[0]));
    if (in.bad())
      return {};
  }
  return total;
}

Value mapFilter(Interp &in, const Value &self, CallArgs &args) {
  std::vector<Value> list, out;
  if (!in.truth(self)) // none and the like have no items, and that is no error
    return in.seq(SeqKind::Generator, {});
  if (args.pos.empty() && !args.kw.empty()) {
    Value a[2];
    if (!in.bind("map", args, {"attribute", "default"}, 1, a) || !in.items(self, list))
      return {};
    for (const Value &v : list) {
      Value got = in.attributePath(v, a[0]);
      if (in.bad())
        return {};
      out.push_back(got.isUndefined() && !a[1].isMissing() && !a[1].isNone() ? a[1] : got);
    }
    return in.seq(SeqKind::Generator, std::move(out));
  }
  if (args.pos.empty() || !args.pos[0].isString())
    return in.fail("map needs the name of a filter");
  std::string name = text(args.pos[0]).bytes;
  FilterFn fn = findFilter(name);
  if (!fn)
    return in.fail("no filter named '" + name + "' (unsupported)");
  if (!in.items(self, list))
    return {};
  DepthGuard guard(in);
  for (const Value &v : list) {
    if (!guard.ok || !in.tick() || in.bad())
      return {};
    CallArgs each;
    each.pos.assign(args.pos.begin() + 1, args.pos.end());
    each.kw = args.kw;
    out.push_back(fn(in, v, each));
  }
  return in.bad() ? Value() : in.seq(SeqKind::Generator, std::move(out));
}

template <bool keepTrue, bool byAttribute> Value selectFilter(Interp &in, const Value &self, CallArgs &args) {
  size_t at = byAttribute ? 1 : 0;
  if (!in.truth(self)) // none and the like have no items, and that is no error
    return in.seq(SeqKind::Generator, {});
  if (args.pos.size() < at)
    return in.fail("selectattr needs the name of an attribute");
  std::vector<Value> list, out;
  if (!in.items(self, list))
    return {};
  TestFn test = nullptr;
  if (args.pos.size() > at) {
    if (!args.pos[at].isString())
      return in.fail("select needs the name of a test");
    std::string name = text(args.pos[at]).bytes;
    test = findTest(name);
    if (!test)
      return in.fail("no test named '" + name + "' (unsupported)");
  }
  for (const Value &v : list) {
    if (!in.tick() || in.bad())
      return {};
    Value subject = byAttribute ? in.attributePath(v, args.pos[0]) : v;
    bool hit;
    if (test) {
      CallArgs each;
      each.pos.assign(args.pos.begin() + static_cast<ptrdiff_t>(at) + 1, args.pos.end());
      each.kw = args.kw;
      hit = !in.bad() && test(in, subject, each);
    } else {
      hit = in.truth(subject);
    }
    if (hit == keepTrue)
      out.push_back(v);
  }
  return in.bad() ? Value() : in.seq(SeqKind::Generator, std::move(out));
}

Value batchFilter(Interp &in, const Value &self, CallArgs &args) {
  Value a[2];
  int64_t count;
  std::vector<Value> list, out, row;
  if (!in.bind("batch", args, {"linecount", "fill_with"}, 1, a) || !in.intArg("batch", a[0], 1, count) ||
      !in.items(self, list))
    return {};
  if (count < 1)
    return in.fail("batch needs a positive number");
  for (const Value &v : list) {
    if (row.size() == static_cast<size_t>(count)) {
      out.push_back(in.seq(SeqKind::List, std::move(row)));
      row.clear();
    }
    row.push_back(v);
  }
  if (!row.empty()) {
    if (!a[1].isMissing() && !a[1].isNone()) {
      if (count > 100000)
        return in.fail("batch: too many items to fill");
      row.resize(static_cast<size_t>(count), a[1]);
    }
    out.push_back(in.seq(SeqKind::List, std::move(row)));
  }
  return in.seq(SeqKind::Generator, std::move(out));
}

Value sliceFilter(Interp &in, const Value &self, CallArgs &args) {
  Value a[2];
  int64_t slices;
  std::vector<Value> list, out;
  if (!in.bind("slice", args, {"slices", "fill_with"}, 1, a) || !in.intArg("slice", a[0], 1, slices) ||
      !in.items(self, list))
    return {};
  if (slices < 1 || slices > 100000)
    return in.fail("slice needs a number from 1 to 100000");
  size_t n = static_cast<size_t>(slices), each = list.size() / n, extra = list.size() % n, at = 0;
  for (size_t i = 0; i < n; ++i) {
    size_t take = each + (i < extra);
    std::vector<Value> part(list.begin() + static_cast<ptrdiff_t>(at),
                            list.begin() + static_cast<ptrdiff_t>(at + take));
    at += take;
    if (!a[1].isMissing() && !a[1].isNone() && i >= extra)
      part.push_back(a[1]);
    out.push_back(in.seq(SeqKind::List, std::move(part)));
  }
  return in.seq(SeqKind::Generator, std::move(out));
}

Value groupbyFilter(Interp &in, const Value &self, CallArgs &args) {
  Value a[3];
  std::vector<Value> list, keys, out;
  if (!in.bind("groupby", args, {"attribute", "default", "case_sensitive"}, 1, a) || !in.items(self, list))
    return {};
  auto attribute = [&](const Value &v) {
    Value got = in.attributePath(v, a[0]);
    return got.isUndefined() && !a[1].isMissing() ? a[1] : got;
  };
  auto key = [&](const Value &v) { return sortKey(in, attribute(v), in.truth(a[2])); };
  for (const Value &v : list)
    keys.push_back(key(v));
  if (in.bad() || !sortBy(in, list, keys, false))
    return {};
  for (size_t i = 0; i < list.size() && !in.bad();) {
    Value first = key(list[i]);
    std::vector<Value> group;
    size_t begin = i;
    for (; i < list.size() && !in.bad() && in.equal(key(list[i]), first); ++i)
      group.push_back(list[i]);
    if (group.empty())
      group.push_back(list[i++]); // a key that does not equal itself (NaN)
    out.push_back(in.seq(SeqKind::Tuple, {attribute(list[begin]), in.seq(SeqKind::List, std::move(group))}));
  }
  return in.bad() ? Value() : in.seq(SeqKind::List, std::move(out));
}

} // namespace

const FilterEntry kSequenceFilters[] = {
    {"batch", batchFilter},
    {"count", lengthFilter},
    {"dictsort", dictsortFilter},
    {"first", firstFilter},
    {"groupby", groupbyFilter},
    {"items", itemsFilter},
    {"join", joinFilter},
    {"last", lastFilter},
    {"length", lengthFilter},
    {"list", listFilter},
    {"map", mapFilter},
    {"max", extremeFilter<true>},
    {"min", extremeFilter<false>},
    {"reject", selectFilter<false, false>},
    {"rejectattr", selectFilter<false, true>},
    {"reverse", reverseFilter},
    {"select", selectFilter<true, false>},
    {"selectattr", selectFilter<true, true>},
    {"slice", sliceFilter},
    {"sort", sortFilter},
    {"sum", sumFilter},
    {"unique", uniqueFilter},
};
const size_t kSequenceFilterCount = sizeof(kSequenceFilters) / sizeof(kSequenceFilters[0]);

} // namespace ingot::chat
