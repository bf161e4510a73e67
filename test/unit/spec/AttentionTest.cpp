// The attention specification against plain double-precision softmax attention.
#include "codegen/cpu/spec/Attention.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace ingot;

namespace {

struct Case {
  int64_t dim, kvHeads, group, window, len;
  float softcap;
  spec::KvType type;
};

class SpecAttention : public testing::TestWithParam<Case> {};

} // namespace

TEST_P(SpecAttention, MatchesDouble) {
  const Case &c = GetParam();
  spec::AttentionSpecParams s;
  s.kv = {c.kvHeads, c.dim, c.dim, c.type};
  s.qHeads = c.kvHeads * c.group;
  s.scale = 1.0f / std::sqrt(float(c.dim));
  s.window = c.window;
  s.softcap = c.softcap;
  std::mt19937 rng(uint32_t(c.dim * 7 + c.len));
  std::normal_distribution<float> dist(0, 2);
  std::vector<std::vector<uint8_t>> pages((c.len + 15) / 16, std::vector<uint8_t>(s.kv.pageBytes()));
  std::vector<const uint8_t *> table;
  for (auto &p : pages)
    table.push_back(p.data());
  for (int64_t t = 0; t < c.len; ++t)
    for (int64_t h = 0; h < c.kvHeads; ++h) {
      std::vector<float> k(c.dim), v(c.dim);
      for (int64_t d = 0; d < c.dim; ++d) {
        k[d] = dist(rng);
        v[d] = dist(rng);
      }
      spec::kvStoreK(pages[t / 16].data(), s.kv, h, t % 16, k.data());
      spec::kvStoreV(pages[t / 16].data(), s.kv, h, t % 16, v.data());
    }
  auto key = [&](int64_t t, int64_t h, int64_t d) {
    const uint8_t *page = table[t / 16];
    double x = spec::kvLoad(page, s.kv.kIndex(h, d, t % 16), c.type);
    return s.kv.scaled() ? x * spec::kvScaleK(page, s.kv, h, t % 16) : x;
  };
  auto value = [&](int64_t t, int64_t h, int64_t d) {
    const uint8_t *page = table[t / 16];
    double x = spec::kvLoad(page, s.kv.vIndex(h, d, t % 16), c.type);
    return s.kv.scaled() ? x * spec::kvScaleV(page, s.kv, h, t % 16) : x;
  };
  std::vector<float> q(s.qHeads * c.dim), out(q.size());
  for (int64_t p : {int64_t(0), c.len / 2, c.len - 1}) {
    for (float &x : q)
      x = dist(rng);
    spec::attendRow(s, q.data(), p, table, out.data());
    for (int64_t h = 0; h < s.qHeads; ++h) {
      std::vector<double> score;
      int64_t k0 = c.window ? std::max<int64_t>(0, p - c.window + 1) : 0;
      double mx = -1e300, sum = 0;
      for (int64_t k = k0; k <= p; ++k) {
        double acc = 0;
        for (int64_t d = 0; d < c.dim; ++d)
          acc += double(q[h * c.dim + d]) * key(k, h / c.group, d);
        acc *= s.scale;
        if (c.softcap > 0)
          acc = c.softcap * std::tanh(acc / c.softcap);
        score.push_back(acc);
        mx = std::max(mx, acc);
      }
      for (double &x : score)
        sum += x = std::exp(x - mx);
      for (int64_t d = 0; d < c.dim; ++d) {
        double o = 0;
        for (int64_t k = k0; k <= p; ++k)
          o += score[k - k0] / sum * value(k, h / c.group, d);
        EXPECT_NEAR(out[h * c.dim + d], o, 1e-5) << "p " << p << " head " << h << " d " << d;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, SpecAttention,
                         testing::Values(Case{64, 1, 3, 0, 5, 0, spec::KvType::F16},
                                         Case{24, 2, 1, 0, 130, 0, spec::KvType::F32},
                                         Case{40, 1, 2, 100, 700, 0, spec::KvType::Bf16},
                                         Case{64, 1, 1, 0, 1300, 0, spec::KvType::F16},
                                         Case{32, 1, 1, 512, 1300, 0, spec::KvType::F32},
                                         Case{32, 1, 1, 1, 70, 0, spec::KvType::F32},
                                         Case{16, 1, 4, 0, 600, 20.0f, spec::KvType::F32},
                                         Case{64, 2, 3, 0, 1300, 0, spec::KvType::Int8},
                                         Case{24, 1, 2, 100, 700, 20.0f, spec::KvType::Int8}));

TEST(SpecAttentionMerge, EmptySegmentsChangeNothing) {
  const float inf = std::numeric_limits<float>::infinity();
  spec::AttentionState a{1.5f, 2.0f, {3.0f, -4.0f}}, empty{-inf, 0.0f, {0.0f, 0.0f}}, acc = empty;
  spec::mergeSegment(acc, a);
  spec::mergeSegment(acc, empty);
  EXPECT_EQ(acc.m, a.m);
  EXPECT_EQ(acc.l, a.l);
  EXPECT_EQ(acc.o, a.o);
}
