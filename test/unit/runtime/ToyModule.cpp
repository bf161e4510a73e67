//===- ToyModule.cpp ------------------------------------------------------------------------------------===//
#include "ToyModule.h"

#include "runtime/weights/Hash.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace toy {
namespace {

constexpr uint32_t Pairs = Hidden / 2, Panels = (Vocab + 15) / 16;
constexpr float Infinity = std::numeric_limits<float>::infinity();

// Floats in the weight section: embedding, then per layer Wq, Wk, Wv, Wo; each begins 64-aligned.
constexpr uint32_t EmbedAt = 0, LayerAt = Vocab * Hidden, Matrix = Hidden * Hidden, PerLayer = 4 * Matrix;
constexpr uint32_t WeightFloats = LayerAt + Layers * PerLayer;

struct WeightStore {
  std::vector<float> values;
  std::vector<float> padded;
  const float *aligned = nullptr;
  WeightStore() : values(WeightFloats), padded(WeightFloats + 32) {
    uint32_t state = 12345;
    for (float &v : values) {
      state = state * 1664525u + 1013904223u;
      v = float(int32_t(state >> 8) % 2001 - 1000) * (1.0f / 1000.0f);
    }
    for (uint32_t i = LayerAt; i < WeightFloats; ++i)
      values[i] *= 0.6f;
    // Small rows: the model does not draw its special tokens by itself.
    for (uint32_t i = (Eos + 1) * Hidden; i < Vocab * Hidden; ++i)
      values[i] *= 0.01f;
    auto address = (reinterpret_cast<uintptr_t>(padded.data()) + 63) & ~uintptr_t(63);
    std::memcpy(reinterpret_cast<void *>(address), values.data(), WeightFloats * sizeof(float));
    aligned = reinterpret_cast<const float *>(address);
  }
};

const WeightStore &store() {
  static const WeightStore s;
  return s;
}

void matVec(const float *w, const float *x, float *y) {
  for (uint32_t o = 0; o < Hidden; ++o) {
    float acc = 0;
    for (uint32_t i = 0; i < Hidden; ++i)
      acc += w[o * Hidden + i] * x[i];
    y[o] = acc;
  }
}

void rotate(float *x, const float *table) {
  for (uint32_t i = 0; i < Pairs; ++i) {
    float a = x[2 * i], b = x[2 * i + 1], c = table[2 * i], s = table[2 * i + 1];
    x[2 * i] = a * c - b * s;
    x[2 * i + 1] = a * s + b * c;
  }
}

void normalize(const float *x, float *y) {
  float sum = 0;
  for (uint32_t i = 0; i < Hidden; ++i)
    sum += x[i] * x[i];
  float s = 1.0f / std::sqrt(sum / Hidden + 1e-5f);
  for (uint32_t i = 0; i < Hidden; ++i)
    y[i] = x[i] * s;
}

uint32_t share(uint32_t n, uint32_t part, uint32_t parts) { return uint32_t(uint64_t(n) * part / parts); }

int32_t embed(const ingot_step_v1 *s, const ingot_args_v1 *a, uint32_t part, uint32_t parts) {
  auto *x = static_cast<float *>(a->slot[0]);
  auto *table = reinterpret_cast<const float *>(a->weight[0]);
  for (uint32_t r = share(s->n_rows, part, parts); r < share(s->n_rows, part + 1, parts); ++r) {
    if (s->tokens[r] == Broken)
      return 7;
    std::memcpy(x + r * Hidden, table + s->tokens[r] * Hidden, Hidden * 4);
  }
  return 0;
}

int32_t norm(const ingot_step_v1 *s, const ingot_args_v1 *a, uint32_t part, uint32_t parts) {
  auto *x = static_cast<const float *>(a->slot[0]);
  auto *y = static_cast<float *>(a->slot[1]);
  for (uint32_t r = share(s->n_rows, part, parts); r < share(s->n_rows, part + 1, parts); ++r)
    normalize(x + r * Hidden, y + r * Hidden);
  return 0;
}

float *pageOf(const ingot_step_v1 *s, const ingot_args_v1 *a, uint32_t seq, uint32_t position) {
  int32_t page = s->block_table[seq * s->block_stride + position / INGOT_KV_PAGE];
  return reinterpret_cast<float *>(a->kv + uint64_t(page) / INGOT_KV_GROUP * a->kv_stride) +
         uint64_t(page) % INGOT_KV_GROUP * 2 * Hidden * INGOT_KV_PAGE;
}

/// slot: normed rows; weights: Wk, Wv.
int32_t append(const ingot_step_v1 *s, const ingot_args_v1 *a, uint32_t part, uint32_t parts) {
  auto *x = static_cast<const float *>(a->slot[0]);
  for (uint32_t r = share(s->n_rows, part, parts); r < share(s->n_rows, part + 1, parts); ++r) {
    float k[Hidden], v[Hidden];
    matVec(reinterpret_cast<const float *>(a->weight[0]), x + r * Hidden, k);
    matVec(reinterpret_cast<const float *>(a->weight[1]), x + r * Hidden, v);
    uint32_t p = uint32_t(s->positions[r]), lane = p % INGOT_KV_PAGE;
    rotate(k, s->rope[0] + uint64_t(p) * Hidden);
    float *page = pageOf(s, a, uint32_t(s->row_seq[r]), p);
    for (uint32_t d = 0; d < Hidden; ++d) {
      page[d * INGOT_KV_PAGE + lane] = k[d];
      page[(Hidden + lane) * INGOT_KV_PAGE + d] = s->tokens[r] == Poison ? Infinity : v[d];
    }
  }
  return 0;
}

/// slots: normed rows, residual; weights: Wq, Wo; scratch: scores of one row.
int32_t attend(const ingot_step_v1 *s, const ingot_args_v1 *a, uint32_t part, uint32_t parts) {
  auto *x = static_cast<const float *>(a->slot[0]);
  auto *residual = static_cast<float *>(a->slot[1]);
  auto *score = static_cast<float *>(a->scratch);
  for (uint32_t r = share(s->n_rows, part, parts); r < share(s->n_rows, part + 1, parts); ++r) {
    uint32_t p = uint32_t(s->positions[r]), seq = uint32_t(s->row_seq[r]), end = (p / 64 + 1) * 64;
    float q[Hidden], o[Hidden] = {}, y[Hidden];
    matVec(reinterpret_cast<const float *>(a->weight[0]), x + r * Hidden, q);
    rotate(q, s->rope[0] + uint64_t(p) * Hidden);
    float top = -Infinity, sum = 0;
    for (uint32_t k = 0; k < end; ++k) {
      const float *page = pageOf(s, a, seq, k);
      float dot = 0;
      for (uint32_t d = 0; d < Hidden; ++d)
        dot += q[d] * page[d * INGOT_KV_PAGE + k % INGOT_KV_PAGE];
      score[k] = k <= p ? dot : -Infinity;
      top = std::fmax(top, score[k]);
    }
    for (uint32_t k = 0; k < end; ++k) {
      score[k] = k <= p ? std::exp(score[k] - top) : 0.0f;
      sum += score[k];
    }
    for (uint32_t k = 0; k < end; ++k) {
      const float *v = pageOf(s, a, seq, k) + (Hidden + k % INGOT_KV_PAGE) * INGOT_KV_PAGE;
      for (uint32_t d = 0; d < Hidden; ++d)
        o[d] += score[k] * v[d];
    }
    for (uint32_t d = 0; d < Hidden; ++d)
      o[d] /= sum;
    matVec(reinterpret_cast<const float *>(a->weight[1]), o, y);
    for (uint32_t d = 0; d < Hidden; ++d)
      residual[r * Hidden + d] += y[d];
  }
  return 0;
}

/// slots: residual, logits; weight: embedding. Parts share panels of 16 logits; see ingot_argmax_v1.
int32_t head(const ingot_step_v1 *s, const ingot_args_v1 *a, uint32_t part, uint32_t parts) {
  auto *x = static_cast<const float *>(a->slot[0]);
  auto *logits = static_cast<float *>(a->slot[1]);
  auto *table = reinterpret_cast<const float *>(a->weight[0]);
  constexpr uint32_t Stride = 16 * Panels;
  uint32_t begin = 16 * share(Panels, part, parts), end = 16 * share(Panels, part + 1, parts);
  bool best = s->flags & INGOT_STEP_ARGMAX;
  for (uint32_t o = 0; o < s->n_out && begin < end; ++o) {
    float y[Hidden];
    normalize(x + s->out_rows[o] * Hidden, y);
    ingot_argmax_v1 entry = {-Infinity, -1};
    for (uint32_t t = begin; t < std::min(Vocab, end); ++t) {
      float acc = 0;
      for (uint32_t d = 0; d < Hidden; ++d)
        acc += y[d] * table[t * Hidden + d];
      if (!best)
        logits[o * Stride + t] = acc;
      else if (!std::isnan(entry.value) && (acc > entry.value || !std::isfinite(acc)))
        entry = {std::isfinite(acc) ? acc : NAN, int32_t(t)};
    }
    if (best)
      std::memcpy(logits + o * Stride + begin, &entry, sizeof(entry));
  }
  return 0;
}

enum { Embed, Norm, Append, Attend, Head };
const ingot_kernel_v1 Kernels[] = {
    {sizeof(ingot_kernel_v1), 0, "toy_embed", "embed", embed, 0, 0},
    {sizeof(ingot_kernel_v1), 0, "toy_norm", "norm", norm, 16, 0},
    {sizeof(ingot_kernel_v1), 0, "toy_append", "rope_kv", append, 8, 0},
    {sizeof(ingot_kernel_v1), (Context + 64) * 4, "toy_attend", "attention", attend, 4, 0},
    {sizeof(ingot_kernel_v1), 0, "toy_head", "linear", head, 64, 0}};

const double InvFreq[Pairs] = {1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125};
const ingot_rope_v1 Ropes[] = {{Pairs, 0, 1.0, InvFreq}};
constexpr uint64_t PageBytes = 2 * Hidden * INGOT_KV_PAGE * 4;
const ingot_kv_layer_v1 KvLayers[Layers] = {{1, Hidden, Hidden, INGOT_KV_F32, 0, 0, PageBytes},
                                            {1, Hidden, Hidden, INGOT_KV_F32, 0, 0, PageBytes}};

/// Builds the tables once; pointers into them stay valid for the process.
struct Tables {
  ingot_module_v1 module = {};
  std::vector<ingot_program_v1> programs;
  std::vector<std::vector<ingot_launch_v1>> launches;
  std::vector<std::vector<ingot_tap_v1>> taps;
  std::vector<std::string> names;
  std::vector<ingot_param_v1> params;

