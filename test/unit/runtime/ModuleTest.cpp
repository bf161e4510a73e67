//===- ModuleTest.cpp - what checkModule refuses --------------------------------------------------------===//
#include "ToyModule.h"

#include "runtime/core/Executor.h"
#include "runtime/core/ModuleCheck.h"
#include "runtime/core/RopeTables.h"
#include "runtime/main/Stepper.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

using namespace ingot;

namespace {

/// The toy module with tables of its own.
struct Copy {
  ingot_module_v1 module;
  std::vector<ingot_kernel_v1> kernels;
  std::vector<ingot_program_v1> programs;
  std::vector<std::vector<ingot_launch_v1>> launches;
  std::vector<std::vector<ingot_tap_v1>> taps;
  std::vector<ingot_param_v1> params;
  std::vector<ingot_kv_layer_v1> kv;
  Copy() : module(*toy::query(INGOT_ABI_VERSION)) {
    kernels.assign(module.kernels, module.kernels + module.n_kernels);
    programs.assign(module.programs, module.programs + module.n_programs);
    params.assign(module.params, module.params + module.n_params);
    kv.assign(module.kv_layers, module.kv_layers + module.n_kv_layers);
    for (ingot_program_v1 &p : programs) {
      launches.emplace_back(p.launches, p.launches + p.n_launches);
      taps.emplace_back(p.taps, p.taps + p.n_taps);
    }
    for (size_t i = 0; i < programs.size(); ++i) {
      programs[i].launches = launches[i].data();
      programs[i].taps = taps[i].data();
    }
    module.kernels = kernels.data();
    module.programs = programs.data();
    module.params = params.data();
    module.kv_layers = kv.data();
  }
};

template <typename Change> std::string refusal(Change change) {
  Copy c;
  change(c);
  std::string error;
  return core::checkModule(&c.module, error) ? "accepted" : error;
}

TEST(ModuleCheck, NamesWhatIsWrong) {
  std::string error;
  EXPECT_TRUE(core::checkModule(toy::query(INGOT_ABI_VERSION), error)) << error;
  EXPECT_FALSE(core::checkModule(toy::query(0), error));
  EXPECT_NE(error.find("newer runtime"), std::string::npos);
  auto expect = [](const std::string &got, const char *part) {
    EXPECT_NE(got.find(part), std::string::npos) << got;
  };
  expect(refusal([](Copy &c) { c.module.abi_version = 9; }), "ABI version 9");
  expect(refusal([](Copy &c) { c.module.struct_size = 8; }), "ABI version");
  expect(refusal([](Copy &c) { c.module.vocab = 0; }), "vocab");
  expect(refusal([](Copy &c) { c.module.n_programs = 0; }), "no programs");
  expect(refusal([](Copy &c) { c.kernels[2].fn = nullptr; }), "kernel 2");
  expect(refusal([](Copy &c) { c.kv[1].page_bytes -= 64; }), "kv layer 1");
  expect(refusal([](Copy &c) { c.kv[0].dtype = 7; }), "kv layer 0");
  // In int8 a head has its scales too: 2 of 4 bytes for each of 16 tokens.
  auto int8 = [](Copy &c, uint64_t less) {
    ingot_kv_layer_v1 &l = c.kv[0];
    l.dtype = INGOT_KV_INT8;
    l.page_bytes = (uint64_t(l.heads) * (16 * (l.dim + l.v_dim) + 128) + 63) / 64 * 64 - less;
  };
  expect(refusal([&](Copy &c) { int8(c, 0); }), "accepted");
  expect(refusal([&](Copy &c) { int8(c, 64); }), "kv layer 0");
  expect(refusal([](Copy &c) { c.params[3].offset = c.module.weight_bytes; }), "param 3");
  expect(refusal([](Copy &c) { c.programs[0].min_rows = 2; }), "rows 2..1");
  expect(refusal([](Copy &c) { c.programs[2].min_rows = 6; }), "gap after 4");
  expect(refusal([](Copy &c) { c.programs[1].max_out = 0; }), "max_out");
  expect(refusal([](Copy &c) { c.programs[1].max_out = 5; }), "max_out");
  expect(refusal([](Copy &c) { c.programs[2].arena_bytes -= 64; }), "logits");
  expect(refusal([](Copy &c) { c.programs[2].logits_slot |= INGOT_SLOT_PRIVATE; }), "logits");
  expect(refusal([](Copy &c) { c.programs[0].logits_stride = 64; }), "logits");
  expect(refusal([](Copy &c) { c.programs[0].argmax_panels = 4; }), "argmax_panels is 4");
  expect(refusal([](Copy &c) { c.launches[0].back().slot[1] = 0; }), "argmax_panels is 5");
  expect(refusal([](Copy &c) { c.launches[0].back().flags = INGOT_LAUNCH_REPLICATED; }),
         "argmax_panels is 5");
  expect(refusal([](Copy &c) { c.launches[1][3].kernel = 5; }), "launch 3: no such kernel");
  expect(refusal([](Copy &c) { c.launches[1][3].stage = 0; }), "launch 3: stages");
  expect(refusal([](Copy &c) { c.launches[1][3].stage = 100; }), "launch 3: stages");
  expect(refusal([](Copy &c) { c.launches[1][3].kv_layer = 2; }), "kv layer");
  expect(refusal([](Copy &c) { c.launches[1][0].n_slots = 13; }), "too many");
  expect(refusal([](Copy &c) { c.launches[1][0].slot[0] = 1 << 20; }), "slot");
  expect(refusal([](Copy &c) { c.launches[1][0].slot[0] = 4; }), "slot");
  expect(refusal([](Copy &c) { c.launches[2][0].slot[0] = INGOT_SLOT_PRIVATE; }), "slot");
  expect(refusal([](Copy &c) { c.launches[1][0].weight[0] = c.module.weight_bytes; }), "weight offset");
  expect(refusal([](Copy &c) { c.taps[1][0].stage = 100; }), "tap 0");
  expect(refusal([](Copy &c) { c.taps[2][1].slot = 1 << 20; }), "tap 1");
  expect(refusal([](Copy &c) { c.taps[2][1].width = 17; }), "tap 1");
  EXPECT_EQ(refusal([](Copy &) {}), "accepted");
}

TEST(RopeTables, DoublePrecisionAndLazy) {
  core::RopeTables ropes;
  std::string error;
  ASSERT_TRUE(ropes.create(*toy::query(INGOT_ABI_VERSION), error)) << error;
  const float *table = ropes.tables()[0];
  for (uint32_t upto : {0u, 3u, 63u, 64u, 399u}) {
    ropes.fill(upto);
    EXPECT_EQ(ropes.tables()[0], table);
    for (uint32_t p = 0; p <= upto; ++p)
      for (uint32_t i = 0; i < 8; ++i) {
        double angle = p * std::pow(0.5, i);
        EXPECT_EQ(table[(p * 8 + i) * 2], float(std::cos(angle)));
        EXPECT_EQ(table[(p * 8 + i) * 2 + 1], float(std::sin(angle)));
      }
  }
  EXPECT_EQ(table[(128 * 8) * 2 + 0], float(std::cos(128.0)));
}

TEST(Executor, SubstitutesKernels) {
  const ingot_module_v1 &module = *toy::query(INGOT_ABI_VERSION);
  core::ExecutorOptions options;
  options.threads = 2;
  options.kvPages = 4;
  std::string error;
  auto executor = core::Executor::create(module, toy::weightBytes(), options, error);
  ASSERT_TRUE(executor) << error;
  main_::Stepper stepper(*executor, 1, 30);
  uint32_t used = 0;
  while (module.programs[used].max_rows < 20)
    ++used;
  uint32_t kernel = module.programs[used].launches[0].kernel;
  ingot_kernel_fn failing = [](const ingot_step_v1 *, const ingot_args_v1 *, uint32_t, uint32_t) {
    return 42;
  };
  executor->substitute(used, kernel, failing);
  EXPECT_FALSE(stepper.prompt(1, 0, 20, 20, error));
  EXPECT_NE(error.find("failed with 42"), std::string::npos) << error;
  EXPECT_TRUE(stepper.generate(1, 0, error)) << "another program: " << error;
  executor->substitute(used, kernel, nullptr);
  EXPECT_TRUE(stepper.prompt(1, 0, 20, 20, error)) << error;
  // Scratch grows for all workers, and never shrinks.
  uint64_t before = executor->memory().scratch;
  ASSERT_TRUE(executor->reserveScratch(before + 5000, error)) << error;
  EXPECT_EQ(executor->memory().scratch, 2 * (before + 5000));
  ASSERT_TRUE(executor->reserveScratch(1, error));
  EXPECT_EQ(executor->memory().scratch, 2 * (before + 5000));
  ingot_kernel_fn scratch = [](const ingot_step_v1 *, const ingot_args_v1 *args, uint32_t, uint32_t) {
    std::memset(args->scratch, 1, 5000);
    return 0;
  };
  executor->substitute(used, kernel, scratch);
  EXPECT_TRUE(stepper.prompt(1, 0, 20, 20, error)) << error;
}

TEST(Executor, MemoryIsWhatItSays) {
  std::string error;
  core::ExecutorOptions o;
  o.threads = 3;
  o.kvPages = 7;
  auto e = core::Executor::create(*toy::query(INGOT_ABI_VERSION), toy::weightBytes(), o, error);
  ASSERT_TRUE(e) << error;
  EXPECT_EQ(e->memory().arena, toy::query(INGOT_ABI_VERSION)->programs[2].arena_bytes);
  EXPECT_EQ(e->memory().privateAreas, 3 * toy::query(INGOT_ABI_VERSION)->programs[1].private_bytes);
  EXPECT_EQ(e->memory().kv, 2u * INGOT_KV_GROUP * 2048); // two layers, one group
  EXPECT_EQ(e->maxRows(), toy::MaxRows);
  EXPECT_EQ(e->maxOut(1), 1u);
  EXPECT_EQ(e->maxOut(5), 8u);
  o.threads = 100000;
  EXPECT_FALSE(core::Executor::create(*toy::query(INGOT_ABI_VERSION), toy::weightBytes(), o, error));
}

} // namespace
