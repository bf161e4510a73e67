// Rope, per-head norm and KV append equal the scalar specification bit for bit, in every page of the cache.
#include "codegen/cpu/RopeKv.h"
#include "codegen/cpu/spec/Norm.h"
#include "test/unit/kernels/FloatTestUtil.h"

using namespace ingot;
using namespace ingot::test;
using namespace ingot::cpu;

namespace {

class RopeKernels : public testing::TestWithParam<const char *> {};

struct Case {
  int64_t qHeads, kvHeads, dim, rotaryDim;
  spec::RopeStyle style;
  spec::KvType type;
  bool fused, norms;
};

const Case cases[] = {
    {9, 3, 64, 64, spec::RopeStyle::Half, spec::KvType::F16, true, false},
    {9, 3, 64, 64, spec::RopeStyle::Interleaved, spec::KvType::F16, true, false},
    {4, 1, 256, 256, spec::RopeStyle::Half, spec::KvType::F16, false, true},
    {2, 2, 24, 24, spec::RopeStyle::Half, spec::KvType::F32, true, true},
    {4, 2, 40, 40, spec::RopeStyle::Interleaved, spec::KvType::Bf16, true, false},
    {2, 1, 40, 20, spec::RopeStyle::Half, spec::KvType::F32, false, false},
    {2, 1, 80, 32, spec::RopeStyle::Half, spec::KvType::Bf16, true, false},
    {2, 1, 64, 24, spec::RopeStyle::Interleaved, spec::KvType::F16, true, true},
    {3, 1, 16, 0, spec::RopeStyle::Half, spec::KvType::F16, true, false},
    {9, 3, 64, 64, spec::RopeStyle::Half, spec::KvType::Int8, true, false},
    {4, 1, 256, 256, spec::RopeStyle::Half, spec::KvType::Int8, false, true},
    {2, 2, 24, 24, spec::RopeStyle::Interleaved, spec::KvType::Int8, true, true},
    {2, 1, 80, 20, spec::RopeStyle::Half, spec::KvType::Int8, false, false},
    {2, 1, 90, 32, spec::RopeStyle::Interleaved, spec::KvType::Int8, true, false},
    {3, 1, 16, 0, spec::RopeStyle::Half, spec::KvType::Int8, true, false},
};

/// Makes rows of v, and of k where nothing multiplies them, what quantization meets seldom.
void extremes(float *k, float *v, int64_t n, bool plain, int row) {
  for (float *x : {v, plain ? k : v}) {
    switch (row) {
    case 0:
      std::fill(x, x + n, 0.0f);
      break;
    case 1:
      x[n - 1] = std::nanf("");
      break;
    case 2:
      x[0] = -INFINITY;
      break;
    case 3:
      std::fill(x, x + n, -9e-31f);
      break;
    case 4:
      x[n / 2] = 3e38f;
      break;
    case 5:
      std::fill(x, x + n, 1.1e-30f);
      break;
    case 6: // ties
      for (int64_t i = 0; i < n; ++i)
        x[i] = float(i % 128) - 0.5f;
      x[n - 1] = 127.0f;
      break;
    }
  }
}

RopeKvSpec makeSpec(const Case &c) {
  RopeKvSpec s;
  s.qHeads = c.qHeads;
  s.headDim = c.dim;
  s.kv = {c.kvHeads, c.dim, c.dim, c.type};
  s.qRope = s.kRope = {c.style, c.rotaryDim, 1};
  int64_t q = c.qHeads * c.dim, kv = c.kvHeads * c.dim;
  if (c.fused) {
    s.q = {0, q + 2 * kv, 0};
    s.k = {0, q + 2 * kv, q};
    s.v = {0, q + 2 * kv, q + kv};
    s.out = {1, q};
  } else {
    s.q = {0, q};
    s.k = {1, kv};
    s.v = {2, kv};
    s.out = {0, q}; // in place
  }
  if (c.norms) {
    s.qGamma = 0;
    s.kGamma = 1;
    s.qEps = 1e-6f;
    s.kEps = 1e-5f;
  }
  return s;
}

} // namespace