  Tables() {
    program(1, 1, 1, true, Panels);
    program(4, 2, 4, true, 0); // one that can only store logits
    program(MaxRows, 5, MaxRows, false, Panels);
    for (size_t i = 0; i < programs.size(); ++i) {
      programs[i].launches = launches[i].data();
      programs[i].n_launches = uint32_t(launches[i].size());
      programs[i].taps = taps[i].data();
      programs[i].n_taps = uint32_t(taps[i].size());
    }
    names.reserve(1 + Layers * 4);
    param("embed", EmbedAt, Vocab);
    for (uint32_t l = 0; l < Layers; ++l)
      for (uint32_t k = 0; k < 4; ++k)
        param("layer" + std::to_string(l) + "." + "qkvo"[k], LayerAt + l * PerLayer + k * Matrix, Hidden);
    ingot::weights::Hasher hash;
    for (const ingot_param_v1 &p : params) {
      for (const char *text : {p.name, p.scheme, p.layout})
        hash.add(text, std::strlen(text) + 1);
      for (uint64_t v : {p.rows, p.cols, p.offset, p.bytes})
        hash.addWord(v);
    }
    module.struct_size = sizeof(module);
    module.abi_version = INGOT_ABI_VERSION;
    module.isa = "ref";
    module.features = "sse2";
    module.build = "toy";
    module.weight_hash = hash.digest();
    module.weight_bytes = WeightFloats * 4;
    module.vocab = Vocab;
    module.hidden = Hidden;
    module.layers = Layers;
    module.context = Context;
    module.max_seqs = MaxSeqs;
    module.n_kernels = sizeof(Kernels) / sizeof(Kernels[0]);
    module.n_programs = uint32_t(programs.size());
    module.n_params = uint32_t(params.size());
    module.n_kv_layers = Layers;
    module.n_ropes = 1;
    module.kernels = Kernels;
    module.programs = programs.data();
    module.params = params.data();
    module.kv_layers = KvLayers;
    module.ropes = Ropes;
  }

