// Length, iteration, element access and slices with Python's meaning (see Interp.h).
#include "runtime/chat/Interp.h"

#include "runtime/chat/Text.h"

#include <algorithm>

namespace ingot::chat {

bool Interp::length(const Value &v, int64_t &out) {
  switch (v.kind()) {
  case Kind::Undefined:
    out = 0;
    return true;
  case Kind::String:
    out = static_cast<int64_t>(v.as<StrObj>()->points);
    return true;
  case Kind::Dict:
    out = static_cast<int64_t>(v.as<DictObj>()->entries.size());
    return true;
  case Kind::Range:
    out = v.as<RangeObj>()->length;
    return true;
  case Kind::Loop:
    out = loopAttribute(*v.as<LoopObj>(), "length").asInt();
    return !bad();
  case Kind::Seq:
    if (v.as<SeqObj>()->seq != SeqKind::Generator) {
      out = static_cast<int64_t>(v.as<SeqObj>()->items.size());
      return true;
    }
    break;
  default:
    break;
  }
  fail(std::string("object of type '") + typeName(v) + "' has no length");
  return false;
}

bool Interp::isIterable(const Value &v) const {
  switch (v.kind()) {
  case Kind::Undefined:
  case Kind::String:
  case Kind::Seq:
  case Kind::Dict:
  case Kind::Range:
  case Kind::Loop:
    return true;
  default:
    return false;
  }
}

bool Interp::items(const Value &v, std::vector<Value> &out) {
  switch (v.kind()) {
  case Kind::Undefined:
    return true;
  case Kind::String: {
    const StrObj &s = *v.as<StrObj>();
    if (!tick(s.points) || !heap.room(s.points * (sizeof(StrObj) + sizeof(Value))))
      return false;
    for (size_t at = 0; at < s.bytes.size() && !bad();) {
      size_t begin = at;
      decodePoint(s.bytes, at);
      out.push_back(substr(s, begin, at));
    }
    return !bad();
  }
  case Kind::Seq: {
    SeqObj &s = *v.as<SeqObj>();
    if (!tick(s.items.size() >> 2) || !heap.room(s.items.size() * sizeof(Value)))
      return false;
    out.insert(out.end(), s.items.begin() + static_cast<ptrdiff_t>(s.taken), s.items.end());
    if (s.seq == SeqKind::Generator)
      s.taken = s.items.size();
    return true;
  }
  case Kind::Dict: {
    const auto &entries = v.as<DictObj>()->entries;
    if (!tick(entries.size() >> 2) || !heap.room(entries.size() * sizeof(Value)))
      return false;
    for (const auto &e : entries)
      out.push_back(e.first);
    return true;
  }
  case Kind::Range: {
    const RangeObj &r = *v.as<RangeObj>();
    if (!tick(static_cast<uint64_t>(r.length) >> 2))
      return false;
    for (int64_t i = 0; i < r.length; ++i)
      out.push_back(Value::integer(r.start + i * r.step));
    return true;
  }
  default:
    fail(std::string("'") + typeName(v) + "' object is not iterable");
    return false;
  }
}

bool Interp::hashable(const Value &v, unsigned nested) const {
  if (v.is(Kind::Dict))
    return false;
  if (!v.is(Kind::Seq))
    return true;
  const SeqObj &s = *v.as<SeqObj>();
  if (s.seq != SeqKind::Tuple || nested > kMaxNested)
    return false;
  return std::all_of(s.items.begin(), s.items.end(),
                     [&](const Value &item) { return hashable(item, nested + 1); });
}

NativeFn Interp::method(const Value &v, std::string_view name, const char *&stableName) {
  NativeFn fn = findMethod(v, name, stableName);
  if (fn && !opts.allowMutation && isMutator(v, name)) {
    fail("access to attribute '" + std::string(name) + "' of '" + typeName(v) + "' object is unsafe");
    return nullptr;
  }
  return fn;
}

Value Interp::getAttr(const Value &v, std::string_view name, const std::string *programName) {
  if (v.isUndefined())
    return failUndefined(v);
  const char *stable = nullptr;
  if (NativeFn fn = method(v, name, stable))
    return Value::object(heap.make<BoundObj>(v, stable, fn));
  if (bad())
    return {};
  switch (v.kind()) {
  case Kind::Dict:
  case Kind::Namespace:
    tick();
    if (const Value *found = v.as<DictObj>()->find(name))
      if (v.is(Kind::Dict) || name[0] != '_')
        return *found;
    break;
  case Kind::Loop:
    return loopAttribute(*v.as<LoopObj>(), name);
  case Kind::Macro:
    if (name == "name")
      return str(prog.names[v.as<MacroObj>()->node->id]);
    break;
  default:
    break;
  }
  if (name.size() > 4 && name.substr(0, 2) == "__" && name.substr(name.size() - 2) == "__")
    return fail("access to attribute '" + std::string(name) + "' of '" + typeName(v) + "' object is unsafe");
  if (isLeftOutMethod(v, name))
    return fail(std::string("method '") + std::string(name) + "' of " + typeName(v) + " is not supported");
  return Value::undefined(UndefinedIn::Attribute, programName, v.kind());
}

Value Interp::getItem(const Value &v, const Value &key) {
  if (v.isUndefined())
    return failUndefined(v);
  auto element = [](int64_t index, int64_t count) { return index < 0 ? index + count : index; };
  switch (v.kind()) {
  case Kind::Dict:
    tick();
    if (hashable(key)) {
      ptrdiff_t at = v.as<DictObj>()->indexOf(key);
      if (at >= 0)
        return v.as<DictObj>()->entries[static_cast<size_t>(at)].second;
    }
    break;
  case Kind::String:
    if (key.isIntegral()) {
      const StrObj &s = *v.as<StrObj>();
      int64_t i = element(key.asInt(), static_cast<int64_t>(s.points));
      if (i < 0 || i >= static_cast<int64_t>(s.points))
        return Value::undefined(UndefinedIn::Element, nullptr, v.kind());
      size_t begin = byteOffset(s.bytes, static_cast<size_t>(i), s.ascii()), end = begin;
      if (!s.ascii())
        tick(begin >> 6);
      decodePoint(s.bytes, end);
      return substr(s, begin, end);
    }
    break;
  case Kind::Seq: {
    const SeqObj &s = *v.as<SeqObj>();
    if (key.isIntegral() && s.seq <= SeqKind::Tuple) {
      int64_t i = element(key.asInt(), static_cast<int64_t>(s.items.size()));
      if (i >= 0 && i < static_cast<int64_t>(s.items.size()))
        return s.items[static_cast<size_t>(i)];
    }
    break;
  }
  case Kind::Range:
    if (key.isIntegral()) {
      const RangeObj &r = *v.as<RangeObj>();
      int64_t i = element(key.asInt(), r.length);
      if (i >= 0 && i < r.length)
        return Value::integer(r.start + i * r.step);
    }
    break;
  default:
    break;
  }
  if (key.isString())
    return getAttr(v, key.as<StrObj>()->view(), nullptr);
  return Value::undefined(UndefinedIn::Element, nullptr, v.kind());
}

namespace {
/// Python's slice.indices: false (with an error) for bad bounds.
bool sliceBounds(Interp &in, const Value &start, const Value &stop, const Value &step, int64_t count,
                 int64_t &first, int64_t &last, int64_t &stride, int64_t &number) {
  for (const Value *v : {&start, &stop, &step})
    if (!v->isNone() && !v->isIntegral()) {
      in.fail(std::string("slice bounds must be integers, not ") + Interp::typeName(*v));
      return false;
    }
  stride = step.isNone() ? 1 : step.asInt();
  if (stride == 0) {
    in.fail("slice step cannot be zero");
    return false;
  }
  stride = std::clamp<int64_t>(stride, -(int64_t(1) << 40), int64_t(1) << 40);
  auto bound = [&](const Value &v, int64_t fallback) {
    if (v.isNone())
      return fallback;
    int64_t i = v.asInt();
    if (i < 0)
      i = std::max<int64_t>(i, -count - 1) + count;
    int64_t low = stride < 0 ? -1 : 0, high = stride < 0 ? count - 1 : count;
    return std::clamp(i, low, std::max(low, high));
  };
  first = bound(start, stride < 0 ? count - 1 : 0);
  last = bound(stop, stride < 0 ? -1 : count);
  if (stride > 0)
    number = last > first ? (last - first - 1) / stride + 1 : 0;
  else
    number = first > last ? (first - last - 1) / -stride + 1 : 0;
  return true;
}
} // namespace

Value Interp::slice(const Value &v, const Value &start, const Value &stop, const Value &step) {
  int64_t first = 0, last = 0, stride = 1, number = 0;
  switch (v.kind()) {
  case Kind::Undefined:
    return failUndefined(v);
  case Kind::String: {
    const StrObj &s = *v.as<StrObj>();
    if (!sliceBounds(*this, start, stop, step, static_cast<int64_t>(s.points), first, last, stride, number))
      return {};
    if (number == 0)
      return str("");
    tick(s.bytes.size() >> 8);
    if (stride == 1) {
      size_t begin = byteOffset(s.bytes, static_cast<size_t>(first), s.ascii());
      size_t length =
          byteOffset(std::string_view(s.bytes).substr(begin), static_cast<size_t>(number), s.ascii());
      return substr(s, begin, begin + length);
    }
    if (!tick(static_cast<uint64_t>(number) >> 2))
      return {};
    std::vector<uint32_t> starts;
    if (!s.ascii()) {
      if (!heap.room(s.points * sizeof(uint32_t)))
        return {};
      for (size_t at = 0; at < s.bytes.size(); decodePoint(s.bytes, at))
        starts.push_back(static_cast<uint32_t>(at));
      starts.push_back(static_cast<uint32_t>(s.bytes.size()));
    }
    StrBuilder out(heap);
    for (int64_t i = 0, at = first; i < number && !bad(); ++i, at += stride) {
      size_t k = static_cast<size_t>(at);
      if (starts.empty())
        out.add(s, k, k + 1);
      else
        out.add(s, starts[k], starts[k + 1]);
    }
    return out.finish(s.markup);
  }
  case Kind::Seq: {
    const SeqObj &s = *v.as<SeqObj>();
    if (s.seq > SeqKind::Tuple)
      return fail(std::string("'") + typeName(v) + "' object is not subscriptable");
    if (!sliceBounds(*this, start, stop, step, static_cast<int64_t>(s.items.size()), first, last, stride,
                     number))
      return {};
    std::vector<Value> list;
    list.reserve(static_cast<size_t>(number));
    for (int64_t i = 0, at = first; i < number; ++i, at += stride)
      list.push_back(s.items[static_cast<size_t>(at)]);
    return seq(s.seq, std::move(list));
  }
  case Kind::Range: {
    const RangeObj &r = *v.as<RangeObj>();
    if (!sliceBounds(*this, start, stop, step, r.length, first, last, stride, number))
      return {};
    int64_t wide = 0; // the step of a range may be large, a bound of the slice not
    if (__builtin_mul_overflow(r.step, stride, &wide))
      return fail("range step too large");
    return Value::object(
        heap.make<RangeObj>(r.start + first * r.step, r.start + last * r.step, wide, number));
  }
  default:
    return fail(std::string("'") + typeName(v) + "' object is not subscriptable");
  }
}

Value Interp::attributePath(const Value &v, const Value &path) {
  if (path.isMissing() || path.isNone())
    return v;
  if (!path.isString())
    return getItem(v, path);
  Value now = v;
  std::string_view rest = path.as<StrObj>()->view();
  for (bool more = true; more && !bad();) {
    size_t dot = rest.find('.');
    std::string_view part = rest.substr(0, dot);
    more = dot != std::string_view::npos;
    if (more)
      rest.remove_prefix(dot + 1);
    int64_t index = 0;
    bool big = false;
    std::string text;
    bool digits = !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
    if (digits && parseInt(part, 10, index, big, text) && !big)
      now = getItem(now, Value::integer(index));
    else
      now = getItem(now, str(part));
  }
  return now;
}

} // namespace ingot::chat
