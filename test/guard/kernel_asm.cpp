//===- kernel_asm.cpp - assembly of a fixed set of kernels, to be looked at and not to be run ---------===//
//
// kernel_asm ISA [PART OF A NAME]...: emits the kernels whose name holds one of the parts (all without any),
// as the compiler would for that ISA on any machine, and prints their assembly. Names: linear_FORMAT_mROWS
// (rows of the M class, 'chunk' for any number), attention (prompts), attn_split and attn_merge (generation)
// by the size of a head, and those of rows. The set is what test/guard/hotloops.json holds counts of.
//
//===----------------------------------------------------------------------------------------------------===//
#include "codegen/cpu/Attention.h"
#include "codegen/cpu/Elementwise.h"
#include "codegen/cpu/Linear.h"
#include "codegen/cpu/Norm.h"
#include "test/unit/kernels/Harness.h"

#include "llvm/Config/llvm-config.h"

#include <cstdio>
#include <functional>

using namespace ingot;
using namespace ingot::cpu;
using namespace ingot::test;
using qfmt::Scheme;

namespace {

class Emission {
public:
  Emission(const target::Target &t, std::vector<std::string> parts) : set(t), t(t), parts(std::move(parts)) {}

  /// Emits by f(builder) under that name where it is asked for.
  void kernel(const std::string &name, llvm::function_ref<void(KernelBuilder &)> f) {
    bool wanted = parts.empty();
    for (const std::string &part : parts)
      wanted |= name.find(part) != std::string::npos;
    if (!wanted)
      return;
    KernelBuilder k(set.module(), name, t);
    f(k);
    k.finish();
    ++count;
  }

  void linear(const std::string &name, LinearSpec s) {
    s.schedule = linearSchedules(s, t).back();
    if (std::string why = refuseLinear(s, t); !why.empty()) {
      std::fprintf(stderr, "kernel_asm: %s: %s\n", name.c_str(), why.c_str());
      std::exit(1);
    }
    kernel(name, [&](KernelBuilder &k) { emitLinear(k, s); });
  }

