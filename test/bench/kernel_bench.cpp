//===- kernel_bench.cpp - speed of the linear kernels against what the machine can do -------------===//
//
// kernel_bench [isa] [filter] [class, -1 all] [prefetch, -1 default] [asm]: for each shape, GEMV bandwidth
// beside that of a plain read loop over the same bytes, and GEMM speed beside the register peak of the dot
// (float weights: fma) instruction; 1 and 2 threads; best and median of short runs, the probe interleaved.
// Weights of small M classes rotate through copies larger than the last-level cache.
//
//===----------------------------------------------------------------------------------------------------===//
#include "codegen/cpu/Linear.h"
#include "codegen/cpu/spec/Quantize.h"
#include "test/unit/kernels/Harness.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <sys/mman.h>
#include <thread>

using namespace ingot;
using namespace ingot::cpu;
using namespace ingot::test;
using qfmt::Scheme;

namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Threads that spin between runs: run(f) calls f(part) on all of them and returns the seconds.
class Team {
public:
  explicit Team(unsigned n) : count(n) {
    for (unsigned i = 1; i < n; ++i)
      workers.emplace_back([this, i] {
        uint64_t seen = 0;
        while (true) {
          uint64_t g;
          while ((g = generation.load(std::memory_order_acquire)) == seen)
            __builtin_ia32_pause();
          seen = g;
          if (stop)
            return;
          (*job)(i);
          done.fetch_add(1, std::memory_order_release);
        }
      });
  }
  ~Team() {
    stop = true;
    generation.fetch_add(1);
    for (std::thread &t : workers)
      t.join();
  }
  double run(const std::function<void(unsigned)> &f) {
    job = &f;
    done = 0;
    double t0 = now();
    generation.fetch_add(1, std::memory_order_release);
    f(0);
    while (done.load(std::memory_order_acquire) != count - 1)
      __builtin_ia32_pause();
    return now() - t0;
  }
  const unsigned count;

private:
  std::atomic<uint64_t> generation{0}, done{0};
  std::atomic<bool> stop{false};
  const std::function<void(unsigned)> *job = nullptr;
  std::vector<std::thread> workers;
};

