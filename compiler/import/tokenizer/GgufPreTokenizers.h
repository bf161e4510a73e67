//===- GgufPreTokenizers.h - tokenizer.ggml.pre -----------------*- C++ -*-===//
//
// GGUF files name their split rules; this is the table from names to
// expressions, to be applied one after the other, each cutting the pieces of the
// one before.
//
//===----------------------------------------------------------------------===//
#ifndef INGOT_COMPILER_IMPORT_TOKENIZER_GGUFPRETOKENIZERS_H
#define INGOT_COMPILER_IMPORT_TOKENIZER_GGUFPRETOKENIZERS_H

#include <string_view>
#include <vector>

namespace ingot::import_ {

struct GgufPreTokenizer {
  std::vector<std::string_view> expressions;
  bool ignoreMerges = false; // a word that is a token is that token
  bool addBos = false;       // unless the file says otherwise
};

/// False if the name is not known. The empty name is "default".
bool findGgufPreTokenizer(std::string_view name, GgufPreTokenizer &out);

} // namespace ingot::import_

#endif
