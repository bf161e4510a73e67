//===- Probe.cpp - what this machine can do -------------------------------------------------------------===//
#include "runtime/device/cpu/Probe.h"
#include "runtime/device/cpu/CpuFeatures.h"

#include <immintrin.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <sys/mman.h>

namespace ingot::cpu {
namespace {

/// Keeps results alive.
volatile uint64_t sink;

/// Seconds that `work(worker)` takes on all workers at once.
double timed(WorkerPool &pool, const std::function<void(unsigned)> &work) {
  auto begin = std::chrono::steady_clock::now();
  pool.run([](void *context,
              unsigned worker) { (*static_cast<const std::function<void(unsigned)> *>(context))(worker); },
           const_cast<std::function<void(unsigned)> *>(&work));
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

__attribute__((target("avx2"))) uint64_t readAll(const char *data, size_t bytes, size_t ahead) {
  __m256i a = _mm256_setzero_si256(), b = a, c = a, d = a;
  for (size_t i = 0; i + 128 <= bytes; i += 128) {
    if (ahead) {
      _mm_prefetch(data + i + ahead, _MM_HINT_T1);
      _mm_prefetch(data + i + ahead + 64, _MM_HINT_T1);
    }
    a = _mm256_or_si256(a, _mm256_load_si256(reinterpret_cast<const __m256i *>(data + i)));
    b = _mm256_or_si256(b, _mm256_load_si256(reinterpret_cast<const __m256i *>(data + i + 32)));
    c = _mm256_or_si256(c, _mm256_load_si256(reinterpret_cast<const __m256i *>(data + i + 64)));
    d = _mm256_or_si256(d, _mm256_load_si256(reinterpret_cast<const __m256i *>(data + i + 96)));
  }
  a = _mm256_or_si256(_mm256_or_si256(a, b), _mm256_or_si256(c, d));
  return static_cast<uint64_t>(_mm256_extract_epi64(a, 0));
}

bool probeReading(WorkerPool &pool, size_t bytes, MachineLimits &out, std::string &error) {
  constexpr size_t huge = 2u << 20;
  size_t mapped = (bytes + 2 * huge) & ~(huge - 1);
  void *raw = mmap(nullptr, mapped + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) {
    error = "no memory to measure reading (" + std::to_string(mapped + huge) + " bytes)";
    return false;
  }
  char *data = reinterpret_cast<char *>((reinterpret_cast<uintptr_t>(raw) + huge - 1) & ~(huge - 1));
  madvise(data, mapped, MADV_HUGEPAGE);
  std::memset(data, 1, mapped);
  size_t share = bytes / pool.size() / 128 * 128;
  size_t passes = std::max<size_t>(1, (size_t(512) << 20) / bytes);
  out.bytes = bytes;
  for (size_t ahead : {0, 1024, 4096, 8192, 16384})
    for (int round = 0; round < 5; ++round) {
      double time = timed(pool, [&](unsigned w) {
        for (size_t pass = 0; pass < passes; ++pass)
          sink = sink | readAll(data + w * share, share, ahead);
      });
      double rate = static_cast<double>(share * pool.size() * passes) / time;
      if (rate > out.readBytes) {
        out.readBytes = rate;
        out.prefetch = ahead;
      }
    }
  munmap(raw, mapped + huge);
  return true;
}

// Sixteen (twelve) sums hide the latency of any of these; the loops have no memory operand.

__attribute__((target("avx512f,avx512vnni"))) void dotVnni(long rounds) {
  __m512i acc[16], a = _mm512_set1_epi8(3), b = _mm512_set1_epi8(5);
  for (__m512i &x : acc)
    x = _mm512_setzero_si512();
  for (long i = 0; i < rounds; ++i)
#pragma GCC unroll 16
    for (__m512i &x : acc)
      asm("vpdpbusd %2, %1, %0" : "+v"(x) : "v"(a), "v"(b));
  uint64_t sum = 0;
  for (__m512i &x : acc)
    sum += static_cast<uint64_t>(_mm512_reduce_add_epi32(x));
  sink = sink | sum;
}

/// Products of bytes added in pairs to 16 bits, those in pairs to 32, those to a sum.
__attribute__((target("avx512f,avx512bw"))) void dotMaddubs512(long rounds) {
  __m512i acc[12], a = _mm512_set1_epi8(3), b = _mm512_set1_epi8(5), one = _mm512_set1_epi16(1);
  for (__m512i &x : acc)
    x = _mm512_setzero_si512();
  for (long i = 0; i < rounds; ++i)
#pragma GCC unroll 12
    for (__m512i &x : acc) {
      __m512i product;
      asm("vpmaddubsw %3, %2, %1\n\tvpmaddwd %4, %1, %1\n\tvpaddd %1, %0, %0"
          : "+v"(x), "=&v"(product)
          : "v"(a), "v"(b), "v"(one));
    }
  uint64_t sum = 0;
  for (__m512i &x : acc)
    sum += static_cast<uint64_t>(_mm512_reduce_add_epi32(x));
  sink = sink | sum;
}

__attribute__((target("avx2"))) void dotMaddubs256(long rounds) {
  __m256i acc[8], a = _mm256_set1_epi8(3), b = _mm256_set1_epi8(5), one = _mm256_set1_epi16(1);
  for (__m256i &x : acc)
    x = _mm256_setzero_si256();
  for (long i = 0; i < rounds; ++i)
#pragma GCC unroll 8
    for (__m256i &x : acc) {
      __m256i product;
      asm("vpmaddubsw %3, %2, %1\n\tvpmaddwd %4, %1, %1\n\tvpaddd %1, %0, %0"
          : "+x"(x), "=&x"(product)
          : "x"(a), "x"(b), "x"(one));
    }
  uint64_t sum = 0;
  for (__m256i &x : acc)
    sum += static_cast<uint64_t>(_mm256_extract_epi64(x, 0));
  sink = sink | sum;
}

/// void name(long rounds): `instruction` on f32 sums of 512 bits. A macro, because assembly and target are
/// literals.
#define INGOT_FLOAT_PEAK_512(name, features, instruction)                                                    \
  __attribute__((target(features))) void name(long rounds) {                                                 \
    __m512 acc[16], a = _mm512_set1_ps(0.5f), b = _mm512_set1_ps(0.25f);                                     \
    for (__m512 &x : acc)                                                                                    \
      x = _mm512_setzero_ps();                                                                               \
    for (long i = 0; i < rounds; ++i)                                                                        \
      _Pragma("GCC unroll 16") for (__m512 &x : acc) asm(instruction " %2, %1, %0" : "+v"(x) : "v"(a),       \
                                                         "v"(b));                                            \
    float sum = 0;                                                                                           \
    for (__m512 &x : acc)                                                                                    \
      sum += _mm512_reduce_add_ps(x);                                                                        \
    sink = sink | static_cast<uint64_t>(sum);                                                                \
  }
INGOT_FLOAT_PEAK_512(fma512, "avx512f", "vfmadd231ps")
INGOT_FLOAT_PEAK_512(dotBf16, "avx512f,avx512bf16", "vdpbf16ps")
#undef INGOT_FLOAT_PEAK_512

__attribute__((target("avx2,fma"))) void fma256(long rounds) {
  __m256 acc[12], a = _mm256_set1_ps(0.5f), b = _mm256_set1_ps(0.25f);
  for (__m256 &x : acc)
    x = _mm256_setzero_ps();
  for (long i = 0; i < rounds; ++i)
#pragma GCC unroll 12
    for (__m256 &x : acc)
      asm("vfmadd231ps %2, %1, %0" : "+x"(x) : "x"(a), "x"(b));
  float values[8], sum = 0;
  for (__m256 &x : acc) {
    _mm256_storeu_ps(values, x);
    sum += values[0];
  }
  sink = sink | static_cast<uint64_t>(sum);
}

/// Operations per second of a loop with `operations` in one round.
double peak(WorkerPool &pool, double operations, void (*loop)(long)) {
  constexpr long rounds = 400000;
  double best = 0;
  for (int round = 0; round < 9; ++round)
    best = std::max(best, operations * rounds * pool.size() / timed(pool, [&](unsigned) { loop(rounds); }));
  return best;
}

} // namespace

bool probeMachine(WorkerPool &pool, const std::string &isa, size_t bytes, MachineLimits &out,
                  std::string &error) {
  out = {};
  if (!probeReading(pool, std::max<size_t>(bytes, size_t(1) << 20), out, error))
    return false;
  CpuFeatures cpu = CpuFeatures::detect(/*requestAmx=*/false);
  bool wide = isa != "avx2" && cpu.has("avx512f") && cpu.has("avx512bw");
  if (wide && isa != "avx512" && cpu.has("avx512vnni")) {
    out.int8 = "vpdpbusd, 512 bits";
    out.int8Ops = peak(pool, 16 * 128, dotVnni);
  } else {
    out.int8 = wide ? "vpmaddubsw, 512 bits" : "vpmaddubsw, 256 bits";
    out.int8Ops = wide ? peak(pool, 12 * 128, dotMaddubs512) : peak(pool, 8 * 64, dotMaddubs256);
  }
  if (isa == "avx512bf16" && cpu.has("avx512bf16"))
    out.bf16Ops = peak(pool, 16 * 64, dotBf16);
  out.f32Ops = wide ? peak(pool, 16 * 32, fma512) : peak(pool, 12 * 16, fma256);
  return true;
}

} // namespace ingot::cpu
