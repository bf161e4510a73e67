// Attention kernels equal the scalar specification bit for bit: tiles, segments, windows, groups, cache
// types.
#include "codegen/cpu/Attention.h"
#include "test/unit/kernels/FloatTestUtil.h"

using namespace ingot;
using namespace ingot::test;
using namespace ingot::cpu;

namespace {

class AttentionKernels : public testing::TestWithParam<const char *> {};

struct Shape {
  int64_t kvHeads, group, dim, window;
  spec::KvType type;
  float softcap;
  int64_t actBlock; // of the chunk kernel; 0: f32 rows
};

const Shape shapes[] = {
    {3, 3, 64, 0, spec::KvType::F16, 0, 12},   {1, 4, 256, 100, spec::KvType::F16, 0, 12},
    {2, 1, 24, 0, spec::KvType::F32, 0, 0},    {1, 8, 40, 70, spec::KvType::Bf16, 0, 0},
    {1, 7, 64, 600, spec::KvType::F16, 0, 2},  {1, 2, 128, 0, spec::KvType::Bf16, 30.0f, 0},
    {2, 5, 32, 1, spec::KvType::F32, 0, 8},    {1, 6, 80, 64, spec::KvType::F16, 0, 0},
    {3, 3, 64, 0, spec::KvType::Int8, 0, 12},  {1, 4, 256, 100, spec::KvType::Int8, 0, 12},
    {2, 1, 24, 0, spec::KvType::Int8, 0, 0},   {1, 8, 40, 70, spec::KvType::Int8, 0, 0},
    {1, 7, 64, 600, spec::KvType::Int8, 0, 2}, {1, 2, 128, 0, spec::KvType::Int8, 30.0f, 0},
    {2, 5, 18, 1, spec::KvType::Int8, 0, 0},
};

/// Batches: chunks at any offset, single tokens, several segments.
const std::vector<std::vector<Batch::Seq>> batches = {
    {{0, 1}},
    {{0, 70}},
    {{500, 40}, {0, 9}, {63, 1}, {1030, 3}},
    {{64, 64}, {1, 1}, {511, 1}, {512, 1}, {1023, 2}},
};

AttentionCore makeCore(const Shape &c) {
  AttentionCore core;
  core.kv = {c.kvHeads, c.dim, c.dim, c.type};
  core.qHeads = c.kvHeads * c.group;
  core.scale = 1.0f / std::sqrt(float(c.dim));
  core.window = c.window;
  core.softcap = c.softcap;
  return core;
}

std::vector<std::vector<float>> expected(const AttentionCore &core, Batch &batch, RowBuffer &q,
                                         std::vector<uint8_t> &cache) {
  spec::AttentionSpecParams p;
  p.kv = core.kv;
  p.qHeads = core.qHeads;
  p.scale = core.scale;
  p.window = core.window;
  p.softcap = core.softcap;
  std::vector<std::vector<float>> want(batch.rows(), std::vector<float>(core.qHeads * core.kv.vDim));
  for (int i = 0; i < batch.rows(); ++i)
    spec::attendRow(p, q.row(i), batch.positions[i], batch.pages(cache, core.kv, batch.rowSeq[i]),
                    want[i].data());
  return want;
}

void expectRows(const AttentionCore &core, const std::vector<std::vector<float>> &want, RowBuffer &out,
                const uint8_t *act, const spec::ActLayout &layout, bool isAct) {
  const int64_t D = core.qHeads * core.kv.vDim;
  for (size_t i = 0; i < want.size(); ++i) {
    if (!isAct) {
      ptrdiff_t d = firstDifference(out.row(i), want[i].data(), size_t(D));
      ASSERT_EQ(d, -1) << "row " << i << " got " << out.row(i)[d] << " want " << want[i][d];
      continue;
    }
    for (int64_t b = 0; b < D / 32; ++b) {
      spec::ActGroup w = spec::quantizeGroup(&want[i][b * 32]),
                     g = spec::readGroup(layout, act, int64_t(i), b);
      ASSERT_EQ(memcmp(&w, &g, sizeof w), 0) << "row " << i << " group " << b;
    }
  }
}

constexpr int64_t kSegments = 3;

} // namespace

