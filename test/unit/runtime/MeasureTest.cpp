//===- MeasureTest.cpp - times of steps, work of kernels, profiles --------------------------------------===//
#include "ToyModule.h"

#include "runtime/core/Executor.h"
#include "runtime/device/cpu/Probe.h"
#include "runtime/device/cpu/Ticks.h"
#include "runtime/main/Profile.h"
#include "runtime/main/Stepper.h"

#include <gtest/gtest.h>

#include <numeric>

using namespace ingot;
using namespace ingot::main_;

namespace {

/// Stages of two launches and one launch on two workers; stamps by hand.
core::StepTimes handMade() {
  core::StepTimes times;
  times.begin(3, 2, {2, 1}, /*now=*/100);
  uint64_t first[] = {110, 150, 160, 200, 260}, second[] = {120, 140, 190, 202, 230};
  std::copy(std::begin(first), std::end(first), times.of(0));
  std::copy(std::begin(second), std::end(second), times.of(1));
  times.end(270);
  return times;
}

TEST(StepTimes, SplitsAStepWithoutRest) {
  core::StepSplit split = handMade().split();
  EXPECT_EQ(split.program, 3u);
  EXPECT_EQ(split.wall, 170u);
  EXPECT_EQ(split.start, 10u + 20u);
  ASSERT_EQ(split.launches.size(), 3u);
  EXPECT_EQ(split.launches[0].sum, 40u + 20u);
  EXPECT_EQ(split.launches[0].most, 40u);
  EXPECT_EQ(split.launches[1].sum, 10u + 50u);
  EXPECT_EQ(split.launches[1].most, 50u);
  EXPECT_EQ(split.launches[2].sum, 60u + 28u);
  ASSERT_EQ(split.waits.size(), 2u);
  EXPECT_EQ(split.waits[0].sum, 40u + 12u);
  EXPECT_EQ(split.waits[0].latency, 10u + 12u) << "the last arrived at 190";
  EXPECT_EQ(split.waits[1].sum, 10u + 40u) << "the step's end releases";
  EXPECT_EQ(split.waits[1].latency, 10u + 10u);
  uint64_t all = split.start;
  for (const core::StepSplit::Launch &launch : split.launches)
    all += launch.sum;
  for (const core::StepSplit::Wait &wait : split.waits)
    all += wait.sum;
  EXPECT_EQ(all, 2 * split.wall);
}

TEST(StepTimes, CountersOfTwoCoresMayDiffer) {
  core::StepTimes times;
  times.begin(0, 1, {1}, /*now=*/100);
  uint64_t stamps[] = {98, 130};
  std::copy(std::begin(stamps), std::end(stamps), times.of(0));
  times.end(129);
  core::StepSplit split = times.split();
  EXPECT_EQ(split.start, 0u);
  EXPECT_EQ(split.launches[0].sum, 32u);
  EXPECT_EQ(split.waits[0].sum, 0u);
}

KernelTable toyTable() {
  KernelTable table;
  const ingot_module_v1 *module = toy::query(INGOT_ABI_VERSION);
  for (uint32_t k = 0; k < module->n_kernels; ++k) {
    KernelWork work;
    work.name = module->kernels[k].name;
    work.family = module->kernels[k].family;
    work.rowBytes = 100;
    table[work.name] = work;
  }
  return table;
}

TEST(StepTimes, OfARealStep) {
  const ingot_module_v1 &module = *toy::query(INGOT_ABI_VERSION);
  for (unsigned threads : {1u, 2u, 3u}) {
    core::ExecutorOptions options;
    options.threads = threads;
    options.kvPages = 8;
    std::string error;
    auto executor = core::Executor::create(module, toy::weightBytes(), options, error);
    ASSERT_TRUE(executor) << error;
    Stepper stepper(*executor, 2, 40);
    core::StepTimes times;
    ASSERT_TRUE(stepper.prompt(2, 0, 20, 20, error)) << error;
    std::vector<float> plain(executor->logits(0), executor->logits(0) + module.vocab);
    executor->attach(&times);
    ASSERT_TRUE(stepper.prompt(2, 0, 20, 20, error)) << error;
    EXPECT_EQ(plain, std::vector<float>(executor->logits(0), executor->logits(0) + module.vocab));
    core::StepSplit split = times.split();
    const ingot_program_v1 &program = module.programs[split.program];
    EXPECT_LE(20u, program.max_rows);
    ASSERT_EQ(split.launches.size(), program.n_launches);
    uint64_t sum = split.start;
    for (const core::StepSplit::Launch &launch : split.launches) {
      EXPECT_GE(launch.sum, launch.most);
      sum += launch.sum;
    }
    for (const core::StepSplit::Wait &wait : split.waits) {
      EXPECT_GE(wait.sum, wait.latency);
      sum += wait.sum;
    }
    // Equal but for counters that differ between cores.
    EXPECT_NEAR(static_cast<double>(sum), static_cast<double>(split.wall * threads),
                0.2 * static_cast<double>(split.wall * threads));
    executor->attach(nullptr);
    ASSERT_TRUE(stepper.generate(2, 20, error)) << error;
    EXPECT_EQ(times.split().wall, split.wall) << "detached";
  }
}

TEST(Profile, SumsUpKernelsAndBarriers) {
  const ingot_module_v1 &module = *toy::query(INGOT_ABI_VERSION);
  KernelTable table = toyTable();
  const ingot_program_v1 &program = module.programs[0];
  std::vector<uint32_t> stages;
  for (uint32_t l = 0; l < program.n_launches; ++l)
    if (l == 0 || program.launches[l].stage != program.launches[l - 1].stage)
      stages.push_back(1);
    else
      ++stages.back();
  ProfileBuilder builder(module, table, 0, /*threads=*/1);
  // Each launch takes 10 ticks and each barrier 5, in the last step twice that.
  for (uint64_t scale : {1, 1, 2}) {
    core::StepTimes times;
    times.begin(0, 1, stages, 0);
    uint64_t now = 0, *stamp = times.of(0);
    *stamp++ = now;
    for (size_t s = 0; s < stages.size(); ++s) {
      for (uint32_t l = 0; l < stages[s]; ++l)
        *stamp++ = now += 10 * scale;
      now += 5 * scale;
      if (s + 1 < stages.size())
        *stamp++ = now;
    }
    times.end(now);
    builder.add(times.split(), {{{4, 1}}, 1});
  }
  Profile profile = builder.finish(0.5);
  EXPECT_EQ(profile.steps, 3u);
  EXPECT_DOUBLE_EQ(profile.kernelSeconds, 5.0 * program.n_launches);
  EXPECT_DOUBLE_EQ(profile.waitSeconds, 2.5 * static_cast<double>(stages.size()));
  EXPECT_DOUBLE_EQ(profile.latencySeconds, profile.waitSeconds);
  EXPECT_DOUBLE_EQ(profile.explained(), 1.0);
  uint32_t launches = 0, barriers = 0;
  double seconds = 0, waits = 0;
  for (const KernelProfile &kernel : profile.kernels) {
    launches += kernel.launches;
    seconds += kernel.seconds;
    waits += kernel.barrier;
    EXPECT_DOUBLE_EQ(kernel.work.rowBytes, 100.0 * kernel.launches);
  }
  EXPECT_EQ(launches, program.n_launches);
  EXPECT_DOUBLE_EQ(seconds, profile.kernelSeconds);
  EXPECT_NEAR(waits, profile.waitSeconds, 1e-9);
  for (const StageProfile &stage : profile.stages)
    barriers += stage.count;
  EXPECT_EQ(barriers, stages.size());
}

const char *description = R"({"kernels": [
  {"name": "linear", "family": "linear", "n": 64, "k": 32, "scheme": "q4_1", "weight_bytes": 1280, "flops_per_row": 4096,
   "domain": "out", "row_bytes": 300, "dot": "int8", "grid": {"unit": "panels", "count": 4}},
  {"name": "embed", "family": "embed", "n": 100, "k": 8, "scheme": "f32", "weight_bytes": 3200, "domain": "rows",
   "row_bytes": 32, "grid": {"unit": "rows", "count": 0}},
  {"name": "attention", "family": "attention", "domain": "rows", "row_bytes": 64, "grid": {"unit": "items", "count": 2},
   "attention": {"window": 8, "flops_per_key": 10, "kv_bytes_per_key": 6}}]})";

