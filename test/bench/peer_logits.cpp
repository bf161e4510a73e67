//===- peer_logits.cpp - logits, hidden states and greedy tokens of llama.cpp ---------------------------===//
//
//   peer_logits MODEL THREADS auto|on|off        (the last: flash attention)
//
// Answers lines of standard input, each on a line that starts with "ok", until its end; an error ends it
// with 1. LIST is IDS or POSITIONS separated by commas, ascending where positions; files get f32 rows.
//   logits FILE IDS POSITIONS   the whole vocabulary after each position
//   hidden FILE IDS             of the last position: output of each layer, then of the final norm
//   greedy COUNT IDS            "ok IDS": the likeliest token, COUNT times, one decoding step each
// Built by peer.py against a built llama.cpp, so that the layout of its structs is the compiler's concern.
// The context is what llama.cpp makes by default (f16 cache, blocks of 512 tokens), on the CPU alone.
//
//===------------------------------------------------------------------------------------------------------===//

#include "ggml-backend.h"
#include "llama.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr int32_t Block = 512, Context = 4096;

[[noreturn]] void fail(const std::string &text) {
  std::fprintf(stderr, "peer_logits: %s\n", text.c_str());
  std::exit(1);
}

std::vector<int32_t> list(const std::string &text) {
  std::vector<int32_t> values;
  std::istringstream in(text);
  for (std::string one; std::getline(in, one, ',');)
    values.push_back(static_cast<int32_t>(std::stol(one)));
  if (values.empty())
    fail("an empty list");
  return values;
}

/// The last row of every tensor that is a hidden state, by position in the stack.
struct Taps {
  bool on = false;
  int32_t layers = 0;
  std::map<int32_t, std::vector<float>> rows; ///< layers, then the norm

  int32_t place(const char *name) const {
    if (!std::strcmp(name, "result_norm"))
      return layers;
    return std::strncmp(name, "l_out-", 6) ? -1 : std::atoi(name + 6);
  }
  static bool visit(ggml_tensor *tensor, bool ask, void *user) {
    Taps &taps = *static_cast<Taps *>(user);
    int32_t place = taps.on ? taps.place(tensor->name) : -1;
    if (ask || place < 0)
      return place >= 0;
    if (tensor->type != GGML_TYPE_F32)
      fail(std::string(tensor->name) + " is not f32");
    std::vector<float> &row = taps.rows[place];
    row.resize(tensor->ne[0]);
    ggml_backend_tensor_get(tensor, row.data(), (tensor->ne[1] - 1) * tensor->nb[1],
                            row.size() * sizeof(float));
    return true;
  }
};

class Peer {
public:
  Peer(const char *file, int32_t threads, const std::string &flash) {
    llama_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
    llama_backend_init();
    model = llama_model_load_from_file(file, llama_model_default_params());
    if (!model)
      fail(std::string(file) + ": llama.cpp cannot load it");
    taps.layers = llama_model_n_layer(model);
    vocab = llama_vocab_n_tokens(llama_model_get_vocab(model));
    llama_context_params params = llama_context_default_params();
    params.n_ctx = Context;
    params.n_batch = params.n_ubatch = Block;
    params.n_threads = params.n_threads_batch = threads;
    params.flash_attn_type = flash == "on"    ? LLAMA_FLASH_ATTN_TYPE_ENABLED
                             : flash == "off" ? LLAMA_FLASH_ATTN_TYPE_DISABLED
                                              : LLAMA_FLASH_ATTN_TYPE_AUTO;
    params.type_k = params.type_v = GGML_TYPE_F16;
    params.cb_eval = Taps::visit;
    params.cb_eval_user_data = &taps;
    context = llama_init_from_model(model, params);
    if (!context)
      fail("llama.cpp cannot make a context");
  }
  ~Peer() {
    llama_free(context);
    llama_model_free(model);
  }

