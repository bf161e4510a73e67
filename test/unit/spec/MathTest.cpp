// The scalar specification of elementary functions against double precision.
#include "codegen/cpu/spec/Math.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace ingot;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

/// Calls f for a dense sample of the floats from lo to hi (same sign), every `step`th.
template <class F> void sweep(float lo, float hi, uint32_t step, F f) {
  uint32_t a = spec::bitsOf(lo), b = spec::bitsOf(hi);
  if (a > b)
    std::swap(a, b);
  for (uint64_t u = a; u <= b; u += step)
    f(spec::floatOf(uint32_t(u)));
}

double phi(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

} // namespace

TEST(SpecMath, ExpRelativeError) {
  double worst = 0;
  auto check = [&](float x) {
    double want = std::exp(double(x));
    worst = std::max(worst, std::fabs(double(spec::exp(x)) - want) / want);
  };
  sweep(1e-10f, 88.0f, 397, check);
  sweep(-1e-10f, -87.3f, 397, check);
  EXPECT_LT(worst, 2e-7);
}

TEST(SpecMath, ExpEdges) {
  EXPECT_EQ(spec::exp(0.0f), 1.0f);
  EXPECT_EQ(spec::exp(-0.0f), 1.0f);
  EXPECT_EQ(spec::exp(-kInf), 0.0f);
  EXPECT_EQ(spec::exp(-87.4f), 0.0f);
  EXPECT_GT(spec::exp(-87.29f), 0x1p-126f);
  EXPECT_EQ(spec::exp(kInf), spec::exp(88.0f));
  EXPECT_TRUE(std::isfinite(spec::exp(1e30f)));
  EXPECT_TRUE(std::isnan(spec::exp(std::numeric_limits<float>::quiet_NaN())));
  // Monotone where the reduction changes its integer.
  for (int n = -120; n < 120; ++n) {
    float x = float((n + 0.5) * 0.6931471805599453);
    EXPECT_LE(spec::exp(std::nextafter(x, -kInf)), spec::exp(std::nextafter(x, kInf)) * 1.0000003f);
  }
}

TEST(SpecMath, SiluGeluTanh) {
  double silu = 0, gt = 0, g = 0, th = 0;
  auto check = [&](float f) {
    double x = f;
    if (std::fabs(x) < 80) {
      double want = x / (1 + std::exp(-x));
      silu = std::max(silu, std::fabs(spec::silu(f) - want) / std::max(std::fabs(want), 1e-30));
    }
    double u = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
    double want = x / (1 + std::exp(-2 * u));
    gt = std::max(gt, std::fabs(spec::geluTanh(f) - want) / std::max(1.0, std::fabs(x)));
    g = std::max(g, std::fabs(spec::gelu(f) - x * phi(x)) / std::max(1.0, std::fabs(x)));
    th = std::max(th, std::fabs(spec::tanh(f) - std::tanh(x)));
  };
  sweep(1e-6f, 100.0f, 1009, check);
  sweep(-1e-6f, -100.0f, 1009, check);
  EXPECT_LT(silu, 5e-7);
  EXPECT_LT(gt, 3e-7);
  EXPECT_LT(g, 3e-7);
  EXPECT_LT(th, 2e-7);
  EXPECT_EQ(spec::silu(-1000.0f), -1000.0f / (1.0f + spec::exp(88.0f)));
  EXPECT_EQ(spec::silu(1000.0f), 1000.0f);
  EXPECT_EQ(spec::geluTanh(50.0f), 50.0f);
  EXPECT_EQ(spec::gelu(50.0f), 50.0f);
  EXPECT_EQ(spec::gelu(-50.0f), 0.0f);
  EXPECT_EQ(spec::tanh(100.0f), 1.0f);
  EXPECT_EQ(spec::tanh(-100.0f), -1.0f);
  EXPECT_NEAR(spec::softcap(100.0f, 30.0f), 30 * std::tanh(100.0 / 30), 1e-5);
  EXPECT_EQ(spec::gate(spec::GateKind::Silu, 1.5f, 2.0f), spec::silu(1.5f) * 2.0f);
  EXPECT_EQ(spec::gate(spec::GateKind::Gelu, 1.5f, 2.0f), spec::gelu(1.5f) * 2.0f);
  EXPECT_EQ(spec::gate(spec::GateKind::GeluTanh, 1.5f, 2.0f), spec::geluTanh(1.5f) * 2.0f);
}