TEST_P(RopeKernels, EqualTheSpecification) {
  INGOT_NEED_TARGET();
  KernelSet set(tgt);
  int n = 0;
  for (const Case &c : cases) {
    KernelBuilder k(set.module(), "k" + std::to_string(n++), tgt);
    ASSERT_EQ(refuseRopeKv(makeSpec(c)), "");
    emitRopeKv(k, makeSpec(c));
    k.finish();
  }
  ASSERT_EQ(set.build(), "");
  n = 0;
  for (const Case &c : cases) {
    ingot_kernel_fn fn = set.kernel("k" + std::to_string(n++));
    RopeKvSpec s = makeSpec(c);
    const int64_t q = c.qHeads * c.dim, kv = c.kvHeads * c.dim;
    for (uint32_t parts = 1; parts <= 3; ++parts) {
      Batch batch({{0, 5}, {30, 1}, {13, 20}, {100, 1}}, n * 10 + parts, int(c.rotaryDim));
      const int rows = batch.rows();
      RowBuffer fused(rows, q + 2 * kv), qs(rows, q), ks(rows, kv), vs(rows, kv), out(rows, q);
      for (RowBuffer *b : {&fused, &qs, &ks, &vs})
        b->random(batch.rng);
      if (s.kv.scaled())
        for (int i = 0; i < rows; ++i)
          for (int64_t h = 0; h < c.kvHeads; ++h)
            extremes((c.fused ? fused.row(i) + q : ks.row(i)) + h * c.dim,
                     (c.fused ? fused.row(i) + q + kv : vs.row(i)) + h * c.dim, c.dim,
                     !c.rotaryDim && !c.norms, (i + int(h)) % 9);
      Buffer<float> gq(cpu::roundUp(c.dim, 16), 0), gk(cpu::roundUp(c.dim, 16), 0);
      for (int64_t i = 0; i < c.dim; ++i) {
        gq[i] = batch.rng.normal();
        gk[i] = batch.rng.normal();
      }
      std::vector<uint8_t> got(batch.cacheBytes(s.kv), 0x5a), want = got;
      std::vector<std::vector<float>> wantQ(rows);
      for (int i = 0; i < rows; ++i) {
        auto head = [&](const float *x, const std::optional<unsigned> &g, const Buffer<float> &gamma,
                        float eps) {
          std::vector<float> v(x, x + c.dim);
          if (g)
            spec::rmsNorm(x, gamma.data(), nullptr, v.data(), c.dim, 1, eps);
          if (c.rotaryDim)
            spec::rope(v.data(), c.rotaryDim, c.style,
                       batch.table->data() + batch.positions[i] * c.rotaryDim);
          return v;
        };
        const float *pq = c.fused ? fused.row(i) : qs.row(i), *pk = c.fused ? fused.row(i) + q : ks.row(i),
                    *pv = c.fused ? fused.row(i) + q + kv : vs.row(i);
        for (int64_t h = 0; h < c.qHeads; ++h)
          for (float x : head(pq + h * c.dim, s.qGamma, gq, s.qEps))
            wantQ[i].push_back(x);
        int pos = batch.positions[i];
        uint8_t *page = batch.page(want, s.kv, batch.rowSeq[i], pos);
        for (int64_t h = 0; h < c.kvHeads; ++h) {
          auto k = head(pk + h * c.dim, s.kGamma, gk, s.kEps);
          spec::kvStoreK(page, s.kv, h, pos % 16, k.data());
          spec::kvStoreV(page, s.kv, h, pos % 16, pv + h * c.dim);
        }
      }
      ingot_args_v1 args = makeArgs();
      args.kv = got.data();
      args.kv_stride = uint64_t(batch.stride(s.kv));
      args.slot[0] = c.fused ? fused.data.data() : qs.data.data();
      args.slot[1] = c.fused ? out.data.data() : ks.data.data();
      args.slot[2] = vs.data.data();
      args.weight[0] = reinterpret_cast<const uint8_t *>(gq.data());
      args.weight[1] = reinterpret_cast<const uint8_t *>(gk.data());
      ASSERT_EQ(runParts(fn, batch.step, args, parts), 0);
      for (int i = 0; i < rows; ++i)
        ASSERT_EQ(firstDifference((c.fused ? out : qs).row(i), wantQ[i].data(), size_t(q)), -1)
            << "case " << n - 1 << " row " << i;
      ASSERT_EQ(memcmp(got.data(), want.data(), got.size()), 0) << "case " << n - 1;
    }
  }
}

TEST(RopeRefusals, Reasons) {
  RopeKvSpec s = makeSpec(cases[0]);
  s.qRope.rotaryDim = 63;
  EXPECT_NE(refuseRopeKv(s), "");
  s = makeSpec(cases[0]);
  s.kv.dim = 32;
  EXPECT_NE(refuseRopeKv(s), "");
}

INSTANTIATE_TEST_SUITE_P(Targets, RopeKernels, testing::ValuesIn(kFloatTargets), targetName);
