//===- WorkerPool.cpp -----------------------------------------------------------------------------------===//
#include "runtime/device/cpu/WorkerPool.h"
#include "runtime/device/cpu/ThreadState.h"
#include "runtime/device/cpu/Topology.h"

#include <algorithm>
#include <chrono>
#include <climits>
#include <emmintrin.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>

namespace ingot::cpu {

using Clock = std::chrono::steady_clock;

static constexpr std::chrono::microseconds BarrierSpin(20);
static constexpr std::chrono::microseconds IdleSpin(50);
// Above this, all-to-all flags cost more line transfers than gather and release.
static constexpr unsigned FlatBarrier = 4;

static long futex(std::atomic<uint32_t> &word, int op, uint32_t value) {
  return ::syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), op | FUTEX_PRIVATE_FLAG, value, nullptr,
                   nullptr, 0);
}

/// True while `a` has not reached `b`; counts wrap.
static bool before(uint32_t a, uint32_t b) { return int32_t(a - b) < 0; }

WorkerPool::WorkerPool(unsigned workers) : count(workers), arrived(new Line[workers]) {}

std::unique_ptr<WorkerPool> WorkerPool::create(unsigned workers, Pinning pinning, std::string &error) {
  Topology topology = readTopology();
  if (workers == 0)
    workers = topology.usable() < MaxWorkers ? topology.usable() : MaxWorkers;
  if (workers > MaxWorkers) {
    error = std::to_string(workers) + " threads asked for, at most " + std::to_string(MaxWorkers) +
            " are possible";
    return nullptr;
  }
  std::unique_ptr<WorkerPool> pool(new WorkerPool(workers));
  pool->crowded = workers > topology.usable();
  bool pin = pinning == Pinning::On ? workers <= topology.cpus.size()
                                    : pinning == Pinning::Auto && workers == topology.cpus.size();
  if (pin) {
    // Distinct cores first, then their second hardware threads.
    pool->pins = topology.cores;
    for (int cpu : topology.cpus)
      if (std::find(pool->pins.begin(), pool->pins.end(), cpu) == pool->pins.end())
        pool->pins.push_back(cpu);
    pool->pins.resize(workers);
  }
  try {
    for (unsigned w = 1; w < workers; ++w)
      pool->threads.emplace_back([p = pool.get(), w] { p->threadMain(w); });
  } catch (const std::system_error &e) {
    error = std::string("cannot start ") + std::to_string(workers) + " worker threads: " + e.what();
    return nullptr;
  }
  return pool;
}

WorkerPool::~WorkerPool() {
  stop.value.store(1, std::memory_order_release);
  publish(generation, generation.value.load(std::memory_order_relaxed) + 1);
  for (std::thread &t : threads)
    t.join();
}

void WorkerPool::publish(Line &line, uint32_t value) {
  // Sequentially consistent on both sides: either the sleeper sees the value or we see the sleeper.
  line.value.store(value, std::memory_order_seq_cst);
  if (line.sleepers.load(std::memory_order_seq_cst) != 0)
    futex(line.value, FUTEX_WAKE, INT_MAX);
}

void WorkerPool::sleepWhile(Line &line, uint32_t value) {
  line.sleepers.fetch_add(1, std::memory_order_seq_cst);
  if (line.value.load(std::memory_order_seq_cst) == value)
    futex(line.value, FUTEX_WAIT, value);
  line.sleepers.fetch_sub(1, std::memory_order_seq_cst);
}

void WorkerPool::await(Line &line, uint32_t turn) const {
  auto done = [&] { return !before(line.value.load(std::memory_order_acquire), turn); };
  if (!crowded) {
    Clock::time_point end = {};
    do {
      for (int i = 0; i < 64; ++i) {
        if (done())
          return;
        _mm_pause();
      }
      // The clock is read once the first pauses were not enough.
      if (end == Clock::time_point())
        end = Clock::now() + BarrierSpin;
    } while (Clock::now() < end);
  }
  for (int i = 0; i < 4; ++i) {
    if (done())
      return;
    sched_yield();
  }
  for (;;) {
    uint32_t value = line.value.load(std::memory_order_acquire);
    if (!before(value, turn))
      return;
    sleepWhile(line, value);
  }
}

void WorkerPool::barrier(unsigned worker) {
  if (count == 1)
    return;
  uint32_t turn = arrived[worker].value.load(std::memory_order_relaxed) + 1;
  publish(arrived[worker], turn);
  if (count <= FlatBarrier || worker == 0) {
    for (unsigned other = 0; other < count; ++other)
      if (other != worker)
        await(arrived[other], turn);
    if (count > FlatBarrier)
      publish(released, turn);
    return;
  }
  await(released, turn);
}

void WorkerPool::run(Body fn, void *ctx) {
  MxcsrScope mxcsr;
  if (count == 1) {
    fn(ctx, 0);
    return;
  }
  body = fn;
  context = ctx;
  publish(generation, generation.value.load(std::memory_order_relaxed) + 1);
  fn(ctx, 0);
  barrier(0);
}

void WorkerPool::threadMain(unsigned worker) {
  AffinityScope affinity(pins.empty() ? -1 : pins[worker]);
  MxcsrScope mxcsr;
  uint32_t seen = 0;
  for (;;) {
    Clock::time_point end = Clock::now() + (crowded ? std::chrono::microseconds(0) : IdleSpin);
    while (generation.value.load(std::memory_order_acquire) == seen) {
      for (int i = 0; i < 64 && generation.value.load(std::memory_order_relaxed) == seen; ++i)
        _mm_pause();
      if (Clock::now() < end)
        continue;
      sleepWhile(generation, seen);
    }
    ++seen;
    if (stop.value.load(std::memory_order_acquire))
      return;
    body(context, worker);
    barrier(worker);
  }
}

} // namespace ingot::cpu
