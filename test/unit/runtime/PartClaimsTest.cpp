//===- PartClaimsTest.cpp - every piece of a launch runs once, wherever
//----------------------------------===//

#include "runtime/device/cpu/PartClaims.h"
#include "runtime/device/cpu/WorkerPool.h"

#include <chrono>
#include <gtest/gtest.h>
#include <mutex>
#include <thread>
#include <vector>

using namespace ingot::cpu;

namespace {

/// Launches on a pool. Each worker's pace is that of `pace`, called before each call.
class Launches {
public:
  explicit Launches(unsigned workers) : claims(workers) {
    std::string error;
    pool = WorkerPool::create(workers, Pinning::Off, error);
    EXPECT_TRUE(pool) << error;
  }

  struct Taken {
    unsigned worker;
    uint32_t part, parts;
  };
  /// The calls of `count` launches without a barrier between them, the first at `turn`.
  template <typename Pace>
  std::vector<std::vector<Taken>> run(uint64_t turn, uint32_t count, uint32_t pieces, bool single,
                                      Pace pace) {
    std::vector<std::vector<Taken>> taken(count);
    std::mutex mutex;
    auto work = [&](unsigned worker) {
      for (uint32_t l = 0; l < count; ++l)
        claims.run(worker, turn + l, pieces, single, [&](uint32_t part, uint32_t parts) {
          pace(worker, l);
          std::lock_guard<std::mutex> lock(mutex);
          taken[l].push_back({worker, part, parts});
        });
    };
    using Work = decltype(work);
    pool->run([](void *context, unsigned worker) { (*static_cast<Work *>(context))(worker); }, &work);
    return taken;
  }

  PartClaims claims;
  std::unique_ptr<WorkerPool> pool;
};

/// Every one of `all` pieces is in exactly one call.
void expectOnce(const std::vector<Launches::Taken> &taken, uint32_t all) {
  std::vector<int> seen(all, 0);
  for (const Launches::Taken &t : taken) {
    ASSERT_EQ(all % t.parts, 0u);
    uint32_t size = all / t.parts;
    for (uint32_t i = t.part * size; i < (t.part + 1) * size; ++i)
      ++seen[i];
  }
  for (uint32_t i = 0; i < all; ++i)
    EXPECT_EQ(seen[i], 1) << "piece " << i << " of " << all;
}

TEST(PartClaims, AloneInHalves) {
  Launches launches(1);
  auto taken = launches.run(1, 1, 16, false, [](unsigned, uint32_t) {})[0];
  expectOnce(taken, 16);
  ASSERT_EQ(taken.size(), 5u);
  EXPECT_EQ(taken[0].parts, 2u);
  EXPECT_EQ(taken[4].parts, 16u);
  taken = launches.run(2, 1, 16, true, [](unsigned, uint32_t) {})[0];
  ASSERT_EQ(taken.size(), 16u);
  for (uint32_t i = 0; i < 16; ++i)
    EXPECT_TRUE(taken[i].part == i && taken[i].parts == 16);
}

TEST(PartClaims, EveryPieceOnce) {
  uint64_t turn = 0xfffff000u; // more than 32 bits on the way
  for (unsigned workers : {1u, 2u, 3u, 7u}) {
    Launches launches(workers);
    for (bool single : {false, true})
      for (uint32_t pieces : {2u, 8u, 64u})
        for (int round = 0; round < 200; ++round) {
          auto all = launches.run(turn, 3, pieces, single, [&](unsigned worker, uint32_t) {
            if ((worker + unsigned(round)) % 3 == 0)
              std::this_thread::yield();
          });
          for (const auto &taken : all)
            expectOnce(taken, workers * pieces);
          turn += 3;
          if (HasFailure())
            return;
        }
  }
}

TEST(PartClaims, OthersTakeFromTheSlow) {
  Launches launches(2);
  // Worker 1 is late at every call; the other one is not, and does most.
  auto all = launches.run(1, 2, 32, false, [&](unsigned worker, uint32_t) {
    if (worker == 1)
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
  });
  for (const auto &taken : all) {
    expectOnce(taken, 64);
    uint32_t fast = 0;
    for (const Launches::Taken &t : taken)
      fast += t.worker == 0 ? 64 / t.parts : 0;
    EXPECT_GT(fast, 32u);
  }
}

} // namespace