  KernelSet set;
  const target::Target &t;
  size_t count = 0;

private:
  std::vector<std::string> parts;
};

/// Kernels of floats differ by the width of vectors only: two of the targets show all of them.
bool hasFloats(const target::Target &t) { return t.name == "avx2" || t.name == "vnni"; }

std::string rowsName(int64_t rows) { return rows ? "m" + std::to_string(rows) : "chunk"; }

LinearSpec product(Scheme scheme, int64_t rows) {
  LinearSpec s;
  s.n = 512;
  s.k = 768;
  s.scheme = scheme;
  s.rows = rows;
  s.block = qfmt::geometry(scheme).isFloat ? 0 : rows ? rows : 12;
  return s;
}

void linears(Emission &e) {
  const Scheme schemes[] = {
#define INGOT_SCHEME(name, text) Scheme::name,
#include "dialects/qfmt/schemes/Schemes.def"
  };
  if (e.t.hasBf16Dot()) { // the rest is the same as with VNNI or AMX
    for (int64_t rows : {1, 4, 0}) {
      LinearSpec dots = product(Scheme::BF16, rows);
      dots.fast = true;
      e.linear("linear_bf16_" + rowsName(rows), dots);
    }
    return;
  }
  // AMX serves chunks of quantized weights; the rest is the same as with VNNI.
  const bool amx = e.t.hasAmx();
  for (Scheme scheme : schemes) {
    if (qfmt::geometry(scheme).isFloat && !hasFloats(e.t))
      continue;
    for (int64_t rows : {1, 4, 0})
      if (!amx || rows == 0)
        e.linear("linear_" + llvm::StringRef(qfmt::schemeName(scheme)).lower() + "_" + rowsName(rows),
                 product(scheme, rows));
  }
  if (amx)
    return;
  for (int64_t rows : {1, 0}) {
    LinearSpec gate = product(Scheme::Q4_1, rows);
    gate.gate = spec::GateKind::Silu;
    e.linear("linear_gate_q4_1_" + rowsName(rows), gate);

    LinearSpec heads = product(Scheme::Q4_1, rows);
    heads.n = 960;
    heads.ropeKv.emplace();
    RopeKvSpec &r = *heads.ropeKv;
    r.qHeads = 9;
    r.headDim = 64;
    r.kv = {3, 64, 64, spec::KvType::F16};
    r.qRope = r.kRope = {spec::RopeStyle::Half, 64, 0};
    r.q = {0, 960, 0};
    r.k = {0, 960, 576};
    r.v = {0, 960, 768};
    r.out = {1, 576};
    e.linear("linear_rope_kv_q4_1_" + rowsName(rows), heads);

    LinearSpec head = product(Scheme::Q8_0, rows);
    head.argmax = true;
    head.domain = RowDomain::Out;
    e.linear("linear_argmax_q8_0_" + rowsName(rows), head);
  }
}

void attentions(Emission &e) {
  for (int64_t dim : {64, 256}) {
    const std::string suffix = "_d" + std::to_string(dim);
    AttentionCore core;
    core.kv = {2, dim, dim, spec::KvType::F16};
    core.qHeads = dim == 64 ? 6 : 8;
    core.scale = 0.125f;
    const int64_t D = core.qHeads * dim;
    AttentionSpec whole;
    whole.core = core;
    whole.q = {0, D};
    whole.outRows = RowsRef{1, D};
    e.kernel("attention" + suffix, [&](KernelBuilder &k) { emitAttention(k, whole); });
    AttnSplitSpec split{core, {0, D}, 1, {core.qHeads, dim, 8}};
    e.kernel("attn_split" + suffix, [&](KernelBuilder &k) { emitAttnSplit(k, split); });
    AttnMergeSpec merge;
    merge.layout = split.layout;
    merge.outRows = RowsRef{1, D};
    e.kernel("attn_merge" + suffix, [&](KernelBuilder &k) { emitAttnMerge(k, merge); });
    AttentionSpec wholeInt8 = whole;
    wholeInt8.core.kv.type = spec::KvType::Int8;
    e.kernel("attention_int8" + suffix, [&](KernelBuilder &k) { emitAttention(k, wholeInt8); });
    AttnSplitSpec splitInt8 = split;
    splitInt8.core = wholeInt8.core;
    e.kernel("attn_split_int8" + suffix, [&](KernelBuilder &k) { emitAttnSplit(k, splitInt8); });
  }
}

void rows(Emission &e) {
  const int64_t D = 768;
  for (int64_t block : {1, 12}) {
    NormSpec norm;
    norm.D = D;
    norm.eps = 1e-5f;
    norm.x = {0, D};
    norm.outAct = 1;
    norm.act = {D, block};
    e.kernel(std::string("rows_norm_quantize_") + (block == 1 ? "m1" : "chunk"),
             [&](KernelBuilder &k) { emitNorm(k, norm); });
    QuantizeSpec quantize;
    quantize.D = D;
    quantize.x = {0, D};
    quantize.act = {D, block};
    e.kernel(std::string("rows_quantize_") + (block == 1 ? "m1" : "chunk"),
             [&](KernelBuilder &k) { emitQuantize(k, quantize); });
  }
  ElementwiseSpec gate;
  gate.kind = ElementwiseSpec::Kind::Gate;
  gate.D = D;
  gate.a = {0, D};
  gate.b = {1, D};
  gate.out = {2, D};
  e.kernel("rows_gate", [&](KernelBuilder &k) { emitElementwise(k, gate); });
}

} // namespace

int main(int argc, char **argv) {
  const target::Target *t = argc > 1 ? target::findTarget(argv[1]) : nullptr;
  if (!t) {
    std::fprintf(stderr, "usage: kernel_asm avx2|avx512|vnni|avx512bf16|amx|amxbf16 [PART OF A NAME]...\n");
    return 2;
  }
  Emission e(*t, {argv + 2, argv + argc});
  linears(e);
  if (hasFloats(*t)) {
    attentions(e);
    rows(e);
  }
  if (!e.count) {
    std::fprintf(stderr, "kernel_asm: no kernel of that name for %s\n", argv[1]);
    return 1;
  }
  std::printf("# LLVM %s\n%s", LLVM_VERSION_STRING, e.set.assembly().c_str());
  return 0;
}
