// A head that leaves the best column of each part equals the arg-max over the logits that the same kernel
// stores (LinearTest compares those with the scalar specification): lowest index of ties, NaN and the first
// column that is not finite, columns that pad the last panel never seen, nothing else written.
#include "codegen/cpu/Linear.h"
#include "codegen/cpu/spec/Quantize.h"
#include "dialects/qfmt/schemes/Schemes.h"
#include "test/unit/kernels/LinearTestUtil.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace ingot;
using namespace ingot::cpu;
using namespace ingot::test;
using qfmt::Scheme;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Case {
  std::string name;
  LinearSpec spec;
};

std::vector<Case> casesOf(Scheme scheme, const target::Target &t, bool amx = false) {
  const qfmt::SchemeGeometry &g = qfmt::geometry(scheme);
  std::vector<Case> cases;
  for (int64_t rows : {1, 2, 4, 8, 0})
    for (int64_t n : rows == 1 || rows == 0 ? std::vector<int64_t>{5, 150} : std::vector<int64_t>{32, 70}) {
      if (amx && rows != 0)
        continue;
      Case c;
      LinearSpec &s = c.spec;
      s.n = n;
      s.k = g.blockElems == 256 ? 256 : 64;
      s.scheme = scheme;
      s.rows = rows;
      s.block = g.isFloat ? 0 : rows ? rows : 12;
      s.domain = RowDomain::Out;
      s.argmax = true;
      s.bias = n != 32;
      s.softcap = n == 70 ? 30 : 0;
      s.amxInSoftware = amx;
      s.schedule = amx ? linearSchedules(s, t).back() : chooseLinearSchedule(s, t);
      c.name = "head_m" + std::to_string(rows) + "_n" + std::to_string(n);
      cases.push_back(c);
    }
  return cases;
}

/// Random weights in layout n16: file rows whose f16 scales are tame. Every third row equals the one before.
Buffer<uint8_t> randomWeights(const LinearSpec &s, Random &rng) {
  const qfmt::SchemeGeometry &g = qfmt::geometry(s.scheme);
  int64_t blocks = s.k / g.blockElems, rowBytes = blocks * g.blockBytes;
  std::vector<uint8_t> file(size_t(s.n * rowBytes));
  for (int64_t b = 0; b < s.n * blocks; ++b) {
    uint8_t *p = file.data() + b * g.blockBytes;
    if (g.isFloat) {
      float v = rng.normal() * 0.05f;
      uint16_t h = qfmt::floatToHalf(v);
      std::memcpy(p, s.scheme == Scheme::F32 ? static_cast<void *>(&v) : &h, g.blockBytes);
      continue;
    }
    for (uint32_t i = 0; i < g.blockBytes; ++i)
      p[i] = uint8_t(rng.bits());
    uint8_t *d = s.scheme == Scheme::Q6_K ? p + 208 : p;
    for (int i = 0; i < (g.hasMin ? 2 : 1); ++i) {
      uint16_t h = qfmt::floatToHalf(rng.normal() * 0.01f);
      std::memcpy(d + 2 * i, &h, 2);
    }
  }
  for (int64_t r = 2; r < s.n; r += 3)
    std::memcpy(&file[size_t(r * rowBytes)], &file[size_t((r - 1) * rowBytes)], size_t(rowBytes));
  Buffer<uint8_t> packed(size_t(*qfmt::packedBytes(s.scheme, qfmt::Layout::N16, s.n, s.k)));
  int64_t panel = qfmt::panelSize(s.scheme, s.k)->bytes;
  for (int64_t p = 0; p < s.panels(); ++p) {
    const uint8_t *rows[16];
    for (int64_t i = 0; i < 16; ++i)
      rows[i] = 16 * p + i < s.n ? file.data() + (16 * p + i) * rowBytes : nullptr;
    qfmt::schemeOps(s.scheme).packPanel(rows, s.k, packed.data() + p * panel);
  }
  return packed;
}