TEST_P(AttentionKernels, EqualTheSpecification) {
  INGOT_NEED_TARGET();
  KernelSet set(tgt);
  std::vector<AttentionSpec> chunk;
  std::vector<AttnSplitSpec> split;
  int n = 0;
  for (const Shape &c : shapes) {
    std::string id = std::to_string(n++);
    AttentionSpec a;
    a.core = makeCore(c);
    const int64_t Dq = a.core.qHeads * c.dim;
    a.q = {0, Dq};
    a.itemVectors = n % 2 ? 96 : 17; // both forms of tiling tails
    if (c.actBlock) {
      a.outAct = 1;
      a.act = {Dq, c.actBlock};
    } else {
      a.outRows = RowsRef{1, Dq};
    }
    ASSERT_EQ(refuseAttention(a.core, a.outAct.has_value()), "");
    chunk.push_back(a);
    KernelBuilder k(set.module(), "chunk" + id, tgt);
    emitAttention(k, a);
    k.finish();
    AttnSplitSpec s;
    s.core = a.core;
    s.q = a.q;
    s.layout = {a.core.qHeads, c.dim, kSegments};
    split.push_back(s);
    KernelBuilder k1(set.module(), "split" + id, tgt);
    emitAttnSplit(k1, s);
    k1.finish();
    AttnMergeSpec m;
    m.layout = s.layout;
    m.window = c.window;
    m.partials = 0;
    m.outAct = a.outAct;
    m.outRows = a.outRows;
    m.act = a.act;
    KernelBuilder k2(set.module(), "merge" + id, tgt);
    emitAttnMerge(k2, m);
    k2.finish();
  }
  ASSERT_EQ(set.build(), "");
  for (size_t i = 0; i < std::size(shapes); ++i) {
    const AttentionSpec &a = chunk[i];
    std::string id = std::to_string(i);
    for (size_t bi = 0; bi < batches.size(); ++bi) {
      Batch batch(batches[bi], i * 100 + bi);
      const size_t rows = batch.rows();
      const int64_t D = a.core.qHeads * a.core.kv.vDim;
      std::vector<uint8_t> cache = batch.randomCache(a.core.kv, 1.5f);
      RowBuffer q(rows, a.core.qHeads * a.core.kv.dim), out(rows, D);
      q.random(batch.rng, 1.5f);
      auto want = expected(a.core, batch, q, cache);
      spec::ActLayout layout = a.outAct ? a.act : spec::ActLayout{D, 1};
      Buffer<uint8_t> act(layout.bytes(rows));
      Buffer<uint8_t> scratch(std::max(attentionScratch(tgt, a), attnSplitScratch(tgt, split[i])));
      Buffer<uint8_t> partials(rows * a.core.qHeads * kSegments * split[i].layout.entryBytes());
      for (uint32_t parts : {1, 2, 3, 5}) {
        SCOPED_TRACE("shape " + id + " batch " + std::to_string(bi) + " parts " + std::to_string(parts));
        ingot_args_v1 args = makeArgs();
        args.kv = cache.data();
        args.kv_stride = uint64_t(Batch::stride(a.core.kv));
        args.scratch = scratch.data();
        args.slot[0] = q.data.data();
        args.slot[1] = a.outAct ? static_cast<void *>(act.data()) : out.data.data();
        std::memset(act.data(), 0xff, act.size());
        out.fillNan();
        ASSERT_EQ(runParts(set.kernel("chunk" + id), batch.step, args, parts), 0);
        expectRows(a.core, want, out, act.data(), layout, a.outAct.has_value());
        if (HasFatalFailure())
          return;
        std::memset(act.data(), 0xff, act.size());
        out.fillNan();
        void *result = args.slot[1];
        args.slot[1] = partials.data();
        ASSERT_EQ(runParts(set.kernel("split" + id), batch.step, args, parts), 0);
        args.slot[0] = partials.data();
        args.slot[1] = result;
        ASSERT_EQ(runParts(set.kernel("merge" + id), batch.step, args, parts), 0);
        expectRows(a.core, want, out, act.data(), layout, a.outAct.has_value());
        if (HasFatalFailure())
          return;
      }
    }
  }
}

/// Builds one kernel, "k".
static void buildAttention(KernelSet &set, const target::Target &tgt, const AttentionSpec &a) {
  KernelBuilder k(set.module(), "k", tgt);
  emitAttention(k, a);
  k.finish();
  ASSERT_EQ(set.build(), "");
}

// Each item is done by one part only, and all parts together do all items.
TEST_P(AttentionKernels, PartsShareTheWork) {
  INGOT_NEED_TARGET();
  KernelSet set(tgt);
  AttentionSpec a;
  a.core = makeCore(shapes[0]);
  a.q = {0, 576};
  a.outRows = RowsRef{1, 576};
  ASSERT_NO_FATAL_FAILURE(buildAttention(set, tgt, a));
  Batch batch({{0, 300}, {40, 1}, {200, 90}}, 1);
  std::vector<uint8_t> cache = batch.randomCache(a.core.kv, 1.0f);
  RowBuffer q(batch.rows(), 576);
  q.random(batch.rng);
  Buffer<uint8_t> scratch(attentionScratch(tgt, a));
  std::vector<int> writers(batch.rows() * 576);
  double share[2];
  for (uint32_t part = 0; part < 2; ++part) {
    RowBuffer out(batch.rows(), 576);
    ingot_args_v1 args = makeArgs();
    args.kv = cache.data();
    args.kv_stride = uint64_t(Batch::stride(a.core.kv));
    args.scratch = scratch.data();
    args.slot[0] = q.data.data();
    args.slot[1] = out.data.data();
    ASSERT_EQ(set.kernel("k")(&batch.step, &args, part, 2), 0);
    share[part] = 0;
    for (int r = 0; r < batch.rows(); ++r)
      for (int j = 0; j < 576; ++j)
        if (!std::isnan(out.row(r)[j])) {
          ++writers[r * 576 + j];
          share[part] += batch.positions[r] + 64;
        }
  }
  for (int w : writers)
    ASSERT_EQ(w, 1);
  EXPECT_LT(std::fabs(share[0] - share[1]), 0.25 * (share[0] + share[1]));
}

