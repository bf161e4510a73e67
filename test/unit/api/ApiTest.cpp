//===- ApiTest.cpp - options, files and faults of the compiler's C API ----------------------------------===//

#include "test/unit/api/Support.h"

#include <csignal>
#include <cstring>
#include <sys/stat.h>

using namespace ingot::api_test;

namespace {

int32_t compileFile(const char *model, const std::string &output, const ingot_compile_options &options,
                    Message &message) {
  return ingot_compile_file(model, output.c_str(), &options, message.text, sizeof(message.text));
}

bool exists(const std::string &path) { return ::access(path.c_str(), F_OK) == 0; }

void collect(void *user, const char *text, uint64_t bytes) {
  static_cast<std::string *>(user)->append(text, bytes);
}

TEST(ApiOptions, DefaultsAreZeroAndSized) {
  ingot_compile_options options;
  std::memset(&options, 0xff, sizeof(options));
  ingot_compile_options_init(&options);
  EXPECT_EQ(options.struct_size, sizeof(options));
  EXPECT_EQ(options.emit, INGOT_EMIT_EXECUTABLE);
  EXPECT_EQ(options.target, nullptr);
  EXPECT_EQ(options.context, 0);
  ingot_compile_options_init(nullptr);
  EXPECT_EQ(std::string(ingot_version()).find("ingot "), 0u);
}

TEST(ApiOptions, BadOnesAreNamed) {
  Folder folder;
  struct Case {
    void (*change)(ingot_compile_options &);
    const char *part;
  } cases[] = {
      {[](ingot_compile_options &o) { o.struct_size = 2; }, "struct_size"},
      {[](ingot_compile_options &o) { o.emit = 7; }, "emit 7"},
      {[](ingot_compile_options &o) { o.target = "sse2"; }, "'sse2'"},
      {[](ingot_compile_options &o) { o.target = ""; }, "no target"},
      {[](ingot_compile_options &o) { o.kv = "f8"; }, "'f8'"},
      {[](ingot_compile_options &o) { o.context = -1; }, "--ctx"},
      {[](ingot_compile_options &o) { o.max_seqs = 5000; }, "--max-seqs"},
      {[](ingot_compile_options &o) { o.chunk = 3; }, "--chunk"},
      {[](ingot_compile_options &o) { o.stop_after = "lunch"; }, "'lunch'"},
      {[](ingot_compile_options &o) { o.start_from = "kernel"; }, "--ir"},
      {[](ingot_compile_options &o) { o.n_print_ir_after = 1; }, "print_ir_after"},
      {[](ingot_compile_options &o) {
         o.emit = INGOT_EMIT_OBJECT;
         o.target = "all";
       },
       "--emit=obj"},
  };
  for (const Case &c : cases) {
    ingot_compile_options options = defaults();
    c.change(options);
    Message message;
    EXPECT_EQ(compileFile(Model.c_str(), folder / "out", options, message), INGOT_INVALID) << c.part;
    EXPECT_TRUE(message.has(c.part)) << message.text;
    EXPECT_FALSE(exists(folder / "out"));
  }
}

TEST(ApiFaults, ArgumentsThatAreMissing) {
  Message message;
  ingot_compile_options options = defaults();
  EXPECT_EQ(ingot_compile_file(nullptr, "x", &options, message.text, sizeof(message.text)), INGOT_INVALID);
  EXPECT_EQ(ingot_compile_file(Model.c_str(), nullptr, &options, message.text, sizeof(message.text)),
            INGOT_INVALID);
  EXPECT_TRUE(message.has("output"));
  EXPECT_EQ(ingot_jit_compile(Model.c_str(), nullptr, nullptr, message.text, sizeof(message.text)),
            INGOT_INVALID);
  EXPECT_EQ(ingot_inspect(Model.c_str(), nullptr, nullptr, nullptr, message.text, sizeof(message.text)),
            INGOT_INVALID);
  ingot_jit *jit = reinterpret_cast<ingot_jit *>(1);
  EXPECT_EQ(ingot_jit_load("", nullptr, &jit, message.text, sizeof(message.text)), INGOT_INVALID);
  EXPECT_EQ(ingot_jit_get_info(nullptr, nullptr), INGOT_INVALID);
  EXPECT_EQ(ingot_jit_object(nullptr, 0, nullptr, nullptr), INGOT_INVALID);
  ingot_rt_model *model = reinterpret_cast<ingot_rt_model *>(1);
  EXPECT_EQ(ingot_jit_open_model(nullptr, nullptr, &model, nullptr, 0), INGOT_RT_INVALID);
  EXPECT_EQ(model, nullptr);
  ingot_jit_destroy(nullptr);
}

TEST(ApiFaults, FilesAreNamedAndNothingIsLeft) {
  Folder folder;
  Message message;
  ingot_jit *jit = reinterpret_cast<ingot_jit *>(1);
  std::string missing = folder / "missing.gguf";
  EXPECT_EQ(ingot_jit_compile(missing.c_str(), nullptr, &jit, message.text, sizeof(message.text)),
            INGOT_FAILED);
  EXPECT_EQ(jit, nullptr);
  EXPECT_TRUE(message.has("missing.gguf")) << message.text;
  std::string bytes = readAll(Model), cut = folder / "cut.gguf";
  ASSERT_GT(bytes.size(), 1000u);
  std::ofstream(cut, std::ios::binary) << bytes.substr(0, bytes.size() - 1000);
  EXPECT_EQ(compileFile(cut.c_str(), folder / "out", defaults(), message), INGOT_FAILED);
  EXPECT_TRUE(message.has("cut.gguf")) << message.text;
  EXPECT_FALSE(exists(folder / "out"));
  EXPECT_EQ(ingot_jit_load(cut.c_str(), nullptr, &jit, message.text, sizeof(message.text)), INGOT_FAILED);
  EXPECT_TRUE(message.has("cut.gguf")) << message.text;
  ingot_compile_options options = defaults();
  std::string nowhere = folder / "nowhere";
  options.support_dir = nowhere.c_str();
  EXPECT_EQ(compileFile(Model.c_str(), folder / "out", options, message), INGOT_FAILED);
  EXPECT_TRUE(message.has("nowhere")) << message.text;
  EXPECT_FALSE(exists(folder / "out"));
}

TEST(ApiFiles, MeasuredSchedules) {
  Folder folder;
  Message message;
  std::string profile = folder / "model.tune", plain, tuned;
  ingot_compile_options options = defaults();
  options.target = "avx2";
  ASSERT_EQ(ingot_inspect(Model.c_str(), &options, collect, &plain, message.text, sizeof(message.text)),
            INGOT_OK);
  EXPECT_EQ(plain.find(" tune="), std::string::npos);
  options.tune_file = profile.c_str();
  EXPECT_EQ(ingot_inspect(Model.c_str(), &options, collect, &tuned, message.text, sizeof(message.text)),
            INGOT_FAILED);
  EXPECT_TRUE(message.has("--tune") && message.has("model.tune")) << message.text;
  std::ofstream(profile) << "ingot-tune 1 kernels 1\nlinear\n";
  EXPECT_EQ(compileFile(Model.c_str(), folder / "out", options, message), INGOT_FAILED);
  EXPECT_TRUE(message.has("model.tune:2: ")) << message.text;
  EXPECT_FALSE(exists(folder / "out"));
  std::ofstream(profile) << "ingot-tune 1 kernels 1\n";
  std::string warnings;
  options.user = &warnings;
  options.on_diagnostic = [](void *user, int32_t severity, const char *text) {
    if (severity == INGOT_WARNING)
      *static_cast<std::string *>(user) += text;
  };
  ASSERT_EQ(ingot_inspect(Model.c_str(), &options, collect, &tuned, message.text, sizeof(message.text)),
            INGOT_OK)
      << message.text;
  EXPECT_NE(tuned.find(" tune="), std::string::npos);
  EXPECT_NE(warnings.find("has no kernel of this model on avx2"), std::string::npos) << warnings;
}

TEST(ApiFaults, MessagesFitTheBuffer) {
  char small[8] = "1234567";
  EXPECT_EQ(ingot_compile_file("/nowhere/model.gguf", "x", nullptr, small, sizeof(small)), INGOT_FAILED);
  EXPECT_LT(std::strlen(small), sizeof(small));
  EXPECT_EQ(ingot_compile_file("/nowhere/model.gguf", "x", nullptr, nullptr, 0), INGOT_FAILED);
}

TEST(ApiFiles, TextOfAPhase) {
  ingot_compile_options options = defaults();
  struct Both {
    std::string text, ir;
  } both;
  const char *passes[] = {"all"};
  options.stop_after = "model";
  options.target = "avx2";
  options.print_ir_after = passes;
  options.n_print_ir_after = 1;
  options.user = &both;
  options.on_text = [](void *user, const char *t, uint64_t n) {
    static_cast<Both *>(user)->text.append(t, n);
  };
  options.on_ir = [](void *user, const char *t, uint64_t n) { static_cast<Both *>(user)->ir.append(t, n); };
  Message message;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  int32_t status = ingot_compile_file(Model.c_str(), nullptr, &options, message.text, sizeof(message.text));
  std::string out = testing::internal::GetCapturedStdout(), err = testing::internal::GetCapturedStderr();
  ASSERT_EQ(status, INGOT_OK) << message.text;
  EXPECT_STREQ(message.text, "");
  EXPECT_NE(both.text.find("llm.config"), std::string::npos);
  EXPECT_NE(both.ir.find("IR Dump After"), std::string::npos);
  EXPECT_EQ(out, "");
  EXPECT_EQ(err, "");
}

TEST(ApiFiles, DiagnosticsOfBrokenText) {
  Folder folder;
  std::string file = folder / "broken.mlir";
  std::ofstream(file) << "module { llm.config }\n";
  ingot_compile_options options = defaults();
  std::string seen;
  options.start_from = "kernel";
  options.ir_file = file.c_str();
  options.target = "avx2";
  options.user = &seen;
  options.on_diagnostic = [](void *user, int32_t severity, const char *text) {
    if (severity == INGOT_ERROR)
      static_cast<std::string *>(user)->append(text);
  };
  Message message;
  EXPECT_EQ(compileFile(Model.c_str(), folder / "out", options, message), INGOT_FAILED);
  EXPECT_NE(seen.find("broken.mlir"), std::string::npos) << seen;
  EXPECT_TRUE(message.has("broken.mlir")) << message.text;
}

TEST(ApiFiles, ExecutablePackAndTheirDescription) {
  if (Sanitized)
    GTEST_SKIP() << "an executable would need the sanitizer's run-time library";
  Folder folder;
  Message message;
  ingot_compile_options options = defaults();
  std::string progress, binaryMeta, packMeta, modelMeta;
  options.user = &progress;
  options.on_progress = [](void *user, const char *what, const char *, uint64_t, uint64_t) {
    static_cast<std::string *>(user)->append(what).append(";");
  };
  // A host's handlers stay what they were.
  const int signals[] = {SIGINT, SIGTERM, SIGSEGV, SIGILL,  SIGABRT,
                         SIGBUS, SIGFPE,  SIGPIPE, SIGTRAP, SIGCHLD};
  struct sigaction before[10], after[10];
  for (int i = 0; i < 10; ++i)
    ::sigaction(signals[i], nullptr, &before[i]);
  ASSERT_EQ(compileFile(Model.c_str(), folder / "model", options, message), INGOT_OK) << message.text;
  for (int i = 0; i < 10; ++i) {
    ::sigaction(signals[i], nullptr, &after[i]);
    EXPECT_EQ(before[i].sa_handler, after[i].sa_handler) << "signal " << signals[i];
  }
  EXPECT_NE(progress.find("packing weights"), std::string::npos);
  struct stat info;
  ASSERT_EQ(::stat((folder / "model").c_str(), &info), 0);
  EXPECT_TRUE(info.st_mode & S_IXUSR);
  EXPECT_EQ(std::system(((folder / "model") + " run -p Hello -n 4 -q > " + (folder / "answer")).c_str()), 0);
  EXPECT_NE(readAll(folder / "answer"), "");
  options.emit = INGOT_EMIT_PACK;
  ASSERT_EQ(compileFile(Model.c_str(), folder / "model.ipk", options, message), INGOT_OK) << message.text;
  auto inspect = [&](const std::string &path, std::string &out) {
    return ingot_inspect(path.c_str(), nullptr, collect, &out, message.text, sizeof(message.text));
  };
  ASSERT_EQ(inspect(folder / "model", binaryMeta), INGOT_OK) << message.text;
  ASSERT_EQ(inspect(folder / "model.ipk", packMeta), INGOT_OK) << message.text;
  ASSERT_EQ(inspect(Model, modelMeta), INGOT_OK) << message.text;
  EXPECT_EQ(binaryMeta, packMeta);
  for (const std::string *meta : {&binaryMeta, &modelMeta})
    for (const char *part : {"\"arch\"", "\"plan\"", "\"explain\"", "\"tensors\""})
      EXPECT_NE(meta->find(part), std::string::npos) << part;
}

} // namespace
