//===- DeviceTest.cpp - CPU features, variants, workers, pages ------------------------------------------===//
#include "runtime/device/cpu/CpuFeatures.h"
#include "runtime/device/cpu/ThreadState.h"
#include "runtime/device/cpu/Topology.h"
#include "runtime/device/cpu/WorkerPool.h"
#include "runtime/kv/KvCache.h"
#include "runtime/kv/PagePool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <unistd.h>
#include <xmmintrin.h>

using namespace ingot;
using namespace ingot::cpu;

namespace {

const std::vector<Variant> Variants = {{"avx2", "avx2,fma,f16c"},
                                       {"amx", "+avx512f,+avx512vnni,+amx-tile,+amx-int8"},
                                       {"vnni", "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni"},
                                       {"avx512", "avx512f,avx512bw,avx512dq,avx512vl"}};

TEST(Features, BestVariantByBits) {
  std::string error;
  auto choose = [&](std::vector<std::string> names, std::string_view forced = {}) {
    int i = chooseVariant(Variants, CpuFeatures::of(std::move(names)), forced, error);
    return i < 0 ? std::string("none") : Variants[size_t(i)].isa;
  };
  EXPECT_EQ(choose({"avx2", "fma", "f16c"}), "avx2");
  EXPECT_EQ(choose({"avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512dq", "avx512vl"}), "avx512");
  EXPECT_EQ(choose({"avx512vnni", "avx512f", "avx512bw", "avx512dq", "avx512vl"}), "vnni");
  EXPECT_EQ(choose({"avx512vnni", "avx512f", "avx512bw", "avx512dq", "avx512vl", "amx-tile", "amx-int8"}),
            "amx");
  EXPECT_EQ(choose({"avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512dq", "avx512vl"}, "avx2"), "avx2");
  EXPECT_EQ(choose({"avx2", "fma", "f16c"}, "vnni"), "none");
  EXPECT_NE(error.find("avx512vnni"), std::string::npos) << error;
  EXPECT_EQ(error.find("amx-tile"), std::string::npos) << "only the forced variant matters: " << error;
  EXPECT_EQ(choose({"avx2", "fma", "f16c"}, "neon"), "none");
  EXPECT_NE(error.find("'neon' is not carried"), std::string::npos) << error;
  EXPECT_EQ(choose({"avx2"}), "none");
  for (const char *part : {"avx2: ", "fma f16c", "amx: ", "vnni: "})
    EXPECT_NE(error.find(part), std::string::npos) << error;
  EXPECT_EQ(chooseVariant({}, CpuFeatures::of({}), "", error), -1);
}

// Dots of bf16 at half the rate of fma are no reason to take that variant unasked.
TEST(Features, SlowBf16DotsRankBelowVnni) {
  const std::vector<Variant> variants = {{"vnni", "avx512vnni"}, {"avx512bf16", "avx512bf16,avx512vnni"}};
  std::string error;
  auto choose = [&](std::vector<std::string> names, std::string_view forced = {}) {
    return variants[size_t(chooseVariant(variants, CpuFeatures::of(std::move(names)), forced, error))].isa;
  };
  EXPECT_EQ(choose({"avx512vnni", "avx512bf16"}), "vnni");
  EXPECT_EQ(choose({"avx512vnni", "avx512bf16"}, "avx512bf16"), "avx512bf16");
  EXPECT_EQ(choose({"avx512vnni", "avx512bf16", "fast-bf16-dot"}), "avx512bf16");
  EXPECT_EQ(choose({"avx512vnni"}), "vnni");
}

TEST(Features, AgreesWithTheKernel) {
  CpuFeatures f = CpuFeatures::detect(false);
  std::ifstream in("/proc/cpuinfo");
  std::set<std::string> flags;
  for (std::string line; std::getline(in, line);)
    if (line.rfind("flags", 0) == 0) {
      std::istringstream words(line.substr(line.find(':') + 1));
      for (std::string w; words >> w;)
        flags.insert(w);
      break;
    }
  if (flags.empty())
    GTEST_SKIP() << "no flags in /proc/cpuinfo";
  const std::pair<const char *, const char *> same[] = {
      {"avx", "avx"},           {"avx2", "avx2"},
      {"fma", "fma"},           {"f16c", "f16c"},
      {"bmi2", "bmi2"},         {"avx512f", "avx512f"},
      {"avx512bw", "avx512bw"}, {"avx512vnni", "avx512_vnni"},
      {"avx512vl", "avx512vl"}, {"avxvnni", "avx_vnni"},
      {"sse4.2", "sse4_2"},     {"gfni", "gfni"},
      {"lzcnt", "abm"},         {"avx512bf16", "avx512_bf16"},
      {"popcnt", "popcnt"}};
  for (auto [ours, theirs] : same)
    EXPECT_EQ(f.has(ours), flags.count(theirs) != 0) << ours;
  EXPECT_TRUE(f.has("64bit") && f.has("sse2"));
  EXPECT_FALSE(f.has("no-such-feature"));
  EXPECT_EQ(f.missing("+sse2, no-such-feature,-avx9"), std::vector<std::string>{"no-such-feature"});
}

TEST(Topology, QuotaOfNestedGroups) {
  namespace fs = std::filesystem;
  char name[] = "/tmp/ingot_groups_XXXXXX";
  ASSERT_TRUE(mkdtemp(name));
  std::string root = name;
  fs::create_directories(root + "/a/b");
  std::ofstream(root + "/a/b/cpu.max") << "max 100000\n";
  EXPECT_EQ(quotaOfGroup(root, "/a/b"), 0);
  std::ofstream(root + "/a/cpu.max") << "150000 100000\n";
  EXPECT_EQ(quotaOfGroup(root, "/a/b"), 1.5);
  std::ofstream(root + "/a/b/cpu.max") << "400000 100000\n";
  EXPECT_EQ(quotaOfGroup(root, "/a/b"), 1.5);
  EXPECT_EQ(quotaOfGroup(root, ""), 0);
  fs::remove_all(root);
  Topology t;
  t.cpus = t.cores = {0, 1, 2, 3};
  EXPECT_EQ(t.usable(), 4u);
  t.quota = 1.5;
  EXPECT_EQ(t.usable(), 1u);
  t.quota = 0.2;
  EXPECT_EQ(t.usable(), 1u);
  t.quota = 9;
  EXPECT_EQ(t.usable(), 4u);
  Topology here = readTopology();
  EXPECT_GE(here.usable(), 1u);
  EXPECT_LE(here.cores.size(), here.cpus.size());
}

struct Counter {
  WorkerPool *pool;
  std::vector<uint64_t> cells;
  uint64_t failures = 0;
};

void stages(void *context, unsigned worker) {
  auto &c = *static_cast<Counter *>(context);
  unsigned n = c.pool->size();
  // Each stage reads what the other workers wrote in the one before.
  for (uint64_t stage = 1; stage <= 20; ++stage) {
    uint64_t base = c.cells[worker];
    (void)base;
    c.cells[worker] += 1;
    c.pool->barrier(worker);
    for (unsigned o = 0; o < n; ++o)
      if (c.cells[o] != c.cells[worker])
        __atomic_fetch_add(&c.failures, 1, __ATOMIC_RELAXED);
    c.pool->barrier(worker);
  }
}

TEST(WorkerPool, BarriersOrderStages) {
  for (unsigned n : {1u, 2u, 3u, 5u, 8u}) {
    std::string error;
    auto pool = WorkerPool::create(n, Pinning::Auto, error);
    ASSERT_TRUE(pool) << error;
    Counter c{pool.get(), std::vector<uint64_t>(n)};
    for (int run = 0; run < 50; ++run) {
      pool->run(stages, &c);
      // Sometimes the workers have gone to sleep.
      if (run % 10 == 9)
        usleep(300);
    }
    EXPECT_EQ(c.failures, 0u);
    for (uint64_t v : c.cells)
      EXPECT_EQ(v, 1000u);
  }
}

TEST(WorkerPool, RestoresModeAndAffinity) {
  std::string error;
  unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040); // FTZ and DAZ, as a host program may have set.
  cpu_set_t mask, after;
  ASSERT_EQ(sched_getaffinity(0, sizeof(mask), &mask), 0);
  auto pool = WorkerPool::create(2, Pinning::On, error);
  ASSERT_TRUE(pool) << error;
  unsigned seen[2] = {};
  {
    AffinityScope scope(pool->callerCpu());
    if (pool->callerCpu() >= 0) {
      EXPECT_EQ(sched_getcpu(), pool->callerCpu());
    }
    pool->run([](void *c, unsigned w) { static_cast<unsigned *>(c)[w] = _mm_getcsr() & ~0x3Fu; }, seen);
  }
  EXPECT_EQ(seen[0], KernelMxcsr);
  EXPECT_EQ(seen[1], KernelMxcsr);
  EXPECT_EQ(_mm_getcsr() & 0x8040, 0x8040u);
  _mm_setcsr(before);
  ASSERT_EQ(sched_getaffinity(0, sizeof(after), &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&mask, &after));
}

