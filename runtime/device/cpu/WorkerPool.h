//===- WorkerPool.h - fixed threads that run one static plan --------------------------------------------===//
//
// The caller of run() is worker 0; the others are threads that live as long as the pool. Between runs they
// spin for about 50 us and then sleep on a futex, so that steps in a row cost no system call and an idle pool
// costs nothing. Inside a run, barrier() separates stages: each worker stores its count to a cache line of
// its own and spins on the others (gathered by worker 0 above four workers). A waiting worker spins for about
// 20 us (not at all where there are more workers than usable cores), yields a few times, then sleeps: on a
// busy machine the scheduler runs a woken thread soon, and one that keeps yielding last.
//
// Invariants: one run at a time; within a run every worker calls barrier() equally often.
//
//===------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_RUNTIME_DEVICE_CPU_WORKERPOOL_H
#define INGOT_RUNTIME_DEVICE_CPU_WORKERPOOL_H

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace ingot::cpu {

enum class Pinning {
  Auto, ///< One CPU per worker where the workers fill all usable CPUs: elsewhere the scheduler knows better.
  On,
  Off
};

class WorkerPool {
public:
  using Body = void (*)(void *context, unsigned worker);
  static constexpr unsigned MaxWorkers = 256;

  /// `workers` 0: one per usable core. Null and a message where threads cannot be made.
  static std::unique_ptr<WorkerPool> create(unsigned workers, Pinning pinning, std::string &error);
  ~WorkerPool();
  WorkerPool(const WorkerPool &) = delete;
  WorkerPool &operator=(const WorkerPool &) = delete;

  unsigned size() const { return count; }
  /// The CPU that worker 0 should be on while it runs steps, or -1.
  int callerCpu() const { return pins.empty() ? -1 : pins[0]; }

  /// Runs `body(context, w)` on every worker w and returns when all are done. MXCSR is KernelMxcsr inside.
  void run(Body body, void *context);

  /// To be called from inside a run, by all workers.
  void barrier(unsigned worker);

private:
  explicit WorkerPool(unsigned workers);
  void threadMain(unsigned worker);

  struct alignas(64) Line {
    std::atomic<uint32_t> value{0};
    std::atomic<uint32_t> sleepers{0}; ///< Threads that sleep, or are about to, until the value changes.
  };
  /// Stores a value and wakes who sleeps on it.
  static void publish(Line &line, uint32_t value);
  /// Returns once the line has reached `turn`.
  void await(Line &line, uint32_t turn) const;
  static void sleepWhile(Line &line, uint32_t value);

  static_assert(sizeof(Line) == 64, "one cache line each");

  unsigned count;
  bool crowded = false;
  std::vector<int> pins;
  std::vector<std::thread> threads;
  std::unique_ptr<Line[]> arrived; ///< Barriers that each worker has reached.
  Line released;                   ///< Barriers that worker 0 has completed, for pools above four.
  Line generation;                 ///< Runs started.
  Line stop;
  Body body = nullptr;
  void *context = nullptr;
};

} // namespace ingot::cpu
#endif
