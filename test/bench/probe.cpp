//===- probe.cpp - what this machine can do, in the run that is compared --------------------------------===//
//
// Prints one JSON object: read bandwidth at a working set's size (best over prefetch distances, because a
// plain loop is no limit where the data lie in a shared cache), int8 dot-product and f32 FMA peaks of the
// registers.
//
//   bench_probe [--threads N] [--bytes WORKING_SET]
//
//===------------------------------------------------------------------------------------------------------===//

#include <immintrin.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <pthread.h>
#include <sys/mman.h>
#include <thread>
#include <vector>

using Clock = std::chrono::steady_clock;

static double seconds(Clock::time_point from) {
  return std::chrono::duration<double>(Clock::now() - from).count();
}

/// Runs `work(thread)` on all threads at once and returns the time from the start to the last end.
static double timed(int threads, const std::function<void(int)> &work) {
  std::atomic<int> ready{0};
  std::atomic<bool> go{false};
  std::vector<std::thread> pool;
  auto body = [&](int t) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(t, &set);
    pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
    ++ready;
    while (!go.load(std::memory_order_acquire))
      _mm_pause();
    work(t);
  };
  for (int t = 0; t < threads; ++t)
    pool.emplace_back(body, t);
  while (ready.load() < threads)
    _mm_pause();
  Clock::time_point begin = Clock::now();
  go.store(true, std::memory_order_release);
  for (std::thread &thread : pool)
    thread.join();
  return seconds(begin);
}

__attribute__((target("avx2"))) static uint64_t readAll(const char *data, size_t bytes, size_t ahead) {
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

static volatile uint64_t sink;

static double readBandwidth(int threads, size_t bytes, size_t &bestAhead) {
  constexpr size_t huge = 2u << 20;
  size_t mapped = (bytes + 2 * huge) & ~(huge - 1);
  char *raw = static_cast<char *>(
      mmap(nullptr, mapped + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  char *data = reinterpret_cast<char *>((reinterpret_cast<uintptr_t>(raw) + huge - 1) & ~(huge - 1));
  madvise(data, mapped, MADV_HUGEPAGE);
  std::memset(data, 1, mapped);
  double best = 0;
  size_t share = bytes / threads / 128 * 128;
  int passes = std::max<int>(1, static_cast<int>((512u << 20) / bytes));
  for (size_t ahead : {0, 1024, 4096, 8192, 16384})
    for (int round = 0; round < 5; ++round) {
      double time = timed(threads, [&](int t) {
        for (int pass = 0; pass < passes; ++pass)
          sink = sink | readAll(data + t * share, share, ahead);
      });
      double rate = static_cast<double>(share) * threads * passes / time;
      if (rate > best) {
        best = rate;
        bestAhead = ahead;
      }
    }
  munmap(raw, mapped + huge);
  return best / 1e9;
}

__attribute__((target("avx512f,avx512vnni"))) static void dotLoop(long rounds) {
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

__attribute__((target("avx512f"))) static void fmaLoop512(long rounds) {
  __m512 acc[16], a = _mm512_set1_ps(0.5f), b = _mm512_set1_ps(0.25f);
  for (__m512 &x : acc)
    x = _mm512_setzero_ps();
  for (long i = 0; i < rounds; ++i)
#pragma GCC unroll 16
    for (__m512 &x : acc)
      asm("vfmadd231ps %2, %1, %0" : "+v"(x) : "v"(a), "v"(b));
  float sum = 0;
  for (__m512 &x : acc)
    sum += _mm512_reduce_add_ps(x);
  sink = sink | static_cast<uint64_t>(sum);
}

__attribute__((target("avx2,fma"))) static void fmaLoop256(long rounds) {
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

static double peak(int threads, double operations, const std::function<void(long)> &loop) {
  constexpr long rounds = 400000;
  double best = 0;
  for (int round = 0; round < 9; ++round)
    best = std::max(best, operations * rounds * threads / timed(threads, [&](int) { loop(rounds); }));
  return best / 1e9;
}

int main(int argc, char **argv) {
  int threads = 1;
  size_t bytes = size_t(1) << 30;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!std::strcmp(argv[i], "--threads"))
      threads = std::atoi(argv[i + 1]);
    else if (!std::strcmp(argv[i], "--bytes"))
      bytes = std::strtoull(argv[i + 1], nullptr, 10);
  }
  if (threads < 1 || threads > 256 || bytes < (1u << 20)) {
    std::fprintf(stderr, "usage: bench_probe [--threads N] [--bytes AT_LEAST_A_MEGABYTE]\n");
    return 2;
  }
  size_t ahead = 0;
  double read = readBandwidth(threads, bytes, ahead);
  bool vnni = __builtin_cpu_supports("avx512vnni"), wide = __builtin_cpu_supports("avx512f");
  double dot = vnni ? peak(threads, 16 * 128, dotLoop) : 0;
  double fma = wide ? peak(threads, 16 * 32, fmaLoop512) : peak(threads, 12 * 16, fmaLoop256);
  std::printf("{\"threads\": %d, \"bytes\": %zu, \"read_gbs\": %.2f, \"prefetch\": %zu, \"int8_gops\": %.1f, "
              "\"fma_gflops\": %.1f}\n",
              threads, bytes, read, ahead, dot, fma);
  return 0;
}