TEST(WorkerPool, Limits) {
  std::string error;
  EXPECT_FALSE(WorkerPool::create(1000, Pinning::Off, error));
  EXPECT_NE(error.find("1000"), std::string::npos);
  auto pool = WorkerPool::create(0, Pinning::Off, error);
  ASSERT_TRUE(pool);
  EXPECT_EQ(pool->size(), readTopology().usable());
}

TEST(PagePool, ExactAndWithoutZero) {
  kv::PagePool pool(5);
  std::vector<kv::Page> a, b;
  EXPECT_TRUE(pool.take(3, a));
  EXPECT_FALSE(pool.take(3, b));
  EXPECT_TRUE(b.empty());
  EXPECT_TRUE(pool.take(2, b));
  EXPECT_EQ(pool.free(), 0u);
  std::set<int32_t> seen;
  for (auto *list : {&a, &b})
    for (kv::Page p : *list) {
      EXPECT_GE(p.index, 1);
      EXPECT_LE(p.index, 5);
      EXPECT_FALSE(p.used);
      EXPECT_TRUE(seen.insert(p.index).second);
    }
  pool.give({a[0].index, a[1].index});
  EXPECT_EQ(pool.free(), 2u);
  std::vector<kv::Page> c;
  EXPECT_TRUE(pool.take(2, c));
  EXPECT_TRUE(c[0].used && c[1].used);
  EXPECT_EQ(pool.peak(), 5u);
  EXPECT_EQ(kv::pagesFor(0), 0u);
  EXPECT_EQ(kv::pagesFor(16), 1u);
  EXPECT_EQ(kv::pagesFor(17), 2u);
}

