//===- Decoder.cpp - From ids to text -------------------------------------===//
#include "runtime/token/Decoder.h"
#include "runtime/token/Utf8.h"

namespace ingot::token {

static constexpr std::string_view kSpaceMark = "\xe2\x96\x81"; // U+2581

bool Decoder::load(const Blob &blob, std::string &error) {
  blob_ = &blob;
  const uint64_t n = blob.count(INGOT_TOK_T_DECODERS);
  auto refuse = [&](uint64_t i, const char *what) {
    error = "decoder " + std::to_string(i) + ": " + what;
    return false;
  };
  bool fused = false, stripped = false;
  mode_ = Chain;
  for (uint64_t i = 0; i < n; ++i) {
    ingot_tok_stage_v1 s = blob.stage(INGOT_TOK_T_DECODERS, i);
    Step step{s.kind, s.flags, blob.string(s.a, s.a_size), blob.string(s.b, s.b_size)};
    bool oneChar = !step.a.empty() && step.a.size() == lengthOfLead(static_cast<unsigned char>(step.a[0]));
    switch (s.kind) {
    case INGOT_TOK_D_BYTE_LEVEL:
    case INGOT_TOK_D_SCORES:
    case INGOT_TOK_D_JOIN_SPACE:
      if (n != 1)
        return refuse(i, "this kind must be alone");
      mode_ = s.kind == INGOT_TOK_D_BYTE_LEVEL ? Bytes : s.kind == INGOT_TOK_D_SCORES ? Scores : Join;
      break;
    case INGOT_TOK_D_REPLACE:
    case INGOT_TOK_D_METASPACE:
      if (fallback_ || fused)
        return refuse(i, "a step on single tokens behind ByteFallback or Fuse");
      if (step.a.empty() || (s.kind == INGOT_TOK_D_METASPACE && (!oneChar || (s.flags & 3) == 3)))
        return refuse(i, "bad text to replace");
      steps_.push_back(step);
      break;
    case INGOT_TOK_D_BYTE_FALLBACK:
      if (fallback_ || fused)
        return refuse(i, "ByteFallback twice or behind Fuse");
      fallback_ = true;
      break;
    case INGOT_TOK_D_FUSE:
      if (fused)
        return refuse(i, "Fuse twice");
      fused = true;
      break;
    case INGOT_TOK_D_STRIP:
      if (!oneChar)
        return refuse(i, "Strip needs one character");
      if (fused) {
        if (stripped)
          return refuse(i, "Strip twice behind Fuse");
        stripped = true;
        stripChar_ = step.a;
        stripStart_ = s.flags & 0xffff;
        stripEnd_ = s.flags >> 16;
      } else if (fallback_) {
        return refuse(i, "Strip between ByteFallback and Fuse");
      } else {
        steps_.push_back(step);
      }
      break;
    default:
      return refuse(i, "unknown kind");
    }
  }
  if (mode_ == Scores && blob.flag(INGOT_TOK_ADD_SPACE_PREFIX)) {
    stripChar_ = " ";
    stripStart_ = 1;
  }
  return true;
}

Decoder::State Decoder::begin(bool streaming, bool atStart) const {
  State s;
  s.streaming = streaming;
  s.first = atStart;
  s.strip = atStart ? stripStart_ : 0;
  return s;
}

static void replaceIn(std::string &text, std::string_view from, std::string_view to) {
  size_t at = text.find(from);
  if (at == std::string::npos)
    return;
  std::string out;
  size_t done = 0;
  for (; at != std::string::npos; at = text.find(from, done)) {
    out.append(text, done, at - done);
    out += to;
    done = at + from.size();
  }
  out.append(text, done, std::string::npos);
  text = std::move(out);
}

void Decoder::applySteps(std::string &text, bool first) const {
  for (const Step &s : steps_) {
    switch (s.kind) {
    case INGOT_TOK_D_REPLACE:
      replaceIn(text, s.a, s.b);
      break;
    case INGOT_TOK_D_METASPACE:
      // In the first token the marks that encoding put in front are dropped, all of them as in the reference.
      replaceIn(text, s.a, first && (s.flags & 3) != INGOT_TOK_PREPEND_NEVER ? "" : " ");
      break;
    case INGOT_TOK_D_STRIP: {
      size_t begin = 0, end = text.size();
      for (uint32_t i = 0; i < (s.flags & 0xffff) && text.compare(begin, s.a.size(), s.a) == 0; ++i)
        begin += s.a.size();
      for (uint32_t i = 0; i < s.flags >> 16 && end - begin >= s.a.size() &&
                           text.compare(end - s.a.size(), s.a.size(), s.a) == 0;
           ++i)
        end -= s.a.size();
      text = text.substr(begin, end - begin);
      break;
    }
    default:
      break;
    }
  }
}

void Decoder::emit(State &state, std::string_view text, std::string &out) const {
  while (state.strip && !text.empty()) {
    if (text.substr(0, stripChar_.size()) != stripChar_) {
      state.strip = 0;
      break;
    }
    text.remove_prefix(stripChar_.size());
    --state.strip;
  }
  if (!stripEnd_) {
    out += text;
    return;
  }
  state.held += text;
  size_t keep = state.held.size();
  for (uint32_t i = 0; i < stripEnd_ && keep >= stripChar_.size() &&
                       state.held.compare(keep - stripChar_.size(), stripChar_.size(), stripChar_) == 0;
       ++i)
    keep -= stripChar_.size();
  out.append(state.held, 0, keep);
  state.held.erase(0, keep);
}

void Decoder::pushBytes(State &state, std::string_view bytes, std::string &out) const {
  std::string all = std::move(state.pending);
  all += bytes;
  state.pending.clear();
  std::string text, rest;
  appendValidUtf8(text, all, &rest);
  state.pending = std::move(rest);
  emit(state, text, out);
}

/// What a byte token `<0xXX>` stands for; -1 if the text is none.
static int byteOfToken(std::string_view t) {
  if (t.size() != 6 || t.substr(0, 3) != "<0x" || t[5] != '>')
    return -1;
  int v = 0;
  for (char c : t.substr(3, 2)) {
    int d = c >= '0' && c <= '9'   ? c - '0'
            : c >= 'A' && c <= 'F' ? c - 'A' + 10
            : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                   : -1;
    if (d < 0)
      return -1;
    v = v * 16 + d;
  }
  return v;
}

void Decoder::endRun(State &state, std::string &out) const {
  if (state.pending.empty())
    return;
  std::string run = std::move(state.pending);
  state.pending.clear();
  if (isValidUtf8(run)) {
    emit(state, run, out);
    return;
  }
  for (size_t i = 0; i < run.size(); ++i)
    emit(state, kReplacement, out);
}

void Decoder::push(State &state, uint32_t id, std::string &out) const {
  std::string_view raw = blob_->token(id);
  bool first = state.first;
  state.first = false;
  switch (mode_) {
  case Bytes:
    pushBytes(state, raw, out);
    return;
  case Join: {
    std::string text = first ? "" : " ";
    appendValidUtf8(text, raw);
    emit(state, text, out);
    return;
  }
  case Scores: {
    ingot_tok_type type = blob_->type(id);
    int byte = type == INGOT_TOK_BYTE ? byteOfToken(raw) : -1;
    if (byte >= 0) {
      char c = static_cast<char>(byte);
      pushBytes(state, {&c, 1}, out);
      return;
    }
    std::string text(raw);
    if (type == INGOT_TOK_NORMAL || type == INGOT_TOK_UNUSED)
      replaceIn(text, kSpaceMark, " ");
    pushBytes(state, text, out);
    return;
  }
  case Chain:
    break;
  }
  std::string text;
  appendValidUtf8(text, raw);
  applySteps(text, first);
  int byte = fallback_ ? byteOfToken(text) : -1;
  if (byte < 0) {
    endRun(state, out);
    emit(state, text, out);
    return;
  }
  state.pending += static_cast<char>(byte);
  if (!state.streaming)
    return;
  std::string run = std::move(state.pending);
  state.pending.clear();
  const char *p = run.data(), *end = p + run.size();
  while (p < end) {
    size_t n;
    Utf8Step step = decodeStrict(p, end, n);
    if (step == Utf8Step::Incomplete) {
      state.pending.assign(p, n);
      return;
    }
    if (step == Utf8Step::Valid)
      emit(state, {p, n}, out);
    else
      for (size_t i = 0; i < n; ++i)
        emit(state, kReplacement, out);
    p += n;
  }
}

void Decoder::finish(State &state, std::string &out) const {
  if (mode_ == Chain)
    endRun(state, out);
  else if (!state.pending.empty())
    emit(state, kReplacement, out);
  state.pending.clear();
  state.held.clear(); // what is still held is what the strip takes
}

std::string Decoder::tokenText(uint32_t id) const {
  std::string text(blob_->token(id));
  if (mode_ == Bytes || mode_ == Join)
    return text;
  if (mode_ == Scores) {
    ingot_tok_type type = blob_->type(id);
    int byte = type == INGOT_TOK_BYTE ? byteOfToken(text) : -1;
    if (byte >= 0)
      return std::string(1, static_cast<char>(byte));
    if (type == INGOT_TOK_NORMAL || type == INGOT_TOK_UNUSED)
      replaceIn(text, kSpaceMark, " ");
    return text;
  }
  applySteps(text, false);
  int byte = fallback_ ? byteOfToken(text) : -1;
  return byte >= 0 ? std::string(1, static_cast<char>(byte)) : text;
}

} // namespace ingot::token
