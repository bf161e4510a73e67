//===- FamilyTest.cpp - from registry answers and tile bodies to running code ---------------------===//
#include "codegen/cpu/Emit.h"
#include "codegen/cpu/spec/Math.h"
#include "codegen/cpu/spec/Quantize.h"
#include "codegen/target/Registry.h"
#include "compiler/support/TuneProfile.h"
#include "dialects/qfmt/schemes/Schemes.h"
#include "dialects/tile/Tile.h"
#include "test/unit/kernels/Harness.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <set>

using namespace ingot;
using namespace ingot::test;

namespace {

KernelQuery linearQuery(const std::string &isa, const std::string &scheme, int64_t rows, int64_t block) {
  KernelQuery q;
  q.family = "linear";
  q.isa = isa;
  q.scheme = scheme;
  q.rows = rows;
  q.actBlock = block;
  q.n = 64;
  q.k = 512;
  return q;
}

TEST(Registry, ServesEveryFormatOnEveryTarget) {
  std::unique_ptr<KernelRegistry> registry = target::createKernelRegistry();
  for (const std::string &isa : registry->targets())
    for (int s = 0; s <= int(qfmt::Scheme::Q6_K); ++s)
      for (int64_t rows : {1, 2, 4, 8, 0}) {
        qfmt::Scheme scheme = static_cast<qfmt::Scheme>(s);
        bool isFloat = qfmt::geometry(scheme).isFloat;
        if (isa == "ref" && scheme != qfmt::Scheme::F32)
          continue;
        KernelQuery q = linearQuery(isa, qfmt::schemeName(scheme), rows,
                                    isFloat ? -1
                                    : rows  ? rows
                                            : registry->gemmBlock(isa));
        for (bool gate : {false, true}) {
          q.keys = gate ? std::vector<std::string>{"bias", "gate_silu"}
                        : std::vector<std::string>{"bias", "softcap", "residual"};
          KernelAnswer a = registry->find(q);
          ASSERT_FALSE(a.candidates.empty()) << isa << " " << q.scheme << " rows " << rows;
          for (const KernelCandidate &c : a.candidates) {
            EXPECT_EQ(c.layout, isa == "ref" ? "row" : "n16");
            EXPECT_GE(c.ops, c.panels * c.rows * c.unroll);
            EXPECT_LE(c.ops, 8192);
            EXPECT_LE(c.vector, 64);
          }
        }
        q.family = "embed";
        EXPECT_FALSE(registry->find(q).candidates.empty()) << isa << " embed " << q.scheme;
      }
}

TEST(Registry, OffersAllSchedulesWhereAsked) {
  std::unique_ptr<KernelRegistry> registry = target::createKernelRegistry();
  for (const char *isa : {"avx2", "avx512", "vnni", "amx"})
    for (int s = 0; s <= int(qfmt::Scheme::Q6_K); ++s)
      for (int64_t rows : {1, 2, 4, 8, 0}) {
        bool isFloat = qfmt::geometry(static_cast<qfmt::Scheme>(s)).isFloat;
        KernelQuery q = linearQuery(isa, qfmt::schemeName(static_cast<qfmt::Scheme>(s)), rows,
                                    isFloat ? -1
                                    : rows  ? rows
                                            : registry->gemmBlock(isa));
        std::vector<KernelCandidate> usual = registry->find(q).candidates;
        q.allSchedules = true;
        std::vector<KernelCandidate> all = registry->find(q).candidates;
        EXPECT_GE(all.size(), usual.size() + 4) << isa << " " << q.scheme << " rows " << rows;
        std::set<std::string> texts;
        for (const KernelCandidate &c : all) {
          EXPECT_TRUE(texts.insert(tuneSchedule(c)).second) << tuneSchedule(c);
          EXPECT_GE(c.ops, c.panels * c.rows * c.unroll);
          EXPECT_LE(c.ops, 8192);
          EXPECT_EQ(c.layout, "n16");
        }
        for (const KernelCandidate &c : usual)
          EXPECT_TRUE(texts.count(tuneSchedule(c))) << tuneSchedule(c);
      }
  KernelQuery q;
  q.family = "attention";
  q.isa = "vnni";
  q.qHeads = 9;
  q.kvHeads = 3;
  q.headDim = q.vDim = 64;
  EXPECT_EQ(registry->find(q).candidates.size(), 1u);
  q.allSchedules = true;
  EXPECT_GT(registry->find(q).candidates.size(), 3u);
}

TEST(Registry, SaysWhyNot) {
  std::unique_ptr<KernelRegistry> registry = target::createKernelRegistry();
  KernelQuery q = linearQuery("vnni", "q4_k", 1, 1);
  q.k = 576;
  KernelAnswer a = registry->find(q);
  EXPECT_TRUE(a.candidates.empty());
  ASSERT_FALSE(a.refused.empty());
  EXPECT_NE(a.refused[0].find("256"), std::string::npos);
  EXPECT_FALSE(a.hint.empty());
  q = linearQuery("vnni", "q9_9", 1, 1);
  EXPECT_TRUE(registry->find(q).candidates.empty());
  q = linearQuery("ref", "q4_0", 1, 1);
  EXPECT_TRUE(registry->find(q).candidates.empty());
  q = linearQuery("sse9", "q4_0", 1, 1);
  EXPECT_TRUE(registry->find(q).candidates.empty());
}

/// Parses kernels and emits all of them for one target.
class Emitted {
public:
  Emitted(const target::Target &t, const std::string &text) : set(t) {
    mlir::MLIRContext &context = *set.module().getContext();
    context.loadDialect<tile::TileDialect, qfmt::QfmtDialect>();
    mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) {
      error += d.str() + "\n";
      return mlir::success();
    });
    source = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (!source)
      return;
    for (auto kernel : source->getOps<tile::KernelOp>())
      if (mlir::failed(cpu::emitKernel(kernel, set.module(), t, facts)))
        return;
    error = set.build();
    built = error.empty();
  }
  KernelSet set;
  mlir::OwningOpRef<mlir::ModuleOp> source;
  std::string error;
  cpu::KernelFacts facts;
  bool built = false;
};

