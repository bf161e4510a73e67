//===- Bpe.cpp - From words to ids ----------------------------------------===//
#include "runtime/token/Bpe.h"
#include "runtime/token/Utf8.h"
#include <algorithm>

namespace ingot::token {

// Up to this many symbols a scan for the best pair is faster than a heap.
static constexpr size_t kShortWord = 48;

static constexpr std::string_view kSpaceMark = "\xe2\x96\x81"; // U+2581

void Bpe::load(const Blob &blob) {
  blob_ = &blob;
  static constexpr char hex[] = "0123456789ABCDEF";
  for (unsigned b = 0; b < 256; ++b) {
    char c = static_cast<char>(b);
    byteId_[b] = blob.find({&c, 1});
    char text[] = {'<', '0', 'x', hex[b >> 4], hex[b & 15], '>'};
    fallbackId_[b] = blob.find({text, 6});
  }
  for (uint32_t i = 0; i < blob.vocab(); ++i)
    longest_ = std::max(longest_, blob.token(i).size());
  findBridges();
}

void Bpe::findBridges() {
  if (blob_->flag(INGOT_TOK_BYTE_LEVEL) || blob_->flag(INGOT_TOK_IGNORE_MERGES) ||
      blob_->find(kSpaceMark) < 0)
    return;
  for (uint32_t id = 0; id < blob_->vocab(); ++id) {
    std::string_view t = blob_->token(id);
    for (size_t at = t.find(kSpaceMark, 1); at != std::string_view::npos; at = t.find(kSpaceMark, at + 1)) {
      // No telling what is in front, or a byte token, which stands for another character.
      if (!isValidUtf8(t.substr(0, at)) || (at >= 6 && t.substr(at - 6, 3) == "<0x" && t[at - 1] == '>'))
        return;
      const char *p = t.data() + at;
      stepBack(p);
      bridges_.push_back(decodeValid(p));
    }
  }
  std::sort(bridges_.begin(), bridges_.end());
  bridges_.erase(std::unique(bridges_.begin(), bridges_.end()), bridges_.end());
  cuts_ = true;
}

void Bpe::encode(std::string_view word, std::vector<int32_t> &out, Scratch &scratch) const {
  size_t done = 0;
  if (cuts_ && word.size() > kShortWord)
    for (size_t at = word.find(kSpaceMark, 1); at != std::string_view::npos;
         at = word.find(kSpaceMark, at + 1)) {
      const char *p = word.data() + at;
      stepBack(p);
      if (std::binary_search(bridges_.begin(), bridges_.end(), decodeValid(p)))
        continue;
      encodePart(word.substr(done, at - done), out, scratch);
      done = at;
    }
  encodePart(word.substr(done), out, scratch);
}

void Bpe::encodePart(std::string_view word, std::vector<int32_t> &out, Scratch &scratch) const {
  if (word.empty())
    return;
  if (blob_->header().model == INGOT_TOK_MODEL_SCORES)
    encodeScores(word, out, scratch);
  else
    encodeMerges(word, out, scratch);
}

/// The ids of the word's characters before any merge.
void Bpe::firstIds(std::string_view word, std::vector<uint32_t> &ids) const {
  ids.clear();
  const int32_t unk = blob_->header().unk;
  if (blob_->flag(INGOT_TOK_BYTE_LEVEL)) {
    for (char c : word) {
      int32_t id = byteId_[static_cast<unsigned char>(c)];
      if (id < 0)
        id = unk;
      if (id >= 0)
        ids.push_back(static_cast<uint32_t>(id));
    }
    return;
  }
  const bool fallback = blob_->flag(INGOT_TOK_BYTE_FALLBACK), fuse = blob_->flag(INGOT_TOK_FUSE_UNK);
  // An unknown character is written once the next known one (or, without fusing, the next unknown one) is
  // seen. Fallback bytes do not end the wait; the reference implementation does it so.
  bool waiting = false;
  for (size_t i = 0; i < word.size();) {
    auto lead = static_cast<unsigned char>(word[i]);
    std::string_view ch = word.substr(i, lengthOfLead(lead));
    i += ch.size();
    int32_t id = ch.size() == 1 ? byteId_[lead] : blob_->find(ch);
    if (id >= 0) {
      if (waiting)
        ids.push_back(static_cast<uint32_t>(unk));
      waiting = false;
      ids.push_back(static_cast<uint32_t>(id));
      continue;
    }
    if (fallback && std::all_of(ch.begin(), ch.end(),
                                [&](char c) { return fallbackId_[static_cast<unsigned char>(c)] >= 0; })) {
      for (char c : ch)
        ids.push_back(static_cast<uint32_t>(fallbackId_[static_cast<unsigned char>(c)]));
      continue;
    }
    if (unk < 0)
      continue;
    if (waiting && !fuse)
      ids.push_back(static_cast<uint32_t>(unk));
    waiting = true;
  }
  if (waiting)
    ids.push_back(static_cast<uint32_t>(unk));
}

void Bpe::encodeMerges(std::string_view word, std::vector<int32_t> &out, Scratch &scratch) const {
  if (blob_->flag(INGOT_TOK_IGNORE_MERGES)) {
    int32_t id = blob_->find(word);
    if (id >= 0) {
      out.push_back(id);
      return;
    }
  }
  firstIds(word, scratch.ids);
  if (scratch.ids.size() <= kShortWord)
    mergeShort(scratch.ids, scratch);
  else
    mergeLong(scratch.ids, scratch);
  out.insert(out.end(), scratch.ids.begin(), scratch.ids.end());
}

void Bpe::mergeShort(std::vector<uint32_t> &ids, Scratch &scratch) const {
  size_t n = ids.size();
  if (n < 2)
    return;
  auto &ranks = scratch.ranks, &results = scratch.results;
  ranks.assign(n, INGOT_TOK_NONE);
  results.resize(n);
  auto look = [&](size_t i) {
    if (!blob_->findMerge(ids[i], ids[i + 1], ranks[i], results[i]))
      ranks[i] = INGOT_TOK_NONE;
  };
  for (size_t i = 0; i + 1 < n; ++i)
    look(i);
  while (n > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < n; ++i)
      if (ranks[i] < ranks[best])
        best = i;
    if (ranks[best] == INGOT_TOK_NONE)
      break;
    ids[best] = results[best];
    for (size_t i = best + 1; i + 1 < n; ++i) {
      ids[i] = ids[i + 1];
      ranks[i] = ranks[i + 1];
      results[i] = results[i + 1];
    }
    --n;
    if (best + 1 < n)
      look(best);
    else
      ranks[best] = INGOT_TOK_NONE;
    if (best > 0)
      look(best - 1);
  }
  ids.resize(n);
}

