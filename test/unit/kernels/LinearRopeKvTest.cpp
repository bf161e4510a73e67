// A projection with rope_kv in its epilogue equals the linear and the rope_kv kernel one after the other, bit
// for bit: the rows of q, and every page of the cache.
#include "codegen/cpu/Linear.h"
#include "codegen/cpu/spec/Quantize.h"
#include "dialects/qfmt/schemes/Schemes.h"
#include "test/unit/kernels/FloatTestUtil.h"

using namespace ingot;
using namespace ingot::test;
using namespace ingot::cpu;
using qfmt::Scheme;

namespace {

struct Heads {
  int64_t q, kv, dim, rotary;
  spec::RopeStyle style;
  bool qNorm, kNorm;
  int64_t panels; ///< of one unit
  int64_t qWidth() const { return q * dim; }
  int64_t width() const { return (q + 2 * kv) * dim; }
};

/// Panels of q, k and v are no multiples of the panels in flight.
const Heads kNeighbours = {3, 2, 32, 32, spec::RopeStyle::Interleaved, false, false, 1};
const Heads kOthers[] = {
    {3, 1, 64, 64, spec::RopeStyle::Half, false, false, 2}, // two units a head
    {1, 2, 96, 96, spec::RopeStyle::Half, false, false, 2}, // halves three panels apart
    {3, 2, 16, 16, spec::RopeStyle::Half, false, false, 1}, // both halves in one panel
    {2, 1, 48, 48, spec::RopeStyle::Half, false, false, 3}, // halves end inside panels
    {2, 1, 64, 32, spec::RopeStyle::Half, false, false, 4}, // half of the head is rotated
    {2, 1, 48, 20, spec::RopeStyle::Interleaved, false, false, 3},
    {3, 1, 64, 64, spec::RopeStyle::Half, true, true, 4},
    {1, 1, 256, 256, spec::RopeStyle::Half, true, true, 16},
    {2, 1, 32, 32, spec::RopeStyle::Interleaved, false, true, 2}, // one norm
    {2, 1, 80, 64, spec::RopeStyle::Half, true, false, 5},
};

struct Case {
  Scheme scheme;
  int64_t rows; ///< M class, 0: chunk
  spec::KvType type;
  bool bias, amx;
  Heads heads = kNeighbours;
};

RopeKvSpec headsSpec(const Case &c) {
  const Heads &h = c.heads;
  RopeKvSpec s;
  s.qHeads = h.q;
  s.headDim = h.dim;
  s.kv = {h.kv, h.dim, h.dim, c.type};
  s.qRope = s.kRope = {h.style, h.rotary, 1};
  s.q = {0, h.width(), 0};
  s.k = {0, h.width(), h.qWidth()};
  s.v = {0, h.width(), h.qWidth() + h.kv * h.dim};
  s.out = {1, h.qWidth()};
  unsigned weight = 0;
  if (h.qNorm)
    s.qGamma = weight++;
  if (h.kNorm)
    s.kGamma = weight++;
  s.qEps = 1e-6f;
  s.kEps = 1e-5f;
  return s;
}

LinearSpec linearSpec(const Case &c, const target::Target &t) {
  const qfmt::SchemeGeometry &g = qfmt::geometry(c.scheme);
  LinearSpec s;
  s.n = c.heads.width();
  s.k = g.blockElems == 256 ? 256 : 96;
  s.scheme = c.scheme;
  s.rows = c.rows;
  s.block = g.isFloat ? 0 : c.rows ? c.rows : 12;
  s.bias = c.bias;
  s.amxInSoftware = c.amx;
  s.fast = t.hasBf16Dot();
  s.schedule = c.amx || s.fast ? linearSchedules(s, t).back() : chooseLinearSchedule(s, t);
  return s;
}

LinearSpec fusedSpec(const Case &c, const target::Target &t) {
  LinearSpec s = linearSpec(c, t);
  s.ropeKv = headsSpec(c);
  for (std::optional<unsigned> *gamma : {&s.ropeKv->qGamma, &s.ropeKv->kGamma})
    if (*gamma)
      **gamma += c.bias ? 2 : 1;
  return s;
}

std::vector<Case> casesOf(const target::Target &t) {
  std::vector<Case> cases;
  if (t.hasBf16Dot()) { // what differs from vnni and amx: bf16 dots, in registers and in tiles
    for (bool tiles : {false, true})
      for (int64_t rows : {1, 2, 4, 8, 0}) {
        cases.push_back({Scheme::BF16, rows, spec::KvType::F16, true, tiles});
        for (const Heads &heads : kOthers)
          cases.push_back({Scheme::BF16, rows, spec::KvType::F16, rows % 4 == 0, tiles, heads});
      }
    return cases;
  }
  for (int64_t rows : {1, 2, 4, 8, 0}) {
    cases.push_back({Scheme::Q4_1, rows, spec::KvType::F16, false, false});
    cases.push_back({Scheme::Q8_0, rows, spec::KvType::Bf16, true, false});
    cases.push_back({Scheme::Q6_K, rows, spec::KvType::F32, true, false});
    cases.push_back({Scheme::F16, rows, spec::KvType::F32, true, false});
    cases.push_back({Scheme::F32, rows, spec::KvType::F16, false, false});
    cases.push_back({Scheme::Q4_1, rows, spec::KvType::Int8, true, false});
  }
  const Scheme schemes[] = {Scheme::Q8_0, Scheme::F16, Scheme::Q6_K, Scheme::BF16, Scheme::Q4_1};
  const spec::KvType types[] = {spec::KvType::F16, spec::KvType::F32, spec::KvType::Bf16};
  size_t i = 0;
  for (const Heads &heads : kOthers) {
    for (int64_t rows : {1, 2, 4, 8, 0}) {
      cases.push_back({schemes[i % 5], rows, types[i % 3], i % 2 == 1, false, heads});
      cases.push_back({schemes[(i + 2) % 5], rows, spec::KvType::Int8, i % 2 == 0, false, heads});
      ++i;
    }
    ++i;
  }
  if (t.hasAvx512()) {
    cases.push_back({Scheme::Q4_K, 0, spec::KvType::F16, true, true});
    for (const Heads &heads : kOthers) {
      cases.push_back({++i % 2 ? Scheme::Q4_K : Scheme::Q5_0, 0, types[i % 3], i % 2 == 1, true, heads});
      cases.push_back({i % 2 ? Scheme::Q4_K : Scheme::Q5_0, 0, spec::KvType::Int8, i % 2 == 0, true, heads});
    }
  }
  return cases;
}

/// Random weights in layout n16: file rows whose f16 scales are tame.
Buffer<uint8_t> randomWeights(const LinearSpec &s, Random &rng) {
  const qfmt::SchemeGeometry &g = qfmt::geometry(s.scheme);
  int64_t blocks = s.k / g.blockElems, rowBytes = blocks * g.blockBytes;
  std::vector<uint8_t> file(size_t(s.n * rowBytes));
  for (int64_t b = 0; b < s.n * blocks; ++b) {
    uint8_t *p = file.data() + b * g.blockBytes;
    if (g.isFloat) {
      float v = rng.normal() * 0.05f;
      uint16_t h = qfmt::floatToHalf(v);
      std::memcpy(p, s.scheme == Scheme::F32 ? static_cast<void *>(&v) : &h, g.blockBytes);
      continue;
    }
    for (uint32_t i = 0; i < g.blockBytes; ++i)
      p[i] = uint8_t(rng.bits());
    uint8_t *d = s.scheme == Scheme::Q6_K ? p + 208 : p;
    for (int i = 0; i < (g.hasMin ? 2 : 1); ++i) {
      uint16_t h = qfmt::floatToHalf(rng.normal() * 0.01f);
      std::memcpy(d + 2 * i, &h, 2);
    }
  }
  Buffer<uint8_t> packed(size_t(*qfmt::packedBytes(s.scheme, qfmt::Layout::N16, s.n, s.k)));
  int64_t panel = qfmt::panelSize(s.scheme, s.k)->bytes;
  for (int64_t p = 0; p < s.panels(); ++p) {
    const uint8_t *rows[16];
    for (int64_t i = 0; i < 16; ++i)
      rows[i] = file.data() + (16 * p + i) * rowBytes;
    qfmt::schemeOps(s.scheme).packPanel(rows, s.k, packed.data() + p * panel);
  }
  return packed;
}

std::vector<std::vector<Batch::Seq>> batchesOf(int64_t rows) {
  if (rows == 1)
    return {{{37, 1}}};
  if (rows == 2)
    return {{{5, 1}, {100, 1}}, {{15, 1}}};
  if (rows == 4)
    return {{{14, 3}, {0, 1}}, {{15, 1}, {16, 2}}};
  if (rows == 8)
    return {{{0, 1}, {30, 1}, {13, 5}, {64, 1}}, {{7, 5}}};
  return {{{3, 1}}, {{0, 5}, {30, 1}, {13, 20}, {100, 1}}, {{9, 12}}, {{0, 13}, {15, 2}}, {{60, 40}}};
}

class LinearRopeKv : public testing::TestWithParam<const char *> {};

} // namespace

