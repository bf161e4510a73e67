//===- TuneProfileTest.cpp - the text of measured schedules ----------------------------------------===//
#include "compiler/support/TuneProfile.h"

#include <gtest/gtest.h>

using namespace ingot;

namespace {

KernelQuery linear(int64_t n) {
  KernelQuery q;
  q.family = "linear";
  q.isa = "vnni";
  q.rows = 1;
  q.n = n;
  q.k = 576;
  q.scheme = "q4_1";
  q.actBlock = 1;
  return q;
}

KernelQuery everything() {
  KernelQuery q = linear(960);
  q.rows = 0;
  q.outDomain = true;
  q.keys = {"bias", "rope_kv", "rope_half", "rope_interleaved"};
  q.qHeads = 9;
  q.kvHeads = 3;
  q.headDim = 64;
  q.vDim = 32;
  q.rotaryDim = 16;
  q.kvDtype = "bf16";
  q.fast = true;
  return q;
}

TuneEntry entry(const KernelQuery &q, int64_t prefetch) {
  KernelCandidate c;
  c.dot = "vnni";
  c.prefetch = prefetch;
  TuneEntry e;
  e.key = tuneKey(q);
  e.isa = q.isa;
  e.schedule = tuneSchedule(c);
  e.threads = 2;
  e.defaultNs = 1000;
  e.chosenNs = 900;
  return e;
}

std::string faultOf(const std::string &text) {
  llvm::Expected<TuneProfile> profile = TuneProfile::parse(text, "p.tune");
  return profile ? "" : llvm::toString(profile.takeError());
}

const std::string head = "ingot-tune 1 kernels 3\n";
const std::string good = "linear isa=vnni rows=1 n=960 k=576 scheme=q4_1 act=1 | dot=vnni vector=64 panels=1 "
                         "rows=1 unroll=1 prefetch=0 chunk=0 | threads=1 default=5 chosen=4\n";

TEST(TuneProfile, PrintsAndReadsBack) {
  TuneProfile profile(3);
  profile.add(entry(everything(), 4096));
  KernelQuery attention;
  attention.family = "attention";
  attention.isa = "avx2";
  profile.add(entry(attention, 0));
  std::string text = profile.print();
  EXPECT_EQ(text.find("ingot-tune 1 kernels 3\nlinear isa=vnni rows=0 domain=out n=960 k=576 scheme=q4_1 "),
            0u);
  llvm::Expected<TuneProfile> read = TuneProfile::parse(text, "p.tune");
  ASSERT_TRUE(static_cast<bool>(read)) << llvm::toString(read.takeError());
  EXPECT_EQ(read->print(), text);
  EXPECT_EQ(read->generation(), 3);
  EXPECT_EQ(read->hash(), profile.hash());
  const TuneEntry *found = read->find(tuneKey(everything()));
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->isa, "vnni");
  EXPECT_EQ(found->schedule, "dot=vnni vector=64 panels=1 rows=1 unroll=1 prefetch=4096 chunk=0");
  EXPECT_EQ(found->threads, 2);
  EXPECT_EQ(found->defaultNs, 1000);
  EXPECT_EQ(found->chosenNs, 900);
  EXPECT_EQ(read->find(tuneKey(linear(960))), nullptr);
}

TEST(TuneProfile, EveryFieldOfAPrototypeIsInItsKey) {
  std::string key = tuneKey(everything());
  auto differs = [&](auto change) {
    KernelQuery q = everything();
    change(q);
    return tuneKey(q) != key;
  };
  EXPECT_TRUE(differs([](KernelQuery &q) { q.family = "attention"; }));
  EXPECT_TRUE(differs([](KernelQuery &q) { q.isa = "avx2"; }));
  EXPECT_TRUE(differs([](KernelQuery &q) { q.rows = 8; }));
  EXPECT_TRUE(differs([](KernelQuery &q) { q.outDomain = false; }));
  EXPECT_TRUE(differs([](KernelQuery &q) { q.n = 1; }));
  EXPECT_TRUE(differs([](KernelQuery &q) { q.k = 1; }));
  EXPECT_TRUE(differs([](KernelQuery &q) { q.scheme = "q8_0"; }));
  EXPECT_TRUE(differs([](KernelQuery &q) { q.actBlock = 12; }));
  EXPECT_TRUE(differs([](KernelQuery &q) { q.keys.pop_back(); }));
  EXPECT_TRUE(differs([](KernelQuery &q) { q.qHeads = 1; }));
  EXPECT_TRUE(differs([](KernelQuery &q) { q.kvHeads = 1; }));
  EXPECT_TRUE(differs([](KernelQuery &q) { q.headDim = 1; }));
  EXPECT_TRUE(differs([](KernelQuery &q) { q.vDim = 1; }));
  EXPECT_TRUE(differs([](KernelQuery &q) { q.rotaryDim = 1; }));
  EXPECT_TRUE(differs([](KernelQuery &q) { q.kvDtype = "f16"; }));
  EXPECT_TRUE(differs([](KernelQuery &q) { q.fast = false; }));
  EXPECT_FALSE(differs([](KernelQuery &q) { q.allSchedules = true; }));
}

