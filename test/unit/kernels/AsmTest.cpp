//===- AsmTest.cpp - what LLVM makes of the hot loops ---------------------------------------------===//
//
// The loops are designed for the register file and for folded broadcasts; a change of LLVM or of an emitter
// that breaks this costs half the speed and no test of results notices.
//
//===----------------------------------------------------------------------------------------------------===//
#include "codegen/cpu/Linear.h"
#include "test/unit/kernels/Harness.h"

#include <gtest/gtest.h>

#include <map>
#include <sstream>

using namespace ingot;
using namespace ingot::cpu;
using namespace ingot::test;
using qfmt::Scheme;

namespace {

struct Loop {
  size_t dots = 0, folded = 0, spills = 0, prefetches = 0;
};

bool has(const std::string &line, const char *what) { return line.find(what) != std::string::npos; }

/// Innermost loops that hold dot products: from a label to the last jump back to it, without a loop inside.
std::vector<Loop> dotLoops(const std::string &text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    lines.push_back(line);
  std::map<std::string, size_t> labels;
  std::vector<std::pair<size_t, size_t>> all;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string &l = lines[i];
    if (l.compare(0, 4, ".LBB") == 0)
      labels[l.substr(0, l.find(':'))] = i;
    size_t jump = l.find("\tj"), target = l.find(".LBB");
    if (jump == std::string::npos || target == std::string::npos)
      continue;
    std::string name = l.substr(target, l.find_first_of(" \t#", target) - target);
    auto it = labels.find(name);
    if (it != labels.end())
      all.push_back({it->second, i});
  }
  std::vector<Loop> out;
  for (auto loop : all) {
    bool innermost = true;
    for (auto other : all)
      innermost &= other == loop || !(other.first >= loop.first && other.second <= loop.second);
    if (!innermost)
      continue;
    Loop r;
    for (size_t i = loop.first; i < loop.second; ++i) {
      const std::string &l = lines[i];
      r.dots += has(l, "vpdpbusd") || has(l, "vpmaddubsw");
      r.folded += has(l, "{1to16}");
      r.spills += has(l, "mm") && (has(l, "Spill") || has(l, "Reload"));
      r.prefetches += has(l, "prefetch");
    }
    if (r.dots)
      out.push_back(r);
  }
  return out;
}

std::string assemblyOf(const char *isa, Scheme scheme, int64_t rows, int64_t k) {
  const target::Target &t = *target::findTarget(isa);
  LinearSpec s;
  s.n = 512;
  s.k = k;
  s.scheme = scheme;
  s.rows = rows;
  s.block = rows ? rows : 12;
  s.schedule = chooseLinearSchedule(s, t);
  KernelSet set(t);
  KernelBuilder b(set.module(), "k", t);
  emitLinear(b, s);
  b.finish();
  return set.assembly();
}

TEST(Assembly, VnniLoopsFoldBroadcastsAndSpillNothing) {
  for (Scheme scheme : {Scheme::Q4_0, Scheme::Q4_1, Scheme::Q5_0, Scheme::Q5_1, Scheme::Q8_0})
    for (int64_t rows : {1, 2, 4, 8, 0}) {
      std::string text = assemblyOf("vnni", scheme, rows, 576);
      std::vector<Loop> loops = dotLoops(text);
      ASSERT_FALSE(loops.empty()) << qfmt::schemeName(scheme) << " rows " << rows;
      size_t widest = 0;
      for (const Loop &l : loops) {
        EXPECT_EQ(l.spills, 0u) << qfmt::schemeName(scheme) << " rows " << rows;
        EXPECT_GE(l.folded, l.dots) << qfmt::schemeName(scheme) << " rows " << rows;
        EXPECT_GT(l.prefetches, 0u) << qfmt::schemeName(scheme) << " rows " << rows;
        widest = std::max(widest, l.dots);
      }
      EXPECT_EQ(widest, size_t(8 * (rows ? rows : 12)));
      EXPECT_FALSE(has(text, "\tcall"));
    }
}

TEST(Assembly, TargetsUseOnlyWhatTheyMay) {
  for (Scheme scheme : {Scheme::Q4_1, Scheme::Q6_K, Scheme::Q8_0}) {
    std::string avx2 = assemblyOf("avx2", scheme, 0, 512), avx512 = assemblyOf("avx512", scheme, 0, 512);
    EXPECT_TRUE(has(avx2, "vpmaddubsw") && has(avx2, "vpmaddwd"));
    EXPECT_FALSE(has(avx2, "zmm") || has(avx2, "%k1"));
    EXPECT_TRUE(has(avx512, "vpmaddubsw") && has(avx512, "zmm"));
    EXPECT_FALSE(has(avx2, "vpdpbusd") || has(avx512, "vpdpbusd"));
  }
}

TEST(Assembly, FloatLoopsKeepTheirAccumulators) {
  for (const char *isa : {"avx2", "vnni"})
    for (int64_t rows : {1, 2, 4, 8}) {
      const target::Target &t = *target::findTarget(isa);
      LinearSpec s;
      s.n = 512;
      s.k = 512;
      s.scheme = Scheme::F16;
      s.rows = rows;
      s.schedule = chooseLinearSchedule(s, t);
      KernelSet set(t);
      KernelBuilder b(set.module(), "k", t);
      emitLinear(b, s);
      b.finish();
      std::string text = set.assembly();
      std::istringstream in(text);
      size_t spills = 0;
      for (std::string line; std::getline(in, line);)
        spills += has(line, "mm") && (has(line, "Spill") || has(line, "Reload"));
      EXPECT_EQ(spills, 0u) << isa << " rows " << rows;
      EXPECT_TRUE(has(text, "vfmadd"));
    }
}

} // namespace
