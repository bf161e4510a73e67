//===- Support.h - what the tests of the C API share ----------------------------------------------------===//
#ifndef INGOT_TEST_UNIT_API_SUPPORT_H
#define INGOT_TEST_UNIT_API_SUPPORT_H

#include "compiler/api/ingot.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <memory>
#include <string>
#include <unistd.h>

#ifndef __has_feature
#define __has_feature(x) 0
#endif

namespace ingot::api_test {

/// Sanitizers have a run-time library, memory and leak checks of their own.
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
inline constexpr bool Sanitized = true;
#else
inline constexpr bool Sanitized = false;
#endif

/// One layer, 32 wide, 280 byte tokens, context 128.
inline const std::string Model = INGOT_SOURCE_DIR "/test/golden/bad/good.gguf";

inline ingot_compile_options defaults() {
  ingot_compile_options options;
  ingot_compile_options_init(&options);
  return options;
}

inline std::string readAll(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A folder that goes away with its files.
struct Folder {
  Folder() {
    char name[] = "/tmp/ingot-api-XXXXXX";
    path = mkdtemp(name);
  }
  ~Folder() { (void)!std::system(("rm -rf '" + path + "'").c_str()); }
  std::string operator/(const std::string &name) const { return path + "/" + name; }
  std::string path;
};

struct Message {
  char text[4096] = "unset";
  bool has(const std::string &part) const { return std::string(text).find(part) != std::string::npos; }
};

using JitPtr = std::unique_ptr<ingot_jit, void (*)(ingot_jit *)>;
using ModelPtr = std::unique_ptr<ingot_rt_model, void (*)(ingot_rt_model *)>;
using EnginePtr = std::unique_ptr<ingot_rt_engine, void (*)(ingot_rt_engine *)>;

inline JitPtr compile(const ingot_compile_options *options = nullptr) {
  Message message;
  ingot_jit *jit = nullptr;
  EXPECT_EQ(ingot_jit_compile(Model.c_str(), options, &jit, message.text, sizeof(message.text)), INGOT_OK)
      << message.text;
  return {jit, ingot_jit_destroy};
}

inline ModelPtr open(const JitPtr &jit) {
  Message message;
  ingot_rt_model *model = nullptr;
  EXPECT_EQ(ingot_jit_open_model(jit.get(), nullptr, &model, message.text, sizeof(message.text)), INGOT_RT_OK)
      << message.text;
  return {model, ingot_rt_model_close};
}

inline EnginePtr engine(const ModelPtr &model) {
  Message message;
  ingot_rt_engine *engine = nullptr;
  EXPECT_EQ(ingot_rt_engine_create(model.get(), nullptr, &engine, message.text, sizeof(message.text)),
            INGOT_RT_OK)
      << message.text;
  return {engine, ingot_rt_engine_destroy};
}

/// Greedy ids after a prompt.
struct Greedy {
  std::string tokens;
  int finish = -1;
};
inline Greedy greedy(const EnginePtr &engine, int64_t tokens = 12, ingot_rt_token_fn onToken = nullptr) {
  static const int32_t prompt[] = {72, 101, 108, 111, 32, 87};
  Greedy result;
  Message message;
  ingot_rt_request request;
  ingot_rt_request_init(nullptr, &request);
  request.ids = prompt;
  request.n_ids = 6;
  request.max_tokens = tokens;
  request.ignore_eos = 1;
  request.on_token = onToken;
  request.user = &result;
  request.on_done = [](void *user, const ingot_rt_answer *answer) {
    auto *out = static_cast<Greedy *>(user);
    out->finish = answer->finish;
    for (uint64_t i = 0; i < answer->n_tokens; ++i)
      out->tokens += std::to_string(answer->tokens[i]) + " ";
  };
  EXPECT_EQ(ingot_rt_submit(engine.get(), &request, nullptr, message.text, sizeof(message.text)), INGOT_RT_OK)
      << message.text;
  EXPECT_EQ(ingot_rt_run_until_idle(engine.get(), message.text, sizeof(message.text)), INGOT_RT_OK)
      << message.text;
  return result;
}

} // namespace ingot::api_test

#endif // INGOT_TEST_UNIT_API_SUPPORT_H