TEST(KvCache, GroupsHoldAllLayers) {
  const ingot_kv_layer_v1 layers[] = {{1, 32, 32, INGOT_KV_F16, 0, 0, 2048},
                                      {2, 32, 32, INGOT_KV_F32, 0, 0, 8192}};
  ingot_module_v1 module = {};
  module.n_kv_layers = 2;
  module.kv_layers = layers;
  std::string error;
  const uint32_t pages = 40; // and the zero page: in three groups
  auto cache = kv::KvCache::create(module, pages, error);
  ASSERT_TRUE(cache) << error;
  EXPECT_EQ(cache->stride(), INGOT_KV_GROUP * (2048u + 8192));
  EXPECT_EQ(cache->bytes(), 3 * cache->stride());
  auto page = [&](uint32_t layer, uint32_t p) { // as the ABI has it
    return cache->layer(layer) + p / INGOT_KV_GROUP * cache->stride() +
           p % INGOT_KV_GROUP * layers[layer].page_bytes;
  };
  auto mark = [](uint32_t layer, uint32_t p) { return uint8_t(1 + layer * 100 + p); };
  for (uint32_t l = 0; l < 2; ++l)
    for (uint32_t p = 1; p <= pages; ++p)
      std::memset(page(l, p), mark(l, p), layers[l].page_bytes);
  cache->clear(17);
  for (uint32_t l = 0; l < 2; ++l)
    for (uint32_t p = 0; p <= pages; ++p) {
      uint8_t want = p == 0 || p == 17 ? 0 : mark(l, p);
      EXPECT_TRUE(
          std::all_of(page(l, p), page(l, p) + layers[l].page_bytes, [&](uint8_t b) { return b == want; }))
          << "layer " << l << " page " << p;
    }
  ingot_kv_layer_v1 huge[] = {layers[0], layers[1]};
  huge[1].page_bytes = UINT64_MAX - 2048;
  module.kv_layers = huge;
  EXPECT_FALSE(kv::KvCache::create(module, pages, error));
  EXPECT_NE(error.find("40 pages"), std::string::npos) << error;
}

} // namespace
