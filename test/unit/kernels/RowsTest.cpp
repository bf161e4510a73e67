// Norm, quantize and elementwise kernels equal the scalar specification bit for bit.
#include "codegen/cpu/Elementwise.h"
#include "codegen/cpu/Norm.h"
#include "codegen/cpu/Quantize.h"
#include "codegen/cpu/spec/Norm.h"
#include "test/unit/kernels/FloatTestUtil.h"

using namespace ingot;
using namespace ingot::test;
using namespace ingot::cpu;

namespace {

class RowKernels : public testing::TestWithParam<const char *> {};

/// Compares row `row` of a packed slot with quantized `x`; padding of the last group counts.
void expectAct(const spec::ActLayout &l, const uint8_t *act, const float *x, int64_t row) {
  for (int64_t b = 0; b < l.kp() / 32; ++b) {
    float v[32] = {};
    for (int i = 0; i < 32 && b * 32 + i < l.K; ++i)
      v[i] = x[b * 32 + i];
    spec::ActGroup want = spec::quantizeGroup(v), got = spec::readGroup(l, act, row, b);
    ASSERT_EQ(memcmp(&want, &got, sizeof want), 0) << "row " << row << " group " << b;
  }
}

} // namespace

TEST_P(RowKernels, Quantize) {
  INGOT_NEED_TARGET();
  struct Case {
    int64_t D, R;
    bool out;
  };
  const Case cases[] = {{32, 1, false}, {576, 1, false}, {576, 12, false}, {40, 4, true},
                        {24, 8, false}, {49, 2, false},  {2048, 12, true}};
  KernelSet set(tgt);
  int n = 0;
  for (const Case &c : cases) {
    KernelBuilder k(set.module(), "k" + std::to_string(n++), tgt);
    QuantizeSpec s;
    s.D = c.D;
    s.domain = c.out ? RowDomain::Out : RowDomain::Rows;
    s.x.width = c.D;
    s.x.selected = c.out;
    s.act = {c.D, c.R};
    emitQuantize(k, s);
    k.finish();
  }
  ASSERT_EQ(set.build(), "");
  n = 0;
  for (const Case &c : cases) {
    ingot_kernel_fn fn = set.kernel("k" + std::to_string(n++));
    for (uint32_t parts = 1; parts <= 3; ++parts) {
      const size_t rows = c.R == 1 ? 1 : 2 * c.R + 3;
      Random r(c.D + parts);
      RowBuffer x(rows, c.D);
      x.random(r);
      for (size_t i = 0; i < rows; ++i) { // extremes
        float *p = x.row(i);
        if (i % 4 == 1)
          std::fill(p, p + std::min<int64_t>(32, c.D), 0.0f);
        if (i % 4 == 2)
          for (int64_t j = 0; j < c.D; ++j)
            p[j] = std::ldexp(p[j], i % 8 == 2 ? 120 : -110);
        if (i % 4 == 3)
          p[0] = 127, p[1] = 0.5f, p[2] = 1.5f, p[3] = -2.5f, p[4] = -126.5f;
      }
      std::vector<int32_t> outRows;
      for (size_t i = 0; i < rows; i += 2)
        outRows.push_back(int32_t(i));
      spec::ActLayout l{c.D, c.R};
      Buffer<uint8_t> act(l.bytes(rows));
      ingot_step_v1 step = makeStep(rows, uint32_t(outRows.size()));
      step.out_rows = outRows.data();
      ingot_args_v1 args = makeArgs();
      args.slot[0] = x.data.data();
      args.slot[1] = act.data();
      ASSERT_EQ(runParts(fn, step, args, parts), 0);
      for (size_t i = 0; i < (c.out ? outRows.size() : rows); ++i)
        expectAct(l, act.data(), x.row(c.out ? outRows[i] : i), int64_t(i));
    }
  }
}

