// Activation quantization, RMS norm and rope specifications against double precision and their own contracts.
#include "codegen/cpu/spec/Math.h"
#include "codegen/cpu/spec/Norm.h"
#include "codegen/cpu/spec/Quantize.h"
#include "codegen/cpu/spec/RopeKv.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <vector>

using namespace ingot;

namespace {
std::vector<float> gaussian(size_t n, uint32_t seed, float sigma = 1.0f) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> d(0, sigma);
  std::vector<float> v(n);
  for (float &x : v)
    x = d(rng);
  return v;
}
} // namespace

TEST(SpecQuantize, ErrorAndSums) {
  for (int trial = 0; trial < 200; ++trial) {
    auto x = gaussian(32, trial, std::ldexp(1.0f, trial % 40 - 20));
    spec::ActGroup g = spec::quantizeGroup(x.data());
    float amax = 0;
    int sum[2] = {};
    for (int i = 0; i < 32; ++i) {
      amax = std::max(amax, std::fabs(x[i]));
      EXPECT_NEAR(g.q[i] * double(g.da), x[i], g.da * 0.50001);
      sum[i / 16] += g.q[i];
    }
    EXPECT_EQ(g.da, amax / 127.0f);
    EXPECT_EQ(g.s16[0], sum[0]);
    EXPECT_EQ(g.s16[1], sum[1]);
    EXPECT_EQ(g.ds, g.da * float(sum[0] + sum[1]));
  }
}

TEST(SpecQuantize, Edges) {
  float x[32] = {};
  spec::ActGroup g = spec::quantizeGroup(x);
  EXPECT_EQ(g.da, 0.0f);
  x[3] = 0.9e-30f;
  g = spec::quantizeGroup(x);
  EXPECT_EQ(g.da, 0.0f);
  EXPECT_EQ(g.q[3], 0);
  x[3] = -2e-30f;
  g = spec::quantizeGroup(x);
  EXPECT_EQ(g.q[3], -127);
  EXPECT_GT(g.da, 0.0f);
  x[3] = 3e38f;
  x[4] = -3e38f;
  g = spec::quantizeGroup(x);
  EXPECT_EQ(g.q[3], 127);
  EXPECT_EQ(g.q[4], -127);
  // Ties to even: 127 -> scale 1.
  x[3] = 127, x[4] = 0.5f, x[5] = 1.5f, x[6] = -2.5f;
  g = spec::quantizeGroup(x);
  EXPECT_EQ(g.q[4], 0);
  EXPECT_EQ(g.q[5], 2);
  EXPECT_EQ(g.q[6], -2);
}

TEST(SpecQuantize, PackedRows) {
  for (int64_t K : {24, 32, 40, 576}) {
    for (int64_t R : {1, 4, 12}) {
      spec::ActLayout l{K, R};
      EXPECT_EQ(l.regionBytes() % 64, 0);
      int64_t rows = 2 * R + 1;
      std::vector<uint8_t> act(l.bytes(rows), 0xee);
      auto x = gaussian(rows * K, uint32_t(K * 31 + R));
      for (int64_t r = 0; r < rows; ++r)
        spec::quantizeRow(l, &x[r * K], r, act.data());
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t b = 0; b < l.kp() / 32; ++b) {
          float v[32] = {};
          for (int i = 0; i < 32 && b * 32 + i < K; ++i)
            v[i] = x[r * K + b * 32 + i];
          spec::ActGroup want = spec::quantizeGroup(v), got = spec::readGroup(l, act.data(), r, b);
          EXPECT_EQ(memcmp(&want, &got, sizeof want), 0);
        }
    }
  }
}

TEST(SpecNorm, AgainstDouble) {
  for (int64_t D : {1, 24, 48, 576, 577, 2048}) {
    auto x = gaussian(D, uint32_t(D), 3.0f), gamma = gaussian(D, uint32_t(D) + 1), res = gaussian(D, 7);
    double sum = 0;
    for (float v : x)
      sum += double(v) * v;
    double s = 1 / std::sqrt(sum / double(D) + 1e-5);
    std::vector<float> y(D), z(D);
    spec::rmsNorm(x.data(), gamma.data(), nullptr, y.data(), D, 1, 1e-5f);
    spec::rmsNorm(x.data(), gamma.data(), res.data(), z.data(), D, 1, 1e-5f);
    for (int64_t i = 0; i < D; ++i) {
      double want = x[i] * s * gamma[i];
      EXPECT_NEAR(y[i], want, 1e-6 * std::fabs(want) + 1e-30);
      EXPECT_EQ(z[i], res[i] + y[i]);
    }
  }
}

TEST(SpecNorm, GroupsAreIndependent) {
  auto x = gaussian(3 * 24, 5), gamma = gaussian(24, 6);
  std::vector<float> y(72), one(24);
  spec::rmsNorm(x.data(), gamma.data(), nullptr, y.data(), 72, 3, 1e-6f);
  for (int g = 0; g < 3; ++g) {
    spec::rmsNorm(&x[g * 24], gamma.data(), nullptr, one.data(), 24, 1, 1e-6f);
    for (int i = 0; i < 24; ++i)
      EXPECT_EQ(y[g * 24 + i], one[i]);
  }
}

