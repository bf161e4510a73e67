//===- Executor.cpp -------------------------------------------------------------------------------------===//
#include "runtime/core/Executor.h"
#include "runtime/device/cpu/ThreadState.h"
#include "runtime/device/cpu/Ticks.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>

namespace ingot::core {

static constexpr uint64_t HugeFrom = UINT64_C(4) << 20;

std::unique_ptr<Executor> Executor::create(const ingot_module_v1 &module, const uint8_t *weights,
                                           const ExecutorOptions &options, std::string &error) {
  std::unique_ptr<Executor> e(new Executor(module));
  e->pool = cpu::WorkerPool::create(options.threads, options.pinning, error);
  if (!e->pool || !e->allocate(options, error))
    return nullptr;
  e->claims = std::make_unique<cpu::PartClaims>(e->threads());
  e->bind(weights);
  return e;
}

bool Executor::allocate(const ExecutorOptions &options, std::string &error) {
  kv = kv::KvCache::create(mod, std::max(1u, options.kvPages), error);
  if (!kv || !ropes.create(mod, error))
    return false;
  uint64_t arenaBytes = 0, privateBytes = 0, scratchBytes = 0;
  for (uint32_t i = 0; i < mod.n_programs; ++i) {
    arenaBytes = std::max(arenaBytes, mod.programs[i].arena_bytes);
    privateBytes = std::max(privateBytes, mod.programs[i].private_bytes);
  }
  for (uint32_t i = 0; i < mod.n_kernels; ++i)
    scratchBytes = std::max<uint64_t>(scratchBytes, mod.kernels[i].scratch_bytes);
  bool ok = arena.allocate(arenaBytes, arenaBytes >= HugeFrom);
  privateAreas.resize(threads());
  scratch.resize(threads());
  for (unsigned w = 0; w < threads() && ok; ++w)
    ok = privateAreas[w].allocate(privateBytes, privateBytes >= HugeFrom) &&
         scratch[w].allocate(scratchBytes, false);
  if (!ok) {
    error = "no memory for activations (" + std::to_string(arenaBytes) + " bytes, and " +
            std::to_string(privateBytes + scratchBytes) + " for each of " + std::to_string(threads()) +
            " threads)";
    return false;
  }
  held.arena = arenaBytes;
  held.privateAreas = privateBytes * threads();
  held.scratch = scratchBytes * threads();
  held.kv = kv->bytes();
  return true;
}

uint8_t *Executor::resolve(uint64_t slot, unsigned worker) const {
  uint64_t offset = slot & ~INGOT_SLOT_PRIVATE;
  return (slot & INGOT_SLOT_PRIVATE ? privateAreas[worker].data() : arena.data()) + offset;
}

/// Pieces of a worker's part of a launch: a power of two.
static uint32_t piecesOf(uint32_t maxParts, unsigned threads) {
  // More change nothing: what a launch waits for at its end is then one of 64 parts of a worker's.
  static constexpr uint32_t MostPieces = 64;
  static_assert(MostPieces <= cpu::PartClaims::MaxPieces);
  uint32_t pieces = 1;
  while (threads > 1 && pieces < MostPieces && uint64_t(pieces) * 2 * threads <= maxParts)
    pieces *= 2;
  return pieces;
}

void Executor::bind(const uint8_t *weights) {
  programs.resize(mod.n_programs);
  for (uint32_t i = 0; i < mod.n_programs; ++i) {
    const ingot_program_v1 &p = mod.programs[i];
    Program &program = programs[i];
    for (uint32_t l = 0; l < p.n_launches; ++l) {
      if (program.stages.empty() || program.stages.back().number != p.launches[l].stage)
        program.stages.push_back({l, l, p.launches[l].stage});
      program.stages.back().end = l + 1;
    }
    for (const Stage &stage : program.stages)
      program.launchesOfStages.push_back(stage.end - stage.begin);
    program.plans.resize(threads());
    for (unsigned w = 0; w < threads(); ++w) {
      Plan &plan = program.plans[w];
      plan.args.resize(p.n_launches);
      for (uint32_t l = 0; l < p.n_launches; ++l) {
        const ingot_launch_v1 &launch = p.launches[l];
        ingot_args_v1 &args = plan.args[l];
        args = {};
        args.struct_size = sizeof(args);
        args.layer = launch.layer;
        args.kv = launch.kv_layer >= 0 ? kv->layer(uint32_t(launch.kv_layer)) : nullptr;
        args.kv_stride = kv->stride();
        args.scratch = scratch[w].data();
        for (uint16_t s = 0; s < launch.n_slots; ++s)
          args.slot[s] = resolve(launch.slot[s], w);
        for (uint16_t k = 0; k < launch.n_weights; ++k)
          args.weight[k] = weights + launch.weight[k];
        bool replicated = launch.flags & INGOT_LAUNCH_REPLICATED;
        const ingot_kernel_v1 &kernel = mod.kernels[launch.kernel];
        // Only its last launch leaves an entry for each part.
        bool single = p.argmax_panels != 0 && l + 1 == p.n_launches;
        plan.calls.push_back({kernel.fn, &args, replicated ? 0 : w, replicated ? 1 : threads(), l,
                              replicated ? 1 : piecesOf(kernel.max_parts, threads()), single});
      }
      held.plans += plan.args.size() * sizeof(ingot_args_v1) + plan.calls.size() * sizeof(Call);
    }
  }
}

void Executor::substitute(uint32_t program, uint32_t kernel, ingot_kernel_fn fn) {
  const ingot_program_v1 &p = mod.programs[program];
  for (Plan &plan : programs[program].plans)
    for (Call &call : plan.calls)
      if (p.launches[call.launch].kernel == kernel)
        call.fn = fn ? fn : mod.kernels[kernel].fn;
}

bool Executor::reserveScratch(uint64_t bytes, std::string &error) {
  if (bytes <= held.scratch / threads())
    return true;
  for (unsigned w = 0; w < threads(); ++w) {
    weights::Mapping larger;
    if (!larger.allocate(bytes, false)) {
      error = "no memory for scratch (" + std::to_string(bytes) + " bytes for each of " +
              std::to_string(threads()) + " threads)";
      return false;
    }
    scratch[w] = std::move(larger);
    for (Program &program : programs)
      for (ingot_args_v1 &args : program.plans[w].args)
        args.scratch = scratch[w].data();
  }
  held.scratch = bytes * threads();
  return true;
}

uint32_t Executor::programFor(uint32_t rows) const {
  for (uint32_t i = 0; i < mod.n_programs; ++i)
    if (rows <= mod.programs[i].max_rows)
      return i;
  assert(false && "more rows than any program takes");
  return mod.n_programs - 1;
}

void Executor::runTaps(const Stage &stage) {
  const ingot_program_v1 &p = mod.programs[current];
  for (uint32_t t = 0; t < p.n_taps; ++t)
    if (p.taps[t].stage == stage.number)
      (*tapFn)(p.taps[t], reinterpret_cast<const float *>(resolve(p.taps[t].slot, 0)),
               p.taps[t].kind == INGOT_TAP_NORM ? step->n_out : step->n_rows);
}

void Executor::run(const Call &call, unsigned worker) {
  auto part = [&](uint32_t index, uint32_t parts) {
    if (int32_t value = call.fn(step, call.args, index, parts)) {
      uint64_t none = 0;
      failure.compare_exchange_strong(none, (uint64_t(call.launch) << 32 | uint32_t(value)) + 1);
    }
  };
  if (call.pieces > 1)
    claims->run(worker, firstTurn + call.launch, call.pieces, call.single, part);
  else
    part(call.part, call.parts);
}

void Executor::work(unsigned worker) {
  const Program &program = programs[current];
  const Plan &plan = program.plans[worker];
  size_t last = program.stages.size();
  uint64_t *stamp = times && !tapFn ? times->of(worker) : nullptr;
  if (stamp)
    *stamp++ = cpu::ticks();
  for (size_t s = 0; s < last; ++s) {
    const Stage &stage = program.stages[s];
    for (uint32_t c = stage.begin; c < stage.end; ++c) {
      const Call &call = plan.calls[c];
      // After a failure the workers still meet at every barrier, so that none waits for one that left.
      if (failure.load(std::memory_order_relaxed) != 0)
        break;
      run(call, worker);
      if (stamp)
        *stamp++ = cpu::ticks();
    }
    if (s + 1 < last || tapFn)
      pool->barrier(worker);
    if (stamp && s + 1 < last)
      *stamp++ = cpu::ticks();
    if (tapFn) {
      if (worker == 0 && failure.load() == 0)
        runTaps(stage);
      pool->barrier(worker);
    }
  }
}

bool Executor::run(ingot_step_v1 &s, std::string &error, const TapFn *taps) {
  assert(s.n_rows >= 1 && s.n_rows <= maxRows() && "the caller cuts steps");
  current = programFor(s.n_rows);
  if (times)
    times->begin(current, threads(), programs[current].launchesOfStages, cpu::ticks());
  uint32_t highest = 0;
  for (uint32_t i = 0; i < s.n_rows; ++i)
    highest = std::max(highest, uint32_t(s.positions[i]));
  assert(highest < mod.context && "the caller keeps positions inside the context");
  ropes.fill(highest);
  s.struct_size = sizeof(s);
  s.rope = ropes.tables();
  step = &s;
  tapFn = taps && *taps ? taps : nullptr;
  if (mod.programs[current].argmax_panels == 0)
    s.flags &= ~uint32_t(INGOT_STEP_ARGMAX);
  failure.store(0);
  pool->run([](void *self, unsigned worker) { static_cast<Executor *>(self)->work(worker); }, this);
  firstTurn += mod.programs[current].n_launches;
  if (times)
    times->end(cpu::ticks());
  step = nullptr;
  tapFn = nullptr;
  return !failed(s, error);
}

bool Executor::failed(const ingot_step_v1 &s, std::string &error) const {
  uint64_t f = failure.load();
  if (f == 0)
    return false;
  uint32_t launch = uint32_t((f - 1) >> 32);
  const ingot_launch_v1 &l = mod.programs[current].launches[launch];
  error = std::string("kernel ") + mod.kernels[l.kernel].name + " (layer " + std::to_string(l.layer) +
          ", launch " + std::to_string(launch) + ", " + std::to_string(s.n_rows) + " rows) failed with " +
          std::to_string(int32_t(uint32_t(f - 1)));
  return true;
}

bool Executor::storeLogits(ingot_step_v1 &s, std::string &error) {
  assert((s.flags & INGOT_STEP_ARGMAX) && "the logits are there");
  s.flags &= ~uint32_t(INGOT_STEP_ARGMAX);
  step = &s;
  failure.store(0);
  pool->run(
      [](void *self, unsigned worker) {
        auto &e = *static_cast<Executor *>(self);
        e.run(e.programs[e.current].plans[worker].calls.back(), worker);
      },
      this);
  firstTurn += mod.programs[current].n_launches;
  step = nullptr;
  return !failed(s, error);
}

void Executor::forEach(uint32_t n, const std::function<void(uint32_t, unsigned)> &fn) {
  if (n <= 1 || threads() == 1) {
    cpu::MxcsrScope mxcsr;
    for (uint32_t i = 0; i < n; ++i)
      fn(i, 0);
    return;
  }
  struct Work {
    const std::function<void(uint32_t, unsigned)> &fn;
    uint32_t n;
    std::atomic<uint32_t> next;
  } work{fn, n, {0}};
  pool->run(
      [](void *context, unsigned worker) {
        auto &w = *static_cast<Work *>(context);
        for (uint32_t i; (i = w.next.fetch_add(1, std::memory_order_relaxed)) < w.n;)
          w.fn(i, worker);
      },
      &work);
}

ingot_argmax_v1 Executor::best(uint32_t out) const {
  const ingot_program_v1 &p = mod.programs[current];
  const float *row =
      reinterpret_cast<const float *>(arena.data() + p.logits_slot) + uint64_t(out) * p.logits_stride;
  ingot_argmax_v1 best = {-std::numeric_limits<float>::infinity(), -1};
  uint64_t panels = p.argmax_panels;
  uint64_t parts = uint64_t(threads()) * programs[current].plans[0].calls.back().pieces;
  for (uint64_t part = 0; part < parts; ++part) {
    uint64_t begin = panels * part / parts, end = panels * (part + 1) / parts;
    if (begin == end)
      continue;
    ingot_argmax_v1 entry;
    std::memcpy(&entry, row + 16 * begin, sizeof(entry));
    if (std::isnan(entry.value))
      return entry;
    if (entry.value > best.value)
      best = entry;
  }
  return best;
}

const float *Executor::logits(uint32_t out) const {
  const ingot_program_v1 &p = mod.programs[current];
  return reinterpret_cast<const float *>(arena.data() + p.logits_slot) + uint64_t(out) * p.logits_stride;
}

} // namespace ingot::core
