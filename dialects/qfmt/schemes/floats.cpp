//===- floats.cpp - f32, f16 and bf16 weights -----------------------------------------------------===//
#include "dialects/qfmt/schemes/Blocks.h"

using namespace ingot::qfmt;

namespace {
struct F32 {
  static constexpr Scheme kScheme = Scheme::F32;
  static constexpr int64_t kBytes = 4;
  static float value(const uint8_t *p) {
    float f;
    std::memcpy(&f, p, 4);
    return f;
  }
};
struct F16 {
  static constexpr Scheme kScheme = Scheme::F16;
  static constexpr int64_t kBytes = 2;
  static float value(const uint8_t *p) { return half(p); }
};
struct BF16 {
  static constexpr Scheme kScheme = Scheme::BF16;
  static constexpr int64_t kBytes = 2;
  static float value(const uint8_t *p) {
    uint32_t bits = uint32_t(read16(p)) << 16;
    float f;
    std::memcpy(&f, &bits, 4);
    return f;
  }
};

template <class T> struct Float {
  static void dequantRow(const uint8_t *row, int64_t k, float *out) {
    for (int64_t i = 0; i < k; ++i)
      out[i] = T::value(row + i * T::kBytes);
  }
  static void packPanel(const uint8_t *const rows[16], int64_t k, uint8_t *panel) {
    std::memset(panel, 0, size_t(panelSize(T::kScheme, k)->bytes));
    for (int n = 0; n < 16; ++n)
      for (int64_t i = 0; rows[n] && i < k; ++i)
        std::memcpy(panel + (16 * i + n) * T::kBytes, rows[n] + i * T::kBytes, T::kBytes);
  }
  static void dequantPanelRow(const uint8_t *panel, int64_t k, int lane, float *out) {
    for (int64_t i = 0; i < k; ++i)
      out[i] = T::value(panel + (16 * i + lane) * T::kBytes);
  }
  static float dotRow(const uint8_t *row, int64_t k, const float *x) {
    float acc = 0;
    for (int64_t i = 0; i < k; ++i)
      acc = std::fma(T::value(row + i * T::kBytes), x[i], acc);
    return acc;
  }
  static constexpr SchemeOps ops() { return {dequantRow, packPanel, dequantPanelRow, nullptr, dotRow}; }
};
} // namespace

const SchemeOps ingot::qfmt::ops_f32 = Float<F32>::ops();
const SchemeOps ingot::qfmt::ops_f16 = Float<F16>::ops();
const SchemeOps ingot::qfmt::ops_bf16 = Float<BF16>::ops();