TEST_P(LinearRopeKv, EqualsTheTwoKernels) {
  INGOT_NEED_TARGET();
  std::vector<Case> cases = casesOf(tgt);
  KernelSet set(tgt);
  for (size_t i = 0; i < cases.size(); ++i) {
    LinearSpec plain = linearSpec(cases[i], tgt), fused = fusedSpec(cases[i], tgt);
    ASSERT_EQ(refuseLinear(fused, tgt), "");
    ASSERT_EQ(fused.unitPanels(),
              cases[i].type == spec::KvType::Int8 ? cases[i].heads.dim / 16 : cases[i].heads.panels);
    std::string n = std::to_string(i);
    KernelBuilder a(set.module(), "linear" + n, tgt);
    emitLinear(a, plain);
    a.finish();
    KernelBuilder b(set.module(), "rope" + n, tgt);
    emitRopeKv(b, headsSpec(cases[i]));
    b.finish();
    KernelBuilder c(set.module(), "fused" + n, tgt);
    emitLinear(c, fused);
    c.finish();
  }
  ASSERT_EQ(set.build(), "");
  for (size_t i = 0; i < cases.size(); ++i) {
    LinearSpec s = fusedSpec(cases[i], tgt);
    std::string n = std::to_string(i);
    const int64_t kQ = cases[i].heads.qWidth(), kDim = cases[i].heads.dim;
    uint64_t seed = i;
    for (const std::vector<Batch::Seq> &seqs : batchesOf(s.rows)) {
      Batch batch(seqs, ++seed, int(cases[i].heads.rotary));
      const int64_t rows = batch.rows();
      const int64_t capacity = s.rows ? s.rows : roundUp(rows, std::max<int64_t>(s.block, 1));
      Buffer<uint8_t> weights = randomWeights(s, batch.rng);
      RowBuffer x(size_t(capacity), s.k), product(size_t(capacity), s.n), wantQ(size_t(capacity), kQ),
          gammas(2, kDim);
      spec::ActLayout layout{s.k, std::max<int64_t>(s.block, 1)};
      Buffer<uint8_t> act(size_t(layout.bytes(capacity)));
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < s.k; ++c)
          x.row(size_t(r))[c] = batch.rng.normal();
        if (s.block)
          spec::quantizeRow(layout, x.row(size_t(r)), r, act.data());
      }
      Buffer<float> bias(size_t(s.n), 0);
      for (float &v : bias)
        v = batch.rng.normal();
      const int64_t most = std::max(linearScratchBytes(s), linearScratchBytes(linearSpec(cases[i], tgt)));
      Buffer<uint8_t> scratch(size_t(most) + 64);
      std::vector<uint8_t> want(batch.cacheBytes(s.ropeKv->kv), 0x5a);
      ingot_args_v1 args = makeArgs();
      args.slot[0] = s.block ? static_cast<void *>(act.data()) : x.data.data();
      args.slot[1] = product.data.data();
      args.weight[0] = weights.data();
      unsigned weight = 1;
      if (s.bias)
        args.weight[weight++] = reinterpret_cast<const uint8_t *>(bias.data());
      args.scratch = scratch.data();
      ASSERT_EQ(runParts(set.kernel("linear" + n), batch.step, args, 1), 0);
      ingot_args_v1 ropeArgs = makeArgs();
      ropeArgs.slot[0] = product.data.data();
      ropeArgs.slot[1] = wantQ.data.data();
      ropeArgs.kv = want.data();
      ropeArgs.kv_stride = uint64_t(batch.stride(s.ropeKv->kv));
      for (unsigned g = 0; g < 2; ++g) {
        for (int64_t c = 0; c < kDim; ++c)
          gammas.row(g)[c] = 1 + 0.3f * batch.rng.normal();
        if ((g ? s.ropeKv->kGamma : s.ropeKv->qGamma).has_value()) {
          args.weight[weight++] = reinterpret_cast<const uint8_t *>(gammas.row(g));
          ropeArgs.weight[g && s.ropeKv->qGamma ? 1 : 0] = reinterpret_cast<const uint8_t *>(gammas.row(g));
        }
      }
      ASSERT_EQ(runParts(set.kernel("rope" + n), batch.step, ropeArgs, 1), 0);
      for (uint32_t parts = 1; parts <= 3; ++parts) {
        RowBuffer q(size_t(capacity), kQ);
        std::vector<uint8_t> got(want.size(), 0x5a);
        args.slot[1] = q.data.data();
        args.kv = got.data();
        args.kv_stride = uint64_t(batch.stride(s.ropeKv->kv));
        ASSERT_EQ(runParts(set.kernel("fused" + n), batch.step, args, parts), 0);
        // All bits, so that rows beyond the step are seen to stay as they were.
        EXPECT_EQ(memcmp(q.data.data(), wantQ.data.data(), q.data.size() * 4), 0)
            << "case " << i << ", rows " << rows << ", parts " << parts;
        EXPECT_EQ(memcmp(got.data(), want.data(), got.size()), 0)
            << "case " << i << ", rows " << rows << ", parts " << parts;
        if (HasFailure())
          return;
      }
      // The comparison has something to compare.
      ASSERT_NE(std::vector<uint8_t>(want.size(), 0x5a), want);
    }
  }
}

