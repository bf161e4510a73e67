//===- Decoder.h - From ids to text -----------------------------*- C++ -*-===//
//
// The decoder of a tokenizer as a state that takes one id after the other, so
// that whole and incremental decoding are the same code. What comes out is
// always valid UTF-8.
//
// Two notions of ill-formed bytes exist. Byte-level and score tokenizers: U+FFFD
// per maximal subpart. ByteFallback: a run of byte tokens that is not UTF-8 as a
// whole is U+FFFD per byte; a stream cannot wait for the run's end, so it gives
// out characters as they become whole.
//
//===----------------------------------------------------------------------===//
#ifndef INGOT_RUNTIME_TOKEN_DECODER_H
#define INGOT_RUNTIME_TOKEN_DECODER_H

#include "runtime/token/Blob.h"
#include <string>
#include <vector>

namespace ingot::token {

/// What a tokenizer's decoder does; the constant part.
class Decoder {
public:
  bool load(const Blob &blob, std::string &error);

  /// The state of one decoding.
  struct State {
    std::string pending; // bytes that are no character yet; for a whole decoding, the run of byte tokens
    std::string held;    // characters that a strip at the end may still take
    bool first = true;   // no token came yet
    uint32_t strip = 0;  // characters that may still be stripped from the front
    bool streaming = false;
  };
  /// `atStart` false: the ids continue a text, so nothing is stripped from the front.
  State begin(bool streaming, bool atStart) const;
  /// Appends what becomes final with `id`, which is inside the vocabulary and no hole.
  void push(State &state, uint32_t id, std::string &out) const;
  /// Appends what the end adds.
  void finish(State &state, std::string &out) const;
  /// The token's own bytes, apart from its neighbours.
  std::string tokenText(uint32_t id) const;

private:
  enum Mode { Bytes, Scores, Join, Chain };
  struct Step {
    uint32_t kind, flags;
    std::string_view a, b;
  };
  void applySteps(std::string &text, bool first) const;
  void emit(State &state, std::string_view text, std::string &out) const;
  void pushBytes(State &state, std::string_view bytes, std::string &out) const;
  void endRun(State &state, std::string &out) const;

  const Blob *blob_ = nullptr;
  Mode mode_ = Bytes;
  std::vector<Step> steps_; // of a chain: what happens in each token
  bool fallback_ = false;
  uint32_t stripStart_ = 0, stripEnd_ = 0;
  std::string_view stripChar_;
};

} // namespace ingot::token

#endif
