//===- PackTest.cpp - packs, good and damaged -----------------------------------------------------------===//
#include "TestPack.h"
#include "ToyModule.h"

#include "runtime/weights/Meta.h"
#include "runtime/weights/Pack.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <unistd.h>

using namespace ingot::weights;
using testpack::Piece;

namespace {

const char *Meta = R"({"name":"toy","arch":"llama","source":"toy.gguf","build":"t","vocab":70,"hidden":16,
"layers":2,"context":400,"generation":{"eos_ids":[60],"bos_id":-1,"temperature":0.6,"top_k":40},
"chat_template":"{{ x }}","bos_token":"<s>","plan":{"weight_bytes":8,"max_seqs":6},"isas":["ref"],"more":[1,2]})";

std::vector<Piece> pieces() {
  const ingot_module_v1 &m = *toy::query(INGOT_ABI_VERSION);
  std::vector<uint8_t> weights(toy::weightBytes(), toy::weightBytes() + m.weight_bytes);
  return {{INGOT_PACK_META, "", testpack::bytesOf(Meta)},
          {INGOT_PACK_TOKENIZER, "", testpack::bytesOf("tokenizer bytes")},
          {INGOT_PACK_PARAMS, "", testpack::paramsOf(m, toy::weightBytes())},
          {INGOT_PACK_OBJECT, "ref", testpack::bytesOf("object bytes")},
          {INGOT_PACK_WEIGHTS, "", weights}};
}

std::vector<uint8_t> goodPack() {
  return testpack::write(pieces(), toy::query(INGOT_ABI_VERSION)->weight_hash);
}

std::unique_ptr<Pack> open(const std::vector<uint8_t> &bytes, std::string &error) {
  // An exact heap copy, so that a read behind the end shows under ASan.
  static thread_local std::vector<uint8_t> copy;
  copy = bytes;
  copy.shrink_to_fit();
  return Pack::fromMemory(copy.data(), copy.size(), "test.ipk", error);
}

class TempFile {
public:
  explicit TempFile(const std::vector<uint8_t> &bytes) {
    char name[] = "/tmp/ingot_pack_XXXXXX";
    int fd = mkstemp(name);
    path = name;
    ::close(fd);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char *>(bytes.data()), long(bytes.size()));
  }
  ~TempFile() { std::remove(path.c_str()); }
  std::string path;
};

TEST(Pack, ReadsWhatWasWritten) {
  std::string error;
  TempFile file(goodPack());
  auto pack = Pack::open(file.path, error);
  ASSERT_TRUE(pack) << error;
  EXPECT_FALSE(Pack::hasTrailer(file.path));
  EXPECT_EQ(pack->meta(), Meta);
  EXPECT_EQ(std::string(reinterpret_cast<const char *>(pack->tokenizer().data), pack->tokenizer().size),
            "tokenizer bytes");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(pack->tokenizer().data) % 64, 0u);
  ASSERT_EQ(pack->params().size(), 9u);
  EXPECT_EQ(pack->params()[1].name, "layer0.q");
  EXPECT_EQ(pack->params()[1].scheme, "f32");
  EXPECT_EQ(pack->header().weight_hash, toy::query(INGOT_ABI_VERSION)->weight_hash);
  std::vector<uint8_t> object;
  EXPECT_TRUE(pack->readObject("ref", object, error)) << error;
  EXPECT_EQ(object, testpack::bytesOf("object bytes"));
  EXPECT_FALSE(pack->readObject("amx", object, error));
  EXPECT_NE(error.find("'amx'"), std::string::npos);
  for (LoadMode mode : {LoadMode::Read, LoadMode::Map})
    for (unsigned threads : {1u, 4u}) {
      WeightMemory w;
      ASSERT_TRUE(pack->loadWeights(mode, threads, w, error)) << error;
      EXPECT_EQ(reinterpret_cast<uintptr_t>(w.data()) % 64, 0u);
      EXPECT_EQ(0, std::memcmp(w.data(), toy::weightBytes(), w.size()));
      EXPECT_TRUE(pack->verifyWeights(w, error)) << error;
      WeightMemory moved = std::move(w);
      EXPECT_EQ(w.data(), nullptr);
      EXPECT_TRUE(pack->verifyWeights(moved, error));
    }
}

