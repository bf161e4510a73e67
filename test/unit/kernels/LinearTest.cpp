//===- LinearTest.cpp - linear and embedding kernels against the scalar specification, bit for bit -===//
#include "codegen/cpu/Linear.h"
#include "codegen/cpu/Embed.h"
#include "codegen/cpu/spec/Quantize.h"
#include "dialects/qfmt/schemes/Schemes.h"
#include "test/unit/kernels/LinearTestUtil.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace ingot;
using namespace ingot::cpu;
using namespace ingot::test;
using qfmt::Scheme;

namespace {

/// A matrix in file form and packed. Rows differ in kind: ordinary, extreme codes, zero and subnormal scales.
struct Matrix {
  Scheme scheme;
  int64_t n, k, rowBytes;
  std::vector<uint8_t> file;
  Buffer<uint8_t> packed;

  Matrix(Scheme scheme, int64_t n, int64_t k, uint64_t seed)
      : scheme(scheme), n(n), k(k),
        rowBytes(k / qfmt::geometry(scheme).blockElems * qfmt::geometry(scheme).blockBytes),
        file(size_t(n * rowBytes)), packed(size_t(*qfmt::packedBytes(scheme, qfmt::Layout::N16, n, k))) {
    Random random(seed);
    for (int64_t r = 0; r < n; ++r)
      fillRow(random, file.data() + r * rowBytes, r % 11);
    int64_t panel = qfmt::panelSize(scheme, k)->bytes;
    for (int64_t p = 0; p < (n + 15) / 16; ++p) {
      const uint8_t *rows[16];
      for (int64_t i = 0; i < 16; ++i)
        rows[i] = 16 * p + i < n ? file.data() + (16 * p + i) * rowBytes : nullptr;
      qfmt::schemeOps(scheme).packPanel(rows, k, packed.data() + p * panel);
    }
  }

  static void put16(uint8_t *p, uint16_t v) { std::memcpy(p, &v, 2); }

  uint16_t scale(Random &random, int kind) {
    if (kind == 3)
      return random.below(2) ? 0x8000 : 0;
    if (kind == 4)
      return uint16_t(random.below(0x400) | (random.below(2) << 15)); // subnormal
    if (kind == 5)
      return 0x7BFF; // 65504
    return uint16_t((random.below(2) << 15) | ((9 + random.below(5)) << 10) | random.below(1024));
  }

  void fillRow(Random &random, uint8_t *row, int kind) {
    const qfmt::SchemeGeometry &g = qfmt::geometry(scheme);
    if (g.isFloat) {
      for (int64_t i = 0; i < k; ++i) {
        float v = kind == 3   ? 0.0f
                  : kind == 4 ? random.normal() * 1e-39f
                  : kind == 5 ? random.normal() * 1e4f
                              : random.normal() * 0.05f;
        uint16_t h = scheme == Scheme::F16 ? qfmt::floatToHalf(v) : spec::f32ToBf16(v);
        std::memcpy(row + i * g.blockBytes, scheme == Scheme::F32 ? static_cast<void *>(&v) : &h,
                    g.blockBytes);
      }
      return;
    }
    for (int64_t b = 0; b < k / g.blockElems; ++b, row += g.blockBytes) {
      for (uint32_t i = 0; i < g.blockBytes; ++i)
        row[i] = kind == 1 ? 0xFF : kind == 2 ? 0 : uint8_t(random.bits());
      if (scheme == Scheme::Q8_0 && kind == 1)
        std::memset(row, 0x80, g.blockBytes); // -128
      uint8_t *d = scheme == Scheme::Q6_K ? row + 208 : row;
      put16(d, scale(random, kind));
      if (g.hasMin)
        put16(d + 2, scale(random, kind));
    }
  }

  const uint16_t *bf16Row(int64_t row) const {
    return reinterpret_cast<const uint16_t *>(file.data() + row * rowBytes);
  }