TEST(LinearRopeKvRefusals, Reasons) {
  const target::Target &t = *target::findTarget("avx512");
  Case c{Scheme::Q4_1, 4, spec::KvType::F16, false, false};
  auto reason = [&](auto change) {
    LinearSpec s = fusedSpec(c, t);
    change(s);
    return refuseLinear(s, t);
  };
  EXPECT_EQ(reason([](LinearSpec &) {}), "");
  EXPECT_EQ(reason([](LinearSpec &s) { s.ropeKv->qRope.style = spec::RopeStyle::Half; }), "");
  EXPECT_NE(reason([](LinearSpec &s) { s.ropeKv->kRope.rotaryDim = 0; }).find("not rotated"),
            std::string::npos);
  EXPECT_NE(reason([](LinearSpec &s) {
              s.ropeKv->kGamma = 1;
              s.ropeKv->kv.vDim = 16;
              s.n -= 32;
            }).find("units of 2 panels"),
            std::string::npos);
  EXPECT_NE(reason([](LinearSpec &s) {
              s.ropeKv->kv.type = spec::KvType::Int8;
              s.ropeKv->kv.vDim = 64;
              s.n += 64;
            }).find("int8 heads"),
            std::string::npos);
  EXPECT_NE(reason([](LinearSpec &s) { s.n += 16; }).find("fill"), std::string::npos);
  EXPECT_NE(reason([](LinearSpec &s) { s.residual = true; }).find("alone"), std::string::npos);
  EXPECT_NE(reason([](LinearSpec &s) { s.domain = RowDomain::Out; }).find("alone"), std::string::npos);
  EXPECT_NE(reason([](LinearSpec &s) {
              s.ropeKv->headDim = s.ropeKv->kv.dim = s.ropeKv->kv.vDim = 24;
              s.ropeKv->qRope.rotaryDim = s.ropeKv->kRope.rotaryDim = 24;
              s.n = 24 * 7;
            }).find("panels"),
            std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Targets, LinearRopeKv, testing::ValuesIn(kFloatTargets), targetName);
INSTANTIATE_TEST_SUITE_P(Bf16Dots, LinearRopeKv, testing::Values("avx512bf16"), targetName);