TEST(Pack, LargeWeightsInParallel) {
  // Above one read block, so that several readers share the work; sizes at the edges of blocks.
  std::vector<Piece> p = pieces();
  for (size_t bytes : {size_t(4) << 20, (size_t(4) << 20) + 64, (size_t(13) << 20) - 64}) {
    p[4].bytes.resize(bytes);
    for (size_t i = 0; i < bytes; i += 97)
      p[4].bytes[i] = uint8_t(i * 31);
    std::vector<uint8_t> original(toy::weightBytes(),
                                  toy::weightBytes() + toy::query(INGOT_ABI_VERSION)->weight_bytes);
    std::copy(original.begin(), original.end(), p[4].bytes.begin());
    std::string error;
    TempFile file(testpack::write(p, toy::query(INGOT_ABI_VERSION)->weight_hash));
    auto pack = Pack::open(file.path, error);
    ASSERT_TRUE(pack) << error;
    for (unsigned threads : {1u, 3u}) {
      WeightMemory w;
      ASSERT_TRUE(pack->loadWeights(LoadMode::Read, threads, w, error)) << error;
      EXPECT_EQ(0, std::memcmp(w.data(), p[4].bytes.data(), bytes));
      EXPECT_TRUE(pack->verifyWeights(w, error)) << error;
    }
  }
}

TEST(Pack, AtTheEndOfAnExecutable) {
  std::string error;
  std::vector<uint8_t> image(5000, 0x7F), exe = testpack::executable(image, goodPack());
  TempFile file(exe);
  EXPECT_TRUE(Pack::hasTrailer(file.path));
  auto pack = Pack::open(file.path, error);
  ASSERT_TRUE(pack) << error;
  for (LoadMode mode : {LoadMode::Read, LoadMode::Map}) {
    WeightMemory w;
    ASSERT_TRUE(pack->loadWeights(mode, 2, w, error)) << error;
    EXPECT_TRUE(pack->verifyWeights(w, error)) << error;
  }
  // Cut, lengthened, and a pack that is not the trailer's.
  std::vector<uint8_t> cut(exe.begin(), exe.end() - 100);
  EXPECT_FALSE(open(cut, error));
  std::vector<uint8_t> grown = exe;
  grown.insert(grown.begin() + 4096, 4096, 0);
  EXPECT_FALSE(open(grown, error));
  EXPECT_NE(error.find("trailer"), std::string::npos) << error;
  std::vector<uint8_t> other = exe;
  other[8192 + offsetof(ingot_pack_header_v1, reserved1)] ^= 1;
  EXPECT_FALSE(open(other, error));
  EXPECT_NE(error.find("header is damaged"), std::string::npos) << error;
  // The running test carries no pack.
  EXPECT_FALSE(Pack::openSelf(error));
}

TEST(Pack, EveryFlippedByteIsNoticed) {
  std::vector<uint8_t> good = goodPack();
  std::string error;
  auto reference = open(good, error);
  ASSERT_TRUE(reference) << error;
  // Ranges whose content is covered by a hash; between them is padding.
  std::vector<std::pair<uint64_t, uint64_t>> covered = {
      {0, sizeof(ingot_pack_header_v1)},
      {reference->header().table_offset, reference->header().n_sections * sizeof(ingot_pack_section_v1)}};
  uint64_t weightsAt = 0;
  for (const SectionInfo &s : reference->sections()) {
    if (s.kind == INGOT_PACK_WEIGHTS)
      weightsAt = s.offset;
    else if (s.kind != INGOT_PACK_OBJECT)
      covered.push_back({s.offset, s.bytes});
  }
  for (auto [offset, bytes] : covered)
    for (uint64_t i = offset; i < offset + bytes; ++i) {
      std::vector<uint8_t> bad = good;
      bad[i] ^= uint8_t(1 << (i % 8));
      error.clear();
      EXPECT_FALSE(open(bad, error)) << "byte " << i;
      EXPECT_NE(error.find("test.ipk"), std::string::npos) << error;
    }
  std::vector<uint8_t> bad = good;
  bad[weightsAt + toy::query(INGOT_ABI_VERSION)->params[3].offset + 5] ^= 4;
  auto pack = open(bad, error);
  ASSERT_TRUE(pack) << error;
  WeightMemory w;
  ASSERT_TRUE(pack->loadWeights(LoadMode::Read, 1, w, error));
  EXPECT_FALSE(pack->verifyWeights(w, error));
  EXPECT_NE(error.find("'layer0.v'"), std::string::npos) << error;
}

