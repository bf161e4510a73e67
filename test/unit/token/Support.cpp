//===- Support.cpp - Files for the tokenizer tests ------------------------===//
#include "test/unit/token/Support.h"
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <lzma.h>
#include <sstream>
#include <sys/stat.h>

namespace ingot::test {

bool exists(const std::string &path) {
  struct stat st;
  return stat(path.c_str(), &st) == 0;
}

std::string sharedDir() {
  const char *env = std::getenv("INGOT_SHARED");
  std::string dir = (env && *env ? std::string(env) : std::string(INGOT_SHARED_DIR)) + "/";
  return exists(dir + "golden/tokenizers") ? dir : std::string();
}

std::string goldenDir() { return std::string(INGOT_SOURCE_DIR) + "/test/golden/tokenizers/"; }

static std::string decompress(const std::string &in) {
  lzma_stream stream = LZMA_STREAM_INIT;
  std::string out;
  if (lzma_stream_decoder(&stream, UINT64_MAX, LZMA_CONCATENATED) != LZMA_OK)
    return out;
  std::vector<uint8_t> buffer(1 << 20);
  stream.next_in = reinterpret_cast<const uint8_t *>(in.data());
  stream.avail_in = in.size();
  lzma_ret ret;
  do {
    stream.next_out = buffer.data();
    stream.avail_out = buffer.size();
    ret = lzma_code(&stream, LZMA_FINISH);
    out.append(reinterpret_cast<char *>(buffer.data()), buffer.size() - stream.avail_out);
  } while (ret == LZMA_OK);
  lzma_end(&stream);
  EXPECT_EQ(ret, LZMA_STREAM_END);
  return out;
}

std::string readFile(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  std::stringstream text;
  text << in.rdbuf();
  std::string s = text.str();
  if (path.size() > 3 && path.compare(path.size() - 3, 3, ".xz") == 0)
    return decompress(s);
  return s;
}

std::vector<nlohmann::json> readRows(const std::string &path) {
  std::istringstream in(readFile(path));
  std::vector<nlohmann::json> rows;
  for (std::string line; std::getline(in, line);)
    if (!line.empty())
      rows.push_back(nlohmann::json::parse(line));
  EXPECT_FALSE(rows.empty()) << path;
  return rows;
}

namespace {
struct GgufCursor {
  const char *p, *end;
  bool ok = true;
  template <typename T> T get() {
    T v{};
    if (static_cast<size_t>(end - p) < sizeof(T)) {
      ok = false;
      return v;
    }
    std::memcpy(&v, p, sizeof(T));
    p += sizeof(T);
    return v;
  }
  std::string_view str() {
    auto n = get<uint64_t>();
    if (!ok || n > static_cast<uint64_t>(end - p)) {
      ok = false;
      return {};
    }
    std::string_view s(p, n);
    p += n;
    return s;
  }
  int64_t number(uint32_t type) {
    switch (type) {
    case 0:
      return get<uint8_t>();
    case 1:
      return get<int8_t>();
    case 2:
      return get<uint16_t>();
    case 3:
      return get<int16_t>();
    case 4:
      return get<uint32_t>();
    case 5:
      return get<int32_t>();
    case 6:
      return static_cast<int64_t>(get<float>());
    case 7:
      return get<uint8_t>();
    case 10:
      return static_cast<int64_t>(get<uint64_t>());
    case 11:
      return get<int64_t>();
    case 12:
      return static_cast<int64_t>(get<double>());
    default:
      ok = false;
      return 0;
    }
  }
};
} // namespace

bool readGguf(const std::string &bytes, import_::GgufTokenizer &out) {
  GgufCursor c{bytes.data(), bytes.data() + bytes.size()};
  c.get<uint32_t>();
  auto version = c.get<uint32_t>();
  if (version < 2)
    return false;
  c.get<uint64_t>();
  auto count = c.get<uint64_t>();
  for (uint64_t i = 0; c.ok && i < count; ++i) {
    std::string key(c.str());
    auto type = c.get<uint32_t>();
    if (type == 8) {
      std::string_view v = c.str();
      if (key == "tokenizer.ggml.model")
        out.model = v;
      else if (key == "tokenizer.ggml.pre")
        out.pre = v;
      else if (key == "general.name")
        out.name = v;
    } else if (type == 9) {
      auto element = c.get<uint32_t>();
      auto n = c.get<uint64_t>();
      for (uint64_t k = 0; c.ok && k < n; ++k) {
        if (element == 8) {
          std::string_view v = c.str();
          if (key == "tokenizer.ggml.tokens")
            out.tokens.push_back(v);
          else if (key == "tokenizer.ggml.merges")
            out.merges.push_back(v);
        } else if (key == "tokenizer.ggml.scores" && element == 6) {
          out.scores.push_back(c.get<float>());
        } else {
          int64_t v = c.number(element);
          if (key == "tokenizer.ggml.token_type")
            out.types.push_back(static_cast<int32_t>(v));
        }
      }
    } else {
      int64_t v = c.number(type);
      if (key == "tokenizer.ggml.bos_token_id")
        out.bos = v;
      else if (key == "tokenizer.ggml.eos_token_id")
        out.eos = v;
      else if (key == "tokenizer.ggml.unknown_token_id")
        out.unk = v;
      else if (key == "tokenizer.ggml.padding_token_id")
        out.pad = v;
      else if (key == "tokenizer.ggml.eot_token_id")
        out.eot = v;
      else if (key == "tokenizer.ggml.add_bos_token")
        out.addBos = v != 0;
      else if (key == "tokenizer.ggml.add_eos_token")
        out.addEos = v != 0;
      else if (key == "tokenizer.ggml.add_space_prefix")
        out.addSpacePrefix = v != 0;
    }
  }
  return c.ok;
}

Loaded load(std::vector<uint8_t> blob) {
  Loaded l;
  l.blob = std::move(blob);
  std::string error;
  l.tokenizer = token::Tokenizer::load(l.blob.data(), l.blob.size(), error);
  EXPECT_TRUE(l.tokenizer) << error;
  return l;
}

Loaded loadHf(const std::string &path, const std::string &configPath) {
  std::vector<uint8_t> blob;
  std::string error, config = configPath.empty() ? "" : readFile(configPath);
  EXPECT_TRUE(import_::importHfTokenizer(readFile(path), config, blob, error)) << path << ": " << error;
  return load(std::move(blob));
}

Loaded loadGguf(const std::string &path) {
  std::string bytes = readFile(path), error;
  import_::GgufTokenizer g;
  EXPECT_TRUE(readGguf(bytes, g)) << path;
  std::vector<uint8_t> blob;
  EXPECT_TRUE(import_::importGgufTokenizer(g, blob, error)) << path << ": " << error;
  return load(std::move(blob));
}

static std::string show(const std::vector<int32_t> &ids) { return nlohmann::json(ids).dump().substr(0, 400); }

void checkHfRows(const token::Tokenizer &t, const std::vector<nlohmann::json> &rows) {
  int bad = 0;
  for (const auto &row : rows) {
    const std::string name = row["name"], text = row["text"];
    bool addSpecial = row["add_special"], parseSpecial = row["parse_special"];
    auto start = std::chrono::steady_clock::now();
    std::vector<int32_t> ids =
        row.contains("text_pair") && !row["text_pair"].is_null()
            ? t.encodePair(text, row["text_pair"].get<std::string>(), addSpecial, parseSpecial)
            : t.encode(text, addSpecial, parseSpecial);
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    EXPECT_LT(seconds, 1.0) << name;
    std::vector<int32_t> want = row["ids"];
    std::string what = name + " add_special " + std::to_string(addSpecial) + " parse_special " +
                       std::to_string(parseSpecial) + " text " +
                       row["text"].dump(-1, ' ', true).substr(0, 300);
    EXPECT_EQ(ids == want, true) << what << "\n  got  " << show(ids) << "\n  want " << show(want);
    bool ok = ids == want;
    for (bool skip : {false, true}) {
      const auto &field = row[skip ? "decoded_skip" : "decoded"];
      if (field.is_null())
        continue;
      std::string text2 = t.decode(want.data(), want.size(), skip);
      ok = ok && text2 == field.get<std::string>();
      EXPECT_EQ(text2 == field.get<std::string>(), true)
          << what << " skip " << skip << "\n  got  "
          << nlohmann::json(text2).dump(-1, ' ', true).substr(0, 300) << "\n  want "
          << field.dump(-1, ' ', true).substr(0, 300);
    }
    if (!ok && ++bad > 8)
      FAIL() << "more rows differ";
  }
}

void checkHfStreams(const token::Tokenizer &t, const std::vector<nlohmann::json> &rows) {
  for (const auto &row : rows) {
    std::vector<int32_t> ids = row["ids"];
    bool skip = row["skip_special"];
    EXPECT_EQ(t.decode(ids.data(), ids.size(), skip), row["decoded"].get<std::string>()) << row["name"];
    if (row["pieces"].is_null())
      continue;
    token::StreamDecoder stream(t, skip);
    for (size_t i = 0; i < ids.size(); ++i)
      EXPECT_EQ(stream.push(ids[i]), row["pieces"][i].get<std::string>()) << row["name"] << " piece " << i;
    EXPECT_EQ(stream.flush(), row["flush"].get<std::string>()) << row["name"];
  }
}

} // namespace ingot::test
