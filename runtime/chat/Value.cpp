// Heap, dictionary and string builder of the template language (see Value.h).
#include "runtime/chat/Value.h"

#include "runtime/chat/Text.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace ingot::chat {

Heap::~Heap() {
  // Pin everything, cut all links (this also ends cycles), then free.
  for (Object *o = first; o; o = o->next)
    ++o->refs;
  for (Object *o = first; o; o = o->next)
    o->clear();
  while (first)
    destroy(first);
}

void Heap::adopt(Object *object, size_t bytes) {
  object->heap = this;
  object->next = first;
  if (first)
    first->prev = object;
  first = object;
  charge(object, bytes);
}

void Heap::destroy(Object *object) {
  if (object->prev)
    object->prev->next = object->next;
  else
    first = object->next;
  if (object->next)
    object->next->prev = object->prev;
  live -= object->charged;
  delete object;
}

void Heap::release(Object *object) {
  pending.push_back(object);
  if (draining)
    return;
  draining = true;
  while (!pending.empty()) {
    Object *o = pending.back();
    pending.pop_back();
    destroy(o);
  }
  draining = false;
}

bool StrObj::taintedAt(size_t byte) const {
  auto it = std::upper_bound(taint.begin(), taint.end(), byte,
                             [](size_t b, const TaintRange &r) { return b < r.end; });
  return it != taint.end() && it->begin <= byte;
}

bool StrBuilder::grow(size_t n) {
  size_t want = bytes.size() + n;
  if (want <= charged)
    return !heap.exhausted;
  // Sizes stay below 4 GB because the heap's limit does (see Interp).
  if (!heap.room(want - charged))
    return false;
  size_t now = std::max<size_t>(want, std::min<size_t>(charged * 2, charged + (1u << 20)));
  if (now > want && now - charged > heap.limit - heap.live)
    now = want;
  heap.charge(now - charged);
  charged = now;
  return !heap.exhausted;
}

void StrBuilder::mark(size_t begin, size_t end) {
  if (!taint.empty() && taint.back().end == begin)
    taint.back().end = static_cast<uint32_t>(end);
  else
    taint.push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(end)});
}

void StrBuilder::add(std::string_view text, bool tainted) {
  if (text.empty() || !grow(text.size()))
    return;
  size_t at = bytes.size();
  bytes.append(text);
  if (tainted)
    mark(at, bytes.size());
}

void StrBuilder::add(const StrObj &s, size_t begin, size_t end) {
  assert(begin <= end && end <= s.bytes.size());
  if (begin == end || !grow(end - begin))
    return;
  size_t at = bytes.size();
  bytes.append(s.bytes, begin, end - begin);
  auto it = std::upper_bound(s.taint.begin(), s.taint.end(), begin,
                             [](size_t b, const TaintRange &r) { return b < r.end; });
  for (; it != s.taint.end() && it->begin < end; ++it)
    mark(at + std::max<size_t>(it->begin, begin) - begin, at + std::min<size_t>(it->end, end) - begin);
}

Value StrBuilder::finish(bool markup) {
  StrObj *s = heap.make<StrObj>();
  Value v = Value::object(s);
  s->bytes = std::move(bytes);
  s->taint = std::move(taint);
  s->points = countPoints(s->bytes);
  s->markup = markup;
  heap.charge(s, s->bytes.size() + s->taint.size() * sizeof(TaintRange));
  bytes.clear();
  taint.clear();
  heap.uncharge(charged);
  charged = 0;
  return v;
}

namespace {
// Dictionaries up to this size are searched entry by entry.
constexpr size_t kSmallDict = 12;

uint64_t mix(uint64_t h) {
  h ^= h >> 33;
  h *= 0xff51afd7ed558ccdULL;
  h ^= h >> 33;
  return h;
}
} // namespace