  /// Computes `ids` from the start; `row(position, logits)` for each of `positions`.
  template <typename Row>
  void compute(const std::vector<int32_t> &ids, const std::vector<int32_t> &positions, Row &&row) {
    llama_memory_clear(llama_get_memory(context), true);
    if (ids.size() > Context)
      fail("more than " + std::to_string(Context) + " tokens");
    next = 0;
    for (size_t begin = 0; begin < ids.size(); begin += Block)
      step(ids.data() + begin, static_cast<int32_t>(std::min<size_t>(Block, ids.size() - begin)), positions,
           row);
  }

  std::vector<int32_t> greedy(const std::vector<int32_t> &ids, int32_t count) {
    std::vector<int32_t> out;
    auto choose = [&](int32_t, const float *logits) {
      out.push_back(static_cast<int32_t>(std::max_element(logits, logits + vocab) - logits));
    };
    compute(ids, {static_cast<int32_t>(ids.size()) - 1}, choose);
    while (out.size() < static_cast<size_t>(count)) {
      int32_t last = out.back();
      step(&last, 1, {next}, choose);
    }
    return out;
  }

  Taps taps;
  int32_t vocab = 0;

private:
  template <typename Row>
  void step(const int32_t *ids, int32_t count, const std::vector<int32_t> &positions, Row &&row) {
    llama_batch batch = llama_batch_init(count, 0, 1);
    batch.n_tokens = count;
    for (int32_t i = 0; i < count; ++i) {
      if (ids[i] < 0 || ids[i] >= vocab)
        fail("token " + std::to_string(ids[i]) + " is not in the vocabulary");
      batch.token[i] = ids[i];
      batch.pos[i] = next + i;
      batch.n_seq_id[i] = 1;
      batch.seq_id[i][0] = 0;
      batch.logits[i] = std::binary_search(positions.begin(), positions.end(), next + i);
    }
    if (llama_decode(context, batch) != 0)
      fail("llama_decode failed");
    for (int32_t i = 0; i < count; ++i)
      if (batch.logits[i])
        row(next + i, llama_get_logits_ith(context, i));
    llama_batch_free(batch);
    next += count;
  }

  llama_model *model = nullptr;
  llama_context *context = nullptr;
  int32_t next = 0; ///< position of the token that comes next
};

struct File {
  explicit File(const std::string &path) : path(path), file(std::fopen(path.c_str(), "wb")) { check(file); }
  ~File() { check(file && !std::fclose(file)); }
  void write(const float *values, size_t count) {
    check(std::fwrite(values, sizeof(float), count, file) == count);
  }
  void check(bool ok) const {
    if (!ok)
      fail(path + ": cannot be written");
  }
  std::string path;
  std::FILE *file;
};

void answer(Peer &peer, const std::string &line) {
  std::istringstream in(line);
  std::string command, first, ids, positions;
  in >> command >> first >> ids >> positions;
  if (command == "logits") {
    File file(first);
    peer.compute(list(ids), list(positions),
                 [&](int32_t, const float *logits) { file.write(logits, static_cast<size_t>(peer.vocab)); });
  } else if (command == "hidden") {
    std::vector<int32_t> all = list(ids);
    peer.taps.on = true;
    peer.compute(all, {static_cast<int32_t>(all.size()) - 1}, [](int32_t, const float *) {});
    peer.taps.on = false;
    File file(first);
    for (const auto &[place, row] : peer.taps.rows)
      file.write(row.data(), row.size());
    peer.taps.rows.clear();
  } else if (command == "greedy") {
    const char *separator = "ok ";
    for (int32_t id : peer.greedy(list(ids), std::stoi(first))) {
      std::printf("%s%d", separator, id);
      separator = ",";
    }
    std::printf("\n");
    return;
  } else {
    fail("unknown command '" + command + "'");
  }
  std::printf("ok\n");
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 4)
    fail("usage: peer_logits MODEL THREADS auto|on|off");
  Peer peer(argv[1], std::atoi(argv[2]), argv[3]);
  std::printf("ok %d %s\n", peer.vocab, llama_version());
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
    answer(peer, line);
    std::fflush(stdout);
  }
  return 0;
}