TEST(Pack, Truncated) {
  std::vector<uint8_t> good = goodPack();
  std::string error;
  for (size_t n = 0; n < good.size(); n += n < 1000 ? 1 : 211)
    EXPECT_FALSE(open({good.begin(), good.begin() + long(n)}, error)) << n;
}

TEST(Pack, LiesWithCorrectHashes) {
  // Fields that a hostile writer sets, hashes recomputed: the sizes and ranges themselves are checked.
  std::string error;
  auto tryHeader = [&](auto change, const char *expect) {
    std::vector<uint8_t> bad = goodPack();
    ingot_pack_header_v1 h;
    std::memcpy(&h, bad.data(), sizeof(h));
    change(h);
    std::memcpy(bad.data(), &h, sizeof(h));
    testpack::rehash(bad);
    error.clear();
    EXPECT_FALSE(open(bad, error)) << expect;
    EXPECT_NE(error.find(expect), std::string::npos) << error;
  };
  tryHeader([](auto &h) { h.version = INGOT_PACK_VERSION + 1; },
            ("version " + std::to_string(INGOT_PACK_VERSION + 1)).c_str());
  tryHeader([](auto &h) { h.pack_bytes += 64; }, "header says");
  tryHeader([](auto &h) { h.n_sections = 0; }, "section count 0");
  tryHeader([](auto &h) { h.n_sections = 65; }, "section count 65");
  tryHeader([](auto &h) { h.table_offset = ~UINT64_C(63); }, "section table");
  tryHeader([](auto &h) { h.table_offset = 130; }, "section table");
  tryHeader([](auto &h) { h.weight_bytes += 64; }, "weight bytes");
  tryHeader([](auto &h) { h.weight_hash ^= 1; }, "weight hash");
  tryHeader([](auto &h) { h.entry_bytes = 32; }, "sizes");
  tryHeader([](auto &h) { h.flags = INGOT_PACK_HUGE; }, "not aligned to 2097152");

  auto trySection = [&](size_t index, auto change, const char *expect) {
    std::vector<uint8_t> bad = goodPack();
    ingot_pack_section_v1 s;
    std::memcpy(&s, bad.data() + 128 + index * sizeof(s), sizeof(s));
    change(s);
    std::memcpy(bad.data() + 128 + index * sizeof(s), &s, sizeof(s));
    testpack::rehash(bad);
    error.clear();
    EXPECT_FALSE(open(bad, error)) << expect;
    EXPECT_NE(error.find(expect), std::string::npos) << error;
  };
  trySection(0, [](auto &s) { s.kind = 9; }, "unknown kind 9");
  trySection(0, [](auto &s) { s.kind = INGOT_PACK_TOKENIZER; }, "occurs twice");
  trySection(1, [](auto &s) { s.bytes = ~UINT64_C(0) - 10; }, "ends outside");
  trySection(1, [](auto &s) { s.offset = 64; }, "overlaps");
  trySection(2, [](auto &s) { s.offset += 1; }, "not aligned");
  trySection(3, [](auto &s) { s.name[0] = 0; }, "without the name");
  trySection(3, [](auto &s) { std::memset(s.name, 'x', sizeof(s.name)); }, "bad name");
  trySection(0, [](auto &s) { s.name[0] = 'x'; }, "has no name");
  trySection(4, [](auto &s) { s.bytes -= 64; }, "weight bytes");

  // Params: strings and ranges.
  auto tryParams = [&](auto change, const char *expect) {
    std::vector<Piece> p = pieces();
    change(p[2].bytes);
    error.clear();
    EXPECT_FALSE(open(testpack::write(p, toy::query(INGOT_ABI_VERSION)->weight_hash), error)) << expect;
    EXPECT_NE(error.find(expect), std::string::npos) << error;
  };
  auto poke = [](std::vector<uint8_t> &b, size_t at, auto value) {
    std::memcpy(b.data() + at, &value, sizeof(value));
  };
  tryParams([&](auto &b) { poke(b, 0, uint32_t(1000)); }, "count 1000");
  tryParams([&](auto &b) { b.resize(8); }, "too short");
  tryParams([&](auto &b) { poke(b, 16, uint32_t(3)); }, "bad string offset");
  tryParams([&](auto &b) { poke(b, 16, ~uint32_t(0)); }, "bad string offset");
  tryParams([&](auto &b) { b.back() = 'x'; }, "bad string offset");
  tryParams([&](auto &b) { poke(b, 16 + offsetof(ingot_pack_param_v1, offset), ~UINT64_C(63)); },
            "not inside");
  tryParams([&](auto &b) { poke(b, 16 + offsetof(ingot_pack_param_v1, bytes), ~UINT64_C(0)); }, "not inside");
  tryParams([&](auto &b) { poke(b, 16 + 64 + offsetof(ingot_pack_param_v1, offset), UINT64_C(64)); },
            "overlaps");
  tryParams([&](auto &b) { poke(b, 16 + offsetof(ingot_pack_param_v1, rows), UINT64_C(71)); }, "weight hash");

  std::vector<Piece> missing = pieces();
  missing.erase(missing.begin());
  EXPECT_FALSE(open(testpack::write(missing, toy::query(INGOT_ABI_VERSION)->weight_hash), error));
  EXPECT_NE(error.find("META is missing"), std::string::npos);
  std::vector<uint8_t> tail = goodPack();
  tail.resize(tail.size() + 64);
  ingot_pack_header_v1 h;
  std::memcpy(&h, tail.data(), sizeof(h));
  h.pack_bytes += 64;
  std::memcpy(tail.data(), &h, sizeof(h));
  testpack::rehash(tail);
  EXPECT_FALSE(open(tail, error));
  EXPECT_NE(error.find("after its last section"), std::string::npos);
}

