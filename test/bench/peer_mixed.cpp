//===- peer_mixed.cpp - mixed steps of llama.cpp, for test/bench/compare --------------------------------===//
//
// What `ingot bench --mix` does, through llama.cpp's C interface: decode calls with P prompt tokens of one
// sequence and one token of each of B others at depth D; and either part alone, in turn. Prints one JSON
// object: tokens per second of the mixed calls, and their time as a share of the time of both parts.
//
//   peer_mixed MODEL P B D THREADS off|on|auto one|each f16|q8_0     (one: all sequences in one cache)
//
//===------------------------------------------------------------------------------------------------------===//

#include "llama.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

constexpr int steps = 4;

[[noreturn]] void fail(const char *what) {
  std::fprintf(stderr, "error: %s\n", what);
  std::exit(1);
}

class Batch {
public:
  Batch(int capacity, int vocab) : batch(llama_batch_init(capacity, 0, 1)), vocab(vocab) {}
  ~Batch() { llama_batch_free(batch); }
  void clear() { batch.n_tokens = 0; }
  void add(int position, int sequence, bool logits) {
    int i = batch.n_tokens++;
    batch.token[i] = static_cast<llama_token>(static_cast<long>(position) * 7919 % vocab);
    batch.pos[i] = position;
    batch.n_seq_id[i] = 1;
    batch.seq_id[i][0] = sequence;
    batch.logits[i] = logits;
  }
  void decode(llama_context *context) {
    if (llama_decode(context, batch) != 0)
      fail("llama_decode failed");
    llama_synchronize(context);
  }

private:
  llama_batch batch;
  int vocab;
};

} // namespace

int main(int argc, char **argv) {
  if (argc != 9)
    fail("usage: peer_mixed MODEL P B D THREADS off|on|auto one|each f16|q8_0");
  int prompt = std::atoi(argv[2]), running = std::atoi(argv[3]), depth = std::atoi(argv[4]);
  std::string attention = argv[6];
  llama_log_set(
      [](ggml_log_level level, const char *text, void *) {
        if (level == GGML_LOG_LEVEL_ERROR)
          std::fputs(text, stderr);
      },
      nullptr);
  llama_backend_init();
  llama_model *model = llama_model_load_from_file(argv[1], llama_model_default_params());
  if (!model)
    fail("the model does not load");
  llama_context_params params = llama_context_default_params();
  int positions = (std::max(prompt, depth + steps) + 255) / 256 * 256;
  params.n_seq_max = static_cast<uint32_t>(running + 1);
  params.n_ctx = static_cast<uint32_t>(positions * (running + 1));
  params.n_threads = params.n_threads_batch = std::atoi(argv[5]);
  params.n_ubatch = static_cast<uint32_t>(std::max(512, prompt + running));
  params.flash_attn_type = attention == "on"    ? LLAMA_FLASH_ATTN_TYPE_ENABLED
                           : attention == "off" ? LLAMA_FLASH_ATTN_TYPE_DISABLED
                                                : LLAMA_FLASH_ATTN_TYPE_AUTO;
  params.kv_unified = std::strcmp(argv[7], "one") == 0;
  params.type_k = params.type_v = std::strcmp(argv[8], "q8_0") == 0 ? GGML_TYPE_Q8_0 : GGML_TYPE_F16;
  llama_context *context = llama_init_from_model(model, params);
  if (!context)
    fail("no context");
  llama_memory_t memory = llama_get_memory(context);
  Batch batch(std::max(512, prompt + running), llama_vocab_n_tokens(llama_model_get_vocab(model)));

  for (int s = 0; s < running; ++s)
    for (int done = 0; done < depth;) {
      batch.clear();
      for (int end = std::min(depth, done + 512); done < end; ++done)
        batch.add(done, s, done == depth - 1);
      batch.decode(context);
    }

  double times[3] = {};
  for (int i = -1; i < steps; ++i)
    for (int kind = 0; kind < 3; ++kind) {
      bool withPrompt = kind != 2, withRunning = kind != 1;
      // Every kind of step finds the cache as the one before found it.
      llama_memory_seq_rm(memory, running, -1, -1);
      for (int s = 0; s < running; ++s)
        llama_memory_seq_rm(memory, s, depth + std::max(i, 0), -1);
      batch.clear();
      for (int p = 0; p < prompt && withPrompt; ++p)
        batch.add(p, running, p == prompt - 1);
      for (int s = 0; s < running && withRunning; ++s)
        batch.add(depth + std::max(i, 0), s, true);
      auto start = std::chrono::steady_clock::now();
      batch.decode(context);
      if (i >= 0)
        times[kind] += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
  std::printf("{\"rate\": %.3f, \"mixed_ms\": %.3f, \"prompt_ms\": %.3f, \"generate_ms\": %.3f, "
              "\"share_of_parts\": %.4f}\n",
              steps * (prompt + running) / times[0], 1e3 * times[0] / steps, 1e3 * times[1] / steps,
              1e3 * times[2] / steps, times[0] / (times[1] + times[2]));
  llama_free(context);
  llama_model_free(model);
  llama_backend_free();
  return 0;
}
