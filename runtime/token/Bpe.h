//===- Bpe.h - From words to ids --------------------------------*- C++ -*-===//
//
// The two byte-pair models: by ranked merges (tokenizer.json, GGUF `gpt2`) and
// by scores (SentencePiece, GGUF `llama`). Both give what the greedy procedure
// gives (best pair first, the leftmost of equal ones) in n log n.
//
//===----------------------------------------------------------------------===//
#ifndef INGOT_RUNTIME_TOKEN_BPE_H
#define INGOT_RUNTIME_TOKEN_BPE_H

#include "runtime/token/Blob.h"
#include <vector>

namespace ingot::token {

class Bpe {
public:
  /// Working memory, to be reused.
  struct Scratch {
    struct Symbol {
      uint32_t id, begin,
          size; // `begin` and `size` for MODEL_SCORES; a size of 0 is a symbol that was merged away
      int32_t prev, next;
    };
    struct Entry {
      uint32_t rank; // for MODEL_SCORES unused
      float score;
      uint32_t left;
      uint32_t result; // the id, or for MODEL_SCORES the joined size
    };
    std::vector<uint32_t> ids, ranks, results;
    std::vector<Symbol> symbols;
    std::vector<Entry> heap;
  };

  void load(const Blob &blob);
  /// Appends the ids of one word. In a byte-level tokenizer the word is bytes, otherwise valid UTF-8.
  void encode(std::string_view word, std::vector<int32_t> &out, Scratch &scratch) const;

private:
  void encodePart(std::string_view word, std::vector<int32_t> &out, Scratch &scratch) const;
  void findBridges();
  void encodeMerges(std::string_view word, std::vector<int32_t> &out, Scratch &scratch) const;
  void encodeScores(std::string_view word, std::vector<int32_t> &out, Scratch &scratch) const;
  void firstIds(std::string_view word, std::vector<uint32_t> &ids) const;
  void mergeShort(std::vector<uint32_t> &ids, Scratch &scratch) const;
  void mergeLong(std::vector<uint32_t> &ids, Scratch &scratch) const;

  const Blob *blob_ = nullptr;
  int32_t byteId_[256];     // of the single byte (byte-level) or of one-byte text
  int32_t fallbackId_[256]; // of <0xXX>
  size_t longest_ = 0;      // bytes of the longest token
  // Characters that some token has directly in front of a U+2581. Behind any other character no merge crosses
  // into a U+2581, so a long text is cut there; it changes nothing but the time.
  std::vector<uint32_t> bridges_;
  bool cuts_ = false;
};

} // namespace ingot::token

#endif
