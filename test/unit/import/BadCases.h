//===- BadCases.h - The malformed models, full or compact -------*- C++ -*-===//
//
// Calls a function for every case of the shared manifest, or for every case of
// test/golden/bad/cases.json, whose files are built from deltas in a temporary
// folder (make_compact.py beside it describes the form).
//
//===----------------------------------------------------------------------===//
#ifndef INGOT_TEST_UNIT_IMPORT_BADCASES_H
#define INGOT_TEST_UNIT_IMPORT_BADCASES_H

#include "TestPaths.h"
#include "compiler/import/FileView.h"
#include "compiler/import/Json.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace ingot::test {

struct BadCase {
  std::string id, path, wrong, expect, when;
  std::vector<std::string> mention;

  /// Whether `message` names the case's file and one of the wanted words.
  void check(const std::string &message) const {
    std::string stem = llvm::sys::path::filename(path).str();
    if (size_t split = stem.find("-0000"); split != std::string::npos)
      stem.resize(split);
    EXPECT_NE(message.find(stem), std::string::npos) << message;
    bool mentioned = mention.empty();
    for (const std::string &word : mention)
      mentioned |= llvm::StringRef(message).contains_insensitive(word);
    EXPECT_TRUE(mentioned) << message;
  }
};

inline BadCase readCase(const import_::JsonValue &entry, const std::string &dir) {
  BadCase c;
  c.id = *entry.get("id")->string();
  c.path = dir + "/" + *entry.get("path")->string();
  c.wrong = *entry.get("wrong")->string();
  c.expect = *entry.get("expect")->string();
  c.when = *entry.get("when")->string();
  for (const import_::JsonValue &word : *entry.get("mention")->array())
    c.mention.push_back(*word.string());
  return c;
}

/// Runs `body` on the shared cases; false if they are not there.
inline bool forEachSharedCase(const std::function<void(const BadCase &)> &body) {
  std::string dir = sharedDir() + "/golden/bad";
  auto manifest = import_::parseJsonObjectFile(dir + "/manifest.json");
  if (!manifest) {
    llvm::consumeError(manifest.takeError());
    return false;
  }
  for (const import_::JsonValue &entry : *manifest->get("cases")->array()) {
    BadCase c = readCase(entry, dir);
    SCOPED_TRACE(c.id);
    body(c);
  }
  return true;
}

inline std::string readAll(const std::string &path) {
  auto view = import_::viewFile(path);
  if (!view) {
    ADD_FAILURE() << llvm::toString(view.takeError());
    return "";
  }
  return (*view)->getBuffer().str();
}

inline void writeAll(const std::string &path, const std::string &bytes) {
  std::error_code ec;
  llvm::raw_fd_ostream out(path, ec);
  ASSERT_FALSE(ec) << path;
  out << bytes;
}

/// Runs `body` on the cases that the repository carries.
inline void forEachCompactCase(const std::function<void(const BadCase &)> &body) {
  std::string source = compactDir() + "/bad";
  auto manifest = import_::parseJsonObjectFile(source + "/cases.json");
  ASSERT_TRUE(bool(manifest)) << llvm::toString(manifest.takeError());
  llvm::SmallString<128> temp;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("ingot-bad", temp));
  std::string dir = temp.str().str();
  const import_::JsonValue::Array &cases = *manifest->get("cases")->array();
  EXPECT_GT(cases.size(), 100u);
  for (const import_::JsonValue &entry : cases) {
    BadCase c = readCase(entry, dir);
    SCOPED_TRACE(c.id);
    std::string fileDir = dir + "/";
    if (const import_::JsonValue *missing = entry.get("missing")) {
      fileDir = c.path + "/";
      ASSERT_FALSE(llvm::sys::fs::create_directory(c.path));
      std::error_code ec;
      for (llvm::sys::fs::directory_iterator it(source + "/hf_good", ec), end; it != end && !ec;
           it.increment(ec)) {
        std::string name = llvm::sys::path::filename(it->path()).str();
        bool left = false;
        for (const import_::JsonValue &other : *missing->array())
          left |= *other.string() == name;
        if (!left)
          writeAll(fileDir + name, readAll(it->path()));
      }
    }
    for (const auto &[name, file] : *entry.get("files")->object()) {
      std::string base = readAll(source + "/" + *file.get("base")->string()), bytes;
      for (const import_::JsonValue &piece : *file.get("delta")->array()) {
        if (const std::string *hex = piece.string())
          bytes += llvm::fromHex(*hex);
        else
          bytes += base.substr(*(*piece.array())[0].integer(), *(*piece.array())[1].integer());
      }
      writeAll(fileDir + name, bytes);
    }
    body(c);
  }
  llvm::sys::fs::remove_directories(dir);
}

} // namespace ingot::test

#endif // INGOT_TEST_UNIT_IMPORT_BADCASES_H