void Bpe::mergeLong(std::vector<uint32_t> &ids, Scratch &scratch) const {
  auto &symbols = scratch.symbols;
  auto &heap = scratch.heap;
  const auto n = static_cast<int32_t>(ids.size());
  symbols.resize(ids.size());
  heap.clear();
  for (int32_t i = 0; i < n; ++i)
    symbols[static_cast<size_t>(i)] = {ids[static_cast<size_t>(i)], 0, 1, i - 1, i + 1 < n ? i + 1 : -1};
  auto at = [&](int32_t i) -> Scratch::Symbol & { return symbols[static_cast<size_t>(i)]; };
  auto worse = [](const Scratch::Entry &x, const Scratch::Entry &y) {
    return x.rank > y.rank || (x.rank == y.rank && x.left > y.left);
  };
  auto push = [&](int32_t left, int32_t right, bool ordered) {
    if (left < 0 || right < 0)
      return;
    uint32_t rank, result;
    if (!blob_->findMerge(at(left).id, at(right).id, rank, result))
      return;
    heap.push_back({rank, 0, static_cast<uint32_t>(left), result});
    if (ordered)
      std::push_heap(heap.begin(), heap.end(), worse);
  };
  for (int32_t i = 0; i + 1 < n; ++i)
    push(i, i + 1, false);
  std::make_heap(heap.begin(), heap.end(), worse);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), worse);
    Scratch::Entry e = heap.back();
    heap.pop_back();
    auto left = static_cast<int32_t>(e.left);
    Scratch::Symbol &l = at(left);
    if (l.size == 0 || l.next < 0)
      continue;
    Scratch::Symbol &r = at(l.next);
    uint32_t rank, result; // an entry is stale if its symbols were merged with others meanwhile
    if (!blob_->findMerge(l.id, r.id, rank, result) || result != e.result)
      continue;
    l.id = e.result;
    r.size = 0;
    l.next = r.next;
    if (l.next >= 0)
      at(l.next).prev = left;
    push(l.prev, left, true);
    push(left, l.next, true);
  }
  ids.clear();
  for (int32_t i = 0; i >= 0; i = at(i).next)
    ids.push_back(at(i).id);
}

void Bpe::encodeScores(std::string_view word, std::vector<int32_t> &out, Scratch &scratch) const {
  auto &symbols = scratch.symbols;
  auto &heap = scratch.heap;
  symbols.clear();
  heap.clear();
  for (size_t i = 0; i < word.size();) {
    size_t n = lengthOfLead(static_cast<unsigned char>(word[i]));
    auto index = static_cast<int32_t>(symbols.size());
    symbols.push_back({0, static_cast<uint32_t>(i), static_cast<uint32_t>(n), index - 1, index + 1});
    i += n;
  }
  symbols.back().next = -1;
  auto at = [&](int32_t i) -> Scratch::Symbol & { return symbols[static_cast<size_t>(i)]; };
  auto worse = [](const Scratch::Entry &x, const Scratch::Entry &y) {
    return x.score < y.score || (x.score == y.score && x.left > y.left);
  };
  auto push = [&](int32_t left, int32_t right) {
    if (left < 0 || right < 0)
      return;
    uint32_t size = at(left).size + at(right).size;
    if (size > longest_)
      return;
    int32_t id = blob_->find(word.substr(at(left).begin, size));
    if (id < 0)
      return;
    heap.push_back({0, blob_->score(static_cast<uint32_t>(id)), static_cast<uint32_t>(left), size});
    std::push_heap(heap.begin(), heap.end(), worse);
  };
  for (int32_t i = 0; i + 1 < static_cast<int32_t>(symbols.size()); ++i)
    push(i, i + 1);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), worse);
    Scratch::Entry e = heap.back();
    heap.pop_back();
    auto left = static_cast<int32_t>(e.left);
    Scratch::Symbol &l = at(left);
    if (l.size == 0 || l.next < 0)
      continue;
    Scratch::Symbol &r = at(l.next);
    if (l.size + r.size != e.result)
      continue;
    l.size = e.result;
    r.size = 0;
    l.next = r.next;
    if (l.next >= 0)
      at(l.next).prev = left;
    push(l.prev, left);
    push(left, l.next);
  }
  for (int32_t i = 0; i >= 0; i = at(i).next) {
    std::string_view text = word.substr(at(i).begin, at(i).size);
    int32_t id = blob_->find(text);
    if (id >= 0) {
      out.push_back(id);
      continue;
    }
    for (char c : text) {
      auto b = static_cast<unsigned char>(c);
      id = fallbackId_[b] >= 0 ? fallbackId_[b] : byteId_[b] >= 0 ? byteId_[b] : blob_->header().unk;
      if (id >= 0)
        out.push_back(id);
    }
  }
}

} // namespace ingot::token
