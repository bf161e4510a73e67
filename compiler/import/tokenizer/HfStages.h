//===- HfStages.h - Normalizers, pre-tokenizers, ... ------------*- C++ -*-===//
//
// Translates the parts of a tokenizer.json around its model. Sequences are
// flattened; each part's fields are known by name, and any other is an error.
//
//===----------------------------------------------------------------------===//
#ifndef INGOT_COMPILER_IMPORT_TOKENIZER_HFSTAGES_H
#define INGOT_COMPILER_IMPORT_TOKENIZER_HFSTAGES_H

#include "compiler/import/tokenizer/HfJson.h"
#include "compiler/import/tokenizer/TokenizerTables.h"

namespace ingot::import_ {

class HfStages {
public:
  HfStages(TokenizerTables &tables, std::string &error) : t_(tables), error_(error) {}

  bool normalizer(const nlohmann::json &j) {
    return walk(j, "normalizer", "normalizers", &HfStages::oneNormalizer);
  }
  bool preTokenizer(const nlohmann::json &j) {
    return walk(j, "pre_tokenizer", "pretokenizers", &HfStages::onePreTokenizer);
  }
  /// Also fills the templates where there is no post-processor.
  bool postProcessor(const nlohmann::json &j);
  bool decoder(const nlohmann::json &j);

  /// Helpers that the rest of the file needs too.
  bool knownFields(const nlohmann::json &j, const std::string &where,
                   std::initializer_list<const char *> names);
  bool boolean(const nlohmann::json &j, const char *key, bool fallback, const std::string &where, bool &out);
  bool text(const nlohmann::json &j, const char *key, const std::string &where, std::string &out);

private:
  using Json = nlohmann::json;
  using One = bool (HfStages::*)(const Json &, const std::string &type, const std::string &where);
  TokenizerTables &t_;
  std::string &error_;
  bool templated_ = false;

  bool fail(std::string what) {
    error_ = std::move(what);
    return false;
  }
  bool walk(const Json &j, const std::string &where, const char *listName, One one, int depth = 0);
  bool oneNormalizer(const Json &j, const std::string &type, const std::string &where);
  bool onePreTokenizer(const Json &j, const std::string &type, const std::string &where);
  bool onePostProcessor(const Json &j, const std::string &type, const std::string &where);
  bool oneDecoder(const Json &j, const std::string &type, const std::string &where);
  bool templateList(const Json &j, const char *key, const Json &specials, const std::string &where,
                    std::vector<int32_t> &out);
  bool pattern(const Json &j, const std::string &where, std::string &out, bool &isRegex);
  bool behavior(const Json &j, const std::string &where, const char *fallback, uint32_t &out);
  bool metaspace(const Json &j, const std::string &where, std::string &replacement, uint32_t &scheme,
                 bool &split);
  bool tokenAndId(const Json &j, const char *key, const std::string &where, int32_t &id);
};

} // namespace ingot::import_

#endif
