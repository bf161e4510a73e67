//===- BuilderTest.cpp - the shared emission infrastructure ---------------------------------------===//
#include "test/unit/kernels/Harness.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace ingot;
using namespace ingot::test;
using ingot::cpu::KernelBuilder;
using mlir::Value;
using mlir::ValueRange;

namespace {

class Builder : public testing::TestWithParam<const char *> {
protected:
  const target::Target &target() { return *target::findTarget(GetParam()); }
};

// y[r][i] = fma(x[r][i], x[r][i], 1) rowwise for this part's rows; sum16 of each row behind.
TEST_P(Builder, FrameLoopsAndLanes) {
  if (!hostRuns(target()))
    GTEST_SKIP() << "this machine lacks " << target().name.str();
  KernelSet set(target());
  {
    KernelBuilder k(set.module(), "k", target());
    Value x = k.slot(0), y = k.slot(1), sums = k.slot(2);
    auto [lo, hi] = k.share(k.nRows());
    k.forLoop(lo, hi, 1, [&](Value r) {
      Value off = k.mul(r, 4 * 48);
      auto total = k.forLoop(0, 3, 1, ValueRange{k.splat(k.f32v(), 0)}, [&](Value j, ValueRange acc) {
        Value at = k.add(off, k.mul(j, 64));
        Value v = k.loadAt(k.f32v(), x, at, 64);
        k.storeAt(k.fma(v, v, k.splat(k.f32v(), 1)), y, at, 64);
        return KernelBuilder::Values{k.add(acc[0], v)};
      });
      k.storeAt(k.treeSum16(total[0]), sums, k.mul(r, 4));
    });
    k.finish();
  }
  ASSERT_EQ(set.build(), "");
  ingot_kernel_fn fn = set.kernel("k");
  ASSERT_NE(fn, nullptr);
  for (uint32_t parts = 1; parts <= 3; ++parts) {
    const size_t rows = 7;
    Buffer<float> x(rows * 48), y(rows * 48), s(rows);
    Random random(1);
    for (float &v : x)
      v = random.normal();
    ingot_step_v1 step = makeStep(rows);
    ingot_args_v1 args = makeArgs();
    args.slot[0] = x.data();
    args.slot[1] = y.data();
    args.slot[2] = s.data();
    ASSERT_EQ(runParts(fn, step, args, parts), 0);
    for (size_t r = 0; r < rows; ++r) {
      float lane[16];
      for (size_t i = 0; i < 16; ++i)
        lane[i] = (0.0f + x[r * 48 + i] + x[r * 48 + 16 + i]) + x[r * 48 + 32 + i];
      for (size_t half : {8, 4, 2, 1})
        for (size_t i = 0; i < half; ++i)
          lane[i] = lane[i] + lane[i + half];
      EXPECT_EQ(s[r], lane[0]);
      for (size_t i = 0; i < 48; ++i)
        EXPECT_EQ(y[r * 48 + i], std::fma(x[r * 48 + i], x[r * 48 + i], 1.0f));
    }
  }
}

// Masked tails touch nothing outside; conversions and branches.
TEST_P(Builder, MasksConversionsBranches) {
  if (!hostRuns(target()))
    GTEST_SKIP() << "this machine lacks " << target().name.str();
  KernelSet set(target());
  {
    KernelBuilder k(set.module(), "k", target());
    Value mask = k.maskFirst(16, k.nRows());
    Value v = k.maskedLoad(k.f32v(), k.slot(0), mask);
    Value bf = k.fromF32(v, k.bf16());
    Value hf = k.fromF32(v, k.f16());
    k.maskedStore(k.toF32(bf), k.slot(1), mask);
    k.maskedStore(k.toF32(hf), k.slot(2), mask);
    auto r = k.ifElse(
        k.cmp(KernelBuilder::Pred::sgt, k.nRows(), k.c64(8)), [&] { return KernelBuilder::Values{k.cf(2)}; },
        [&] { return KernelBuilder::Values{k.cf(3)}; });
    k.ifThen(k.cmp(KernelBuilder::Pred::eq, k.part(), k.c64(0)), [&] { k.store(r[0], k.slot(3)); });
    k.finish();
  }
  ASSERT_EQ(set.build(), "");
  ingot_kernel_fn fn = set.kernel("k");
  ASSERT_NE(fn, nullptr);
  for (uint32_t n : {1u, 5u, 13u, 16u}) {
    Buffer<float> x(16), bf(16), hf(16), flag(1);
    Random random(n);
    for (size_t i = 0; i < 16; ++i)
      x[i] = i == 3 ? INFINITY : random.normal() * 100;
    ingot_step_v1 step = makeStep(n);
    ingot_args_v1 args = makeArgs();
    args.slot[0] = x.data();
    args.slot[1] = bf.data();
    args.slot[2] = hf.data();
    args.slot[3] = flag.data();
    ASSERT_EQ(fn(&step, &args, 0, 1), 0);
    EXPECT_EQ(flag[0], n > 8 ? 2.0f : 3.0f);
    for (size_t i = 0; i < 16; ++i) {
      uint32_t bits, gotB, gotH;
      std::memcpy(&bits, &x[i], 4);
      std::memcpy(&gotB, &bf[i], 4);
      std::memcpy(&gotH, &hf[i], 4);
      if (i >= n) {
        EXPECT_EQ(gotB, 0xFFFFFFFFu);
        EXPECT_EQ(gotH, 0xFFFFFFFFu);
        continue;
      }
      EXPECT_EQ(gotB, (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000u);
      EXPECT_EQ(hf[i], float(_Float16(x[i])));
    }
  }
}

TEST(BuilderRefusals, NamesTheSymbolThatCodeWouldCall) {
  const target::Target &t = *target::findTarget("avx2");
  KernelSet set(t);
  {
    mlir::OpBuilder b(set.module().getContext());
    b.setInsertionPointToStart(set.module().getBody());
    auto type = mlir::LLVM::LLVMFunctionType::get(b.getF32Type(), {b.getF32Type()});
    auto callee = mlir::LLVM::LLVMFuncOp::create(b, b.getUnknownLoc(), "expf", type);
    KernelBuilder k(set.module(), "k", t);
    Value r = mlir::LLVM::CallOp::create(k.builder(), k.loc(), callee, ValueRange{k.load(k.f32(), k.slot(0))})
                  .getResult();
    k.store(r, k.slot(1));
    k.finish();
  }
  EXPECT_NE(set.build().find("'expf'"), std::string::npos);
}

TEST(BuilderRefusals, CapsTheSizeOfAKernel) {
  const target::Target &t = *target::findTarget("avx2");
  KernelSet set(t);
  {
    KernelBuilder k(set.module(), "big", t);
    Value v = k.load(k.f32(), k.slot(0));
    for (int i = 0; i < 200; ++i)
      v = k.add(v, v);
    k.store(v, k.slot(0));
    k.finish();
  }
  cpu::EmitOptions options;
  options.maxKernelOps = 100;
  EXPECT_NE(set.build(options).find("'big'"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Targets, Builder, testing::Values("avx2", "avx512", "vnni"),
                         [](const testing::TestParamInfo<const char *> &i) { return std::string(i.param); });

} // namespace