  float dot(int64_t row, const qfmt::ActRow &a, const float *x) const {
    const uint8_t *w = file.data() + row * rowBytes;
    const qfmt::SchemeOps &ops = qfmt::schemeOps(scheme);
    return ops.dotRow ? ops.dotRow(w, k, a) : ops.dotRowF32(w, k, x);
  }
};

struct Case {
  std::string name;
  LinearSpec spec;
};

/// Activations of extreme and ordinary rows.
void fillActivations(Random &random, float *x, int64_t k, int64_t row) {
  for (int64_t i = 0; i < k; ++i) {
    float v = random.normal();
    if (row % 5 == 1)
      v = random.below(2) ? 1.0f : -1.0f; // all codes +-127
    if (row % 5 == 2)
      v = i / 32 % 2 ? 0.0f : v * 1e-20f;
    if (row % 5 == 3)
      v = v * 1e-32f + (i % 97 == 0 ? 30.0f : 0.0f);
    x[i] = v;
  }
}

class Checker {
public:
  Checker(const Case &c, ingot_kernel_fn fn)
      : c(c), s(c.spec), fn(fn), matrix(s.scheme, s.n, s.k, 17 + s.n) {}

  void run(uint32_t rows, uint32_t parts) {
    int64_t capacity =
        s.rows > 0 ? s.rows : roundUp(std::max<uint32_t>(rows, 1), std::max<int64_t>(s.block, 1));
    int64_t inStride = roundUp(s.k, 16), outStride = roundUp(s.width(), 16);
    Random random(rows * 31 + parts);
    Buffer<float> x(size_t(capacity * inStride)), y(size_t(capacity * outStride)), residual(y.size());
    Buffer<float> bias(size_t(roundUp(s.n, 16)), 0), want(y.size());
    spec::ActLayout layout{s.k, std::max<int64_t>(s.block, 1)};
    Buffer<uint8_t> act(size_t(layout.bytes(capacity)));
    for (int64_t r = 0; r < rows; ++r) {
      fillActivations(random, &x[size_t(r * inStride)], s.k, r);
      if (s.block)
        spec::quantizeRow(layout, &x[size_t(r * inStride)], r, act.data());
    }
    for (float &v : residual)
      v = random.normal();
    for (int64_t i = 0; i < s.n; ++i)
      bias[size_t(i)] = random.normal();
    Buffer<uint8_t> scratch(size_t(linearScratchBytes(s)) + 64);
    for (int64_t r = 0; r < rows; ++r)
      expected(&x[size_t(r * inStride)], bias.data(), &residual[size_t(r * outStride)],
               &want[size_t(r * outStride)]);

    ingot_step_v1 step = s.domain == RowDomain::Out ? makeStep(uint32_t(capacity), rows) : makeStep(rows);
    ingot_args_v1 args = makeArgs();
    unsigned slot = 0;
    args.slot[slot++] = s.block ? static_cast<void *>(act.data()) : x.data();
    if (s.residual)
      args.slot[slot++] = residual.data();
    args.slot[slot] = y.data();
    args.weight[0] = matrix.packed.data();
    args.weight[1] = reinterpret_cast<const uint8_t *>(bias.data());
    args.scratch = scratch.data();
    ASSERT_EQ(runParts(fn, step, args, parts), 0);
    for (int64_t r = 0; r < rows; ++r) {
      ptrdiff_t at =
          firstDifference(&y[size_t(r * outStride)], &want[size_t(r * outStride)], size_t(s.width()));
      ASSERT_EQ(at, -1) << c.name << ": rows " << rows << ", parts " << parts << ", row " << r << ", got "
                        << y[size_t(r * outStride + at)] << ", want " << want[size_t(r * outStride + at)];
    }
    if (s.rows == 0 && rows == 0)
      for (float v : y)
        ASSERT_TRUE(v != v) << "a step without rows writes nothing";
  }

private:
  void expected(const float *x, const float *bias, const float *residual, float *out) const {
    std::vector<int8_t> q(size_t(s.k));
    std::vector<float> da(size_t(s.k / 32 + 1)), ds(da.size());
    if (s.block)
      qfmt::quantizeActRow(x, s.k, q.data(), da.data(), ds.data());
    auto value = [&](int64_t n) {
      float v = s.schedule.dot == DotKind::Bf16      ? spec::dotBf16(matrix.bf16Row(n), s.k, x)
                : s.schedule.dot == DotKind::AmxBf16 ? spec::dotBf16Tiles(matrix.bf16Row(n), s.k, x)
                                                     : matrix.dot(n, {q.data(), da.data(), ds.data()}, x);
      return s.bias ? v + bias[n] : v;
    };
    for (int64_t i = 0; i < s.width(); ++i) {
      float v;
      if (s.gate) {
        int64_t g = i / 16 * 32 + i % 16;
        v = spec::gate(*s.gate, value(g), value(g + 16));
      } else {
        v = value(i);
      }
      if (s.softcap != 0)
        v = spec::softcap(v, s.softcap);
      if (s.residual)
        v = residual[i] + v;
      out[i] = v;
    }
  }