/// Added to the columns, so that each scheme meets each kind of logit. The padding's bias stays 0.
enum Kind {
  Random_,
  AllNegative,
  AllEqual,
  FewEqual,
  Ascending,
  Descending,
  NotANumber,
  MinusInfinity,
  Mixed,
  Kinds
};
void fillBias(Kind kind, const LinearSpec &s, float *bias) {
  for (int64_t i = 0; i < s.n; ++i) {
    float at = float(i) / float(s.n);
    bias[i] = kind == AllNegative  ? -1e6f
              : kind == AllEqual   ? -1e30f
              : kind == FewEqual   ? (i % 23 == 22 || i + 3 == s.n ? 1e30f : -1e30f)
              : kind == Ascending  ? at * 1e30f
              : kind == Descending ? -at * 1e30f
                                   : 0.0f;
  }
  int64_t late = s.n - 2, middle = s.n / 2;
  if (kind == NotANumber || kind == Mixed)
    bias[late] = std::nanf("");
  if (kind == MinusInfinity)
    bias[middle] = -kInfinity;
  if (kind == Mixed)
    bias[middle] = kInfinity;
}

ingot_argmax_v1 expectedBest(const float *logits, int64_t from, int64_t to) {
  ingot_argmax_v1 best = {-kInfinity, -1};
  for (int64_t i = from; i < to; ++i) {
    if (!std::isfinite(logits[i]))
      return {std::nanf(""), int32_t(i)};
    if (logits[i] > best.value)
      best = {logits[i], int32_t(i)};
  }
  return best;
}

class Checker {
public:
  Checker(const Case &c, ingot_kernel_fn fn)
      : c(c), s(c.spec), fn(fn), rng(uint64_t(s.n)), weights(randomWeights(s, rng)) {}

  void run(uint32_t rows, Kind kind) {
    const int64_t capacity =
        s.rows ? s.rows : roundUp(std::max<uint32_t>(rows, 1), std::max<int64_t>(s.block, 1));
    const int64_t inStride = roundUp(s.k, 16), outStride = roundUp(s.n, 16);
    Buffer<float> x(size_t(capacity * inStride)), logits(size_t(capacity * outStride)),
        bias(size_t(outStride), 0);
    spec::ActLayout layout{s.k, std::max<int64_t>(s.block, 1)};
    Buffer<uint8_t> act(size_t(layout.bytes(capacity)));
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t i = 0; i < s.k; ++i)
        x[size_t(r * inStride + i)] = rng.normal();
      if (s.block)
        spec::quantizeRow(layout, &x[size_t(r * inStride)], r, act.data());
    }
    fillBias(kind, s, bias.data());
    Buffer<uint8_t> scratch(size_t(linearScratchBytes(s)) + 64);
    ingot_step_v1 step = makeStep(uint32_t(capacity), rows);
    ingot_args_v1 args = makeArgs();
    args.slot[0] = s.block ? static_cast<void *>(act.data()) : x.data();
    args.slot[1] = logits.data();
    args.weight[0] = weights.data();
    args.weight[1] = reinterpret_cast<const uint8_t *>(bias.data());
    args.scratch = scratch.data();
    ASSERT_EQ(runParts(fn, step, args, 1), 0);
    step.flags = INGOT_STEP_ARGMAX;
    for (uint32_t parts : {1, 2, 3, 7, 11}) {
      Buffer<float> got(logits.size());
      std::vector<uint8_t> mine(got.size() * 4, 0);
      args.slot[1] = got.data();
      ASSERT_EQ(runParts(fn, step, args, parts), 0);
      for (int64_t r = 0; r < rows; ++r)
        for (uint32_t p = 0; p < parts; ++p) {
          int64_t from = s.panels() * p / parts * 16, to = s.panels() * (p + 1) / parts * 16;
          if (from == to)
            continue;
          ingot_argmax_v1 want = expectedBest(&logits[size_t(r * outStride)], from, std::min(to, s.n)), have;
          std::memcpy(&have, &got[size_t(r * outStride + from)], sizeof have);
          std::memset(&mine[size_t(r * outStride + from) * 4], 1, sizeof have);
          ASSERT_TRUE(have.index == want.index && firstDifference(&have.value, &want.value, 1) < 0)
              << c.name << ": kind " << kind << ", rows " << rows << ", row " << r << ", part " << p << " of "
              << parts << ": got " << have.value << " at " << have.index << ", want " << want.value << " at "
              << want.index;
        }
      // Rows that a tile computes beyond the step may have entries too.
      for (size_t i = 0; i < size_t(rows * outStride * 4); ++i)
        ASSERT_TRUE(mine[i] || reinterpret_cast<uint8_t *>(got.data())[i] == 0xFF)
            << c.name << ": writes byte " << i << " of " << rows << " rows, parts " << parts;
      if (rows == 0 && s.rows == 0)
        for (float v : got)
          ASSERT_TRUE(v != v) << "a step without rows writes nothing";
    }
  }