uint64_t hashKey(const Value &key) {
  switch (key.kind()) {
  case Kind::Bool:
  case Kind::Int:
    return mix(static_cast<uint64_t>(key.asInt()));
  case Kind::Float: {
    double d = key.asFloat();
    if (std::abs(d) < 9e18 && d == std::floor(d))
      return mix(static_cast<uint64_t>(static_cast<int64_t>(d)));
    return mix(std::hash<double>()(d));
  }
  case Kind::String:
    return std::hash<std::string_view>()(key.as<StrObj>()->view());
  case Kind::BigInt:
    return std::hash<std::string>()(key.as<BigIntObj>()->text);
  case Kind::Seq: {
    uint64_t h = 0x9e3779b97f4a7c15ULL;
    for (const Value &v : key.as<SeqObj>()->items)
      h = mix(h ^ hashKey(v)) + 0x9e3779b97f4a7c15ULL;
    return h;
  }
  default:
    return key.isObject() ? mix(reinterpret_cast<uintptr_t>(key.asObject()))
                          : static_cast<uint64_t>(key.kind());
  }
}

bool equalKeys(const Value &a, const Value &b) {
  if (a.isIntegral() && b.isIntegral())
    return a.asInt() == b.asInt();
  if (a.isIntegral() && b.is(Kind::Float))
    return static_cast<double>(a.asInt()) == b.asFloat();
  if (a.is(Kind::Float) && b.isIntegral())
    return a.asFloat() == static_cast<double>(b.asInt());
  if (a.kind() != b.kind())
    return false;
  switch (a.kind()) {
  case Kind::Float:
    return a.asFloat() == b.asFloat();
  case Kind::String:
    return a.as<StrObj>()->bytes == b.as<StrObj>()->bytes;
  case Kind::BigInt:
    return a.as<BigIntObj>()->text == b.as<BigIntObj>()->text;
  case Kind::Seq: {
    const auto &x = a.as<SeqObj>()->items, &y = b.as<SeqObj>()->items;
    return x.size() == y.size() && std::equal(x.begin(), x.end(), y.begin(), equalKeys);
  }
  default:
    return !a.isObject() || a.asObject() == b.asObject();
  }
}

const Value *DictObj::find(std::string_view key) const {
  if (entries.size() <= kSmallDict) {
    for (const auto &e : entries)
      if (e.first.isString() && e.first.as<StrObj>()->view() == key)
        return &e.second;
    return nullptr;
  }
  buildIndex();
  auto range = index.equal_range(std::hash<std::string_view>()(key));
  for (auto it = range.first; it != range.second; ++it) {
    const auto &e = entries[it->second];
    if (e.first.isString() && e.first.as<StrObj>()->view() == key)
      return &e.second;
  }
  return nullptr;
}

ptrdiff_t DictObj::indexOf(const Value &key) const {
  if (entries.size() <= kSmallDict) {
    for (size_t i = 0; i < entries.size(); ++i)
      if (equalKeys(entries[i].first, key))
        return static_cast<ptrdiff_t>(i);
    return -1;
  }
  buildIndex();
  auto range = index.equal_range(hashKey(key));
  for (auto it = range.first; it != range.second; ++it)
    if (equalKeys(entries[it->second].first, key))
      return it->second;
  return -1;
}

void DictObj::buildIndex() const {
  // The index always covers a prefix of the entries; extend it to all of them.
  for (size_t i = index.size(); i < entries.size(); ++i)
    index.emplace(hashKey(entries[i].first), static_cast<uint32_t>(i));
}

void DictObj::set(Value key, Value value) {
  ptrdiff_t at = indexOf(key);
  if (at >= 0) {
    entries[static_cast<size_t>(at)].second = std::move(value);
    return;
  }
  if (heap->charge(this, 2 * sizeof(std::pair<Value, Value>)))
    entries.emplace_back(std::move(key), std::move(value));
}

void DictObj::erase(size_t at) {
  index.clear();
  entries.erase(entries.begin() + static_cast<ptrdiff_t>(at));
}

} // namespace ingot::chat