TEST(SpecRope, AgainstComplexRotation) {
  for (auto style : {spec::RopeStyle::Half, spec::RopeStyle::Interleaved})
    for (int rd : {8, 24, 64}) {
      auto x = gaussian(64, rd), y = x;
      std::vector<float> table(rd);
      std::vector<double> angle(rd / 2);
      for (int i = 0; i < rd / 2; ++i) {
        angle[i] = 17.0 * std::pow(10000.0, -2.0 * i / rd);
        table[2 * i] = float(std::cos(angle[i]));
        table[2 * i + 1] = float(std::sin(angle[i]));
      }
      spec::rope(y.data(), rd, style, table.data());
      for (int i = 0; i < rd / 2; ++i) {
        int a = style == spec::RopeStyle::Half ? i : 2 * i,
            b = style == spec::RopeStyle::Half ? i + rd / 2 : 2 * i + 1;
        EXPECT_NEAR(y[a], x[a] * std::cos(angle[i]) - x[b] * std::sin(angle[i]), 1e-6);
        EXPECT_NEAR(y[b], x[a] * std::sin(angle[i]) + x[b] * std::cos(angle[i]), 1e-6);
      }
      for (int i = rd; i < 64; ++i)
        EXPECT_EQ(y[i], x[i]);
    }
}

TEST(SpecKv, EveryElementOfAPageOnce) {
  for (auto t : {spec::KvType::F32, spec::KvType::F16, spec::KvType::Bf16}) {
    spec::KvLayout l{3, 24, 40, t};
    std::vector<uint8_t> page(l.pageBytes(), 0);
    std::vector<int> seen(l.pageBytes() / spec::kvElemBytes(t));
    for (int64_t h = 0; h < 3; ++h)
      for (int64_t s = 0; s < 16; ++s) {
        for (int64_t d = 0; d < 24; ++d)
          ++seen[l.kIndex(h, d, s)];
        for (int64_t d = 0; d < 40; ++d)
          ++seen[l.vIndex(h, d, s)];
      }
    for (int n : seen)
      ASSERT_EQ(n, 1);
    for (int64_t i = 0; i < int64_t(seen.size()); i += 7) {
      float x = 0.37f * float(i) - 100;
      spec::kvStore(page.data(), i, x, t);
      EXPECT_EQ(spec::kvLoad(page.data(), i, t), spec::kvRound(x, t));
    }
  }
}

TEST(SpecKv, EveryByteOfAnInt8PageOnce) {
  spec::KvLayout l{3, 24, 40, spec::KvType::Int8};
  ASSERT_EQ(l.headBytes(), (24 + 40) * 16 + 2 * 16 * 4);
  std::vector<uint8_t> page(size_t(l.pageBytes()), 0);
  std::vector<int> seen(page.size());
  for (int64_t h = 0; h < 3; ++h)
    for (int64_t s = 0; s < 16; ++s)
      for (int64_t d = 0; d < 24 + 40; ++d)
        ++seen[size_t(d < 24 ? l.kIndex(h, d, s) : l.vIndex(h, d - 24, s))];
  for (int64_t h = 0; h < 3; ++h)
    for (int64_t b = 0; b < 64; ++b) {
      ++seen[size_t(h * l.headBytes() + l.kScales() + b)];
      ++seen[size_t(h * l.headBytes() + l.vScales() + b)];
    }
  for (int n : seen)
    ASSERT_EQ(n, 1);
  // A head's bytes are whole cache lines, whatever its width.
  EXPECT_EQ((spec::KvLayout{1, 5, 2, spec::KvType::Int8}).headBytes(), 256);
}

TEST(SpecKv, Int8Codes) {
  int8_t codes[40];
  std::vector<float> x(40, 0.0f);
  EXPECT_EQ(spec::kvQuantize(x.data(), 40, codes), 0.0f);
  for (int8_t c : codes)
    EXPECT_EQ(c, 0);
  // Ties to even; the largest magnitude is +-127.
  x = {127.0f, -127.0f, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 126.5f};
  EXPECT_EQ(spec::kvQuantize(x.data(), 8, codes), 1.0f);
  const int8_t want[] = {127, -127, 0, 2, 2, 0, -2, 126};
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(codes[i], want[i]) << i;
  // Half a step is the largest error, at every size of numbers.
  for (float size : {1e-29f, 1e-6f, 3.0f, 1e20f, 3e38f}) {
    for (int i = 0; i < 40; ++i)
      x.resize(40), x[size_t(i)] = std::sin(float(i) * 1.7f) * size;
    float scale = spec::kvQuantize(x.data(), 40, codes);
    for (int i = 0; i < 40; ++i)
      EXPECT_NEAR(double(x[size_t(i)]) / size, double(codes[i]) * scale / size, 0.5001 * scale / size);
  }
  // Too small for a scale: zero. Not finite: the scale says so, whichever the place.
  x.assign(40, 9e-31f);
  EXPECT_EQ(spec::kvQuantize(x.data(), 40, codes), 0.0f);
  EXPECT_EQ(codes[3], 0);
  for (float bad : {std::nanf(""), -std::nanf(""), INFINITY, -INFINITY})
    for (size_t at : {size_t(0), size_t(17), size_t(39)}) {
      x.assign(40, 2.0f);
      x[at] = bad;
      EXPECT_TRUE(std::isnan(spec::kvQuantize(x.data(), 40, codes)));
      for (int8_t c : codes)
        EXPECT_EQ(c, 0);
    }
}