// A token of an int8 cache whose K or V is no number reaches the rows that see it, and no other row of its
// tile.
TEST_P(AttentionKernels, NoNumbersStayWithTheirToken) {
  INGOT_NEED_TARGET();
  KernelSet set(tgt);
  AttentionSpec a;
  a.core = makeCore({1, 3, 64, 0, spec::KvType::Int8, 0, 0});
  a.q = {0, 192};
  a.outRows = RowsRef{1, 192};
  ASSERT_NO_FATAL_FAILURE(buildAttention(set, tgt, a));
  for (bool inK : {true, false}) {
    Batch batch({{0, 40}}, 1);
    std::vector<uint8_t> cache = batch.randomCache(a.core.kv, 1.0f);
    RowBuffer q(batch.rows(), 192), out(batch.rows(), 192);
    q.random(batch.rng);
    auto want = expected(a.core, batch, q, cache);
    std::vector<float> bad(64, 1.0f);
    bad[5] = std::nanf("");
    (inK ? spec::kvStoreK : spec::kvStoreV)(batch.page(cache, a.core.kv, 0, 20), a.core.kv, 0, 20 % 16,
                                            bad.data());
    Buffer<uint8_t> scratch(attentionScratch(tgt, a));
    ingot_args_v1 args = makeArgs();
    args.kv = cache.data();
    args.kv_stride = uint64_t(Batch::stride(a.core.kv));
    args.scratch = scratch.data();
    args.slot[0] = q.data.data();
    args.slot[1] = out.data.data();
    ASSERT_EQ(runParts(set.kernel("k"), batch.step, args, 1), 0);
    for (int r = 0; r < batch.rows(); ++r)
      for (int j = 0; j < 192; ++j) {
        ASSERT_EQ(std::isnan(out.row(r)[j]), r >= 20) << "row " << r;
        if (r < 20)
          ASSERT_EQ(out.row(r)[j], want[r][j]) << "row " << r;
      }
  }
}

// The loops of multiply-adds keep their vectors in registers.
TEST_P(AttentionKernels, HotLoopsDoNotSpill) {
  const target::Target &tgt = *target::findTarget(GetParam());
  struct {
    int64_t dim;
    spec::KvType type;
  } const cases[] = {
      {64, spec::KvType::F16}, {256, spec::KvType::F16}, {64, spec::KvType::Int8}, {256, spec::KvType::Int8}};
  for (const auto &[dim, type] : cases) {
    const int64_t perLoop = type == spec::KvType::Int8 ? 4 : 2; // columns of K in the loop of scores
    AttentionSpec a;
    a.core = makeCore({3, 3, dim, 0, type, 0, 0});
    a.q = {0, 9 * dim};
    a.outRows = RowsRef{1, 9 * dim};
    KernelSet set(tgt);
    KernelBuilder k(set.module(), "k", tgt);
    emitAttention(k, a);
    k.finish();
    std::string text = set.assembly(), label;
    int hot = 0, sums = 0, stack = 0;
    for (size_t at = 0; at < text.size();) {
      std::string line = text.substr(at, text.find('\n', at) - at);
      at += line.size() + 1;
      if (line.rfind(".LBB", 0) == 0) {
        label = line.substr(0, line.find(':'));
        sums = stack = 0;
      }
      if (line.find("vfmadd") != std::string::npos && line.find("ps\t") != std::string::npos)
        ++sums;
      stack += line.find("(%rsp)") != std::string::npos && line.find("mm") != std::string::npos;
      bool loops = line.find("\tj") == 0 && line.size() > label.size() && !label.empty() &&
                   line.compare(line.size() - label.size(), label.size(), label) == 0;
      // The softmax of a row, which has more constants than registers, is told apart by its number of sums.
      bool expectedSums = false;
      for (int64_t n : {12, 16, 24})
        expectedSums |= sums == n || sums == n * perLoop;
      if (loops && expectedSums) {
        ++hot;
        EXPECT_EQ(stack, 0) << label;
      }
    }
    EXPECT_GE(hot, 5) << text;
  }
}

TEST(AttentionRefusals, Reasons) {
  AttentionCore core = makeCore(shapes[2]);
  EXPECT_NE(refuseAttention(core, true).find("24"), std::string::npos);
  EXPECT_EQ(refuseAttention(core, false), "");
  core.qHeads = 3;
  EXPECT_NE(refuseAttention(core, false), "");
}

INSTANTIATE_TEST_SUITE_P(Targets, AttentionKernels, testing::ValuesIn(kFloatTargets), targetName);
