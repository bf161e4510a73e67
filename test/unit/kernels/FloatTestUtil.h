//===- FloatTestUtil.h - what the tests of float kernels share ------------------------------------------===//
#ifndef INGOT_TEST_UNIT_KERNELS_FLOATTESTUTIL_H
#define INGOT_TEST_UNIT_KERNELS_FLOATTESTUTIL_H

#include "codegen/cpu/Rows.h"
#include "codegen/cpu/spec/Attention.h"
#include "test/unit/kernels/Harness.h"

#include <cmath>
#include <gtest/gtest.h>

namespace ingot::test {

/// Float code is the same for avx512, vnni and amx but for the features LLVM may use.
inline const char *const kFloatTargets[] = {"avx2", "avx512", "vnni", "amx"};

inline std::string targetName(const testing::TestParamInfo<const char *> &info) { return info.param; }

/// f32 rows of a slot: stride rounded up to 16 floats, padding filled with NaN.
struct RowBuffer {
  RowBuffer(size_t rows, int64_t width)
      : width(width), stride(cpu::roundUp(width, 16)), data(rows * size_t(stride)) {
    fillNan();
  }
  void fillNan() { std::memset(data.data(), 0xff, data.size() * 4); }
  void random(Random &r, float sigma = 1.0f) {
    for (size_t i = 0; i < data.size(); ++i)
      if (int64_t(i) % stride < width)
        data[i] = r.normal() * sigma;
  }
  float *row(size_t r) { return data.data() + r * size_t(stride); }
  int64_t width, stride;
  Buffer<float> data;
};

/// A ragged batch with a paged cache whose pages are scattered, and its step.
struct Batch {
  struct Seq {
    int past; ///< tokens already in the cache
    int rows; ///< rows of this step
  };
  Batch(const std::vector<Seq> &seqs, uint64_t seed, int rotaryDim = 0) : seqs(seqs), rng(seed) {
    int pagesNeeded = 0, stride = 1;
    queryStart.push_back(0);
    for (const Seq &s : seqs) {
      int pages = (s.past + s.rows + 15) / 16;
      pagesNeeded += pages;
      stride = std::max(stride, pages + 1); // one entry more, which holds garbage
      queryStart.push_back(queryStart.back() + s.rows);
      kvLen.push_back(s.past + s.rows);
      maxPos = std::max(maxPos, s.past + s.rows - 1);
    }
    nPages = pagesNeeded + 1;
    std::vector<int> free(nPages);
    for (int i = 0; i < nPages; ++i)
      free[i] = i;
    for (int i = nPages - 1; i > 0; --i)
      std::swap(free[i], free[rng.below(i + 1)]);
    blockTable.assign(seqs.size() * stride, 0x7fffffff);
    for (size_t s = 0; s < seqs.size(); ++s) {
      for (int i = 0; i < (kvLen[s] + 15) / 16; ++i) {
        blockTable[s * stride + i] = free.back();
        free.pop_back();
      }
      for (int i = 0; i < seqs[s].rows; ++i) {
        positions.push_back(seqs[s].past + i);
        rowSeq.push_back(int(s));
      }
    }
    if (rotaryDim) {
      table = std::make_unique<Buffer<float>>(size_t(maxPos + 1) * rotaryDim);
      for (int p = 0; p <= maxPos; ++p)
        for (int i = 0; i < rotaryDim / 2; ++i) {
          double angle = p * std::pow(10000.0, -2.0 * i / rotaryDim);
          (*table)[p * rotaryDim + 2 * i] = float(std::cos(angle));
          (*table)[p * rotaryDim + 2 * i + 1] = float(std::sin(angle));
        }
      tables.push_back(nullptr); // kernels ask for number 1
      tables.push_back(table->data());
    }
    step = makeStep(uint32_t(positions.size()));
    step.n_seqs = uint32_t(seqs.size());
    step.positions = positions.data();
    step.row_seq = rowSeq.data();
    step.query_start = queryStart.data();
    step.kv_len = kvLen.data();
    step.block_table = blockTable.data();
    step.block_stride = uint32_t(stride);
    step.rope = tables.data();
  }
  Batch(const Batch &) = delete;

  int rows() const { return int(positions.size()); }
  /// From a group of pages to the next: something else lies between.
  static int64_t stride(const spec::KvLayout &l) { return INGOT_KV_GROUP * l.pageBytes() + 320; }
  size_t cacheBytes(const spec::KvLayout &l) const {
    return size_t((nPages + INGOT_KV_GROUP - 1) / INGOT_KV_GROUP * stride(l));
  }
  uint8_t *page(std::vector<uint8_t> &cache, const spec::KvLayout &l, int seq, int pos) const {
    int64_t p = blockTable[seq * step.block_stride + pos / 16];
    return cache.data() + p / INGOT_KV_GROUP * stride(l) + p % INGOT_KV_GROUP * l.pageBytes();
  }
  std::vector<const uint8_t *> pages(std::vector<uint8_t> &cache, const spec::KvLayout &l, int seq) const {
    std::vector<const uint8_t *> out;
    for (int p = 0; p < kvLen[seq]; p += 16)
      out.push_back(page(cache, l, seq, p));
    return out;
  }
  /// A cache with random values wherever a token is stored, huge ones elsewhere (int8: scales that are NaN).
  std::vector<uint8_t> randomCache(const spec::KvLayout &l, float sigma) {
    std::vector<uint8_t> cache(cacheBytes(l), 0xff);
    for (size_t i = 0; !l.scaled() && i < cache.size() / spec::kvElemBytes(l.type); ++i)
      spec::kvStore(cache.data(), int64_t(i), 60000.0f, l.type);
    std::vector<float> k(size_t(l.dim)), v(size_t(l.vDim));
    for (size_t s = 0; s < seqs.size(); ++s)
      for (int p = 0; p < kvLen[s]; ++p) {
        uint8_t *pg = page(cache, l, int(s), p);
        for (int64_t h = 0; h < l.heads; ++h) {
          for (float &x : k)
            x = rng.normal() * sigma;
          for (float &x : v)
            x = rng.normal() * sigma;
          spec::kvStoreK(pg, l, h, p % 16, k.data());
          spec::kvStoreV(pg, l, h, p % 16, v.data());
        }
      }
    return cache;
  }

  std::vector<Seq> seqs;
  Random rng;
  std::vector<int32_t> positions, rowSeq, queryStart, kvLen, blockTable;
  std::vector<const float *> tables;
  std::unique_ptr<Buffer<float>> table;
  int nPages = 0, maxPos = 0;
  ingot_step_v1 step;
};

#define INGOT_NEED_TARGET()                                                                                  \
  const target::Target &tgt = *target::findTarget(GetParam());                                               \
  if (!hostRuns(tgt))                                                                                        \
  GTEST_SKIP() << "this machine lacks " << tgt.name.str()

} // namespace ingot::test

#endif