uint8_t *hugeMemory(size_t bytes) {
  size_t unit = size_t(2) << 20;
  void *p = mmap(nullptr, bytes + unit, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  uintptr_t at = (reinterpret_cast<uintptr_t>(p) + unit - 1) & ~(unit - 1);
  madvise(reinterpret_cast<void *>(at), bytes, MADV_HUGEPAGE);
  return reinterpret_cast<uint8_t *>(at);
}

struct Shape {
  const char *name;
  Scheme scheme;
  int64_t n, k;
  bool gate, residual;
};

const Shape shapes[] = {
    {"qkv_960x576", Scheme::Q4_1, 960, 576, false, false},
    {"o_576x576", Scheme::Q4_1, 576, 576, false, true},
    {"gateup_3072x576", Scheme::Q4_1, 3072, 576, true, false},
    {"down_576x1536", Scheme::Q4_1, 576, 1536, false, true},
    {"head_49152x576", Scheme::Q8_0, 49152, 576, false, false},
    {"q4_1_2048x2048", Scheme::Q4_1, 2048, 2048, false, false},
    {"q4_0_2048x2048", Scheme::Q4_0, 2048, 2048, false, false},
    {"q5_0_2048x640", Scheme::Q5_0, 2048, 640, false, false},
    {"q8_0_2048x2048", Scheme::Q8_0, 2048, 2048, false, false},
    {"q4_k_2048x2048", Scheme::Q4_K, 2048, 2048, false, false},
    {"q5_k_2048x2048", Scheme::Q5_K, 2048, 2048, false, false},
    {"q6_k_2048x2048", Scheme::Q6_K, 2048, 2048, false, false},
    {"f16_2048x2048", Scheme::F16, 2048, 2048, false, false},
    {"f16_1536x576", Scheme::F16, 1536, 576, false, false},
    {"bf16_1536x576", Scheme::BF16, 1536, 576, false, false},
    {"bf16_gate_3072x576", Scheme::BF16, 3072, 576, true, false},
    {"bf16_down_576x1536", Scheme::BF16, 576, 1536, false, true},
    {"f32_1024x1024", Scheme::F32, 1024, 1024, false, false},
};

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

/// A kernel that reads weight(0) .. + bytes: the plain loop that GEMVs are compared with.
void emitRead(KernelBuilder &k, int64_t bytes) {
  int64_t lines = bytes / 256;
  std::pair<Value, Value> range = k.share(k.c64(lines));
  auto type = k.vec(16, k.i32());
  KernelBuilder::Values acc(4, k.splatInt(type, 0));
  Value base = k.weight(0);
  acc = k.forLoop(range.first, range.second, k.c64(1), acc, [&](Value i, ValueRange in) {
    KernelBuilder::Values next;
    Value at = k.gep(base, k.mul(i, 256));
    for (int64_t j = 0; j < 4; ++j)
      next.push_back(k.xor_(in[size_t(j)], k.loadAt(type, at, 64 * j, 64)));
    return next;
  });
  Value x = k.xor_(k.xor_(acc[0], acc[1]), k.xor_(acc[2], acc[3]));
  k.storeAt(x, k.slot(0), k.mul(k.part(), 64), 64);
}

/// 24 independent chains of the dot instruction; 24 * 64 multiply-accumulates (32 without AVX-512) per
/// iteration.
void emitPeak(KernelBuilder &k, int64_t iterations) {
  bool wide = k.target().hasAvx512();
  int64_t lanes = wide ? 16 : 8;
  auto ints = k.vec(lanes, k.i32()), bytes = k.vec(4 * lanes, k.i8()), words = k.vec(2 * lanes, k.i16());
  Value a = k.load(bytes, k.slot(0)), b = k.loadAt(bytes, k.slot(0), 64);
  int64_t chains = wide ? 24 : 8;
  KernelBuilder::Values acc(size_t(chains), k.splatInt(ints, 0));
  acc = k.forLoop(0, iterations, 1, acc, [&](Value, ValueRange in) {
    KernelBuilder::Values next;
    for (Value s : in) {
      if (k.target().hasVnni()) {
        next.push_back(k.intrinsic("llvm.x86.avx512.vpdpbusd.512", ints, {s, a, b}));
        continue;
      }
      // The operand depends on the chain: nothing can be moved out of the loop.
      Value w = k.xor_(k.bitcast(s, bytes), a);
      Value t =
          k.intrinsic(wide ? "llvm.x86.avx512.pmaddubs.w.512" : "llvm.x86.avx2.pmadd.ub.sw", words, {w, b});
      next.push_back(k.add(s, k.bitcast(t, ints)));
    }
    return next;
  });
  Value x = acc[0];
  for (Value v : KernelBuilder::Values(acc.begin() + 1, acc.end()))
    x = k.xor_(x, v);
  k.storeAt(x, k.slot(0), k.mul(k.part(), 64), 64);
}

/// 24 (8 without AVX-512) independent chains of f32 fma, 16 (8) lanes each.
void emitFmaPeak(KernelBuilder &k, int64_t iterations) {
  bool wide = k.target().hasAvx512();
  int64_t chains = wide ? 24 : 8;
  auto type = k.f32v(wide ? 16 : 8);
  Value a = k.load(type, k.slot(0)), b = k.loadAt(type, k.slot(0), 64);
  KernelBuilder::Values acc(size_t(chains), k.splat(type, 0));
  acc = k.forLoop(0, iterations, 1, acc, [&](Value, ValueRange in) {
    KernelBuilder::Values next;
    for (Value s : in)
      next.push_back(k.fma(a, b, s));
    return next;
  });
  Value x = acc[0];
  for (Value v : KernelBuilder::Values(acc.begin() + 1, acc.end()))
    x = k.add(x, v);
  k.storeAt(x, k.slot(0), k.mul(k.part(), 64), 64);
}

LinearSpec specOf(const Shape &shape, int64_t rows, const target::Target &t) {
  LinearSpec s;
  s.n = shape.n;
  s.k = shape.k;
  s.scheme = shape.scheme;
  s.rows = rows;
  s.block = qfmt::geometry(shape.scheme).isFloat ? 0 : rows ? rows : 12;
  if (shape.gate)
    s.gate = spec::GateKind::Silu;
  s.residual = shape.residual;
  s.schedule = chooseLinearSchedule(s, t);
  return s;
}

} // namespace