TEST(TuneProfile, HashIsOfWhatDecides) {
  TuneProfile a(1), b(1), c(1), d(2);
  a.add(entry(linear(960), 0));
  a.add(entry(linear(576), 0));
  b.add(entry(linear(576), 0));
  TuneEntry other = entry(linear(960), 0);
  other.chosenNs = 1;
  other.threads = 7;
  b.add(other);
  c.add(entry(linear(960), 4096));
  c.add(entry(linear(576), 0));
  d.add(entry(linear(960), 0));
  d.add(entry(linear(576), 0));
  EXPECT_EQ(a.hash(), b.hash());
  EXPECT_NE(a.hash(), c.hash());
  EXPECT_NE(a.hash(), d.hash());
  EXPECT_EQ(a.hash().size(), 16u);
}

TEST(TuneProfile, TakesCommentsAndEmptyLines) {
  EXPECT_EQ(faultOf(head + "\n# linear\n  \r\n" + good), "");
  EXPECT_EQ(faultOf(head), "");
}

TEST(TuneProfile, SaysWhichLineIsWrong) {
  EXPECT_EQ(faultOf(""), "p.tune:1: is empty: no profile of ingot tune");
  EXPECT_EQ(faultOf(good), "p.tune:1: is no profile of ingot tune: the first line is not 'ingot-tune VERSION "
                           "kernels NUMBER'");
  EXPECT_EQ(faultOf("ingot-tune 2 kernels 1\n"), "p.tune:1: format 2 is not known, only 1");
  EXPECT_EQ(faultOf(head + good + good), "p.tune:3: that kernel has an entry above");
  EXPECT_EQ(faultOf(head + "\n" + good.substr(0, 60)), "p.tune:3: is not 'KERNEL | SCHEDULE | MEASURED'");
  auto changed = [](std::string from, const std::string &to) {
    std::string text = head + good;
    size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return faultOf(text.replace(at, from.size(), to));
  };
  EXPECT_EQ(changed("linear isa", "isa"), "p.tune:2: no kernel family");
  EXPECT_EQ(changed("isa=vnni ", ""), "p.tune:2: 'isa' is missing");
  EXPECT_EQ(changed("rows=1 n", "rows=-1 n"), "p.tune:2: 'rows=-1' is no number in range");
  EXPECT_EQ(changed("n=960", "n=9999999999999999999999"),
            "p.tune:2: 'n=9999999999999999999999' is no number in range");
  EXPECT_EQ(changed("n=960", "n=960 n=960"), "p.tune:2: 'n' stands twice");
  EXPECT_EQ(changed("n=960", "n"), "p.tune:2: 'n' is not NAME=VALUE");
  EXPECT_EQ(changed("n=960", "m=960"), "p.tune:2: unknown field 'm'");
  EXPECT_EQ(changed("act=1", "domain=rows"), "p.tune:2: domain 'rows' is not out");
  EXPECT_EQ(changed("act=1", "numerics=quick"), "p.tune:2: numerics 'quick' is not fast");
  EXPECT_EQ(changed("act=1", "keys=a,,b"), "p.tune:2: 'keys=a,,b' is no list of words");
  EXPECT_EQ(changed("scheme=q4_1", "scheme=../q"), "p.tune:2: 'scheme=../q' is no word");
  EXPECT_EQ(changed("panels=1", "panels=0"), "p.tune:2: 'panels=0' is no number in range");
  EXPECT_EQ(changed(" prefetch=0", ""), "p.tune:2: 'prefetch' is missing");
  EXPECT_EQ(changed("threads=1", "threads=0"), "p.tune:2: 'threads=0' is no number in range");
  EXPECT_EQ(changed("act=1", "act=1\x01"), "p.tune:2: holds bytes that are no text");
}

TEST(TuneProfile, ReadsRegularFilesAlone) {
  for (const char *path : {"/dev/zero", "/", "/there/is/none"}) {
    llvm::Expected<TuneProfile> profile = TuneProfile::read(path);
    ASSERT_FALSE(static_cast<bool>(profile)) << path;
    EXPECT_EQ(llvm::toString(profile.takeError()).find(std::string("cannot read ") + path + ": "), 0u);
  }
}

} // namespace
