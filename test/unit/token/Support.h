//===- Support.h - Files for the tokenizer tests ----------------*- C++ -*-===//
#ifndef INGOT_TEST_UNIT_TOKEN_SUPPORT_H
#define INGOT_TEST_UNIT_TOKEN_SUPPORT_H

#include "compiler/import/tokenizer/TokenizerImport.h"
#include "runtime/token/Tokenizer.h"
#include <gtest/gtest.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace ingot::test {

/// The folder of the full references (with a '/'); empty if it is not there.
std::string sharedDir();
/// test/golden/tokenizers/ of this repository.
std::string goldenDir();
bool exists(const std::string &path);
/// The content of a file, decompressed if its name ends in .xz; fails the test if it cannot be read.
std::string readFile(const std::string &path);
/// JSON lines.
std::vector<nlohmann::json> readRows(const std::string &path);

/// The tokenizer metadata of a GGUF file; `bytes` must outlive it. A reader for tests alone: it trusts the
/// file.
bool readGguf(const std::string &bytes, import_::GgufTokenizer &out);

/// A tokenizer with the bytes that it reads.
struct Loaded {
  std::vector<uint8_t> blob;
  std::unique_ptr<token::Tokenizer> tokenizer;
  const token::Tokenizer *operator->() const { return tokenizer.get(); }
  explicit operator bool() const { return tokenizer != nullptr; }
};
Loaded load(std::vector<uint8_t> blob);
Loaded loadHf(const std::string &path, const std::string &configPath = "");
Loaded loadGguf(const std::string &path);

/// Compares all rows of a vectors file (see the references' README); also the time of long texts.
void checkHfRows(const token::Tokenizer &t, const std::vector<nlohmann::json> &rows);
void checkHfStreams(const token::Tokenizer &t, const std::vector<nlohmann::json> &rows);

} // namespace ingot::test

#endif
