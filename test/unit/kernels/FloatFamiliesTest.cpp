// From the text of tile.kernel to numbers: every operand of a body reaches the right slot, weight and
// constant.
#include "codegen/cpu/Emit.h"
#include "codegen/cpu/spec/Math.h"
#include "codegen/cpu/spec/Norm.h"
#include "codegen/cpu/spec/Quantize.h"
#include "codegen/target/Registry.h"
#include "dialects/qfmt/Qfmt.h"
#include "test/unit/kernels/FloatTestUtil.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"

using namespace ingot;
using namespace ingot::test;

namespace {

const char *const kAttributes = " attributes {domain = #tile.domain<DOMAIN>, isa = \"ISA\", rows = 4 : i64, "
                                "schedule = #tile.schedule<vector = 32, "
                                "panels = 1, rows = 1, unroll = 1, prefetch = 0, chunk = 0, ops = 64>} {\n";

std::string kernel(const std::string &head, const std::string &body, const std::string &isa,
                   const char *domain = "rows") {
  std::string attributes = kAttributes;
  attributes.replace(attributes.find("DOMAIN"), 6, domain);
  attributes.replace(attributes.find("ISA"), 3, isa);
  return "tile.kernel @" + head + attributes + body + "}\n";
}

class Families : public testing::TestWithParam<const char *> {
protected:
  /// Emits all kernels of `text`; scratch sizes go to `scratch`.
  void build(const std::string &text) {
    const target::Target &tgt = *target::findTarget(GetParam());
    set = std::make_unique<KernelSet>(tgt);
    mlir::MLIRContext *context = set->module().getContext();
    context->loadDialect<tile::TileDialect, qfmt::QfmtDialect>();
    mlir::OwningOpRef<mlir::ModuleOp> parsed = mlir::parseSourceString<mlir::ModuleOp>(text, context);
    ASSERT_TRUE(parsed) << text;
    for (auto k : parsed->getOps<tile::KernelOp>()) {
      cpu::KernelFacts facts;
      ASSERT_TRUE(mlir::succeeded(cpu::emitKernel(k, set->module(), tgt, facts)));
      scratchBytes = std::max(scratchBytes, facts.scratchBytes);
    }
    ASSERT_EQ(set->build(), "");
  }
  void run(const char *name, const ingot_step_v1 &step, ingot_args_v1 args) {
    Buffer<uint8_t> scratch(size_t(scratchBytes) + 64);
    args.scratch = scratch.data();
    ASSERT_EQ(runParts(set->kernel(name), step, args, 2), 0);
  }
  std::unique_ptr<KernelSet> set;
  int64_t scratchBytes = 0;
};

void expectActRow(const spec::ActLayout &l, const uint8_t *act, const float *x, int64_t row) {
  for (int64_t b = 0; b < l.kp() / 32; ++b) {
    float v[32] = {};
    std::copy(x + b * 32, x + std::min<int64_t>(l.K, b * 32 + 32), v);
    spec::ActGroup want = spec::quantizeGroup(v), got = spec::readGroup(l, act, row, b);
    ASSERT_EQ(memcmp(&want, &got, sizeof want), 0) << "row " << row << " group " << b;
  }
}

} // namespace

TEST_P(Families, NormWithResidualAndBothResults) {
  INGOT_NEED_TARGET();
  build(kernel(
      "n norm ins(%x: !tile.rows<48>, %r: !tile.rows<48>) outs(%y: !tile.rows<48>, %a: !tile.act<48, <i8, "
      "group = 32, block = 4>>) weights(%g: !qfmt.packed<1x48, f32, row>)",
      R"(tile.grid rows {
      %0 = tile.load %r : !tile.rows<48> -> !tile.frag<48>
      %1 = tile.load %x : !tile.rows<48> -> !tile.frag<48>
      %2 = tile.rms_norm %1, %g {eps = 1.0e-3 : f32} : !tile.frag<48>, !qfmt.packed<1x48, f32, row> -> !tile.frag<48>
      %3 = tile.add %0, %2 : !tile.frag<48>
      tile.store %3, %y : !tile.frag<48>, !tile.rows<48>
      %4 = tile.quantize %3 : !tile.frag<48> -> !tile.frag<48, <i8, group = 32, block = 4>>
      tile.store %4, %a : !tile.frag<48, <i8, group = 32, block = 4>>, !tile.act<48, <i8, group = 32, block = 4>>
    })",
      GetParam()));
  Random rng(4);
  RowBuffer x(4, 48), r(4, 48), y(4, 48);
  x.random(rng);
  r.random(rng);
  Buffer<float> gamma(48);
  for (float &g : gamma)
    g = rng.normal();
  spec::ActLayout l{48, 4};
  Buffer<uint8_t> act(l.bytes(4));
  ingot_args_v1 args = makeArgs();
  args.slot[0] = x.data.data();
  args.slot[1] = r.data.data();
  args.slot[2] = y.data.data();
  args.slot[3] = act.data();
  args.weight[0] = reinterpret_cast<const uint8_t *>(gamma.data());
  run("n", makeStep(4), args);
  for (int i = 0; i < 4; ++i) {
    float want[48];
    spec::rmsNorm(x.row(i), gamma.data(), r.row(i), want, 48, 1, 1e-3f);
    EXPECT_EQ(firstDifference(y.row(i), want, 48), -1);
    expectActRow(l, act.data(), want, i);
  }
}

