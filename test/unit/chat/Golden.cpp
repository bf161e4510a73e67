// Reading of reference rows (see Golden.h).
#include "test/unit/chat/Golden.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <lzma.h>
#include <sstream>

namespace ingot::chat::test {

std::string sharedDir() {
  const char *env = std::getenv("INGOT_SHARED");
  std::string dir = env ? env : INGOT_TEST_SHARED;
  return std::filesystem::is_directory(dir + "/golden/chat_templates") ? dir : std::string();
}

std::string localDir() { return INGOT_TEST_GOLDEN; }

bool readFile(const std::string &path, std::string &out) {
  std::ifstream in(path, std::ios::binary);
  if (!in)
    return false;
  out.assign(std::istreambuf_iterator<char>(in), {});
  return true;
}

static bool unpack(const std::string &packed, std::string &out) {
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, UINT64_MAX, 0) != LZMA_OK)
    return false;
  stream.next_in = reinterpret_cast<const uint8_t *>(packed.data());
  stream.avail_in = packed.size();
  lzma_ret code = LZMA_OK;
  std::vector<uint8_t> buffer(1 << 16);
  while (code == LZMA_OK) {
    stream.next_out = buffer.data();
    stream.avail_out = buffer.size();
    code = lzma_code(&stream, LZMA_FINISH);
    out.append(reinterpret_cast<char *>(buffer.data()), buffer.size() - stream.avail_out);
  }
  lzma_end(&stream);
  return code == LZMA_STREAM_END;
}

std::vector<nlohmann::ordered_json> readRows(const std::string &path) {
  std::vector<nlohmann::ordered_json> rows;
  std::string bytes, text;
  EXPECT_TRUE(readFile(path, bytes)) << path;
  if (path.size() > 3 && path.substr(path.size() - 3) == ".xz")
    EXPECT_TRUE(unpack(bytes, text)) << path;
  else
    text = bytes;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::string error;
    rows.emplace_back();
    EXPECT_TRUE(parseJson(line, rows.back(), error)) << path << ": " << error;
  }
  return rows;
}

std::vector<std::string> listFiles(const std::string &dir, const std::string &suffix) {
  std::vector<std::string> out;
  for (const auto &entry : std::filesystem::directory_iterator(dir)) {
    std::string name = entry.path().string();
    if (name.size() > suffix.size() && name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0)
      out.push_back(name);
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::tm goldenClock() {
  std::tm t{};
  t.tm_year = 2026 - 1900;
  t.tm_mon = 6;
  t.tm_mday = 26;
  t.tm_hour = 12;
  t.tm_wday = 0;
  t.tm_yday = 206;
  return t;
}

} // namespace ingot::chat::test
