//===- Tokenizer.h - Text to ids and back -----------------------*- C++ -*-===//
//
// The tokenizer that an artefact carries. It is loaded from the bytes of
// runtime/abi/ingot_tok.h, which it reads in place, and is constant afterwards:
// one object serves any number of threads.
//
// Text that is not valid UTF-8 is read as if each ill-formed part were U+FFFD.
//
//===----------------------------------------------------------------------===//
#ifndef INGOT_RUNTIME_TOKEN_TOKENIZER_H
#define INGOT_RUNTIME_TOKEN_TOKENIZER_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::token {

/// A part of a prompt. Special tokens match only where `parseSpecial` is true.
struct TextSegment {
  std::string_view text;
  bool parseSpecial = false;
};

class Tokenizer {
public:
  /// Null and `error` if the data is not a complete, consistent tokenizer. The data must outlive the object.
  static std::unique_ptr<Tokenizer> load(const uint8_t *data, size_t size, std::string &error);
  ~Tokenizer();

  /// `addSpecial`: BOS, EOS and what else the tokenizer puts around a text. `parseSpecial`: special tokens in
  /// the text are recognised; false for everything that a user wrote. Added tokens that are not special match
  /// always.
  std::vector<int32_t> encode(std::string_view text, bool addSpecial, bool parseSpecial) const;
  /// The segments are one text; a special token is recognised only inside (one or neighbouring) segments that
  /// allow it. This is how a rendered chat is encoded: the template's parts allow it, the messages do not.
  std::vector<int32_t> encodeSegments(const std::vector<TextSegment> &segments, bool addSpecial) const;
  /// Two texts as a pair.
  std::vector<int32_t> encodePair(std::string_view first, std::string_view second, bool addSpecial,
                                  bool parseSpecial) const;

  /// Ids outside the vocabulary are left out. `atStart` false: the ids continue a text, so that a space which
  /// the tokenizer takes from the front of a text is kept.
  std::string decode(const int32_t *ids, size_t n, bool skipSpecial, bool atStart = true) const;
  /// The bytes of one token, which may be a part of a character; empty for ids without a token.
  std::string tokenText(int32_t id) const;
  /// The id of a token by its text as the model file writes it for special tokens (`<|im_end|>`); -1 if none.
  int32_t findToken(std::string_view text) const;

  int32_t vocabSize() const;
  int32_t bos() const; // -1: none, here and below
  int32_t eos() const;
  int32_t unk() const;
  int32_t pad() const;
  int32_t eot() const;
  /// `addSpecial` puts BOS in front.
  bool addBos() const;
  /// `addSpecial` puts EOS behind.
  bool addEos() const;
  /// The id is a special token: left out of decoded text when special tokens are skipped.
  bool isControl(int32_t id) const;
  /// The id ends a generation (EOS, end of turn, ...).
  bool isEnd(int32_t id) const;
  const std::vector<int32_t> &endIds() const;

private:
  friend class StreamDecoder;
  struct Impl;
  explicit Tokenizer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Incremental decoding. Each character comes out with the token that brings its last byte.
class StreamDecoder {
public:
  /// `atStart` false for text that continues a prompt (see Tokenizer::decode). The tokenizer must outlive
  /// this.
  StreamDecoder(const Tokenizer &tokenizer, bool skipSpecial, bool atStart = true);
  ~StreamDecoder();
  StreamDecoder(StreamDecoder &&) noexcept;
  StreamDecoder &operator=(StreamDecoder &&) noexcept;

  /// The text that becomes final with `id`.
  std::string push(int32_t id);
  /// What the end adds: U+FFFD for a character that is cut off. The decoder is then as new.
  std::string flush();

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace ingot::token

#endif