  void param(std::string name, uint32_t at, uint32_t rows) {
    names.push_back(std::move(name));
    params.push_back(
        {names.back().c_str(), "f32", "row", rows, Hidden, uint64_t(at) * 4, uint64_t(rows) * Hidden * 4});
  }

  static ingot_launch_v1 launch(uint32_t kernel, uint32_t stage, std::vector<uint64_t> slots,
                                std::vector<uint32_t> weightFloats, int32_t layer, uint32_t flags = 0) {
    ingot_launch_v1 l = {};
    l.kernel = kernel;
    l.stage = stage;
    l.flags = flags;
    l.layer = layer < 0 ? 0 : uint32_t(layer);
    l.kv_layer = layer;
    l.n_slots = uint16_t(slots.size());
    l.n_weights = uint16_t(weightFloats.size());
    for (size_t i = 0; i < slots.size(); ++i)
      l.slot[i] = slots[i];
    for (size_t i = 0; i < weightFloats.size(); ++i)
      l.weight[i] = uint64_t(weightFloats[i]) * 4;
    return l;
  }

  void program(uint32_t mClass, uint32_t low, uint32_t high, bool replicate, uint32_t argmaxPanels) {
    uint64_t rowsBytes = uint64_t(high) * Hidden * 4;
    uint32_t maxOut = high < 8 ? high : 8;
    uint64_t residual = 0, shared = rowsBytes, logits = 2 * rowsBytes;
    uint64_t normed = replicate ? INGOT_SLOT_PRIVATE : shared;
    std::vector<ingot_launch_v1> list;
    std::vector<ingot_tap_v1> tapList;
    uint32_t stage = 0;
    list.push_back(launch(Embed, stage, {residual}, {EmbedAt}, -1));
    tapList.push_back({INGOT_TAP_EMBED, 0, stage, Hidden, Hidden, 0, residual});
    for (uint32_t l = 0; l < Layers; ++l) {
      uint32_t base = LayerAt + l * PerLayer;
      ++stage;
      list.push_back(
          launch(Norm, stage, {residual, normed}, {}, -1, replicate ? INGOT_LAUNCH_REPLICATED : 0));
      if (!replicate)
        ++stage;
      list.push_back(launch(Append, stage, {normed}, {base + Matrix, base + 2 * Matrix}, int32_t(l)));
      ++stage;
      list.push_back(launch(Attend, stage, {normed, residual}, {base, base + 3 * Matrix}, int32_t(l)));
      tapList.push_back({INGOT_TAP_LAYER, l, stage, Hidden, Hidden, 0, residual});
    }
    ++stage;
    list.push_back(launch(Head, stage, {residual, logits}, {EmbedAt}, -1));
    launches.push_back(std::move(list));
    taps.push_back(std::move(tapList));
    ingot_program_v1 p = {};
    p.struct_size = sizeof(p);
    p.m_class = mClass;
    p.min_rows = low;
    p.max_rows = high;
    p.n_stages = stage + 1;
    p.logits_stride = 16 * Panels;
    p.argmax_panels = argmaxPanels;
    p.arena_bytes = logits + uint64_t(maxOut) * 16 * Panels * 4;
    p.private_bytes = replicate ? rowsBytes : 0;
    p.logits_slot = logits;
    p.max_out = maxOut;
    programs.push_back(p);
  }
};

/// Residual rows after `layers` layers.
std::vector<std::vector<float>> forward(const std::vector<int32_t> &tokens, uint32_t layers) {
  const float *w = store().aligned;
  size_t n = tokens.size();
  std::vector<std::vector<float>> x(n, std::vector<float>(Hidden)), k = x, v = x, y = x;
  for (size_t r = 0; r < n; ++r)
    std::memcpy(x[r].data(), w + EmbedAt + tokens[r] * Hidden, Hidden * 4);
  for (uint32_t l = 0; l < layers; ++l) {
    const float *base = w + LayerAt + l * PerLayer;
    std::vector<std::vector<float>> ropes(n, std::vector<float>(Hidden));
    for (size_t r = 0; r < n; ++r) {
      for (uint32_t i = 0; i < Pairs; ++i) {
        ropes[r][2 * i] = float(std::cos(double(r) * InvFreq[i]));
        ropes[r][2 * i + 1] = float(std::sin(double(r) * InvFreq[i]));
      }
      normalize(x[r].data(), y[r].data());
      matVec(base + Matrix, y[r].data(), k[r].data());
      matVec(base + 2 * Matrix, y[r].data(), v[r].data());
      rotate(k[r].data(), ropes[r].data());
    }
    for (size_t r = 0; r < n; ++r) {
      float q[Hidden], o[Hidden] = {}, out[Hidden];
      matVec(base, y[r].data(), q);
      rotate(q, ropes[r].data());
      std::vector<float> score(r + 1);
      float top = -Infinity, sum = 0;
      for (size_t j = 0; j <= r; ++j) {
        float dot = 0;
        for (uint32_t d = 0; d < Hidden; ++d)
          dot += q[d] * k[j][d];
        score[j] = dot;
        top = std::fmax(top, dot);
      }
      for (float &s : score) {
        s = std::exp(s - top);
        sum += s;
      }
      for (size_t j = 0; j <= r; ++j)
        for (uint32_t d = 0; d < Hidden; ++d)
          o[d] += score[j] * v[j][d];
      for (float &f : o)
        f /= sum;
      matVec(base + 3 * Matrix, o, out);
      for (uint32_t d = 0; d < Hidden; ++d)
        x[r][d] += out[d];
    }
  }
  return x;
}

class ToyStream final : public ingot::batch::TextStream {
public:
  std::string push(int32_t id) override {
    held += textOf(id);
    // A lone first byte of 'é' waits for the second.
    if (!held.empty() && static_cast<unsigned char>(held.back()) == 0xC3)
      return {};
    return std::exchange(held, {});
  }
  std::string flush() override { return held.empty() ? std::string() : (held.clear(), "?"); }

private:
  std::string held;
};

} // namespace