TEST(KernelWork, CountsWhatALaunchMustDo) {
  KernelTable table;
  std::string error;
  ASSERT_TRUE(readKernelWork(nlohmann::ordered_json::parse(description), table, error)) << error;
  StepShape shape{{{10, 3}, {0, 2}}, 1};
  Work linear = table["linear"].of(shape);
  EXPECT_EQ(linear.weightBytes, 1280);
  EXPECT_EQ(linear.rowBytes, 300) << "one row is wanted";
  EXPECT_EQ(linear.int8Ops, 4096);
  EXPECT_EQ(linear.f32Ops, 0);
  Work embed = table["embed"].of(shape);
  EXPECT_EQ(embed.weightBytes, 5 * 32) << "the rows of five tokens";
  EXPECT_EQ(embed.rowBytes, 5 * 32);
  Work attention = table["attention"].of(shape);
  // Rows 10..12 see eight keys each, rows 0 and 1 one and two.
  EXPECT_EQ(attention.f32Ops, 10 * (3 * 8 + 1 + 2));
  EXPECT_EQ(attention.kvBytes, 6 * (13 - 3 + 2));
  shape.outRows = 0;
  EXPECT_EQ(table["linear"].of(shape).bytes(), 0);
  EXPECT_DOUBLE_EQ(table["linear"].largestPart(3, 1), 0.5) << "two panels of four";
  EXPECT_DOUBLE_EQ(table["embed"].largestPart(2, 5), 0.6);
  EXPECT_DOUBLE_EQ(table["embed"].largestPart(2, 1), 1.0);
  auto older = nlohmann::ordered_json::parse(R"({"kernels": [{"name": "x", "family": "norm"}]})");
  EXPECT_FALSE(readKernelWork(older, table, error));
  EXPECT_NE(error.find("compile it again"), std::string::npos);
}

