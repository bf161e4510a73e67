//===- attention_bench.cpp - times of the float kernels -------------------------------------------------===//
//
// Usage: attention_bench [isa] [query vectors of an item]. Each line: kernel, best thread time of one launch
// in microseconds, and for attention the multiply-adds per nanosecond and the rate at which the cache is
// read.
//
//===----------------------------------------------------------------------------------------------------===//
#include "codegen/cpu/Attention.h"
#include "codegen/cpu/Norm.h"
#include "codegen/cpu/RopeKv.h"
#include "test/unit/kernels/Harness.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <functional>

using namespace ingot;
using namespace ingot::test;
using namespace ingot::cpu;

static double threadSeconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

/// Best microseconds of one call.
static double best(const std::function<void()> &f) {
  f();
  double least = 1e9, spent = 0;
  for (int rep = 0; rep < 400 && spent < 0.4; ++rep) {
    double t = threadSeconds();
    f();
    t = threadSeconds() - t;
    spent += t;
    least = std::min(least, t);
  }
  return least * 1e6;
}

struct Shape {
  const char *name;
  int64_t kvHeads, group, dim, past, rows;
};

static void attention(const target::Target &tgt, const Shape &c, spec::KvType type, int64_t itemVectors) {
  AttentionCore core;
  core.kv = {c.kvHeads, c.dim, c.dim, type};
  core.qHeads = c.kvHeads * c.group;
  core.scale = 1.0f / std::sqrt(float(c.dim));
  const int64_t D = core.qHeads * c.dim, segments = (c.past + c.rows + 511) / 512;
  KernelSet set(tgt);
  AttentionSpec a;
  a.core = core;
  if (itemVectors)
    a.itemVectors = itemVectors;
  a.q = {0, D};
  a.outRows = RowsRef{1, D};
  AttnSplitSpec s{core, {0, D}, 1, {core.qHeads, c.dim, segments}};
  AttnMergeSpec m;
  m.layout = s.layout;
  m.outRows = RowsRef{1, D};
  {
    KernelBuilder k(set.module(), "attention", tgt);
    emitAttention(k, a);
    k.finish();
    KernelBuilder k1(set.module(), "split", tgt);
    emitAttnSplit(k1, s);
    k1.finish();
    KernelBuilder k2(set.module(), "merge", tgt);
    emitAttnMerge(k2, m);
    k2.finish();
  }
  std::string error = set.build();
  if (!error.empty()) {
    std::printf("%s: %s\n", c.name, error.c_str());
    return;
  }
  const int64_t len = c.past + c.rows, pages = (len + 15) / 16;
  std::vector<int32_t> positions, rowSeq(c.rows, 0), queryStart{0, int32_t(c.rows)}, kvLen{int32_t(len)},
      table;
  double keys = 0;
  for (int64_t i = 0; i < c.rows; ++i) {
    positions.push_back(int32_t(c.past + i));
    keys += double(c.past + i + 1);
  }
  for (int64_t i = 0; i < pages; ++i)
    table.push_back(int32_t(i));
  Buffer<uint8_t> cache(pages * core.kv.pageBytes(), 0);
  std::vector<float> head(size_t(c.dim));
  for (int64_t i = 0; i < pages * spec::kKvPage * c.kvHeads; ++i) {
    for (int64_t d = 0; d < c.dim; ++d)
      head[size_t(d)] = float((i * c.dim + d) % 97) * 0.02f - 1;
    uint8_t *page = cache.data() + i / c.kvHeads / spec::kKvPage * core.kv.pageBytes();
    spec::kvStoreK(page, core.kv, i % c.kvHeads, i / c.kvHeads % spec::kKvPage, head.data());
    spec::kvStoreV(page, core.kv, i % c.kvHeads, i / c.kvHeads % spec::kKvPage, head.data());
  }
  Buffer<float> q(c.rows * roundUp(D, 16), 0), out(c.rows * roundUp(D, 16));
  Random r(1);
  for (float &x : q)
    x = r.normal();
  Buffer<uint8_t> scratch(std::max(attentionScratch(tgt, a), attnSplitScratch(tgt, s)));
  Buffer<uint8_t> partials(c.rows * core.qHeads * segments * s.layout.entryBytes());
  ingot_step_v1 step = makeStep(uint32_t(c.rows));
  step.positions = positions.data();
  step.row_seq = rowSeq.data();
  step.query_start = queryStart.data();
  step.kv_len = kvLen.data();
  step.block_table = table.data();
  step.block_stride = uint32_t(pages);
  ingot_args_v1 args = makeArgs();
  args.kv = cache.data();
  args.kv_stride = uint64_t(INGOT_KV_GROUP * core.kv.pageBytes());
  args.scratch = scratch.data();
  auto report = [&](const char *kernel, double us) {
    double macs = keys * double(core.qHeads * c.dim * 2);
    std::printf("%-10s %-24s %-5s %10.1f us  %6.1f mac/ns  %6.1f GB/s of cache\n", kernel, c.name,
                type == spec::KvType::Int8 ? "int8" : "f16", us, macs / us * 1e-3,
                double(len * core.kv.pageBytes() / 16) / us * 1e-3);
  };
  if (c.rows > 8) {
    args.slot[0] = q.data();
    args.slot[1] = out.data();
    ingot_kernel_fn fn = set.kernel("attention");
    report("attention", best([&] { fn(&step, &args, 0, 1); }));
    return;
  }
  ingot_kernel_fn split = set.kernel("split"), merge = set.kernel("merge");
  args.slot[0] = q.data();
  args.slot[1] = partials.data();
  report("split", best([&] { split(&step, &args, 0, 1); }));
  for (uint32_t part = 0; part < 2; ++part)
    report(part ? " part 2/2" : " part 1/2", best([&] { split(&step, &args, part, 2); }));
  args.slot[0] = partials.data();
  args.slot[1] = out.data();
  std::printf("%-10s %-24s %10.2f us\n", "merge", c.name, best([&] { merge(&step, &args, 0, 1); }));
}