TEST_P(RowKernels, Norm) {
  INGOT_NEED_TARGET();
  struct Case {
    int64_t D, groups, R; // R 0: no packed result
    bool rows, residual, inPlace;
  };
  const Case cases[] = {{576, 1, 1, false, false, false}, {576, 1, 12, true, false, false},
                        {576, 1, 0, true, true, false},   {40, 1, 2, true, true, false},
                        {24, 1, 8, false, false, false},  {72, 3, 0, true, false, true},
                        {128, 2, 0, true, false, false},  {49, 1, 4, false, true, false},
                        {640, 1, 0, true, true, true},    {2048, 1, 12, false, false, false}};
  KernelSet set(tgt);
  int n = 0;
  auto makeSpec = [](const Case &c) {
    NormSpec s;
    s.D = c.D;
    s.groups = c.groups;
    s.eps = 1e-5f;
    unsigned slot = 0;
    s.x = {slot++, c.D};
    if (c.residual)
      s.residual = RowsRef{slot++, c.D};
    if (c.rows)
      s.outRows = RowsRef{slot++, c.D};
    if (c.R) {
      s.outAct = slot++;
      s.act = {c.D, c.R};
    }
    return s;
  };
  for (const Case &c : cases) {
    KernelBuilder k(set.module(), "k" + std::to_string(n++), tgt);
    emitNorm(k, makeSpec(c));
    k.finish();
  }
  ASSERT_EQ(set.build(), "");
  n = 0;
  for (const Case &c : cases) {
    ingot_kernel_fn fn = set.kernel("k" + std::to_string(n++));
    NormSpec s = makeSpec(c);
    for (uint32_t parts = 1; parts <= 3; ++parts) {
      const size_t rows = 9;
      Random r(c.D + parts);
      RowBuffer x(rows, c.D), res(rows, c.D), y(rows, c.D);
      x.random(r, 3);
      res.random(r);
      Buffer<float> gamma(cpu::roundUp(c.D / c.groups, 16), 0);
      for (int64_t i = 0; i < c.D / c.groups; ++i)
        gamma[i] = 1 + 0.1f * r.normal();
      spec::ActLayout l{c.D, std::max<int64_t>(1, c.R)};
      Buffer<uint8_t> act(l.bytes(rows));
      std::vector<std::vector<float>> want(rows, std::vector<float>(c.D));
      for (size_t i = 0; i < rows; ++i)
        spec::rmsNorm(x.row(i), gamma.data(), c.residual ? res.row(i) : nullptr, want[i].data(), c.D,
                      c.groups, s.eps);
      ingot_step_v1 step = makeStep(rows);
      ingot_args_v1 args = makeArgs();
      args.weight[0] = reinterpret_cast<const uint8_t *>(gamma.data());
      args.slot[0] = x.data.data();
      RowBuffer &dst = c.inPlace ? (c.residual ? res : x) : y;
      if (c.residual)
        args.slot[s.residual->slot] = res.data.data();
      if (c.rows)
        args.slot[s.outRows->slot] = dst.data.data();
      if (c.R)
        args.slot[*s.outAct] = act.data();
      ASSERT_EQ(runParts(fn, step, args, parts), 0);
      for (size_t i = 0; i < rows; ++i) {
        if (c.rows) {
          ASSERT_EQ(firstDifference(dst.row(i), want[i].data(), size_t(c.D)), -1) << "case " << n - 1;
        }
        if (c.R)
          expectAct(l, act.data(), want[i].data(), int64_t(i));
      }
    }
  }
}

TEST_P(RowKernels, NormOfSelectedRows) {
  INGOT_NEED_TARGET();
  KernelSet set(tgt);
  {
    KernelBuilder k(set.module(), "k", tgt);
    NormSpec s;
    s.D = 48;
    s.eps = 1e-6f;
    s.domain = RowDomain::Out;
    s.x = {0, 48, 0, true};
    s.outRows = RowsRef{1, 48};
    emitNorm(k, s);
    k.finish();
  }
  ASSERT_EQ(set.build(), "");
  Random r(3);
  RowBuffer x(6, 48), y(6, 48);
  x.random(r);
  Buffer<float> gamma(48);
  std::fill(gamma.begin(), gamma.end(), 0.5f);
  std::vector<int32_t> outRows{1, 4, 5};
  for (uint32_t nOut : {0u, 3u}) {
    y.fillNan();
    ingot_step_v1 step = makeStep(6, nOut);
    step.out_rows = outRows.data();
    ingot_args_v1 args = makeArgs();
    args.slot[0] = x.data.data();
    args.slot[1] = y.data.data();
    args.weight[0] = reinterpret_cast<const uint8_t *>(gamma.data());
    ASSERT_EQ(runParts(set.kernel("k"), step, args, 2), 0);
    for (uint32_t i = 0; i < 6; ++i) {
      float want[48];
      if (i < nOut) {
        spec::rmsNorm(x.row(outRows[i]), gamma.data(), nullptr, want, 48, 1, 1e-6f);
        EXPECT_EQ(firstDifference(y.row(i), want, 48), -1);
      } else {
        EXPECT_TRUE(std::isnan(y.row(i)[0]));
      }
    }
  }
}

