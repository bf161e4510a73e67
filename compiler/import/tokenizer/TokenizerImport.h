//===- TokenizerImport.h - Tokenizers of model files ------------*- C++ -*-===//
//
// Converts the tokenizer of a GGUF file or of a tokenizer.json into the binary
// form of runtime/abi/ingot_tok.h. What a file asks for and the runtime does not
// do is an error that names the field or type.
//
// Here the structure is checked. Split expressions are compiled, and the whole is
// cross-checked, when the runtime loads the result: a compiler loads it once
// (ingot::token::Tokenizer::load) before it packs it, and reports that error too.
//
// No dependency on MLIR, LLVM or the runtime's code.
//
//===----------------------------------------------------------------------===//
#ifndef INGOT_COMPILER_IMPORT_TOKENIZER_TOKENIZERIMPORT_H
#define INGOT_COMPILER_IMPORT_TOKENIZER_TOKENIZERIMPORT_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::import_ {

/// The `tokenizer.ggml.*` metadata of a GGUF file. Ids and switches that the file does not have are -1.
struct GgufTokenizer {
  std::string model; // tokenizer.ggml.model: gpt2 or llama
  std::string pre;   // tokenizer.ggml.pre; empty counts as "default"
  std::vector<std::string_view> tokens;
  std::vector<std::string_view> merges; // "left right"
  std::vector<float> scores;
  std::vector<int32_t> types; // token_type; empty if absent
  int64_t bos = -1, eos = -1, unk = -1, pad = -1, eot = -1;
  int addBos = -1, addEos = -1, addSpacePrefix = -1;
  std::string name; // general.name
};

/// Appends nothing to `out` on failure; `error` then names the key. `embeddingRows`, if not 0, is the number
/// of rows of the embedding: more tokens than rows are an error.
bool importGgufTokenizer(const GgufTokenizer &in, std::vector<uint8_t> &out, std::string &error,
                         uint64_t embeddingRows = 0);

/// `tokenizerConfigJson` (tokenizer_config.json) may be empty; it names the BOS, EOS, UNK and PAD tokens.
/// Truncation and padding settings are for batches and are ignored, as transformers does for each call. With
/// `embeddingRows`, a vocabulary id without a row is an error, and added tokens without one are left out:
/// they could not be fed to the model.
bool importHfTokenizer(std::string_view tokenizerJson, std::string_view tokenizerConfigJson,
                       std::vector<uint8_t> &out, std::string &error, uint64_t embeddingRows = 0);

} // namespace ingot::import_

#endif