TEST(Pack, NotAPack) {
  std::string error;
  EXPECT_FALSE(Pack::open("/no/such/file", error));
  EXPECT_NE(error.find("/no/such/file"), std::string::npos);
  EXPECT_FALSE(Pack::open("/tmp", error));
  EXPECT_FALSE(open(std::vector<uint8_t>(500, 'x'), error));
  EXPECT_NE(error.find("neither"), std::string::npos);
  EXPECT_FALSE(open({}, error));
  uint32_t state = 1;
  for (int round = 0; round < 200; ++round) {
    std::vector<uint8_t> noise(96 + round * 7);
    for (uint8_t &b : noise)
      b = uint8_t((state = state * 1664525u + 1013904223u) >> 24);
    if (round % 2)
      std::memcpy(noise.data(), INGOT_PACK_MAGIC, 8);
    if (round % 4 == 3)
      testpack::rehash(noise);
    EXPECT_FALSE(open(noise, error));
  }
}

TEST(Meta, Members) {
  ModelMeta m;
  std::string error;
  ASSERT_TRUE(parseMeta(Meta, "f", m, error)) << error;
  EXPECT_EQ(m.name, "toy");
  EXPECT_EQ(m.vocab, 70u);
  EXPECT_EQ(m.generation.eosIds, std::vector<int32_t>{60});
  EXPECT_EQ(m.generation.temperature, 0.6);
  EXPECT_EQ(m.generation.topK, 40);
  EXPECT_FALSE(m.generation.topP);
  EXPECT_EQ(m.chatTemplate, "{{ x }}");
  EXPECT_EQ(m.plan.maxSeqs, 6u);
  EXPECT_EQ(m.isas, std::vector<std::string>{"ref"});
}

TEST(Meta, WrongTypesAreNamed) {
  for (auto [text, name] : std::initializer_list<std::pair<const char *, const char *>>{
           {"[]", "object"},
           {"{", "object"},
           {"{\"name\":5}", "'name'"},
           {"{\"vocab\":\"x\"}", "'vocab'"},
           {"{\"vocab\":-1}", "'vocab'"},
           {"{\"vocab\":18446744073709551615}", "'vocab'"},
           {"{\"generation\":{\"eos_ids\":[1,-2]}}", "'generation.eos_ids'"},
           {"{\"generation\":{\"eos_ids\":3}}", "'generation.eos_ids'"},
           {"{\"generation\":[]}", "'generation'"},
           {"{\"generation\":{\"temperature\":\"x\"}}", "'generation.temperature'"},
           {"{\"isas\":[1]}", "'isas'"}}) {
    ModelMeta m;
    std::string error;
    EXPECT_FALSE(parseMeta(text, "file", m, error)) << text;
    EXPECT_NE(error.find(name), std::string::npos) << error;
    EXPECT_EQ(error.find("file: "), 0u);
  }
}

} // namespace