TEST_P(RowKernels, Elementwise) {
  INGOT_NEED_TARGET();
  using Kind = ElementwiseSpec::Kind;
  struct Case {
    Kind kind;
    int64_t D, width, offset; // of operand b
    spec::GateKind gate;
    float constant;
    bool selected;
  };
  const Case cases[] = {{Kind::Gate, 64, 64, 0, spec::GateKind::Silu, 0, false},
                        {Kind::Gate, 40, 40, 0, spec::GateKind::Gelu, 0, false},
                        {Kind::Gate, 40, 80, 40, spec::GateKind::GeluTanh, 0, false},
                        {Kind::Add, 576, 576, 0, spec::GateKind::Silu, 0, false},
                        {Kind::Add, 9, 30, 21, spec::GateKind::Silu, 0, false},
                        {Kind::Scale, 100, 100, 0, spec::GateKind::Silu, 0.7f, false},
                        {Kind::Softcap, 100, 100, 0, spec::GateKind::Silu, 30.0f, false},
                        {Kind::Copy, 49, 49, 0, spec::GateKind::Silu, 0, true}};
  KernelSet set(tgt);
  int n = 0;
  for (const Case &c : cases) {
    KernelBuilder k(set.module(), "k" + std::to_string(n++), tgt);
    ElementwiseSpec s;
    s.kind = c.kind;
    s.D = c.D;
    s.gate = c.gate;
    s.constant = c.constant;
    s.domain = c.selected ? RowDomain::Out : RowDomain::Rows;
    s.a = {0, c.D, 0, c.selected};
    s.b = {1, c.width, c.offset, false};
    s.out = {2, c.D, 0, false};
    emitElementwise(k, s);
    k.finish();
  }
  ASSERT_EQ(set.build(), "");
  n = 0;
  for (const Case &c : cases) {
    ingot_kernel_fn fn = set.kernel("k" + std::to_string(n++));
    for (uint32_t parts = 1; parts <= 3; ++parts) {
      const size_t rows = 5;
      Random r(c.D * 3 + parts);
      RowBuffer a(rows, c.D), b(rows, c.width), y(rows, c.D);
      a.random(r, 4);
      b.random(r);
      std::vector<int32_t> outRows{0, 2, 3};
      ingot_step_v1 step = makeStep(rows, 3);
      step.out_rows = outRows.data();
      ingot_args_v1 args = makeArgs();
      args.slot[0] = a.data.data();
      args.slot[1] = b.data.data();
      args.slot[2] = y.data.data();
      ASSERT_EQ(runParts(fn, step, args, parts), 0);
      for (size_t i = 0; i < (c.selected ? 3 : rows); ++i)
        for (int64_t j = 0; j < c.D; ++j) {
          float x = a.row(c.selected ? outRows[i] : i)[j], z = b.row(i)[c.offset + j], want = x;
          if (c.kind == Kind::Gate)
            want = spec::gate(c.gate, x, z);
          else if (c.kind == Kind::Add)
            want = x + z;
          else if (c.kind == Kind::Scale)
            want = x * c.constant;
          else if (c.kind == Kind::Softcap)
            want = spec::softcap(x, c.constant);
          ASSERT_EQ(firstDifference(&y.row(i)[j], &want, 1), -1) << "case " << n - 1;
        }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, RowKernels, testing::ValuesIn(kFloatTargets), targetName);
