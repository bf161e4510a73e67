//===- JitTest.cpp - code in this process through the C APIs of compiler and runtime --------------------===//

#include "test/unit/api/Support.h"

#include <algorithm>
#include <malloc.h>
#include <thread>

using namespace ingot::api_test;

namespace {

ingot_jit_info infoOf(const JitPtr &jit) {
  ingot_jit_info info = {};
  info.struct_size = sizeof(info);
  EXPECT_EQ(ingot_jit_get_info(jit.get(), &info), INGOT_OK);
  return info;
}

ingot_rt_model_info infoOf(const ModelPtr &model) {
  ingot_rt_model_info info = {};
  info.struct_size = sizeof(info);
  EXPECT_EQ(ingot_rt_model_get_info(model.get(), &info), INGOT_RT_OK);
  return info;
}

/// One compile with the defaults for all of its tests.
class JitOfModel : public testing::Test {
protected:
  static void SetUpTestSuite() { jit = compile(); }
  static void TearDownTestSuite() { jit.reset(); }
  void SetUp() override { ASSERT_TRUE(jit); }
  static inline JitPtr jit{nullptr, ingot_jit_destroy};
};

TEST(Jit, TwoOptionSetsInOneProcess) {
  ingot_compile_options narrow = defaults(), wide = defaults();
  narrow.context = 48;
  narrow.max_seqs = 2;
  narrow.target = "avx2";
  wide.kv = "f32";
  JitPtr b{nullptr, ingot_jit_destroy};
  // At the same time, from two threads.
  JitPtr first{nullptr, ingot_jit_destroy};
  std::thread other([&] { first = compile(&narrow); });
  b = compile(&wide);
  other.join();
  ASSERT_TRUE(first && b);
  ModelPtr modelA = open(first), modelB = open(b);
  ASSERT_TRUE(modelA && modelB);
  ingot_rt_model_info infoA = infoOf(modelA), infoB = infoOf(modelB);
  EXPECT_EQ(infoA.context, 48u);
  EXPECT_EQ(infoA.max_seqs, 2u);
  EXPECT_STREQ(infoA.isa, "avx2");
  EXPECT_EQ(infoB.context, 128u);
  EXPECT_EQ(infoB.max_seqs, 32u);
  EXPECT_EQ(infoA.weight_bytes, infoB.weight_bytes);
  EXPECT_LT(infoA.kv_page_bytes, infoB.kv_page_bytes);
  EnginePtr engineA = engine(modelA), engineB = engine(modelB);
  ASSERT_TRUE(engineA && engineB);
  Greedy one = greedy(engineA), two = greedy(engineB), again = greedy(engineA);
  EXPECT_EQ(one.finish, INGOT_RT_FINISH_LENGTH);
  EXPECT_EQ(two.finish, INGOT_RT_FINISH_LENGTH);
  EXPECT_EQ(one.tokens, again.tokens);
  // A context of 48 ends what 128 goes on with.
  EXPECT_GT(greedy(engineB, 100).tokens.size(), greedy(engineA, 42).tokens.size());
}

TEST(Jit, ObjectBytesAreThoseOfEmitObject) {
  Folder folder;
  Message message;
  ingot_compile_options options = defaults();
  options.target = "avx2";
  options.emit = INGOT_EMIT_OBJECT;
  ASSERT_EQ(ingot_compile_file(Model.c_str(), (folder / "avx2.o").c_str(), &options, message.text,
                               sizeof(message.text)),
            INGOT_OK)
      << message.text;
  options.target = "ref,avx2";
  ingot_jit *refused = nullptr;
  EXPECT_EQ(ingot_jit_compile(Model.c_str(), &options, &refused, message.text, sizeof(message.text)),
            INGOT_INVALID);
  options.target = "avx2";
  JitPtr jit = compile(&options);
  ASSERT_TRUE(jit);
  const void *bytes = nullptr;
  uint64_t size = 0;
  ASSERT_EQ(ingot_jit_object(jit.get(), 0, &bytes, &size), INGOT_OK);
  EXPECT_EQ(ingot_jit_object(jit.get(), 1, &bytes, &size), INGOT_NOT_FOUND);
  std::string code(static_cast<const char *>(bytes), size), file = readAll(folder / "avx2.o");
  EXPECT_GT(size, 1000u);
  EXPECT_TRUE(code == file) << size << " and " << file.size() << " bytes";
  EXPECT_EQ(infoOf(jit).n_variants, 1u);
  EXPECT_STREQ(infoOf(jit).variants[0].isa, "avx2");
}

TEST(Jit, PhasesDoNotApply) {
  Message message;
  ingot_compile_options options = defaults();
  options.stop_after = "model";
  ingot_jit *jit = nullptr;
  EXPECT_EQ(ingot_jit_compile(Model.c_str(), &options, &jit, message.text, sizeof(message.text)),
            INGOT_INVALID);
  EXPECT_TRUE(message.has("stop_after")) << message.text;
}

TEST_F(JitOfModel, PackAnswersLikeTheModel) {
  Folder folder;
  Message message;
  std::string pack = folder / "model.ipk";
  ingot_compile_options options = defaults();
  options.emit = INGOT_EMIT_PACK;
  options.target = "native,avx2";
  EXPECT_EQ(ingot_compile_file(Model.c_str(), pack.c_str(), &options, message.text, sizeof(message.text)),
            INGOT_INVALID)
      << "native stands alone";
  options.target = "avx2";
  ASSERT_EQ(ingot_compile_file(Model.c_str(), pack.c_str(), &options, message.text, sizeof(message.text)),
            INGOT_OK)
      << message.text;
  ingot_jit *loaded = nullptr;
  EXPECT_EQ(ingot_jit_load(pack.c_str(), "amx", &loaded, message.text, sizeof(message.text)),
            INGOT_UNSUPPORTED);
  EXPECT_EQ(loaded, nullptr);
  EXPECT_TRUE(message.has("amx")) << message.text;
  ASSERT_EQ(ingot_jit_load(pack.c_str(), nullptr, &loaded, message.text, sizeof(message.text)), INGOT_OK)
      << message.text;
  JitPtr fromPack(loaded, ingot_jit_destroy);
  EXPECT_EQ(infoOf(fromPack).pack, nullptr);
  EXPECT_EQ(infoOf(fromPack).pack_path, pack);
  EXPECT_NE(infoOf(jit).pack, nullptr);
  EXPECT_EQ(infoOf(jit).pack_path, nullptr);
  // The variants' answers are equal too.
  EXPECT_EQ(greedy(engine(open(fromPack))).tokens, greedy(engine(open(jit))).tokens);
}

TEST_F(JitOfModel, CancelledRequest) {
  ModelPtr model = open(jit);
  EnginePtr e = engine(model);
  ASSERT_TRUE(e);
  Greedy whole = greedy(e, 12);
  Greedy cut = greedy(e, 12, [](void *, const ingot_rt_token *) { return 1; });
  EXPECT_EQ(whole.finish, INGOT_RT_FINISH_LENGTH);
  EXPECT_EQ(cut.finish, INGOT_RT_FINISH_CANCELLED);
  EXPECT_EQ(whole.tokens.compare(0, cut.tokens.size(), cut.tokens), 0);
  EXPECT_LT(cut.tokens.size(), whole.tokens.size());
  EXPECT_EQ(greedy(e, 12).tokens, whole.tokens) << "the next request is not disturbed";
  EXPECT_EQ(ingot_rt_cancel(e.get(), 12345), INGOT_RT_NOT_FOUND);
  ingot_rt_stats_v1 stats = {};
  stats.struct_size = sizeof(stats);
  ASSERT_EQ(ingot_rt_stats(e.get(), &stats), INGOT_RT_OK);
  EXPECT_EQ(stats.cancelled, 1u);
  EXPECT_EQ(stats.kv_pages_in_use, 0u);
}

/// Bytes held by malloc, and lines of the process's map.
struct Held {
  size_t bytes = mallinfo2().uordblks, maps = 0;
  Held() {
    if (Sanitized)
      return;
    std::string text = readAll("/proc/self/maps");
    maps = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  }
};

TEST(Jit, ManyCyclesHoldNothing) {
  Folder folder;
  Message message;
  std::string pack = folder / "model.ipk", expected;
  ingot_compile_options options = defaults();
  options.emit = INGOT_EMIT_PACK;
  ASSERT_EQ(ingot_compile_file(Model.c_str(), pack.c_str(), &options, message.text, sizeof(message.text)),
            INGOT_OK)
      << message.text;
  auto cycle = [&] {
    ingot_jit *loaded = nullptr;
    ASSERT_EQ(ingot_jit_load(pack.c_str(), nullptr, &loaded, message.text, sizeof(message.text)), INGOT_OK)
        << message.text;
    JitPtr jit(loaded, ingot_jit_destroy);
    ModelPtr model = open(jit);
    EnginePtr e = engine(model);
    std::string tokens = greedy(e, 4).tokens;
    if (expected.empty())
      expected = tokens;
    ASSERT_EQ(tokens, expected);
  };
  for (int i = 0; i < 5; ++i)
    cycle();
  Held before;
  constexpr int cycles = 60;
  for (int i = 0; i < cycles; ++i)
    cycle();
  Held after;
  // One leaked object, a pack's META or a stack would be far more each time.
  EXPECT_LT(after.bytes, before.bytes + cycles * 512) << before.bytes << " -> " << after.bytes;
  EXPECT_LT(after.maps, before.maps + cycles / 4) << before.maps << " -> " << after.maps;

  auto compileOnce = [&] {
    JitPtr jit = compile();
    ASSERT_EQ(greedy(engine(open(jit)), 4).tokens, expected);
  };
  compileOnce();
  Held first;
  compileOnce();
  compileOnce();
  Held last;
  EXPECT_LT(last.bytes, first.bytes + 2 * 65536) << first.bytes << " -> " << last.bytes;
  EXPECT_LT(last.maps, first.maps + 8) << first.maps << " -> " << last.maps;
}

} // namespace
