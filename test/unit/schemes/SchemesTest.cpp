//===- SchemesTest.cpp - weight formats against stored blocks, packing, and the scalar dot --------===//
#include "dialects/qfmt/schemes/Schemes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

using namespace ingot::qfmt;

namespace {

constexpr int64_t kRows = 8, kCols = 512;

struct Vectors {
  std::vector<uint8_t> raw;
  std::vector<float> f32;
};

/// Bytes [begin, end) of the tensor of that name: these files hold one line of JSON that lists the offsets.
bool section(const std::string &file, const std::string &name, std::string &out) {
  uint64_t header = 0;
  if (file.size() < 8)
    return false;
  std::memcpy(&header, file.data(), 8);
  if (header > file.size() - 8)
    return false;
  std::string json = file.substr(8, header);
  size_t at = json.find('"' + name + '"');
  at = at == std::string::npos ? at : json.find("data_offsets", at);
  at = at == std::string::npos ? at : json.find('[', at);
  if (at == std::string::npos)
    return false;
  char *end = nullptr;
  size_t begin = std::strtoull(json.c_str() + at + 1, &end, 10);
  size_t stop = std::strtoull(end + 1, nullptr, 10);
  out = file.substr(8 + header + begin, stop - begin);
  return true;
}

bool readVectors(Scheme scheme, Vectors &v) {
  std::string name = schemeName(scheme);
  for (char &c : name)
    c = char(std::toupper(c));
  std::ifstream in(std::string(INGOT_GOLDEN) + "/" + name + ".safetensors", std::ios::binary);
  std::string file((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>()), raw, f32;
  if (!section(file, "raw", raw) || !section(file, "f32", f32))
    return false;
  v.raw.assign(raw.begin(), raw.end());
  v.f32.resize(f32.size() / 4);
  std::memcpy(v.f32.data(), f32.data(), f32.size());
  return true;
}

int64_t rowBytes(Scheme s, int64_t k) { return k / geometry(s).blockElems * geometry(s).blockBytes; }

class Schemes : public testing::TestWithParam<int> {
protected:
  Scheme scheme() const { return static_cast<Scheme>(GetParam()); }
  const SchemeOps &ops() const { return schemeOps(scheme()); }
};

TEST_P(Schemes, DequantizesStoredBlocksBitForBit) {
  Vectors v;
  ASSERT_TRUE(readVectors(scheme(), v));
  ASSERT_EQ(v.raw.size(), size_t(kRows * rowBytes(scheme(), kCols)));
  ASSERT_EQ(v.f32.size(), size_t(kRows * kCols));
  std::vector<float> out(kCols);
  for (int64_t r = 0; r < kRows; ++r) {
    ops().dequantRow(v.raw.data() + r * rowBytes(scheme(), kCols), kCols, out.data());
    for (int64_t i = 0; i < kCols; ++i) {
      uint32_t got, want;
      std::memcpy(&got, &out[i], 4);
      std::memcpy(&want, &v.f32[r * kCols + i], 4);
      ASSERT_EQ(got, want) << "row " << r << " column " << i;
    }
  }
}

TEST_P(Schemes, PanelHoldsTheSameRows) {
  Vectors v;
  ASSERT_TRUE(readVectors(scheme(), v));
  PanelSize size = *panelSize(scheme(), kCols);
  std::vector<uint8_t> panel(size_t(size.bytes) + 64, 0xAB);
  const uint8_t *rows[16] = {};
  for (int n = 0; n < 16; ++n)
    rows[n] = n == 5 ? nullptr : v.raw.data() + n % kRows * rowBytes(scheme(), kCols);
  ops().packPanel(rows, kCols, panel.data());
  for (int i = 0; i < 64; ++i)
    ASSERT_EQ(panel[size_t(size.bytes + i)], 0xAB) << "write behind the panel";
  std::vector<float> out(kCols);
  for (int n = 0; n < 16; ++n) {
    ops().dequantPanelRow(panel.data(), kCols, n, out.data());
    if (rows[n])
      ASSERT_EQ(std::memcmp(out.data(), &v.f32[n % kRows * kCols], kCols * 4), 0) << "lane " << n;
    else
      for (float f : out)
        ASSERT_EQ(f, 0.0f);
  }
}

TEST_P(Schemes, DotAgreesWithDoubleArithmetic) {
  Vectors v;
  ASSERT_TRUE(readVectors(scheme(), v));
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<float> x(kCols), da(kCols / 32), ds(kCols / 32);
  std::vector<int8_t> q(kCols);
  for (float &f : x)
    f = normal(random);
  quantizeActRow(x.data(), kCols, q.data(), da.data(), ds.data());
  for (int64_t r = 0; r < kRows; ++r) {
    const uint8_t *row = v.raw.data() + r * rowBytes(scheme(), kCols);
    double sum = 0, size = 0;
    for (int64_t i = 0; i < kCols; ++i) {
      double a = geometry(scheme()).isFloat ? double(x[i]) : double(q[i]) * da[i / 32];
      sum += a * v.f32[r * kCols + i];
      size += std::fabs(a * v.f32[r * kCols + i]);
    }
    if (size > 1e38)
      continue; // the row's values span all of f32: partial sums overflow
    float got = geometry(scheme()).isFloat ? ops().dotRowF32(row, kCols, x.data())
                                           : ops().dotRow(row, kCols, {q.data(), da.data(), ds.data()});
    // K-quants and formats with a minimum cancel large terms inside a block: allow for their size.
    double terms = geometry(scheme()).hasMin ? 8 * size : size;
    EXPECT_NEAR(got, sum, terms * 3e-6 + 1e-38) << "row " << r;
  }
}

TEST(Quantizer, RoundsToEvenAndKeepsZeros) {
  std::vector<float> x(96, 0.0f), da(3), ds(3);
  std::vector<int8_t> q(96);
  for (int i = 0; i < 32; ++i)
    x[i] = float(i) - 15.5f;
  x[0] = -127.0f; // scale 1: halves are ties
  x[40] = 1e-31f; // below the threshold
  x[64] = -2.54f;
  quantizeActRow(x.data(), 96, q.data(), da.data(), ds.data());
  EXPECT_EQ(da[0], 1.0f);
  EXPECT_EQ(q[0], -127);
  for (int i = 1; i < 32; ++i)
    EXPECT_EQ(q[i] % 2, 0) << i;
  int sum = 0;
  for (int i = 0; i < 32; ++i)
    sum += q[i];
  EXPECT_EQ(ds[0], float(sum));
  EXPECT_EQ(da[1], 0.0f);
  EXPECT_EQ(q[40], 0);
  EXPECT_EQ(q[64], -127);
}

TEST(Half, RoundTripsEveryCode) {
  for (uint32_t h = 0; h < 0x10000; ++h) {
    float f = halfToFloat(uint16_t(h));
    if (f != f)
      EXPECT_GT(floatToHalf(f) & 0x7FFF, 0x7C00);
    else
      EXPECT_EQ(floatToHalf(f), h);
  }
  EXPECT_EQ(floatToHalf(65519.0f), 0x7BFF);
  EXPECT_EQ(floatToHalf(65520.0f), 0x7C00);
  EXPECT_EQ(floatToHalf(0x1p-25f), 0);
  EXPECT_EQ(floatToHalf(0x1.8p-24f), 2);
}

INSTANTIATE_TEST_SUITE_P(All, Schemes, testing::Range(0, int(Scheme::Q6_K) + 1),
                         [](const testing::TestParamInfo<int> &i) {
                           return std::string(schemeName(static_cast<Scheme>(i.param)));
                         });

} // namespace
