//===- Executor.h - a module bound to memory and threads ------------------------------------------------===//
//
// Resolves every launch of every program to a ready argument block per worker, when it is made; a step then
// only calls functions and crosses barriers. Owns the arena, the private areas and scratch of the workers,
// the KV cache and the rope tables; the weights and the module outlive it. One step at a time.
//
//===------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_RUNTIME_CORE_EXECUTOR_H
#define INGOT_RUNTIME_CORE_EXECUTOR_H

#include "runtime/abi/ingot_abi.h"
#include "runtime/core/RopeTables.h"
#include "runtime/core/StepTimes.h"
#include "runtime/device/cpu/PartClaims.h"
#include "runtime/device/cpu/WorkerPool.h"
#include "runtime/kv/KvCache.h"

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ingot::core {

struct ExecutorOptions {
  unsigned threads = 0; ///< 0: one per usable core.
  cpu::Pinning pinning = cpu::Pinning::Auto;
  uint32_t kvPages = 0; ///< Usable pages, at least 1.
};

/// Bytes that an executor holds, apart from the weights.
struct ExecutorMemory {
  uint64_t arena = 0, privateAreas = 0, scratch = 0, kv = 0, plans = 0;
};

class Executor {
public:
  /// Called on the stepping thread after the tap's stage: `rows` rows of tap.width floats, tap.stride apart.
  using TapFn = std::function<void(const ingot_tap_v1 &tap, const float *data, uint32_t rows)>;

  /// The module has passed checkModule; `weights` has module.weight_bytes bytes, 64-aligned.
  static std::unique_ptr<Executor> create(const ingot_module_v1 &module, const uint8_t *weights,
                                          const ExecutorOptions &options, std::string &error);

  const ingot_module_v1 &module() const { return mod; }
  unsigned threads() const { return pool->size(); }
  /// Most rows that one step may have.
  uint32_t maxRows() const { return mod.programs[mod.n_programs - 1].max_rows; }
  /// Most entries of out_rows for a step of `rows` rows.
  uint32_t maxOut(uint32_t rows) const { return mod.programs[programFor(rows)].max_out; }
  kv::KvCache &cache() { return *kv; }
  const ExecutorMemory &memory() const { return held; }
  /// For what is to run on the same threads between steps.
  cpu::WorkerPool &workers() { return *pool; }
  /// The CPU that the stepping thread should be on, or -1; see AffinityScope.
  int callerCpu() const { return pool->callerCpu(); }

  /// Runs one step. Fills step.rope and step.struct_size itself, and clears INGOT_STEP_ARGMAX where the
  /// program can only store logits. 1 <= n_rows <= maxRows(). False and a message that names kernel and layer
  /// where a kernel fails; the step's KV rows are undefined then. `taps`, where given, sees every tap of the
  /// program (one more barrier at each).
  bool run(ingot_step_v1 &step, std::string &error, const TapFn *taps = nullptr);

  /// Steps without taps are timed into `t` from now on, until null is attached.
  void attach(StepTimes *t) { times = t; }

  /// For measuring: launches of kernel `kernel` in program `program` call `fn` from now on, null: the
  /// module's own again. It does the same as that one from the same operands, in at most reserveScratch's
  /// bytes.
  void substitute(uint32_t program, uint32_t kernel, ingot_kernel_fn fn);
  /// At least that much scratch for each worker. False and a message where there is no memory.
  bool reserveScratch(uint64_t bytes, std::string &error);

  /// Calls fn(index, worker) for every index below n, spread over the workers; returns when all are done. The
  /// floating-point mode is that of kernels.
  void forEach(uint32_t n, const std::function<void(uint32_t index, unsigned worker)> &fn);

  /// Logits of entry `out` of the last step's out_rows: module().vocab floats. Not after INGOT_STEP_ARGMAX.
  const float *logits(uint32_t out) const;
  /// Best logit of entry `out` of the last step, which had INGOT_STEP_ARGMAX: what sample::argmaxFinite
  /// finds, or NaN and the index of the first logit that is not finite.
  ingot_argmax_v1 best(uint32_t out) const;
  /// After a step with INGOT_STEP_ARGMAX and no other since: computes the logits after all. Clears the flag.
  bool storeLogits(ingot_step_v1 &step, std::string &error);

private:
  struct Call {
    ingot_kernel_fn fn;
    ingot_args_v1 *args;
    uint32_t part, parts;
    uint32_t launch;
    uint32_t pieces; ///< More than 1: of this worker's part, which other workers may take.
    bool single;     ///< Pieces are taken one at a time.
  };
  struct Stage {
    uint32_t begin, end; ///< In the worker's calls.
    uint32_t number;     ///< As taps name it.
  };
  /// One program on one worker.
  struct Plan {
    std::vector<Call> calls;
    std::vector<ingot_args_v1> args;
  };
  struct Program {
    std::vector<Stage> stages; ///< The same for all workers.
    std::vector<uint32_t> launchesOfStages;
    std::vector<Plan> plans; ///< Per worker.
  };

  explicit Executor(const ingot_module_v1 &module) : mod(module) {}
  bool allocate(const ExecutorOptions &options, std::string &error);
  void bind(const uint8_t *weights);
  uint8_t *resolve(uint64_t slot, unsigned worker) const;
  uint32_t programFor(uint32_t rows) const;
  void work(unsigned worker);
  /// Runs a call on its worker and notes a failure.
  void run(const Call &call, unsigned worker);
  bool failed(const ingot_step_v1 &step, std::string &error) const;
  void runTaps(const Stage &stage);

  const ingot_module_v1 &mod;
  std::unique_ptr<cpu::WorkerPool> pool;
  std::unique_ptr<cpu::PartClaims> claims;
  std::unique_ptr<kv::KvCache> kv;
  RopeTables ropes;
  weights::Mapping arena;
  std::vector<weights::Mapping> privateAreas, scratch; ///< Per worker.
  std::vector<Program> programs;
  ExecutorMemory held;

  // The step that runs.
  const ingot_step_v1 *step = nullptr;
  const TapFn *tapFn = nullptr;
  StepTimes *times = nullptr;
  uint32_t current = 0;
  uint64_t firstTurn = 1; ///< Of the step's launches.
  /// 0, or 1 + (launch index << 32 | the kernel's value), set by the first worker that fails.
  std::atomic<uint64_t> failure{0};
};

} // namespace ingot::core
#endif