TEST(Profile, NamesTheNearestLimit) {
  cpu::MachineLimits limits;
  limits.readBytes = 100;
  limits.int8Ops = 1000;
  limits.f32Ops = 50;
  KernelProfile kernel;
  kernel.seconds = 2;
  kernel.work.weightBytes = 100;
  EXPECT_STREQ(nearness(kernel, limits).limit, "read");
  EXPECT_DOUBLE_EQ(nearness(kernel, limits).read, 0.5);
  kernel.work.int8Ops = 1500;
  EXPECT_STREQ(nearness(kernel, limits).limit, "int8");
  kernel.work.f32Ops = 90;
  EXPECT_STREQ(nearness(kernel, limits).limit, "f32");
  kernel.barrier = 38;
  EXPECT_STREQ(nearness(kernel, limits).limit, "barrier");
  EXPECT_DOUBLE_EQ(nearness(kernel, limits).barrier, 0.95);
}

TEST(Probe, FindsLimits) {
  std::string error;
  auto pool = cpu::WorkerPool::create(1, cpu::Pinning::Off, error);
  ASSERT_TRUE(pool) << error;
  for (const char *isa : {"avx2", "avx512", "vnni", "amx"}) {
    cpu::MachineLimits limits;
    ASSERT_TRUE(cpu::probeMachine(*pool, isa, 1, limits, error)) << error;
    EXPECT_EQ(limits.bytes, size_t(1) << 20);
    EXPECT_GT(limits.readBytes, 1e8);
    EXPECT_GT(limits.int8Ops, 1e9);
    EXPECT_GT(limits.f32Ops, 1e9);
    EXPECT_STRNE(limits.int8, "");
  }
}

TEST(Ticks, CountTime) {
  cpu::TickRate rate;
  auto begin = std::chrono::steady_clock::now();
  uint64_t ticks = cpu::ticks();
  while (std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(20))
    ;
  ticks = cpu::ticks() - ticks;
  std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  EXPECT_NEAR(static_cast<double>(ticks) * rate.secondsPerTick(), passed.count(), 0.2 * passed.count());
}

} // namespace
