//===- SampleTest.cpp - sampling, stop strings ----------------------------------------------------------===//
#include "runtime/sample/Rng.h"
#include "runtime/sample/Sampler.h"
#include "runtime/sample/StopMatcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

using namespace ingot::sample;

namespace {

Drawn draw(const std::vector<float> &logits, const SamplingParams &p, uint64_t index = 0,
           const std::vector<int32_t> &history = {}) {
  static Sampler sampler;
  Drawn d;
  std::string error;
  EXPECT_TRUE(sampler.draw(logits.data(), uint32_t(logits.size()), p, history, index, d, error)) << error;
  return d;
}

std::vector<float> noise(size_t n, uint32_t seed) {
  std::vector<float> v(n);
  for (size_t i = 0; i < n; ++i)
    v[i] = float(randomUniform(seed, i) * 8 - 4);
  return v;
}

/// Shares of each id over many draws.
std::map<int32_t, double> shares(const std::vector<float> &logits, SamplingParams p, int n = 20000) {
  std::map<int32_t, double> result;
  for (int i = 0; i < n; ++i)
    result[draw(logits, p, uint64_t(i)).id] += 1.0 / n;
  return result;
}

TEST(Rng, KnownAnswer) {
  // Philox4x32-10 with all counters and keys zero: 6627e8d5 e169c58d ... (Random123's kat_vectors).
  EXPECT_EQ(randomBits(0, 0), 0xe169c58d6627e8d5u);
  // Nearby seeds and counters are unrelated: mean and variance of uniform numbers.
  double sum = 0, squares = 0;
  for (int i = 0; i < 40000; ++i) {
    double u = randomUniform(uint64_t(i % 200), uint64_t(i / 200));
    ASSERT_TRUE(u >= 0 && u < 1);
    sum += u;
    squares += u * u;
  }
  EXPECT_NEAR(sum / 40000, 0.5, 0.008);
  EXPECT_NEAR(squares / 40000 - 0.25, 1.0 / 12, 0.005);
}

TEST(Sampler, GreedyTakesTheLowestIdOfTies) {
  for (size_t n : {1u, 3u, 5u, 64u, 2047u, 2048u, 2049u, 5000u, 49152u}) {
    std::vector<float> l = noise(n, uint32_t(n));
    size_t expect = size_t(std::max_element(l.begin(), l.end()) - l.begin());
    EXPECT_EQ(argmaxFinite(l.data(), uint32_t(n)), int64_t(expect));
    // Ties in other blocks and lanes.
    for (size_t a : {size_t(0), n / 3, n / 2, n - 1}) {
      std::vector<float> t = l;
      t[a] = t[n - 1] = 10;
      EXPECT_EQ(draw(t, {}).id, int32_t(a)) << n;
    }
    std::vector<float> same(n, -3.0f);
    EXPECT_EQ(draw(same, {}).id, 0);
  }
}

TEST(Sampler, NeedsTheLogitsOrTheBestAlone) {
  auto needs = [](auto change) {
    SamplingParams p;
    change(p);
    return needsOf(p);
  };
  EXPECT_EQ(needs([](SamplingParams &) {}), Needs::Best);
  EXPECT_EQ(needs([](SamplingParams &p) { p.topK = 40, p.topP = 0.5, p.minP = 0.1, p.seed = 3; }),
            Needs::Best);
  EXPECT_EQ(needs([](SamplingParams &p) { p.banned = {1}; }), Needs::BestOrAll);
  EXPECT_EQ(needs([](SamplingParams &p) { p.repetitionPenalty = 2, p.penaltyWindow = 0; }), Needs::Best);
  EXPECT_EQ(needs([](SamplingParams &p) { p.repetitionPenalty = 2; }), Needs::All);
  EXPECT_EQ(needs([](SamplingParams &p) { p.presencePenalty = 1; }), Needs::All);
  EXPECT_EQ(needs([](SamplingParams &p) { p.frequencyPenalty = 1; }), Needs::All);
  EXPECT_EQ(needs([](SamplingParams &p) { p.logitBias = {{1, 1.0f}}; }), Needs::All);
  EXPECT_EQ(needs([](SamplingParams &p) { p.logprobs = 0; }), Needs::All);
  EXPECT_EQ(needs([](SamplingParams &p) { p.temperature = 0.5; }), Needs::All);
}

TEST(Sampler, NotFinite) {
  Sampler s;
  Drawn d;
  for (float bad : {NAN, INFINITY, -INFINITY})
    for (size_t at : {size_t(0), size_t(7), size_t(2050), size_t(2999)})
      for (double temperature : {0.0, 1.0}) {
        std::vector<float> l = noise(3000, 1);
        l[at] = bad;
        SamplingParams p;
        p.temperature = temperature;
        std::string error;
        EXPECT_FALSE(s.draw(l.data(), 3000, p, {}, 4, d, error));
        EXPECT_NE(error.find("token " + std::to_string(at)), std::string::npos) << error;
      }
}

TEST(Sampler, TemperatureDistribution) {
  std::vector<float> l = {0, 1, 2, -1, 0.5f};
  for (double t : {0.5, 1.0, 2.0}) {
    SamplingParams p;
    p.temperature = t;
    p.seed = 7;
    double sum = 0;
    for (float x : l)
      sum += std::exp(x / t);
    std::map<int32_t, double> got = shares(l, p);
    for (size_t i = 0; i < l.size(); ++i) {
      double expect = std::exp(l[i] / t) / sum;
      // Four standard errors of the share.
      EXPECT_NEAR(got[int32_t(i)], expect, 4 * std::sqrt(expect * (1 - expect) / 20000)) << i << " at " << t;
    }
  }
}

TEST(Sampler, CutsKeepTheRightTokens) {
  std::vector<float> l = {3, 1, 2.5f, 0, 2, -5, 1.5f};
  auto support = [&](SamplingParams p) {
    p.temperature = 3;
    std::vector<int32_t> ids;
    for (auto [id, share] : shares(l, p, 4000))
      ids.push_back(id);
    return ids;
  };
  SamplingParams p;
  EXPECT_EQ(support(p).size(), 7u);
  p.topK = 3;
  EXPECT_EQ(support(p), (std::vector<int32_t>{0, 2, 4}));
  p.topK = 1;
  EXPECT_EQ(support(p), (std::vector<int32_t>{0}));
  p = {};
  // Probabilities at temperature 1: 0.404, 0.245, 0.149, 0.090, 0.055, 0.020: the cut precedes the
  // temperature.
  p.topP = 0.64;
  EXPECT_EQ(support(p), (std::vector<int32_t>{0, 2}));
  p.topP = 0.7;
  EXPECT_EQ(support(p), (std::vector<int32_t>{0, 2, 4}));
  p.topP = 1e-9;
  EXPECT_EQ(support(p), (std::vector<int32_t>{0}));
  p = {};
  p.minP = std::exp(-1.0) * 0.999; // Down to logit 2.
  EXPECT_EQ(support(p), (std::vector<int32_t>{0, 2, 4}));
  p.minP = 1;
  EXPECT_EQ(support(p), (std::vector<int32_t>{0}));
}

TEST(Sampler, TopKOfTheWholeVocabularyDrawsAsNone) {
  std::vector<float> l = {3, 1, 2.5f, 0, 2, -5, 1.5f};
  for (double topP : {1.0, 0.9})
    for (uint64_t i = 0; i < 200; ++i) {
      SamplingParams p;
      p.temperature = 3;
      p.topP = topP;
      int32_t none = draw(l, p, i).id;
      for (int32_t k : {7, 100}) {
        p.topK = k;
        EXPECT_EQ(draw(l, p, i).id, none) << k;
      }
    }
}

TEST(Sampler, CutsAgreeOnLargeVocabularies) {
  // top-k by the streaming selection against a full sort, with many ties.
  std::vector<float> l(30000);
  for (size_t i = 0; i < l.size(); ++i)
    l[i] = float(int(randomUniform(3, i) * 500)) / 50;
  std::vector<int32_t> order(l.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = int32_t(i);
  std::sort(order.begin(), order.end(),
            [&](int32_t a, int32_t b) { return l[a] != l[b] ? l[a] > l[b] : a < b; });
  for (int32_t k : {1, 2, 40, 100, 128}) {
    SamplingParams p;
    p.logprobs = k;
    Drawn d = draw(l, p);
    ASSERT_EQ(d.top.size(), size_t(k));
    for (int32_t i = 0; i < k; ++i)
      EXPECT_EQ(d.top[i].id, order[i]) << k;
    p = {};
    p.temperature = 100;
    p.topK = k;
    for (uint64_t i = 0; i < 500; ++i) {
      int32_t id = draw(l, p, i).id;
      EXPECT_TRUE(std::find(order.begin(), order.begin() + k, id) != order.begin() + k);
    }
  }
  // top-p over everything: the kept set is a prefix of the order.
  double sum = 0, seen = 0;
  for (float x : l)
    sum += std::exp(double(x));
  size_t kept = 0;
  while (seen < 0.3 * sum)
    seen += std::exp(double(l[order[kept++]]));
  SamplingParams p;
  p.temperature = 100;
  p.topP = 0.3;
  for (uint64_t i = 0; i < 500; ++i) {
    int32_t id = draw(l, p, i).id;
    EXPECT_TRUE(std::find(order.begin(), order.begin() + long(kept), id) != order.begin() + long(kept));
  }
}

TEST(Sampler, Penalties) {
  std::vector<float> l = {2, 1.9f, -1, 0};
  SamplingParams p;
  p.repetitionPenalty = 2;
  EXPECT_EQ(draw(l, p, 0, {0}).id, 1);
  EXPECT_EQ(draw(l, p, 0, {0, 1}).id, 0); // 1 against 0.95.
  p = {};
  p.presencePenalty = 0.05;
  EXPECT_EQ(draw(l, p, 0, {0, 0, 0}).id, 0); // Once, however often.
  p.presencePenalty = 0.2;
  EXPECT_EQ(draw(l, p, 0, {0}).id, 1);
  p = {};
  p.frequencyPenalty = 0.04;
  EXPECT_EQ(draw(l, p, 0, {0, 0}).id, 0);
  EXPECT_EQ(draw(l, p, 0, {0, 0, 0}).id, 1);
  p.penaltyWindow = 2;
  EXPECT_EQ(draw(l, p, 0, {0, 0, 0}).id, 0);
  p.penaltyWindow = -1;
  std::vector<int32_t> many(500, 0);
  EXPECT_EQ(draw(l, p, 0, many).id, 1);
  p.penaltyWindow = 0;
  EXPECT_EQ(draw(l, p, 0, many).id, 0);
  // Negative logits are multiplied.
  p = {};
  p.repetitionPenalty = 3;
  EXPECT_EQ(draw({-1, -2}, p, 0, {0}).id, 1);
}

TEST(Sampler, BiasAndBans) {
  std::vector<float> l = {2, 1, 0};
  SamplingParams p;
  p.logitBias = {{2, 5.0f}};
  EXPECT_EQ(draw(l, p).id, 2);
  p.logitBias = {{0, -INFINITY}, {1, -INFINITY}};
  EXPECT_EQ(draw(l, p).id, 2);
  p.temperature = 1;
  for (uint64_t i = 0; i < 100; ++i)
    EXPECT_EQ(draw(l, p, i).id, 2);
  p.banned = {2};
  Sampler s;
  Drawn d;
  std::string error;
  EXPECT_FALSE(s.draw(l.data(), 3, p, {}, 0, d, error));
  p.temperature = 0;
  EXPECT_FALSE(s.draw(l.data(), 3, p, {}, 0, d, error));
  p.logitBias = {{0, 3e38f}, {0, 3e38f}};
  p.temperature = 1;
  EXPECT_EQ(draw(l, p).id, 0);
}

TEST(Sampler, LogprobsAreTheModels) {
  std::vector<float> l = noise(1000, 5);
  double norm = logSumExp(l.data(), 1000);
  SamplingParams p;
  p.temperature = 0.3;
  p.repetitionPenalty = 1.5;
  p.logitBias = {{10, 50.0f}};
  p.logprobs = 5;
  Drawn d = draw(l, p, 0, {10});
  EXPECT_EQ(d.id, 10);
  EXPECT_FLOAT_EQ(d.logprob, float(l[10] - norm));
  ASSERT_EQ(d.top.size(), 5u);
  for (size_t i = 0; i + 1 < 5; ++i)
    EXPECT_GE(d.top[i].logprob, d.top[i + 1].logprob);
  EXPECT_FLOAT_EQ(d.top[0].logprob, float(*std::max_element(l.begin(), l.end()) - norm));
  p.logprobs = 0;
  d = draw(l, p, 0, {10});
  EXPECT_TRUE(d.top.empty());
  EXPECT_FLOAT_EQ(d.logprob, float(l[10] - norm));
}

TEST(Sampler, SeedsAndCounters) {
  std::vector<float> l(50, 0.0f);
  SamplingParams a, b;
  a.temperature = b.temperature = 1;
  a.seed = 1;
  b.seed = 2;
  int equal = 0;
  for (uint64_t i = 0; i < 200; ++i) {
    EXPECT_EQ(draw(l, a, i).id, draw(l, a, i).id);
    equal += draw(l, a, i).id == draw(l, b, i).id;
  }
  EXPECT_LT(equal, 20);
}

TEST(Sampler, ParamRanges) {
  std::string error;
  auto bad = [&](auto change) {
    SamplingParams p;
    change(p);
    error.clear();
    return !checkParams(p, 100, error) && !error.empty();
  };
  EXPECT_TRUE(checkParams({}, 100, error));
  EXPECT_TRUE(bad([](auto &p) { p.temperature = -1; }));
  EXPECT_TRUE(bad([](auto &p) { p.temperature = NAN; }));
  EXPECT_TRUE(bad([](auto &p) { p.topP = 1.5; }));
  EXPECT_TRUE(bad([](auto &p) { p.minP = -0.1; }));
  EXPECT_TRUE(bad([](auto &p) { p.repetitionPenalty = 0; }));
  EXPECT_TRUE(bad([](auto &p) { p.presencePenalty = INFINITY; }));
  EXPECT_TRUE(bad([](auto &p) { p.penaltyWindow = -2; }));
  EXPECT_TRUE(bad([](auto &p) { p.logprobs = 129; }));
  EXPECT_TRUE(bad([](auto &p) { p.logitBias = {{100, 1.0f}}; }));
  EXPECT_TRUE(bad([](auto &p) { p.logitBias = {{1, NAN}}; }));
}

/// All splits of a text give the same result.
void everySplit(const std::string &text, const std::vector<std::string> &stops, const std::string &expect,
                bool stopped) {
  for (size_t a = 0; a <= text.size(); ++a)
    for (size_t b = a; b <= text.size(); ++b) {
      StopMatcher m(stops);
      std::string out;
      for (const std::string &piece : {text.substr(0, a), text.substr(a, b - a), text.substr(b)}) {
        out += m.push(piece);
        EXPECT_EQ(expect.compare(0, out.size(), out), 0) << "shown too early: " << out;
      }
      out += m.flush();
      EXPECT_EQ(out, expect);
      EXPECT_EQ(m.stopped(), stopped);
    }
}

TEST(StopMatcher, HoldsBackAndCuts) {
  everySplit("hello world", {"wor"}, "hello ", true);
  everySplit("hello world", {"xyz", ""}, "hello world", false);
  everySplit("aaab", {"aab"}, "a", true);
  everySplit("ababac", {"abac"}, "ab", true);
  everySplit("ends with st", {"stop"}, "ends with st", false);
  everySplit("stop", {"stop"}, "", true);
  everySplit("a\n\nUser: hi", {"\n\nUser:", "###"}, "a", true);
  StopMatcher m({"ab", "abc"});
  EXPECT_EQ(m.push("xabc"), "x");
  EXPECT_EQ(m.match(), "abc");
  EXPECT_EQ(m.push("more"), "");
  StopMatcher one({"x"});
  EXPECT_EQ(one.push("abc"), "abc");
}

} // namespace