private:
  const Case &c;
  const LinearSpec &s;
  ingot_kernel_fn fn;
  Random rng;
  Buffer<uint8_t> weights;
};

void check(const target::Target &t, const std::vector<Case> &cases) {
  KernelSet set(t);
  ASSERT_NO_FATAL_FAILURE(emitLinears(set, t, cases));
  ASSERT_EQ(set.build(), "");
  for (const Case &c : cases) {
    Checker checker(c, set.kernel(c.name));
    std::vector<uint32_t> counts;
    if (c.spec.rows)
      counts = {uint32_t(c.spec.rows), uint32_t(c.spec.rows + 1) / 2, 0};
    else
      counts = {0, 1, 2, 3, 9, 12, 13, 29};
    for (uint32_t rows : counts)
      for (int kind = 0; kind < (c.spec.bias ? int(Kinds) : 1); ++kind) {
        checker.run(rows, Kind(kind));
        if (testing::Test::HasFatalFailure())
          return;
      }
  }
}

class LinearArgmaxTest : public testing::TestWithParam<std::tuple<const char *, int>> {};

TEST_P(LinearArgmaxTest, EqualsTheArgmaxOfTheLogits) {
  const target::Target &t = *target::findTarget(std::get<0>(GetParam()));
  if (!hostRuns(t))
    GTEST_SKIP() << "this machine lacks " << t.name.str();
  check(t, casesOf(static_cast<Scheme>(std::get<1>(GetParam())), t));
}

TEST_P(LinearArgmaxTest, EqualsTheArgmaxOfTheLogitsOnAmxInSoftware) {
  const target::Target &t = *target::findTarget(std::get<0>(GetParam()));
  Scheme scheme = static_cast<Scheme>(std::get<1>(GetParam()));
  if (t.name != "vnni" || qfmt::geometry(scheme).isFloat)
    GTEST_SKIP() << "one target, quantized weights";
  if (!hostRuns(t))
    GTEST_SKIP() << "this machine lacks " << t.name.str();
  check(t, casesOf(scheme, t, /*amx=*/true));
}

TEST(LinearArgmaxRefusals, OnlyHeads) {
  const target::Target &t = *target::findTarget("avx512");
  LinearSpec s = casesOf(Scheme::Q8_0, t).front().spec;
  EXPECT_EQ(refuseLinear(s, t), "");
  LinearSpec rows = s, gate = s, residual = s;
  rows.domain = RowDomain::Rows;
  gate.gate = spec::GateKind::Silu;
  gate.n = 64;
  residual.residual = true;
  for (const LinearSpec *bad : {&rows, &gate, &residual})
    EXPECT_NE(refuseLinear(*bad, t).find("head"), std::string::npos);
}

std::string nameOf(const testing::TestParamInfo<std::tuple<const char *, int>> &i) {
  return std::string(std::get<0>(i.param)) + "_" +
         qfmt::schemeName(static_cast<Scheme>(std::get<1>(i.param)));
}

INSTANTIATE_TEST_SUITE_P(Targets, LinearArgmaxTest,
                         testing::Combine(testing::Values("avx2", "avx512", "vnni"),
                                          testing::Range(0, int(Scheme::Q6_K) + 1)),
                         nameOf);

} // namespace