  const Case &c;
  const LinearSpec &s;
  ingot_kernel_fn fn;
  Matrix matrix;
};

std::vector<Case> casesOf(Scheme scheme, const target::Target &t) {
  std::vector<Case> cases;
  bool isFloat = qfmt::geometry(scheme).isFloat;
  int64_t kq = qfmt::geometry(scheme).blockElems == 256 ? 512 : isFloat ? 100 : 160;
  auto add = [&](const std::string &name, int64_t n, int64_t k, int64_t rows, int64_t block) -> LinearSpec & {
    Case c;
    c.name = name;
    c.spec.n = n;
    c.spec.k = k;
    c.spec.scheme = scheme;
    c.spec.rows = rows;
    c.spec.block = isFloat ? 0 : block;
    cases.push_back(c);
    return cases.back().spec;
  };
  for (int64_t m : {1, 2, 4, 8})
    add("m" + std::to_string(m), m == 1 ? 150 : 48, kq, m, m);
  add("chunk", 80, kq, 0, 12);
  LinearSpec &bias = add("bias_residual_m1", 64, kq, 1, 1);
  bias.bias = bias.residual = true;
  LinearSpec &gate = add("gate_chunk", 96, kq, 0, 12);
  gate.gate = spec::GateKind::Silu;
  LinearSpec &gate1 = add("gate_bias_m4", 96, kq, 4, 4);
  gate1.gate = spec::GateKind::GeluTanh;
  gate1.bias = true;
  LinearSpec &logits = add("logits_chunk", 50, kq, 0, 12);
  logits.domain = RowDomain::Out;
  logits.softcap = 30;
  LinearSpec &logits8 = add("logits_m8", 50, kq, 8, 8);
  logits8.domain = RowDomain::Out;
  for (Case &c : cases)
    c.spec.schedule = chooseLinearSchedule(c.spec, t);
  return cases;
}

/// Builds what was emitted and checks each case: an M class with all its rows, the chunk class with each of
/// `chunkRows`; in 1 to `mostParts` parts.
void checkAll(KernelSet &set, const std::vector<Case> &cases, const std::vector<uint32_t> &chunkRows,
              uint32_t mostParts) {
  ASSERT_EQ(set.build(), "");
  for (const Case &c : cases) {
    Checker checker(c, set.kernel(c.name));
    for (uint32_t rows : c.spec.rows ? std::vector<uint32_t>{uint32_t(c.spec.rows)} : chunkRows)
      for (uint32_t parts = 1; parts <= mostParts; ++parts)
        ASSERT_NO_FATAL_FAILURE(checker.run(rows, parts));
  }
}

class Linear : public testing::TestWithParam<std::tuple<const char *, int>> {};

TEST_P(Linear, EqualsTheSpecificationBitForBit) {
  const target::Target &t = *target::findTarget(std::get<0>(GetParam()));
  if (!hostRuns(t))
    GTEST_SKIP() << "this machine lacks " << t.name.str();
  Scheme scheme = static_cast<Scheme>(std::get<1>(GetParam()));
  std::vector<Case> cases = casesOf(scheme, t);
  KernelSet set(t);
  ASSERT_NO_FATAL_FAILURE(emitLinears(set, t, cases));
  ASSERT_EQ(set.build(), "");
  for (const Case &c : cases) {
    ingot_kernel_fn fn = set.kernel(c.name);
    ASSERT_NE(fn, nullptr) << c.name;
    Checker checker(c, fn);
    std::vector<uint32_t> rowCounts;
    if (c.spec.rows > 0)
      rowCounts = {uint32_t(c.spec.rows), uint32_t(c.spec.rows + 1) / 2};
    else
      rowCounts = {1, 2, 3, 5, 9, 12, 13, 29, 60};
    if (c.spec.domain == RowDomain::Out)
      rowCounts.push_back(0);
    for (uint32_t rows : rowCounts)
      for (uint32_t parts = 1; parts <= 3; ++parts) {
        checker.run(rows, parts);
        if (HasFatalFailure())
          return;
      }
  }
}

// Under --numerics=fast: pairs of columns, rounded activations; all classes and any even number of columns.
TEST(LinearBf16, EqualsItsSpecificationBitForBit) {
  const target::Target &t = *target::findTarget("avx512bf16");
  if (!hostRuns(t))
    GTEST_SKIP() << "this machine lacks " << t.name.str();
  std::vector<Case> cases;
  for (int64_t columns : {100, 90, 512})
    for (Case c : casesOf(Scheme::BF16, t)) {
      c.name += "_k" + std::to_string(columns);
      c.spec.k = columns;
      c.spec.fast = true;
      c.spec.schedule = linearSchedules(c.spec, t).front();
      ASSERT_EQ(c.spec.schedule.dot, DotKind::Bf16);
      cases.push_back(c);
    }
  KernelSet set(t);
  ASSERT_NO_FATAL_FAILURE(emitLinears(set, t, cases));
  checkAll(set, cases, {1, 2, 5, 12, 29, 200, 205}, 2);
}

// By tiles: with the products as loops here, with the instructions where the machine has them.
TEST(LinearBf16, TilesEqualTheirSpecificationBitForBit) {
  for (const char *name : {"avx512bf16", "amxbf16"}) {
    const target::Target &t = *target::findTarget(name);
    std::vector<Case> cases;
    for (int64_t columns : {96, 512})
      for (Case c : casesOf(Scheme::BF16, t)) {
        c.name += "_k" + std::to_string(columns);
        c.spec.k = columns;
        c.spec.fast = true;
        c.spec.amxInSoftware = !t.hasAmxBf16();
        c.spec.schedule = linearSchedules(c.spec, t).front();
        ASSERT_EQ(c.spec.schedule.dot, DotKind::AmxBf16);
        cases.push_back(c);
      }
    KernelSet set(t);
    ASSERT_NO_FATAL_FAILURE(emitLinears(set, t, cases));
    if (!hostRuns(t)) {
      EXPECT_NE(set.assembly().find("tdpbf16ps"), std::string::npos) << name;
      continue;
    }
    ASSERT_NO_FATAL_FAILURE(checkAll(set, cases, {1, 2, 17, 32, 75, 200}, 2));
  }
}

TEST(LinearBf16, IsChosenUnderFastAlone) {
  const target::Target &t = *target::findTarget("avx512bf16");
  LinearSpec s;
  s.n = 64;
  s.k = 100;
  s.scheme = Scheme::BF16;
  for (int64_t rows : {0, 1, 8}) {
    s.rows = rows;
    s.fast = false;
    EXPECT_EQ(linearSchedules(s, t).front().dot, DotKind::Fma);
    s.fast = true;
    EXPECT_EQ(linearSchedules(s, t).front().dot, DotKind::Bf16);
    EXPECT_EQ(linearSchedules(s, *target::findTarget("vnni")).front().dot, DotKind::Fma);
  }
  s.k = 99;
  EXPECT_EQ(linearSchedules(s, t).front().dot, DotKind::Fma);
  s.k = 100;
  s.scheme = Scheme::F16;
  EXPECT_EQ(linearSchedules(s, t).front().dot, DotKind::Fma);
  s.schedule.dot = DotKind::Bf16;
  EXPECT_NE(refuseLinear(s, t).find("bf16 weights"), std::string::npos);
  s.fast = false;
  EXPECT_NE(refuseLinear(s, t).find("--numerics=fast"), std::string::npos);
}

/// In how many of tile, dot, unrolling, prefetch and chunk two schedules differ.
int differences(const LinearSchedule &a, const LinearSchedule &b) {
  return (a.dot != b.dot) + (a.panels != b.panels || a.rows != b.rows) + (a.unroll != b.unroll) +
         (a.prefetch != b.prefetch) + (a.chunk != b.chunk);
}

// Whatever `ingot tune` may choose computes the same.
class LinearSchedules : public Linear {};

TEST_P(LinearSchedules, GiveTheSameBits) {
  const target::Target &t = *target::findTarget(std::get<0>(GetParam()));
  Scheme scheme = static_cast<Scheme>(std::get<1>(GetParam()));
  if (!hostRuns(t))
    GTEST_SKIP() << "this machine lacks " << t.name.str();
  std::vector<Case> cases;
  for (Case c : casesOf(scheme, t))
    if (c.name == "m1" || c.name == "gate_bias_m4" || c.name == "chunk") {
      c.spec.fast = t.hasBf16Dot();
      c.spec.schedule = linearSchedules(c.spec, t).front();
      for (const LinearSchedule &schedule : allLinearSchedules(c.spec, t)) {
        Case one = c;
        one.spec.schedule = schedule;
        one.name += "_" + std::to_string(cases.size());
        if (differences(schedule, c.spec.schedule) <= 1 && refuseLinear(one.spec, t).empty())
          cases.push_back(one);
      }
    }
  ASSERT_GT(cases.size(), 12u);
  KernelSet set(t);
  ASSERT_NO_FATAL_FAILURE(emitLinears(set, t, cases));
  ASSERT_EQ(set.build(), "");
  for (const Case &c : cases)
    for (uint32_t rows :
         c.spec.rows ? std::vector<uint32_t>{uint32_t(c.spec.rows)} : std::vector<uint32_t>{1, 29}) {
      Checker(c, set.kernel(c.name)).run(rows, 2);
      if (HasFatalFailure())
        return;
    }
}

// The AMX schedule with its tile operations as loops: everything around them is the code of the real one.
TEST(LinearAmx, EqualsTheSpecificationInSoftware) {
  const target::Target &t = *target::findTarget("vnni");
  if (!hostRuns(t))
    GTEST_SKIP() << "this machine lacks " << t.name.str();
  for (int i = 0; i <= int(Scheme::Q6_K); ++i) {
    Scheme scheme = static_cast<Scheme>(i);
    if (qfmt::geometry(scheme).isFloat)
      continue;
    std::vector<Case> cases;
    for (Case c : casesOf(scheme, t))
      if (c.spec.rows == 0) {
        c.spec.amxInSoftware = true;
        c.spec.schedule = linearSchedules(c.spec, t).back();
        c.spec.schedule.chunk = 24;
        ASSERT_EQ(c.spec.schedule.dot, DotKind::Amx);
        cases.push_back(c);
      }
    ASSERT_FALSE(cases.empty());
    KernelSet set(t);
    ASSERT_NO_FATAL_FAILURE(emitLinears(set, t, cases));
    ASSERT_NO_FATAL_FAILURE(checkAll(set, cases, {1, 11, 12, 13, 30, 49}, 2));
  }
}

/// On machines with AMX the real instructions must agree as well; elsewhere the code must at least hold them.
TEST(LinearAmx, EmitsTileInstructions) {
  const target::Target &t = *target::findTarget("amx");
  std::vector<Case> cases;
  for (Case c : casesOf(Scheme::Q4_1, t))
    if (c.spec.rows == 0) {
      c.spec.schedule = linearSchedules(c.spec, t).back();
      cases.push_back(c);
    }
  KernelSet set(t);
  ASSERT_NO_FATAL_FAILURE(emitLinears(set, t, cases));
  std::string text = set.assembly();
  EXPECT_NE(text.find("tdpbsud"), std::string::npos);
  EXPECT_NE(text.find("ldtilecfg"), std::string::npos);
  if (!hostRuns(t))
    GTEST_SKIP() << "assembly checked; this machine lacks AMX";
  ASSERT_EQ(set.build(), "");
  for (const Case &c : cases) {
    Checker checker(c, set.kernel(c.name));
    for (uint32_t rows : {1, 12, 30}) {
      checker.run(rows, 2);
      if (HasFatalFailure())
        return;
    }
  }
}

TEST_P(Linear, EmbedEqualsTheDequantizer) {
  const target::Target &t = *target::findTarget(std::get<0>(GetParam()));
  if (!hostRuns(t))
    GTEST_SKIP() << "this machine lacks " << t.name.str();
  Scheme scheme = static_cast<Scheme>(std::get<1>(GetParam()));
  EmbedSpec plain, scaled;
  plain.n = scaled.n = 37;
  plain.k = scaled.k = qfmt::geometry(scheme).isFloat ? 40 : 512;
  plain.scheme = scaled.scheme = scheme;
  scaled.scale = 25.298221f;
  KernelSet set(t);
  for (const EmbedSpec *s : {&plain, &scaled}) {
    ASSERT_EQ(refuseEmbed(*s), "");
    KernelBuilder k(set.module(), s->scale == 1 ? "plain" : "scaled", t);
    emitEmbed(k, *s);
    k.finish();
  }
  ASSERT_EQ(set.build(), "");
  Matrix matrix(scheme, plain.n, plain.k, 5);
  int64_t stride = roundUp(plain.k, 16);
  for (const EmbedSpec *s : {&plain, &scaled}) {
    const int32_t tokens[] = {0, 36, 7, 7, 20, 3, 1, 16, 15, 31, 4, 5};
    Buffer<float> y(size_t(12 * stride));
    std::vector<float> row(size_t(plain.k));
    ingot_step_v1 step = makeStep(12);
    step.tokens = tokens;
    ingot_args_v1 args = makeArgs();
    args.slot[0] = y.data();
    args.weight[0] = matrix.packed.data();
    ASSERT_EQ(runParts(set.kernel(s->scale == 1 ? "plain" : "scaled"), step, args, 2), 0);
    for (int r = 0; r < 12; ++r) {
      qfmt::schemeOps(scheme).dequantRow(matrix.file.data() + tokens[r] * matrix.rowBytes, plain.k,
                                         row.data());
      for (float &v : row)
        v = s->scale == 1 ? v : v * s->scale;
      ASSERT_EQ(firstDifference(&y[size_t(r * stride)], row.data(), row.size()), -1) << "row " << r;
    }
  }
}

TEST(LinearRefusals, SayWhy) {
  const target::Target &vnni = *target::findTarget("vnni"), &avx2 = *target::findTarget("avx2");
  LinearSpec s;
  s.n = 64;
  s.k = 96;
  s.scheme = Scheme::Q4_K;
  s.block = 1;
  s.rows = 1;
  EXPECT_NE(refuseLinear(s, vnni).find("256"), std::string::npos);
  s.scheme = Scheme::Q4_0;
  s.schedule = chooseLinearSchedule(s, vnni);
  EXPECT_EQ(refuseLinear(s, vnni), "");
  EXPECT_NE(refuseLinear(s, avx2), "");
  s.gate = spec::GateKind::Silu;
  s.n = 48;
  EXPECT_NE(refuseLinear(s, vnni).find("pairs"), std::string::npos);
}

TEST(LinearParts, AreWorthACall) {
  const target::Target &vnni = *target::findTarget("vnni");
  LinearSpec s;
  s.scheme = Scheme::Q8_0;
  s.k = 576;
  s.rows = s.block = 1;
  auto parts = [&](int64_t n) {
    s.n = n;
    s.schedule = chooseLinearSchedule(s, vnni);
    return linearMaxParts(s, vnni);
  };
  EXPECT_EQ(parts(16), 1);
  // A microsecond reads 12 KB: a panel has 16 rows of 576 codes and 18 scales, 9.8 KB.
  EXPECT_EQ(parts(16 * 40), 20);
  EXPECT_EQ(parts(16 * 3072), 1536);
  s.rows = 0;
  s.block = 12;
  EXPECT_EQ(parts(16 * 40), 10);
}

std::string nameOf(const testing::TestParamInfo<std::tuple<const char *, int>> &i) {
  return std::string(std::get<0>(i.param)) + "_" +
         qfmt::schemeName(static_cast<Scheme>(std::get<1>(i.param)));
}

INSTANTIATE_TEST_SUITE_P(Targets, Linear,
                         testing::Combine(testing::Values("avx2", "avx512", "vnni"),
                                          testing::Range(0, int(Scheme::Q6_K) + 1)),
                         nameOf);
// A format of each kind: floats; with minimums; of two sums a sub-block; of whole bytes.
INSTANTIATE_TEST_SUITE_P(Targets, LinearSchedules,
                         testing::Combine(testing::Values("avx2", "avx512", "vnni"),
                                          testing::Values(int(Scheme::F16), int(Scheme::Q4_1),
                                                          int(Scheme::Q6_K), int(Scheme::Q8_0))),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Rounding, LinearSchedules,
                         testing::Combine(testing::Values("avx512bf16"), testing::Values(int(Scheme::BF16))),
                         nameOf);

} // namespace
