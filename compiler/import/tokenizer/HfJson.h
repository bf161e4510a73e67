//===- HfJson.h - Reading tokenizer.json ------------------------*- C++ -*-===//
//
// tokenizer.json can be tens of megabytes, nearly all of them vocabulary and
// merges. Those two are streamed into flat lists; the rest becomes a document.
//
//===----------------------------------------------------------------------===//
#ifndef INGOT_COMPILER_IMPORT_TOKENIZER_HFJSON_H
#define INGOT_COMPILER_IMPORT_TOKENIZER_HFJSON_H

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ingot::import_ {

struct HfFile {
  nlohmann::json root; // without model.vocab and model.merges
  std::vector<std::pair<std::string, int64_t>> vocab;
  std::vector<std::pair<std::string, std::string>> merges;
  bool hasVocab = false, hasMerges = false;
  bool vocabIsList = false; // as in Unigram models
};

/// False and `error` (with the byte offset) if the text is not JSON, or vocabulary or merges have another
/// form.
bool readHfFile(std::string_view text, HfFile &out, std::string &error);

} // namespace ingot::import_

#endif
