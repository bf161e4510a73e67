//===- Tokenizer.cpp - Text to ids and back -------------------------------===//
#include "runtime/token/Tokenizer.h"
#include "runtime/token/AddedTokens.h"
#include "runtime/token/Blob.h"
#include "runtime/token/Bpe.h"
#include "runtime/token/Decoder.h"
#include "runtime/token/Normalizer.h"
#include "runtime/token/PreTokenizer.h"
#include "runtime/token/Utf8.h"
#include <algorithm>

namespace ingot::token {

static constexpr std::string_view kSpaceMark = "\xe2\x96\x81"; // U+2581

struct Tokenizer::Impl {
  Blob blob;
  Normalizer normalizer;
  PreTokenizer preTokenizer;
  AddedTokens added;
  Bpe bpe;
  Decoder decoder;
  std::vector<int32_t> ends;

  struct Scratch {
    Regex::Scratch regex;
    Bpe::Scratch bpe;
    std::string word;
  };

  void encodeText(std::string_view text, const Regions &special, bool mixed, std::vector<int32_t> &out) const;
  void encodePlain(std::string_view text, bool atStart, bool special, std::vector<int32_t> &out,
                   Scratch &scratch) const;
  void encodeWords(std::string_view text, bool atStart, std::vector<int32_t> &out, Scratch &scratch) const;
  std::vector<int32_t> encodeWhole(std::string_view text, bool parseSpecial) const;
  std::vector<int32_t> wrap(ingot_tok_table_id tmpl, const std::vector<int32_t> &a,
                            const std::vector<int32_t> &b) const;
  bool isToken(int32_t id) const {
    return id >= 0 && static_cast<uint32_t>(id) < blob.vocab() &&
           blob.type(static_cast<uint32_t>(id)) != INGOT_TOK_HOLE;
  }
  bool isSpecial(int32_t id) const { return blob.typeByte(static_cast<uint32_t>(id)) & INGOT_TOK_SPECIAL; }
};

Tokenizer::Tokenizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::~Tokenizer() = default;

std::unique_ptr<Tokenizer> Tokenizer::load(const uint8_t *data, size_t size, std::string &error) {
  auto impl = std::make_unique<Impl>();
  Impl &t = *impl;
  if (!t.blob.open(data, size, error) || !t.normalizer.load(t.blob, error) ||
      !t.preTokenizer.load(t.blob, error) || !t.decoder.load(t.blob, error))
    return nullptr;
  t.added.load(t.blob, t.normalizer);
  t.bpe.load(t.blob);
  for (uint64_t i = 0; i < t.blob.count(INGOT_TOK_T_END); ++i)
    t.ends.push_back(t.blob.i32(INGOT_TOK_T_END, i));
  std::sort(t.ends.begin(), t.ends.end());
  return std::unique_ptr<Tokenizer>(new Tokenizer(std::move(impl)));
}

/// One text, which is cut at added tokens first.
void Tokenizer::Impl::encodeText(std::string_view text, const Regions &special, bool mixed,
                                 std::vector<int32_t> &out) const {
  Scratch scratch;
  std::vector<Piece> pieces;
  added.splitRaw(text, special, mixed, pieces);
  if (blob.header().model == INGOT_TOK_MODEL_SCORES) {
    bool prefix = true; // at the start and behind a token
    std::string plain;
    for (const Piece &p : pieces) {
      if (p.id >= 0) {
        out.push_back(p.id);
        prefix = true;
        continue;
      }
      plain.clear();
      if (prefix && blob.flag(INGOT_TOK_ADD_SPACE_PREFIX))
        plain += kSpaceMark;
      for (char c : text.substr(p.begin, p.end - p.begin))
        if (c == ' ')
          plain += kSpaceMark;
        else
          plain += c;
      bpe.encode(plain, out, scratch.bpe);
      prefix = false;
    }
    return;
  }
  for (const Piece &p : pieces) {
    if (p.id >= 0)
      out.push_back(p.id);
    else
      encodePlain(text.substr(p.begin, p.end - p.begin), p.begin == 0, special.contains(p.begin, p.end), out,
                  scratch);
  }
}

/// Text without raw added tokens: normalize, cut at normalized ones.
void Tokenizer::Impl::encodePlain(std::string_view text, bool atStart, bool special,
                                  std::vector<int32_t> &out, Scratch &scratch) const {
  std::string normal;
  if (!normalizer.empty()) {
    bool moved = false;
    normal = normalizer.apply(text, scratch.regex, &moved);
    text = normal;
    atStart = atStart && !moved;
  }
  if (!added.hasNormalized()) {
    encodeWords(text, atStart, out, scratch);
    return;
  }
  std::vector<Piece> pieces;
  added.splitNormalized(text, special, pieces);
  for (const Piece &p : pieces) {
    if (p.id >= 0)
      out.push_back(p.id);
    else
      encodeWords(text.substr(p.begin, p.end - p.begin), atStart && p.begin == 0, out, scratch);
  }
}

void Tokenizer::Impl::encodeWords(std::string_view text, bool atStart, std::vector<int32_t> &out,
                                  Scratch &scratch) const {
  if (text.empty())
    return;
  Words words;
  words.text = std::string(text);
  words.spans.push_back({0, text.size(), atStart});
  words.mapped = normalizer.mapsBytes();
  preTokenizer.apply(words, scratch.regex);
  for (const Words::Span &s : words.spans) {
    std::string_view word = std::string_view(words.text).substr(s.begin, s.end - s.begin);
    if (words.mapped) {
      scratch.word.clear();
      for (const char *p = word.data(), *end = p + word.size(); p < end;) {
        int32_t byte = ingot_tok_cp_to_byte(decodeValid(p));
        if (byte >= 0)
          scratch.word += static_cast<char>(byte);
      }
      word = scratch.word;
    }
    bpe.encode(word, out, scratch.bpe);
  }
}

std::vector<int32_t> Tokenizer::Impl::encodeWhole(std::string_view text, bool parseSpecial) const {
  std::string valid;
  if (!isValidUtf8(text)) {
    appendValidUtf8(valid, text);
    text = valid;
  }
  Regions special;
  if (parseSpecial)
    special.add(0, text.size());
  std::vector<int32_t> out;
  encodeText(text, special, false, out);
  return out;
}

std::vector<int32_t> Tokenizer::Impl::wrap(ingot_tok_table_id tmpl, const std::vector<int32_t> &a,
                                           const std::vector<int32_t> &b) const {
  std::vector<int32_t> out;
  out.reserve(a.size() + b.size() + blob.count(tmpl));
  for (uint64_t i = 0; i < blob.count(tmpl); ++i) {
    int32_t op = blob.i32(tmpl, i);
    if (op == -1)
      out.insert(out.end(), a.begin(), a.end());
    else if (op == -2)
      out.insert(out.end(), b.begin(), b.end());
    else
      out.push_back(op);
  }
  return out;
}

std::vector<int32_t> Tokenizer::encode(std::string_view text, bool addSpecial, bool parseSpecial) const {
  std::vector<int32_t> ids = impl_->encodeWhole(text, parseSpecial);
  return addSpecial ? impl_->wrap(INGOT_TOK_T_SINGLE, ids, {}) : ids;
}

std::vector<int32_t> Tokenizer::encodePair(std::string_view first, std::string_view second, bool addSpecial,
                                           bool parseSpecial) const {
  std::vector<int32_t> a = impl_->encodeWhole(first, parseSpecial);
  std::vector<int32_t> b = impl_->encodeWhole(second, parseSpecial);
  if (addSpecial)
    return impl_->wrap(INGOT_TOK_T_PAIR, a, b);
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<int32_t> Tokenizer::encodeSegments(const std::vector<TextSegment> &segments,
                                               bool addSpecial) const {
  std::string text;
  Regions special;
  bool any = false, all = true;
  for (const TextSegment &s : segments) {
    size_t begin = text.size();
    appendValidUtf8(text, s.text);
    if (s.text.empty())
      continue;
    if (s.parseSpecial)
      special.add(begin, text.size());
    any |= s.parseSpecial;
    all &= s.parseSpecial;
  }
  std::vector<int32_t> ids;
  impl_->encodeText(text, special, any && !all, ids);
  return addSpecial ? impl_->wrap(INGOT_TOK_T_SINGLE, ids, {}) : ids;
}

std::string Tokenizer::decode(const int32_t *ids, size_t n, bool skipSpecial, bool atStart) const {
  Decoder::State state = impl_->decoder.begin(false, atStart);
  std::string out;
  for (size_t i = 0; i < n; ++i)
    if (impl_->isToken(ids[i]) && !(skipSpecial && impl_->isSpecial(ids[i])))
      impl_->decoder.push(state, static_cast<uint32_t>(ids[i]), out);
  impl_->decoder.finish(state, out);
  return out;
}

std::string Tokenizer::tokenText(int32_t id) const {
  return impl_->isToken(id) ? impl_->decoder.tokenText(static_cast<uint32_t>(id)) : std::string();
}

int32_t Tokenizer::findToken(std::string_view text) const {
  const Blob &b = impl_->blob;
  uint64_t lo = 0, hi = b.count(INGOT_TOK_T_ADDED);
  while (lo < hi) {
    uint64_t mid = (lo + hi) / 2;
    ingot_tok_added_v1 a = b.added(mid);
    std::string_view t = b.string(a.text, a.text_size);
    if (t == text)
      return static_cast<int32_t>(a.id);
    (t < text ? lo : hi) = t < text ? mid + 1 : mid;
  }
  return b.find(text);
}

int32_t Tokenizer::vocabSize() const { return static_cast<int32_t>(impl_->blob.vocab()); }
int32_t Tokenizer::bos() const { return impl_->blob.header().bos; }
int32_t Tokenizer::eos() const { return impl_->blob.header().eos; }
int32_t Tokenizer::unk() const { return impl_->blob.header().unk; }
int32_t Tokenizer::pad() const { return impl_->blob.header().pad; }
int32_t Tokenizer::eot() const { return impl_->blob.header().eot; }

bool Tokenizer::addBos() const {
  return bos() >= 0 && impl_->blob.count(INGOT_TOK_T_SINGLE) &&
         impl_->blob.i32(INGOT_TOK_T_SINGLE, 0) == bos();
}

bool Tokenizer::addEos() const {
  uint64_t n = impl_->blob.count(INGOT_TOK_T_SINGLE);
  return eos() >= 0 && n && impl_->blob.i32(INGOT_TOK_T_SINGLE, n - 1) == eos();
}

bool Tokenizer::isControl(int32_t id) const { return impl_->isToken(id) && impl_->isSpecial(id); }

bool Tokenizer::isEnd(int32_t id) const {
  return std::binary_search(impl_->ends.begin(), impl_->ends.end(), id);
}

const std::vector<int32_t> &Tokenizer::endIds() const { return impl_->ends; }

struct StreamDecoder::Impl {
  const Tokenizer *tokenizer;
  bool skipSpecial, atStart;
  Decoder::State state;
};

StreamDecoder::StreamDecoder(const Tokenizer &tokenizer, bool skipSpecial, bool atStart)
    : impl_(new Impl{&tokenizer, skipSpecial, atStart, tokenizer.impl_->decoder.begin(true, atStart)}) {}
StreamDecoder::~StreamDecoder() = default;
StreamDecoder::StreamDecoder(StreamDecoder &&) noexcept = default;
StreamDecoder &StreamDecoder::operator=(StreamDecoder &&) noexcept = default;

std::string StreamDecoder::push(int32_t id) {
  const Tokenizer::Impl &t = *impl_->tokenizer->impl_;
  std::string out;
  if (t.isToken(id) && !(impl_->skipSpecial && t.isSpecial(id)))
    t.decoder.push(impl_->state, static_cast<uint32_t>(id), out);
  return out;
}

std::string StreamDecoder::flush() {
  const Decoder &d = impl_->tokenizer->impl_->decoder;
  std::string out;
  d.finish(impl_->state, out);
  impl_->state = d.begin(true, impl_->atStart);
  return out;
}

} // namespace ingot::token