int main(int argc, char **argv) {
  std::string isa = argc > 1 ? argv[1] : "vnni", filter = argc > 2 ? argv[2] : "";
  int64_t onlyRows = argc > 3 ? std::atoi(argv[3]) : -1;
  int64_t prefetch = argc > 4 ? std::atoi(argv[4]) : -1;
  const target::Target *t = target::findTarget(isa);
  if (!t || !hostRuns(*t)) {
    std::fprintf(stderr, "kernel_bench: this machine does not run isa '%s'\n", isa.c_str());
    return 1;
  }
  const size_t pool = size_t(512) << 20;
  uint8_t *weights = hugeMemory(pool);
  {
    Random random(3);
    for (size_t i = 0; i < pool; i += 4) { // finite halves everywhere
      uint32_t v = random.bits() & 0xBBFFBBFFu;
      std::memcpy(weights + i, &v, 4);
    }
  }
  Buffer<float> y(size_t(512 + 12) * 49152, 0), x(size_t(524) * 2048 * 2, 0);
  for (float &v : x)
    v = 0.25f;
  Buffer<uint8_t> scratch(64 << 20, 0);
  for (const Shape &shape : shapes) {
    if (std::string(shape.name).find(filter) == std::string::npos)
      continue;
    KernelSet set(*t);
    int64_t bytes = *qfmt::packedBytes(shape.scheme, qfmt::Layout::N16, shape.n, shape.k);
    {
      KernelBuilder k(set.module(), "read", *t);
      emitRead(k, bytes);
      k.finish();
    }
    const int64_t peakIterations = 20000;
    {
      KernelBuilder k(set.module(), "peak", *t);
      if (qfmt::geometry(shape.scheme).isFloat)
        emitFmaPeak(k, peakIterations);
      else
        emitPeak(k, peakIterations);
      k.finish();
    }
    std::vector<int64_t> classes;
    for (int64_t m : {1, 2, 4, 8, 0})
      if (onlyRows < 0 || onlyRows == m)
        classes.push_back(m);
    std::vector<LinearSpec> specs;
    for (int64_t m : classes) {
      specs.push_back(specOf(shape, m, *t));
      if (prefetch >= 0)
        specs.back().schedule.prefetch = prefetch;
    }
    for (size_t i = 0; i < specs.size(); ++i) {
      KernelBuilder k(set.module(), "m" + std::to_string(classes[i]), *t);
      emitLinear(k, specs[i]);
      k.finish();
    }
    if (argc > 5 && std::string(argv[5]) == "asm") {
      std::printf("%s\n", set.assembly().c_str());
      continue;
    }
    if (std::string e = set.build(); !e.empty()) {
      std::fprintf(stderr, "%s: %s\n", shape.name, e.c_str());
      return 1;
    }
    ingot_kernel_fn read = set.kernel("read"), peak = set.kernel("peak");
    for (unsigned threads = 1; threads <= 2; ++threads) {
      Team team(threads);
      for (size_t i = 0; i < specs.size(); ++i) {
        const LinearSpec &s = specs[i];
        int64_t m = classes[i];
        ingot_kernel_fn fn = set.kernel("m" + std::to_string(m));
        // Runs of a few milliseconds: on a shared machine longer ones are always interrupted.
        int64_t chunkRows =
            std::max<int64_t>(36, std::min<int64_t>(504, 400000000 / (shape.n * shape.k) / 12 * 12));
        uint32_t rows = m ? uint32_t(m) : uint32_t(chunkRows);
        ingot_step_v1 step = makeStep(rows);
        auto argsOf = [&](unsigned part, const uint8_t *w) {
          ingot_args_v1 a = makeArgs();
          a.slot[0] = x.data();
          a.slot[1] = a.slot[2] = y.data();
          a.weight[0] = w;
          a.weight[1] = weights;
          a.scratch = scratch.data() + part * (32 << 20);
          return a;
        };
        // Small classes: one pass over many copies; the chunk: one copy, as in a prompt.
        int64_t copies = m ? std::max<int64_t>(1, std::min<int64_t>(int64_t(pool) / bytes - 1,
                                                                    (int64_t(480) << 20) / bytes))
                           : 1;
        auto sweep = [&](ingot_kernel_fn f) {
          return team.run([&, f](unsigned part) {
            for (int64_t c = 0; c < copies; ++c) {
              ingot_args_v1 a = argsOf(part, weights + c * ((bytes + 63) / 64 * 64));
              f(&step, &a, part, threads);
            }
          });
        };
        std::vector<double> kernel, reads, peaks;
        for (int rep = 0; rep < (m ? 20 : 60); ++rep) {
          kernel.push_back(sweep(fn));
          if (m)
            reads.push_back(sweep(read));
          else
            peaks.push_back(team.run([&](unsigned part) {
              ingot_args_v1 a = argsOf(part, weights);
              a.slot[0] = scratch.data() + part * (32 << 20);
              peak(&step, &a, part, threads);
            }));
        }
        double best = *std::min_element(kernel.begin(), kernel.end());
        if (m) {
          double total = double(bytes) * double(copies) / 1e9,
                 bestRead = *std::min_element(reads.begin(), reads.end());
          std::printf(
              "%-18s %s T%u m%lld  GB/s best %6.2f median %6.2f | read best %6.2f median %6.2f | %5.1f %%\n",
              shape.name, isa.c_str(), threads, static_cast<long long>(m), total / best,
              total / median(kernel), total / bestRead, total / median(reads), 100 * bestRead / best);
        } else {
          double op = 2.0 * double(rows) * double(s.n) * double(s.k);
          double lanes = qfmt::geometry(shape.scheme).isFloat ? (t->hasAvx512() ? 24 * 16 : 8 * 8)
                         : t->hasAvx512()                     ? 24 * 64
                                                              : 8 * 32;
          double peakRate =
              2.0 * lanes * double(peakIterations) * threads / *std::min_element(peaks.begin(), peaks.end());
          std::printf("%-18s %s T%u chunk %u rows  TOPS best %6.3f median %6.3f | peak %6.3f | %5.1f %%\n",
                      shape.name, isa.c_str(), threads, rows, op / best / 1e12, op / median(kernel) / 1e12,
                      peakRate / 1e12, 100 * op / best / peakRate);
        }
        std::fflush(stdout);
      }
    }
  }
  return 0;
}
