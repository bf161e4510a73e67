//===- Normalizer.cpp - Text before it is split ---------------------------===//
#include "runtime/token/Normalizer.h"
#include "runtime/token/Unicode.h"
#include "runtime/token/Utf8.h"
#include <algorithm>

namespace ingot::token {

void appendMappedBytes(std::string &out, std::string_view text) {
  out.reserve(out.size() + text.size() * 2);
  for (char c : text)
    appendUtf8(out, ingot_tok_byte_to_cp(static_cast<unsigned char>(c)));
}

bool Normalizer::load(const Blob &blob, std::string &error) {
  double growth = 1;
  for (uint64_t i = 0; i < blob.count(INGOT_TOK_T_NORMALIZERS); ++i) {
    ingot_tok_stage_v1 s = blob.stage(INGOT_TOK_T_NORMALIZERS, i);
    Step step;
    step.kind = s.kind;
    step.flags = s.flags;
    step.a = blob.string(s.a, s.a_size);
    step.b = blob.string(s.b, s.b_size);
    auto sizeOf = [](std::string_view v) { return static_cast<double>(v.size()); };
    const std::string where = "normalizer " + std::to_string(i);
    switch (s.kind) {
    case INGOT_TOK_N_NFC:
    case INGOT_TOK_N_NFD:
      growth *= 4;
      break;
    case INGOT_TOK_N_NFKC:
    case INGOT_TOK_N_NFKD:
      growth *= 12;
      break;
    case INGOT_TOK_N_LOWERCASE:
      growth *= 1.5;
      break;
    case INGOT_TOK_N_STRIP:
    case INGOT_TOK_N_STRIP_ACCENTS:
      break;
    case INGOT_TOK_N_PREPEND:
      break; // once per text
    case INGOT_TOK_N_REPLACE:
      if (step.a.empty()) {
        error = where + ": the text to replace is empty";
        return false;
      }
      growth *= std::max(1.0, sizeOf(step.b) / sizeOf(step.a));
      break;
    case INGOT_TOK_N_REPLACE_REGEX: {
      std::string what;
      if (!Regex::compile(step.a, step.regex, what)) {
        error = where + ": regular expression '" + std::string(step.a) + "': " + what;
        return false;
      }
      growth *= step.regex.canMatchEmpty() ? sizeOf(step.b) + 1 : std::max(1.0, sizeOf(step.b));
      break;
    }
    case INGOT_TOK_N_BYTE_LEVEL:
      if (mapsBytes_) {
        error = where + ": a second ByteLevel step";
        return false;
      }
      mapsBytes_ = true;
      growth *= 2;
      break;
    default:
      error = where + ": unknown kind " + std::to_string(s.kind);
      return false;
    }
    steps_.push_back(std::move(step));
  }
  if (growth > kMaxGrowth) {
    error = "normalizer: its steps together can make a text more than " +
            std::to_string(static_cast<int>(kMaxGrowth)) + " times longer; the limit on growth refuses it";
    return false;
  }
  return true;
}

static std::string replaceAll(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  out.reserve(text.size() + text.size() / 2);
  size_t at = 0;
  for (size_t hit; (hit = text.find(from, at)) != std::string_view::npos; at = hit + from.size()) {
    out.append(text, at, hit - at);
    out += to;
  }
  out.append(text, at, std::string_view::npos);
  return out;
}

static std::string_view stripSpace(std::string_view text, bool left, bool right) {
  const char *p = text.data(), *end = p + text.size();
  while (left && p < end) {
    const char *q = p;
    if (!isSpace(decodeValid(q)))
      break;
    p = q;
  }
  while (right && end > p) {
    const char *q = end;
    stepBack(q);
    const char *r = q;
    if (!isSpace(decodeValid(r)))
      break;
    end = q;
  }
  return {p, static_cast<size_t>(end - p)};
}

std::string Normalizer::apply(std::string_view in, Regex::Scratch &scratch, bool *movedStart) const {
  std::string text(in);
  auto moved = [&] {
    if (movedStart)
      *movedStart = true;
  };
  for (const Step &s : steps_) {
    switch (s.kind) {
    case INGOT_TOK_N_NFC:
      text = normalizeUnicode(text, NormalForm::NFC);
      break;
    case INGOT_TOK_N_NFD:
      text = normalizeUnicode(text, NormalForm::NFD);
      break;
    case INGOT_TOK_N_NFKC:
      text = normalizeUnicode(text, NormalForm::NFKC);
      break;
    case INGOT_TOK_N_NFKD:
      text = normalizeUnicode(text, NormalForm::NFKD);
      break;
    case INGOT_TOK_N_LOWERCASE:
      text = lowerCaseText(text);
      break;
    case INGOT_TOK_N_STRIP: {
      std::string_view kept = stripSpace(text, s.flags & 1, s.flags & 2);
      if (kept.data() != text.data())
        moved();
      text = std::string(kept);
      break;
    }
    case INGOT_TOK_N_STRIP_ACCENTS: {
      std::string out;
      for (const char *begin = text.data(), *p = begin, *end = p + text.size(); p < end;) {
        const char *from = p;
        if (!(categoryBit(decodeValid(p)) & CatM))
          out.append(from, p);
        else if (from == begin)
          moved();
      }
      text = std::move(out);
      break;
    }
    case INGOT_TOK_N_PREPEND:
      if (!text.empty())
        text.insert(0, s.a);
      break;
    case INGOT_TOK_N_REPLACE:
      if (s.b.empty() && text.compare(0, s.a.size(), s.a) == 0)
        moved();
      text = replaceAll(text, s.a, s.b);
      break;
    case INGOT_TOK_N_REPLACE_REGEX: {
      if (text.empty())
        break; // the reference implementation finds nothing there, not even the empty match
      std::string out;
      size_t at = 0;
      s.regex.forEach(text, scratch, [&](size_t begin, size_t end) {
        out.append(text, at, begin - at);
        out += s.b;
        at = end;
        if (begin == 0 && end > 0 && s.b.empty())
          moved();
      });
      out.append(text, at, std::string::npos);
      text = std::move(out);
      break;
    }
    case INGOT_TOK_N_BYTE_LEVEL: {
      std::string out;
      appendMappedBytes(out, text);
      text = std::move(out);
      break;
    }
    }
  }
  return text;
}

} // namespace ingot::token