const ingot_module_v1 *query(uint32_t maxVersion) {
  static const Tables tables;
  return maxVersion >= INGOT_ABI_VERSION ? &tables.module : nullptr;
}

const std::vector<float> &weights() { return store().values; }
const uint8_t *weightBytes() { return reinterpret_cast<const uint8_t *>(store().aligned); }

std::vector<std::vector<float>> referenceHidden(const std::vector<int32_t> &tokens, uint32_t layer) {
  return forward(tokens, layer + 1);
}

std::vector<std::vector<float>> reference(const std::vector<int32_t> &tokens) {
  std::vector<std::vector<float>> x = forward(tokens, Layers), result;
  const float *table = store().aligned;
  for (const std::vector<float> &row : x) {
    float y[Hidden];
    normalize(row.data(), y);
    std::vector<float> logits(Vocab);
    for (uint32_t t = 0; t < Vocab; ++t) {
      float acc = 0;
      for (uint32_t d = 0; d < Hidden; ++d)
        acc += y[d] * table[t * Hidden + d];
      logits[t] = acc;
    }
    result.push_back(std::move(logits));
  }
  return result;
}

std::vector<int32_t> referenceGreedy(std::vector<int32_t> tokens, size_t n) {
  std::vector<int32_t> answer;
  while (answer.size() < n) {
    std::vector<float> l = reference(tokens).back();
    int32_t best = 0;
    for (uint32_t t = 1; t < Vocab; ++t)
      if (l[t] > l[best])
        best = int32_t(t);
    answer.push_back(best);
    tokens.push_back(best);
    if (best == Eos)
      break;
  }
  return answer;
}

std::string textOf(int32_t id) {
  if (id == 50)
    return "\xC3";
  if (id == 51)
    return "\xA9";
  std::string s(1, char('a' + id % 26));
  for (int32_t i = 26; i <= id && i < 60; i += 26)
    s += char('a' + (id * 7 + i) % 26);
  return s;
}

ingot::batch::TextStreamFactory textStreams() {
  return [] { return std::make_unique<ToyStream>(); };
}

std::vector<int32_t> prompt(uint32_t seed, size_t n) {
  std::vector<int32_t> ids(n);
  uint32_t state = seed * 2654435761u + 1;
  for (int32_t &id : ids) {
    state = state * 1664525u + 1013904223u;
    id = int32_t((state >> 10) % 60);
  }
  return ids;
}

} // namespace toy