std::string linearText(const KernelCandidate &c, const std::string &scheme, int64_t rows, int64_t block) {
  auto number = [](int64_t v) { return std::to_string(v); };
  std::string act = "#qfmt.act<i8, group = 32, block = " + number(block) + ">",
              w = "!qfmt.packed<64x64, " + scheme + ", n16>";
  return "tile.kernel @k linear ins(%x: !tile.act<64, " + act +
         ">, %r: !tile.rows<32>) outs(%y: !tile.rows<32>)\n"
         "    weights(%w: " +
         w +
         ", %b: !qfmt.packed<1x64, f32, row>)\n"
         "    attributes {domain = #tile.domain<rows>, rows = " +
         number(rows) +
         " : i64, isa = \"test\",\n"
         "    schedule = #tile.schedule<vector = " +
         number(c.vector) + ", panels = " + number(c.panels) + ", rows = " + number(c.rows) +
         ", unroll = " + number(c.unroll) + ", prefetch = " + number(c.prefetch) +
         ", chunk = " + number(c.chunk) + ", ops = " + number(c.ops) +
         ">} {\n"
         "  tile.grid panels 4 {\n"
         "    %0 = tile.dot " +
         c.dot + " %x, %w : !tile.act<64, " + act + ">, " + w +
         " -> !tile.frag<64>\n"
         "    %1 = tile.bias %0, %b : !tile.frag<64>, !qfmt.packed<1x64, f32, row> -> !tile.frag<64>\n"
         "    %2 = tile.gate_interleaved gelu_tanh %1 : !tile.frag<64> -> !tile.frag<32>\n"
         "    %3 = tile.softcap %2 {cap = 30.0 : f32} : !tile.frag<32>\n"
         "    %4 = tile.load %r : !tile.rows<32> -> !tile.frag<32>\n"
         "    %5 = tile.add %3, %4 : !tile.frag<32>\n"
         "    tile.store %5, %y : !tile.frag<32>, !tile.rows<32>\n  }\n}\n";
}