TEST_P(Families, ElementwiseAndQuantize) {
  INGOT_NEED_TARGET();
  const std::string two = " ins(%a: !tile.rows<40>, %b: !tile.rows<80>) outs(%y: !tile.rows<40>)";
  const std::string one = " ins(%a: !tile.rows<40>) outs(%y: !tile.rows<40>)";
  const std::string la = "tile.grid rows {\n%0 = tile.load %a : !tile.rows<40> -> !tile.frag<40>\n";
  const std::string lb = "%1 = tile.load %b {offset = 40 : i64} : !tile.rows<80> -> !tile.frag<40>\n";
  const std::string end = "tile.store %2, %y : !tile.frag<40>, !tile.rows<40>\n}";
  std::string text;
  text += kernel("gate gate" + two, la + lb + "%2 = tile.gate gelu_tanh %0, %1 : !tile.frag<40>\n" + end,
                 GetParam());
  text += kernel("add add" + two, la + lb + "%2 = tile.add %0, %1 : !tile.frag<40>\n" + end, GetParam());
  text += kernel("scale scale" + one, la + "%2 = tile.scale %0 {factor = 3.0 : f32} : !tile.frag<40>\n" + end,
                 GetParam());
  text += kernel("softcap softcap" + one,
                 la + "%2 = tile.softcap %0 {cap = 20.0 : f32} : !tile.frag<40>\n" + end, GetParam());
  text += kernel("select select" + one,
                 "tile.grid rows {\n%2 = tile.load %a {selected} : !tile.rows<40> -> !tile.frag<40>\n" + end,
                 GetParam(), "out");
  text += kernel(
      "quantize quantize ins(%a: !tile.rows<40>) outs(%y: !tile.act<40, <i8, group = 32, block = 2>>)",
      la + "%2 = tile.quantize %0 : !tile.frag<40> -> !tile.frag<40, <i8, group = 32, block = 2>>\n"
           "tile.store %2, %y : !tile.frag<40, <i8, group = 32, block = 2>>, !tile.act<40, <i8, group = 32, "
           "block = 2>>\n}",
      GetParam());
  build(text);
  Random rng(5);
  RowBuffer a(4, 40), b(4, 80), y(4, 40);
  a.random(rng, 5);
  b.random(rng);
  std::vector<int32_t> outRows{1, 3};
  ingot_step_v1 step = makeStep(4, 2);
  step.out_rows = outRows.data();
  struct Op {
    const char *name;
    bool two;
    float (*f)(float, float);
  };
  const Op ops[] = {
      {"gate", true, [](float g, float u) { return spec::gate(spec::GateKind::GeluTanh, g, u); }},
      {"add", true, [](float x, float z) { return x + z; }},
      {"scale", false, [](float x, float) { return x * 3.0f; }},
      {"softcap", false, [](float x, float) { return spec::softcap(x, 20.0f); }},
      {"select", false, [](float x, float) { return x; }}};
  for (const Op &op : ops) {
    y.fillNan();
    ingot_args_v1 args = makeArgs();
    args.slot[0] = a.data.data();
    args.slot[1] = op.two ? b.data.data() : y.data.data();
    args.slot[2] = y.data.data();
    run(op.name, step, args);
    bool select = std::string(op.name) == "select";
    for (int i = 0; i < (select ? 2 : 4); ++i)
      for (int j = 0; j < 40; ++j) {
        float want = op.f(a.row(select ? outRows[i] : i)[j], b.row(i)[40 + j]);
        ASSERT_EQ(firstDifference(&y.row(i)[j], &want, 1), -1) << op.name;
      }
  }
  spec::ActLayout l{40, 2};
  Buffer<uint8_t> act(l.bytes(4));
  ingot_args_v1 args = makeArgs();
  args.slot[0] = a.data.data();
  args.slot[1] = act.data();
  run("quantize", step, args);
  for (int i = 0; i < 4; ++i)
    expectActRow(l, act.data(), a.row(i), i);
}

