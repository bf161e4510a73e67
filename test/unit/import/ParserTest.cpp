// JSON, GGUF and safetensors parsers on documents made here, byte by byte.
#include "compiler/import/Fault.h"
#include "compiler/import/FileView.h"
#include "compiler/import/Json.h"
#include "compiler/import/Model.h"
#include "compiler/import/safetensors/Safetensors.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>

using namespace ingot::import_;

namespace {

std::string message(llvm::Error error) { return llvm::toString(std::move(error)); }

/// A file that disappears with the object.
class TempFile {
public:
  explicit TempFile(llvm::StringRef content, llvm::StringRef suffix = "bin") {
    int fd;
    EXPECT_FALSE(llvm::sys::fs::createTemporaryFile("ingot-import", suffix, fd, path));
    llvm::raw_fd_ostream(fd, /*shouldClose=*/true) << content;
  }
  ~TempFile() { llvm::sys::fs::remove(path); }
  llvm::SmallString<128> path;
};

/// Writes GGUF bytes.
struct Bytes {
  std::string out;
  template <typename T> Bytes &put(T v) {
    out.append(reinterpret_cast<const char *>(&v), sizeof v);
    return *this;
  }
  Bytes &str(llvm::StringRef s) {
    put<uint64_t>(s.size());
    out += s.str();
    return *this;
  }
  Bytes &header(uint64_t tensors, uint64_t pairs, uint32_t version = 3) {
    out += "GGUF";
    return put<uint32_t>(version).put(tensors).put(pairs);
  }
};

TEST(Json, Values) {
  auto v = parseJson("x", R"({"a": [1, -2, 2.5, 18446744073709551615, true, null, "s"], "b": {}})");
  ASSERT_TRUE(bool(v));
  const JsonValue::Array &a = *v->get("a")->array();
  EXPECT_EQ(*a[0].integer(), 1);
  EXPECT_EQ(*a[1].integer(), -2);
  EXPECT_FALSE(a[2].integer());
  EXPECT_EQ(*a[2].number(), 2.5);
  EXPECT_FALSE(a[3].integer());
  EXPECT_TRUE(*a[4].boolean());
  EXPECT_TRUE(a[5].isNull());
  EXPECT_EQ(*a[6].string(), "s");
  EXPECT_TRUE(v->get("b")->object()->empty());
  EXPECT_EQ(v->get("c"), nullptr);
}

TEST(Json, Faults) {
  auto fails = [](llvm::StringRef text, llvm::StringRef part) {
    auto v = parseJson("file.json", text, {8, 20});
    ASSERT_FALSE(bool(v)) << text.str();
    std::string m = message(v.takeError());
    EXPECT_NE(m.find(part.str()), std::string::npos) << m;
    EXPECT_EQ(m.rfind("file.json: ", 0), 0u) << m;
  };
  fails("", "JSON");
  fails("{\"a\":1", "JSON");
  fails("{\"a\":1} x", "JSON");
  fails("{\"a\":1,\"a\":2}", "duplicate key 'a'");
  fails("[[[[[[[[[1]]]]]]]]]", "nested");
  fails("[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "more than 20");
  fails("NaN", "JSON");
}

TEST(Printable, EscapesAndCuts) {
  EXPECT_EQ(printable("a\x01\xff"), "a\\x01\\xff");
  EXPECT_EQ(printable("aaaa", 2), "aa...");
}

TEST(FileView, RefusesWhatIsNoFile) {
  auto dir = viewFile("/");
  ASSERT_FALSE(bool(dir));
  EXPECT_NE(message(dir.takeError()).find("not a regular file"), std::string::npos);
  auto device = viewFile("/dev/zero");
  ASSERT_FALSE(bool(device));
  llvm::consumeError(device.takeError());
}

TEST(Gguf, ReadsTypesAndTensors) {
  Bytes b;
  b.header(2, 8);
  b.str("u8").put<uint32_t>(0).put<uint8_t>(200);
  b.str("i16").put<uint32_t>(3).put<int16_t>(-5);
  b.str("u64big").put<uint32_t>(10).put<uint64_t>(UINT64_MAX);
  b.str("f32").put<uint32_t>(6).put<float>(0.5f);
  b.str("f64").put<uint32_t>(12).put<double>(0.25);
  b.str("flag").put<uint32_t>(7).put<uint8_t>(1);
  b.str("text").put<uint32_t>(8).str("hello");
  b.str("list").put<uint32_t>(9).put<uint32_t>(8).put<uint64_t>(2).str("x").str("");
  b.str("a").put<uint32_t>(2).put<uint64_t>(32).put<uint64_t>(2).put<uint32_t>(8).put<uint64_t>(32);
  b.str("b").put<uint32_t>(1).put<uint64_t>(3).put<uint32_t>(0).put<uint64_t>(0);
  b.out.resize((b.out.size() + 31) / 32 * 32 + 32 + 68);
  TempFile file(b.out, "gguf");
  auto g = GgufFile::open(file.path);
  ASSERT_TRUE(bool(g)) << message(g.takeError());
  EXPECT_EQ(**(*g)->getInt("u8"), 200);
  EXPECT_EQ(**(*g)->getInt("i16"), -5);
  EXPECT_EQ(**(*g)->getFloat("f32"), 0.5);
  EXPECT_EQ(**(*g)->getFloat("f64"), 0.25);
  EXPECT_EQ(**(*g)->getFloat("u8"), 200.0);
  EXPECT_TRUE(**(*g)->getBool("flag"));
  EXPECT_EQ(**(*g)->getString("text"), "hello");
  EXPECT_EQ((**(*g)->getStrings("list")).size(), 2u);
  EXPECT_FALSE((*g)->getInt("absent")->has_value());
  auto wrong = (*g)->getInt("text");
  ASSERT_FALSE(bool(wrong));
  EXPECT_NE(message(wrong.takeError()).find("'text'"), std::string::npos);
  auto big = (*g)->getInt("u64big");
  ASSERT_FALSE(bool(big));
  llvm::consumeError(big.takeError());
  ASSERT_EQ((*g)->tensors().size(), 2u);
  const GgufTensor &a = (*g)->tensors()[0];
  EXPECT_EQ(a.shape, (llvm::SmallVector<int64_t, 4>{2, 32}));
  EXPECT_EQ(a.bytes, 68u);
  EXPECT_EQ(a.type->scheme, "q8_0");
}

TEST(Gguf, EveryPrefixIsRefused) {
  Bytes b;
  b.header(1, 3);
  b.str("general.architecture").put<uint32_t>(8).str("llama");
  b.str("list")
      .put<uint32_t>(9)
      .put<uint32_t>(4)
      .put<uint64_t>(3)
      .put<uint32_t>(1)
      .put<uint32_t>(2)
      .put<uint32_t>(3);
  b.str("nested")
      .put<uint32_t>(9)
      .put<uint32_t>(9)
      .put<uint64_t>(1)
      .put<uint32_t>(0)
      .put<uint64_t>(1)
      .put<uint8_t>(7);
  b.str("w").put<uint32_t>(1).put<uint64_t>(8).put<uint32_t>(0).put<uint64_t>(0);
  b.out.resize((b.out.size() + 31) / 32 * 32 + 32);
  {
    TempFile whole(b.out, "gguf");
    auto g = GgufFile::open(whole.path);
    ASSERT_TRUE(bool(g)) << message(g.takeError());
  }
  for (size_t n = 0; n < b.out.size(); ++n) {
    TempFile file(llvm::StringRef(b.out).take_front(n), "gguf");
    auto g = GgufFile::open(file.path);
    ASSERT_FALSE(bool(g)) << n;
    std::string m = message(g.takeError());
    EXPECT_EQ(m.rfind(file.path.str().str(), 0), 0u) << m;
  }
}

TEST(Gguf, EveryByteChangedIsHandled) {
  // Flipping any byte must give a clean answer: a model or an error.
  Bytes b;
  b.header(2, 2);
  b.str("general.alignment").put<uint32_t>(4).put<uint32_t>(32);
  b.str("list").put<uint32_t>(9).put<uint32_t>(8).put<uint64_t>(2).str("x").str("yz");
  b.str("v").put<uint32_t>(1).put<uint64_t>(8).put<uint32_t>(0).put<uint64_t>(0);
  b.str("w").put<uint32_t>(2).put<uint64_t>(32).put<uint64_t>(1).put<uint32_t>(2).put<uint64_t>(32);
  b.out.resize((b.out.size() + 31) / 32 * 32 + 64);
  unsigned errors = 0, fine = 0;
  for (size_t n = 0; n < b.out.size(); ++n)
    for (unsigned char x : {0x01, 0x80, 0xff}) {
      std::string bytes = b.out;
      bytes[n] = static_cast<char>(bytes[n] ^ x);
      TempFile file(bytes, "gguf");
      auto g = GgufFile::open(file.path);
      if (!g) {
        llvm::consumeError(g.takeError());
        ++errors;
      } else {
        ++fine;
      }
    }
  EXPECT_GT(errors, 100u);
  EXPECT_GT(fine, 10u);
}

TEST(Gguf, TypeTableIsConsistent) {
  EXPECT_EQ(findGgmlType(4), nullptr);
  EXPECT_EQ(findGgmlType(1u << 31), nullptr);
  EXPECT_EQ(findGgmlType(12)->blockBytes, 144u);
  EXPECT_EQ(findGgmlType(30)->scheme, "bf16");
}

std::string safetensors(llvm::StringRef header, size_t data) {
  Bytes b;
  b.put<uint64_t>(header.size());
  return b.out + header.str() + std::string(data, '\0');
}

TEST(Safetensors, ReadsAndRefuses) {
  {
    TempFile file(safetensors(
        R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F16","shape":[2,3],"data_offsets":[4,16]},)"
        R"("a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})",
        16));
    auto st = openSafetensors(file.path);
    ASSERT_TRUE(bool(st)) << message(st.takeError());
    ASSERT_EQ(st->tensors.size(), 2u);
    EXPECT_EQ(st->tensors[0].name, "a");
    EXPECT_EQ(st->tensors[1].bytes, 12u);
  }
  auto fails = [](llvm::StringRef header, size_t data, llvm::StringRef part) {
    TempFile file(safetensors(header, data));
    auto st = openSafetensors(file.path);
    ASSERT_FALSE(bool(st)) << header.str();
    std::string m = message(st.takeError());
    EXPECT_NE(m.find(part.str()), std::string::npos) << m;
  };
  fails(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8, "hole");
  fails(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 5, "trailing");
  fails(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4, "need 8");
  fails(R"({"a":{"dtype":"Q9","shape":[1],"data_offsets":[0,4]}})", 4, "Q9");
  fails(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})", 0, "overflow");
  fails(R"({"a":7})", 0, "'a'");
}

} // namespace
