//===- GeometryTest.cpp - sizes of weight formats against values worked out by hand ----------------===//
#include "dialects/qfmt/Geometry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <vector>

using namespace ingot::qfmt;

namespace {

constexpr Scheme kAll[] = {Scheme::F32,  Scheme::F16,  Scheme::BF16, Scheme::Q8_0, Scheme::Q4_0, Scheme::Q4_1,
                           Scheme::Q5_0, Scheme::Q5_1, Scheme::Q4_K, Scheme::Q5_K, Scheme::Q6_K};

TEST(Geometry, NamesRoundTrip) {
  for (Scheme s : kAll)
    EXPECT_EQ(parseScheme(schemeName(s)), s);
  EXPECT_EQ(parseScheme("Q4_K"), std::nullopt);
  EXPECT_EQ(parseScheme(""), std::nullopt);
  EXPECT_EQ(parseLayout(layoutName(Layout::Row)), Layout::Row);
  EXPECT_EQ(parseLayout(layoutName(Layout::N16)), Layout::N16);
  EXPECT_EQ(parseLayout("n32"), std::nullopt);
}

// Block sizes as the GGUF format defines them.
TEST(Geometry, FileBytes) {
  const int64_t expected256[] = {1024, 512, 512, 272, 144, 160, 176, 192, 144, 176, 210};
  for (size_t i = 0; i < std::size(kAll); ++i) {
    EXPECT_EQ(fileBytes(kAll[i], 1, 256), expected256[i]) << schemeName(kAll[i]);
    EXPECT_EQ(fileBytes(kAll[i], 3, 512), 6 * expected256[i]) << schemeName(kAll[i]);
  }
}

TEST(Geometry, IllegalShapes) {
  EXPECT_EQ(fileBytes(Scheme::Q4_1, 4, 48), std::nullopt);
  EXPECT_EQ(fileBytes(Scheme::Q4_K, 4, 128), std::nullopt);
  EXPECT_EQ(fileBytes(Scheme::F32, 0, 4), std::nullopt);
  EXPECT_EQ(fileBytes(Scheme::F32, 4, -4), std::nullopt);
  EXPECT_EQ(packedBytes(Scheme::Q6_K, Layout::N16, 4, 128), std::nullopt);
  EXPECT_EQ(actBlockBytes(0, 1), std::nullopt);
  EXPECT_EQ(actBlockBytes(32, 0), std::nullopt);
}

TEST(Geometry, Overflow) {
  const int64_t big = std::numeric_limits<int64_t>::max();
  for (Scheme s : kAll)
    for (Layout l : {Layout::Row, Layout::N16}) {
      EXPECT_EQ(packedBytes(s, l, big, 256), std::nullopt);
      EXPECT_EQ(packedBytes(s, l, big / 2, big / 256 * 256), std::nullopt);
    }
  EXPECT_EQ(packedBytes(Scheme::F32, Layout::Row, 1, big), std::nullopt);
  EXPECT_EQ(actBlockBytes(big, 1), std::nullopt);
  EXPECT_EQ(actBlockBytes(big / 4, 64), std::nullopt);
}

// Bytes of one panel of 16 rows x 256 columns, payload and side, from the layout's definition.
TEST(Geometry, Panels) {
  struct Row {
    Scheme scheme;
    int64_t payload, side;
  } const rows[] = {
      {Scheme::F32, 16 * 256 * 4, 0},
      {Scheme::F16, 16 * 256 * 2, 0},
      {Scheme::BF16, 16 * 256 * 2, 0},
      {Scheme::Q8_0, 16 * 256, 8 * 16 * 2},
      {Scheme::Q4_0, 16 * 128, 8 * 16 * 2},
      {Scheme::Q4_1, 16 * 128, 8 * 16 * 4},
      {Scheme::Q5_0, 16 * 160, 8 * 16 * 2},
      {Scheme::Q5_1, 16 * 160, 8 * 16 * 4},
      {Scheme::Q4_K, 16 * 128, 64 + 256},
      {Scheme::Q5_K, 16 * 160, 64 + 256},
      {Scheme::Q6_K, 16 * 192, 32 + 16 * 16 + 32}, // whole lines
  };
  for (const Row &row : rows) {
    std::optional<PanelSize> size = panelSize(row.scheme, 256);
    ASSERT_TRUE(size) << schemeName(row.scheme);
    EXPECT_EQ(size->bytes, row.payload + row.side) << schemeName(row.scheme);
    // 33 rows take three panels.
    EXPECT_EQ(packedBytes(row.scheme, Layout::N16, 33, 256), 3 * size->bytes);
  }
}

TEST(Geometry, PanelsAreLinesOf64Bytes) {
  // One sub-block of q4_0: 32 bytes of scales, as many unused, 256 bytes of payload.
  EXPECT_EQ(panelSize(Scheme::Q4_0, 32)->bytes, 256 + 64);
  // 3 columns of f16: 96 bytes padded to 128.
  EXPECT_EQ(panelSize(Scheme::F16, 3)->bytes, 128);
  for (Scheme s : kAll)
    for (int64_t k : {256, 512, 768, 2048}) {
      EXPECT_EQ(panelSize(s, k)->bytes % 64, 0);
      EXPECT_EQ(panelSize(s, k)->payload(0) % 64, 0);
      EXPECT_EQ(panelSize(s, k)->payload(1) % 64, s == Scheme::F16 || s == Scheme::BF16 ? 32 : 0);
    }
}

// Each K step's side data and payload have bytes of their own inside the panel, in ascending order of use.
TEST(Geometry, PanelStepsDoNotOverlap) {
  for (Scheme s : kAll)
    for (int64_t k : {256, 512, 768, 2048}) {
      PanelSize size = *panelSize(s, k);
      std::vector<bool> used(size_t(size.bytes), false);
      auto take = [&](int64_t at, int64_t bytes) {
        for (int64_t i = at; i < at + bytes; ++i) {
          ASSERT_LT(i, size.bytes) << schemeName(s) << " " << k;
          ASSERT_FALSE(used[size_t(i)]) << schemeName(s) << " " << k;
          used[size_t(i)] = true;
        }
      };
      const int64_t steps = k / geometry(s).kStep;
      for (int64_t step = 0; step < steps; ++step) {
        take(size.side(step), size.sideBytes);
        take(size.payload(step), size.payloadBytes);
        // What belongs together lies within a unit.
        EXPECT_LT(std::abs(size.side(step) - size.payload(step)), size.unitBytes());
      }
    }
}

// A kernel reads the lines of 6-bit codes in ascending order, each once: prefetchers follow that.
TEST(Geometry, LinesOfSixBitCodesAscend) {
  std::vector<int64_t> lines;
  for (int64_t v = 0; v < 8; ++v)
    for (int64_t line : {upperTwoLine(v), nibbleLine(6, v)})
      if (std::find(lines.begin(), lines.end(), line) == lines.end())
        lines.push_back(line);
  EXPECT_EQ(lines, (std::vector<int64_t>{0, 64, 128, 192, 256, 320}));
  for (int64_t v = 0; v < 8; ++v)
    EXPECT_EQ(nibbleLine(4, v), 64 * (v / 2));
  // Side data of one K step at a time, right before its codes.
  EXPECT_EQ(panelSize(Scheme::Q6_K, 2048)->steps, 1);
  EXPECT_EQ(panelSize(Scheme::Q4_K, 2048)->steps, 1);
}

TEST(Geometry, RowLayout) {
  EXPECT_EQ(packedBytes(Scheme::Q4_1, Layout::Row, 960, 576), fileBytes(Scheme::Q4_1, 960, 576));
  // A vector is padded to 16 floats.
  EXPECT_EQ(packedBytes(Scheme::F32, Layout::Row, 1, 576), 576 * 4);
  EXPECT_EQ(packedBytes(Scheme::F32, Layout::Row, 1, 33), 48 * 4);
}

TEST(Geometry, ActBlocks) {
  // 64 columns, one row: 64 codes, 2 scales, 2 scaled sums, 4 sums of 16: 96 bytes padded to 128.
  EXPECT_EQ(actBlockBytes(64, 1), 128);
  EXPECT_EQ(actBlockBytes(64, 8), 96 * 8);
  // 33 columns are stored as 64.
  EXPECT_EQ(actBlockBytes(33, 8), actBlockBytes(64, 8));
}

} // namespace