TEST_P(Families, RopeThenAttentionInAllForms) {
  INGOT_NEED_TARGET();
  // 4 query heads on 2 kv heads of 32, rotary over 16, per-head norms, window 40.
  std::string text;
  text += kernel(
      "rope rope_kv ins(%x: !tile.rows<256>) outs(%y: !tile.rows<128>) weights(%gq: !qfmt.packed<1x32, f32, "
      "row>, %gk: !qfmt.packed<1x32, f32, row>)",
      R"(tile.grid row_heads 6 {
      %0 = tile.load %x : !tile.rows<256> -> !tile.frag<128>
      %1 = tile.rms_norm %0, %gq {eps = 1.0e-6 : f32, groups = 4 : i64} : !tile.frag<128>, !qfmt.packed<1x32, f32, row> -> !tile.frag<128>
      %2 = tile.rope %1 {head_dim = 32 : i64, heads = 4 : i64, rotary_dim = 16 : i64, style = #tile.rope_style<half>, table = 1 : i64} : !tile.frag<128>
      tile.store %2, %y : !tile.frag<128>, !tile.rows<128>
      %3 = tile.load %x {offset = 128 : i64} : !tile.rows<256> -> !tile.frag<64>
      %4 = tile.rms_norm %3, %gk {eps = 1.0e-5 : f32, groups = 2 : i64} : !tile.frag<64>, !qfmt.packed<1x32, f32, row> -> !tile.frag<64>
      %5 = tile.rope %4 {head_dim = 32 : i64, heads = 2 : i64, rotary_dim = 16 : i64, style = #tile.rope_style<half>, table = 1 : i64} : !tile.frag<64>
      %6 = tile.load %x {offset = 192 : i64} : !tile.rows<256> -> !tile.frag<64>
      tile.kv_store %5, %6 {kv = #tile.kv<heads = 2, dim = 32, v_dim = 32, dtype = "bf16">} : !tile.frag<64>, !tile.frag<64>
    })",
      GetParam());
  const std::string block = R"(
      %0 = tile.load %q : !tile.rows<128> -> !tile.frag<128>
      %1 = tile.kv_block %0 {block = 64 : i64, kv = #tile.kv<heads = 2, dim = 32, v_dim = 32, dtype = "bf16">, q_heads = 4 : i64, segment = 512 : i64} : !tile.frag<128> -> !tile.state<32> {
      ^bb0(%h: !tile.frag<32>):
        %2 = tile.score %h {scale = 0.3 : f32} : !tile.frag<32> -> !tile.frag<64>
        %3 = tile.softcap %2 {cap = 9.0 : f32} : !tile.frag<64>
        %4 = tile.mask %3 {window = 40 : i64} : !tile.frag<64>
        %5 = tile.online_softmax %4 : !tile.frag<64>
        %6 = tile.pv %5 : !tile.frag<64> -> !tile.state<32>
      }
)";
  const std::string act = "!tile.act<128, <i8, group = 32, block = 4>>";
  const std::string rowsEnd = "\ntile.store %7, %y : !tile.frag<128>, !tile.rows<128>\n}";
  const std::string normalize = "%7 = tile.normalize %1 : !tile.state<32> -> !tile.frag<128>\n";
  const std::string quantized =
      "%8 = tile.quantize %7 : !tile.frag<128> -> !tile.frag<128, <i8, group = 32, block = "
      "4>>\ntile.store %8, %y : !tile.frag<128, <i8, group = 32, block = 4>>, " +
      act + "\n}";
  text += kernel("all attention ins(%q: !tile.rows<128>) outs(%y: !tile.rows<128>)",
                 "tile.grid items 2 {" + block + normalize + rowsEnd, GetParam());
  text += kernel("all8 attention ins(%q: !tile.rows<128>) outs(%y: " + act + ")",
                 "tile.grid items 2 {" + block + normalize + quantized, GetParam());
  const std::string partials = "!tile.partials<heads = 4, dim = 32, segments = 1>";
  text +=
      kernel("split attn_split ins(%q: !tile.rows<128>) outs(%y: " + partials + ")",
             "tile.grid segments 2 {" + block + "tile.store %1, %y : !tile.state<32>, " + partials + "\n}",
             GetParam());
  text += kernel("merge attn_merge ins(%p: " + partials + ") outs(%y: " + act + ")",
                 "tile.grid rows {\n%1 = tile.load_partials %p {segment = 512 : i64, window = 40 : i64} : " +
                     partials + " -> !tile.state<32>\n" + normalize + quantized,
                 GetParam());
  build(text);

  spec::AttentionSpecParams p;
  p.kv = {2, 32, 32, spec::KvType::Bf16};
  p.qHeads = 4;
  p.scale = 0.3f;
  p.softcap = 9.0f;
  p.window = 40;
  Batch batch({{0, 50}, {20, 3}}, 9, 16);
  const int rows = batch.rows();
  std::vector<uint8_t> cache = batch.randomCache(p.kv, 1.0f), wantCache = cache;
  RowBuffer x(rows, 256), q(rows, 128), out(rows, 128);
  x.random(batch.rng);
  Buffer<float> gq(32), gk(32);
  for (int i = 0; i < 32; ++i) {
    gq[i] = batch.rng.normal();
    gk[i] = batch.rng.normal();
  }
  ingot_args_v1 args = makeArgs();
  args.kv = cache.data();
  args.kv_stride = uint64_t(Batch::stride(p.kv));
  args.slot[0] = x.data.data();
  args.slot[1] = q.data.data();
  args.weight[0] = reinterpret_cast<const uint8_t *>(gq.data());
  args.weight[1] = reinterpret_cast<const uint8_t *>(gk.data());
  run("rope", batch.step, args);
  for (int i = 0; i < rows; ++i) {
    const float *table = batch.table->data() + batch.positions[i] * 16;
    std::vector<float> y(192);
    for (int h = 0; h < 6; ++h) {
      spec::rmsNorm(x.row(i) + h * 32, h < 4 ? gq.data() : gk.data(), nullptr, &y[h * 32], 32, 1,
                    h < 4 ? 1e-6f : 1e-5f);
      spec::rope(&y[h * 32], 16, spec::RopeStyle::Half, table);
    }
    int pos = batch.positions[i];
    uint8_t *page = batch.page(wantCache, p.kv, batch.rowSeq[i], pos);
    for (int h = 0; h < 2; ++h) {
      spec::kvStoreK(page, p.kv, h, pos % 16, &y[128 + h * 32]);
      spec::kvStoreV(page, p.kv, h, pos % 16, x.row(i) + 192 + h * 32);
    }
    ASSERT_EQ(firstDifference(q.row(i), y.data(), 128), -1);
  }
  ASSERT_EQ(memcmp(cache.data(), wantCache.data(), cache.size()), 0);

  spec::ActLayout l{128, 4};
  Buffer<uint8_t> act8(l.bytes(rows)), merged(l.bytes(rows));
  Buffer<uint8_t> states(rows * 4 * 48 * 4);
  args.slot[0] = q.data.data();
  args.slot[1] = out.data.data();
  run("all", batch.step, args);
  args.slot[1] = act8.data();
  run("all8", batch.step, args);
  args.slot[1] = states.data();
  run("split", batch.step, args);
  args.slot[0] = states.data();
  args.slot[1] = merged.data();
  run("merge", batch.step, args);
  for (int i = 0; i < rows; ++i) {
    float want[128];
    spec::attendRow(p, q.row(i), batch.positions[i], batch.pages(cache, p.kv, batch.rowSeq[i]), want);
    ASSERT_EQ(firstDifference(out.row(i), want, 128), -1) << "row " << i;
    expectActRow(l, act8.data(), want, i);
    expectActRow(l, merged.data(), want, i);
  }
}