TEST(Family, LinearBodyRuns) {
  std::unique_ptr<KernelRegistry> registry = target::createKernelRegistry();
  for (const char *isa : {"avx2", "avx512", "vnni"}) {
    const target::Target &t = *target::findTarget(isa);
    if (!hostRuns(t))
      continue;
    for (int64_t m : {4, 0}) {
      int64_t block = m ? m : 12;
      KernelQuery q = linearQuery(isa, "q5_0", m, block);
      q.k = 64;
      q.keys = {"bias", "gate_gelu_tanh", "softcap", "residual"};
      KernelAnswer a = registry->find(q);
      ASSERT_FALSE(a.candidates.empty());
      Emitted e(t, linearText(a.candidates[0], "q5_0", m, block));
      ASSERT_TRUE(e.built) << isa << ": " << e.error;

      Random random(9);
      const int64_t rows = m ? 4 : 15, capacity = m ? 4 : 24;
      std::vector<uint8_t> file(64 * 44);
      for (uint8_t &b : file)
        b = uint8_t(random.bits());
      const qfmt::SchemeOps &ops = qfmt::schemeOps(qfmt::Scheme::Q5_0);
      int64_t panel = qfmt::panelSize(qfmt::Scheme::Q5_0, 64)->bytes;
      Buffer<uint8_t> w(size_t(4 * panel));
      for (int64_t p = 0; p < 4; ++p) {
        const uint8_t *lanes[16];
        for (int64_t n = 0; n < 16; ++n) {
          uint8_t *row = &file[size_t((16 * p + n) * 44)];
          for (int64_t b = 0; b < 2; ++b)
            row[22 * b + 1] = uint8_t(0x28 | (row[22 * b + 1] & 0x83)); // scales of about 0.03
          lanes[n] = row;
        }
        ops.packPanel(lanes, 64, w.data() + p * panel);
      }
      spec::ActLayout layout{64, block};
      Buffer<uint8_t> act(size_t(layout.bytes(capacity)), 0), scratch(size_t(e.facts.scratchBytes) + 64);
      Buffer<float> bias(64), residual(size_t(capacity * 32)), y(residual.size()), x(size_t(rows * 64));
      for (Buffer<float> *b : {&bias, &residual, &x})
        for (float &v : *b)
          v = random.normal();
      for (int64_t r = 0; r < rows; ++r)
        spec::quantizeRow(layout, &x[size_t(64 * r)], r, act.data());
      ingot_step_v1 step = makeStep(uint32_t(rows));
      ingot_args_v1 args = makeArgs();
      args.slot[0] = act.data();
      args.slot[1] = residual.data();
      args.slot[2] = y.data();
      args.weight[0] = w.data();
      args.weight[1] = reinterpret_cast<const uint8_t *>(bias.data());
      args.scratch = scratch.data();
      ASSERT_EQ(runParts(e.set.kernel("k"), step, args, 2), 0);
      for (int64_t r = 0; r < rows; ++r) {
        int8_t codes[64];
        float da[2], ds[2];
        qfmt::quantizeActRow(&x[size_t(64 * r)], 64, codes, da, ds);
        auto value = [&](int64_t n) {
          return ops.dotRow(&file[size_t(44 * n)], 64, {codes, da, ds}) + bias[size_t(n)];
        };
        for (int64_t i = 0; i < 32; ++i) {
          int64_t g = i / 16 * 32 + i % 16;
          float want = spec::gate(spec::GateKind::GeluTanh, value(g), value(g + 16));
          want = residual[size_t(32 * r + i)] + spec::softcap(want, 30);
          ASSERT_EQ(y[size_t(32 * r + i)], want) << isa << " row " << r << " column " << i;
        }
      }
    }
  }
}

TEST(Family, RefusesAScheduleThatTheTargetLacks) {
  KernelCandidate c;
  c.dot = "vnni";
  c.vector = 64;
  c.rows = 4;
  c.ops = 100;
  Emitted e(*target::findTarget("avx2"), linearText(c, "q4_1", 4, 4));
  EXPECT_FALSE(e.built);
  EXPECT_NE(e.error.find("no AVX512-VNNI"), std::string::npos) << e.error;
}

} // namespace