static void rows(const target::Target &tgt, int64_t D, int64_t count, int64_t block) {
  KernelSet set(tgt);
  NormSpec n;
  n.D = D;
  n.eps = 1e-5f;
  n.x = {0, D};
  n.outAct = 1;
  n.act = {D, block};
  RopeKvSpec r;
  r.qHeads = D / 64;
  r.headDim = 64;
  r.kv = {std::max<int64_t>(1, D / 192), 64, 64, spec::KvType::F16};
  r.qRope = r.kRope = {spec::RopeStyle::Half, 64, 0};
  const int64_t kvD = r.kv.heads * 64, all = D + 2 * kvD;
  r.q = {0, all, 0};
  r.k = {0, all, D};
  r.v = {0, all, D + kvD};
  r.out = {1, D};
  {
    KernelBuilder k(set.module(), "norm", tgt);
    emitNorm(k, n);
    k.finish();
    KernelBuilder k1(set.module(), "rope", tgt);
    emitRopeKv(k1, r);
    k1.finish();
  }
  if (std::string error = set.build(); !error.empty()) {
    std::printf("%s\n", error.c_str());
    return;
  }
  Buffer<float> x(count * all, 0), gamma(D), out(count * D), table(count * 64, 0);
  Random random(2);
  for (float &v : x)
    v = random.normal();
  std::fill(gamma.begin(), gamma.end(), 1.0f);
  Buffer<uint8_t> act(n.act.bytes(count)), cache((count + 15) / 16 * r.kv.pageBytes(), 0);
  std::vector<int32_t> positions, rowSeq(count, 0), pages;
  for (int64_t i = 0; i < count; ++i) {
    positions.push_back(int32_t(i));
    pages.push_back(int32_t(i));
  }
  const float *tables[] = {table.data()};
  ingot_step_v1 step = makeStep(uint32_t(count));
  step.positions = positions.data();
  step.row_seq = rowSeq.data();
  step.block_table = pages.data();
  step.block_stride = uint32_t(count);
  step.rope = tables;
  ingot_args_v1 args = makeArgs();
  args.kv = cache.data();
  args.kv_stride = uint64_t(INGOT_KV_GROUP * r.kv.pageBytes());
  args.slot[0] = x.data();
  args.weight[0] = reinterpret_cast<const uint8_t *>(gamma.data());
  for (const char *name : {"norm", "rope"}) {
    args.slot[1] = name[0] == 'n' ? static_cast<void *>(act.data()) : out.data();
    ingot_kernel_fn fn = set.kernel(name);
    // Few rows: many calls between two readings of the clock.
    int calls = count > 8 ? 1 : 100;
    double us = best([&] {
                  for (int i = 0; i < calls; ++i)
                    fn(&step, &args, 0, 1);
                }) /
                calls;
    std::printf("%-10s %5ld columns x %4ld rows %10.3f us  %7.3f us a row\n", name, long(D), long(count), us,
                us / double(count));
  }
}

int main(int argc, char **argv) {
  const target::Target *tgt = target::findTarget(argc > 1 ? argv[1] : "vnni");
  if (!tgt || !hostRuns(*tgt)) {
    std::fprintf(stderr, "this machine lacks %s\n", argc > 1 ? argv[1] : "vnni");
    return 1;
  }
  const Shape shapes[] = {
      {"9/3 heads of 64, 512", 3, 3, 64, 511, 1},      {"9/3 heads of 64, 8192", 3, 3, 64, 8191, 1},
      {"8/8 heads of 64, 1024", 8, 1, 64, 1023, 1},    {"4/1 heads of 256, 512", 1, 4, 256, 511, 1},
      {"32/8 heads of 128, 4096", 8, 4, 128, 4095, 1}, {"9/3 heads of 64, prompt", 3, 3, 64, 0, 512},
      {"4/1 heads of 256, prompt", 1, 4, 256, 0, 512}, {"32/8 of 128, prompt", 8, 4, 128, 0, 512},
      {"9/3 of 64, 2nd chunk", 3, 3, 64, 512, 512},
  };
  for (const Shape &s : shapes)
    for (spec::KvType type : {spec::KvType::F16, spec::KvType::Int8})
      attention(*tgt, s, type, argc > 2 ? std::atoi(argv[2]) : 0);
  rows(*tgt, 576, 1, 1);
  rows(*tgt, 576, 512, 12);
  rows(*tgt, 2048, 1, 1);
  rows(*tgt, 2048, 512, 12);
  return 0;
}