TEST(FamiliesRegistry, AnswersAndRefusals) {
  auto registry = target::createKernelRegistry();
  KernelQuery q;
  q.isa = "avx2";
  for (const char *family : {"norm", "quantize", "gate", "add", "select", "softcap", "scale"}) {
    q.family = family;
    q.n = q.k = 576;
    EXPECT_EQ(registry->find(q).candidates.size(), 1u) << family;
  }
  q.family = "attention";
  q.qHeads = 9;
  q.kvHeads = 3;
  q.headDim = q.vDim = 24;
  EXPECT_EQ(registry->find(q).candidates.size(), 1u);
  q.keys = {"act_out"};
  q.actBlock = 12;
  KernelAnswer refused = registry->find(q);
  EXPECT_TRUE(refused.candidates.empty());
  ASSERT_EQ(refused.refused.size(), 1u);
  EXPECT_NE(refused.refused[0].find("24"), std::string::npos);
  EXPECT_FALSE(refused.hint.empty());
  q.keys = {};
  q.kvHeads = 2;
  EXPECT_TRUE(registry->find(q).candidates.empty());
  q.family = "rope_kv";
  q.kvHeads = 3;
  q.rotaryDim = 26;
  q.keys = {"rope_half"};
  EXPECT_TRUE(registry->find(q).candidates.empty());
}

INSTANTIATE_TEST_SUITE_P(Targets, Families, testing::ValuesIn(kFloatTargets), targetName);