TEST(SpecMath, GeluRelativeErrorInTheTail) {
  double worst = 0;
  sweep(-0.01f, -9.0f, 1009, [&](float f) {
    double want = double(f) * phi(f);
    worst = std::max(worst, std::fabs(spec::gelu(f) - want) / std::fabs(want));
  });
  EXPECT_LT(worst, 6e-6); // |x|^2 / 2 is rounded: 2^-24 of up to 40
}

TEST(SpecMath, Tree16) {
  float lanes[16], exact = 0;
  for (int i = 0; i < 16; ++i)
    exact += lanes[i] = float(1 << i);
  EXPECT_EQ(spec::tree16(lanes), exact);
  // The pairing is visible through rounding: (big + -big) cancels only if lanes 0 and 8 meet first.
  float c[16] = {};
  c[0] = 1e20f, c[8] = -1e20f, c[1] = 1.0f;
  EXPECT_EQ(spec::tree16(c), 1.0f);
  c[8] = 0, c[4] = -1e20f, c[1] = 0, c[5] = 0, c[2] = 1.0f;
  EXPECT_EQ(spec::tree16(c), 1.0f);
}

TEST(SpecMath, HalfRoundTripAndRounding) {
  for (uint32_t h = 0; h < 0x10000; ++h) {
    float f = spec::f16ToF32(uint16_t(h));
    bool nan = (h & 0x7fff) > 0x7c00;
    if (nan) {
      EXPECT_TRUE(std::isnan(f));
      continue;
    }
    ASSERT_EQ(spec::f32ToF16(f), h);
    if ((h & 0x7c00) == 0x7c00 || (h & 0x7fff) == 0x7bff)
      continue;
    // Half way to the next value: ties to even; a bit more or less decides otherwise.
    float next = spec::f16ToF32(uint16_t(h + 1)), mid = f + (next - f) / 2;
    ASSERT_EQ(spec::f32ToF16(mid), (h & 1) ? h + 1 : h);
    ASSERT_EQ(spec::f32ToF16(std::nextafter(mid, next)), h + 1);
    ASSERT_EQ(spec::f32ToF16(std::nextafter(mid, f)), h);
  }
  EXPECT_EQ(spec::f32ToF16(65519.0f), 0x7bff);
  EXPECT_EQ(spec::f32ToF16(65520.0f), 0x7c00);
  EXPECT_EQ(spec::f32ToF16(1e30f), 0x7c00);
  EXPECT_EQ(spec::f32ToF16(-kInf), 0xfc00);
  EXPECT_EQ(spec::f32ToF16(0x1p-25f), 0);
  EXPECT_EQ(spec::f32ToF16(0x1.8p-25f), 1);
  EXPECT_EQ(spec::f32ToBf16(1.0f), 0x3f80);
  EXPECT_EQ(spec::f32ToBf16(spec::floatOf(0x3f808000)), 0x3f80);
  EXPECT_EQ(spec::f32ToBf16(spec::floatOf(0x3f818000)), 0x3f82);
  EXPECT_EQ(spec::f32ToBf16(spec::floatOf(0x3f808001)), 0x3f81);
  EXPECT_EQ(spec::f32ToBf16(spec::floatOf(0x7f7fffff)), 0x7f80);
  EXPECT_TRUE(std::isnan(spec::bf16ToF32(spec::f32ToBf16(spec::floatOf(0x7f800001)))));
}
