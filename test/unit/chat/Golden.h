// Reading of reference rows for the chat tests: JSON lines, plain or packed with xz.
#pragma once

#include "runtime/chat/Template.h"

#include <string>
#include <vector>

namespace ingot::chat::test {

/// Folder of the full references (".../shared"), or empty when they are absent.
std::string sharedDir();
/// Folder of the references kept in the repository.
std::string localDir();
bool readFile(const std::string &path, std::string &out);
/// Rows of a .jsonl or .jsonl.xz file; fails the test when it cannot be read.
std::vector<nlohmann::ordered_json> readRows(const std::string &path);
std::vector<std::string> listFiles(const std::string &dir, const std::string &suffix);
/// The clock of the references: Sunday 2026-07-26 12:00:00.
std::tm goldenClock();

} // namespace ingot::chat::test
