//===- TablesTest.cpp - tables of a planned module, loaded and read back --------------------------===//
//
// A planned module in text goes through the tables to an object; the object is loaded as a JIT would, and
// what its query function returns is compared with the plan field by field.
//
//===----------------------------------------------------------------------------------------------------===//
#include "codegen/cpu/ModuleTables.h"
#include "codegen/cpu/ObjectEmitter.h"
#include "dialects/llm/Llm.h"
#include "dialects/rt/Rt.h"
#include "dialects/tile/Tile.h"
#include "runtime/abi/ingot_abi.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/xxhash.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace ingot;

namespace {

const char *kPlan = R"mlir(
#s = #tile.schedule<vector = 32, panels = 1, rows = 1, unroll = 1, prefetch = 0, chunk = 0, ops = 16>
llm.param @tok : !qfmt.packed<96x64, f16, n16> from f16 [#llm.ext<0, 0, 12288>] rows [96]
llm.param @g : !qfmt.packed<1x64, f32, row> from f32 [#llm.ext<0, 0, 256>] rows [64]
tile.kernel @k_embed embed outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<96x64, f16, n16>)
    attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "avx2", schedule = #s} {
  tile.grid rows {
    %0 = tile.embed %w {scale = 1.0 : f32} : !qfmt.packed<96x64, f16, n16> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @k_norm norm ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) weights(%g: !qfmt.packed<1x64, f32, row>)
    attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "avx2", schedule = #s} {
  tile.grid rows {
    %0 = tile.load %x : !tile.rows<64> -> !tile.frag<64>
    %1 = tile.rms_norm %0, %g {eps = 1.0e-5 : f32} : !tile.frag<64>, !qfmt.packed<1x64, f32, row> -> !tile.frag<64>
    tile.store %1, %y : !tile.frag<64>, !tile.rows<64>
  }
}
rt.module "avx2" {hidden = 64 : i64, layers = 2 : i64, max_seqs = 3 : i64, positions = 128 : i64, vocab = 96 : i64, weight_bytes = 12544 : i64}
rt.kv_layer 0 "bf16" {heads = 2 : i64, dim = 32 : i64, v_dim = 32 : i64, window = 48 : i64, page_bytes = 4096 : i64}
rt.rope 0 "r" {inv_freq = array<f64: 1.0, 0.30000000000000004>, scale = 1.15 : f64}
rt.program @step_m1 attributes {m_class = 1 : i64, min_rows = 1 : i64, max_rows = 1 : i64, alloc_rows = 1 : i64, max_out = 1 : i64, arena_bytes = 640 : i64, private_bytes = 256 : i64} {
  %0 = rt.buffer arena 256 at 128 "x"
  %1 = rt.buffer private 256 at 64 "y"
  rt.stage 0 {
    rt.launch @k_embed(%0) weights [@tok] outs 1
    rt.tap embed 0 %0 {width = 60 : i64, stride = 64 : i64}
  }
  rt.stage 1 {
    rt.launch @k_norm(%0, %1) weights [@g] outs 1 replicated {layer = 1 : i64, kv_layer = 0 : i64}
    rt.tap layer 1 %1 {width = 64 : i64, stride = 64 : i64}
  }
  rt.logits %1 {stride = 96 : i64}
}
rt.program @step_m8 attributes {m_class = 8 : i64, min_rows = 2 : i64, max_rows = 8 : i64, alloc_rows = 8 : i64, max_out = 5 : i64, arena_bytes = 2048 : i64, private_bytes = 0 : i64} {
  %0 = rt.buffer arena 2048 at 0 "x"
  rt.stage 0 {
    rt.launch @k_embed(%0) weights [@tok] outs 1
  }
  rt.logits %0 {stride = 96 : i64}
}
rt.weight @tok at 0 bytes 12288
rt.weight @g at 12288 bytes 256
)mlir";

class Tables : public ::testing::Test {
protected:
  void SetUp() override {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    DialectRegistry registry;
    registry
        .insert<qfmt::QfmtDialect, llm::LlmDialect, tile::TileDialect, rt::RtDialect, LLVM::LLVMDialect>();
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    planned = parseSourceString<ModuleOp>(kPlan, &context);
    ASSERT_TRUE(planned);
    code = ModuleOp::create(UnknownLoc::get(&context));
  }

  /// A function that returns `value`, in the place of an emitted kernel.
  void kernel(StringRef name, int32_t value) {
    OpBuilder b(&context);
    b.setInsertionPointToEnd(code->getBody());
    Location loc = UnknownLoc::get(&context);
    Type ptr = LLVM::LLVMPointerType::get(&context), i32 = b.getI32Type();
    auto func =
        LLVM::LLVMFuncOp::create(b, loc, name, LLVM::LLVMFunctionType::get(i32, {ptr, ptr, i32, i32}));
    func.setVisibility_(LLVM::Visibility::Hidden);
    func.setDsoLocal(true);
    b.setInsertionPointToStart(func.addEntryBlock(b));
    Value v = LLVM::ConstantOp::create(b, loc, i32, b.getI32IntegerAttr(value));
    LLVM::ReturnOp::create(b, loc, v);
  }

  /// Messages of a failing emission; empty if it succeeds.
  std::string emit(const llvm::StringMap<cpu::KernelFacts> &facts, StringRef isa = "avx2") {
    std::string text;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &d) {
      text += d.str();
      return success();
    });
    LogicalResult ok =
        cpu::emitModuleTables(*planned, *code, facts, *target::findTarget("avx2"), isa, "ingot test");
    EXPECT_EQ(succeeded(ok), text.empty()) << text;
    return text;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> planned, code;
};

TEST_F(Tables, ReadBack) {
  kernel("k_embed", 7);
  kernel("k_norm", 9);
  ASSERT_EQ(emit({{"k_embed", {}}, {"k_norm", {4096, 48}}}), "");
  llvm::SmallVector<char, 0> bytes;
  ASSERT_TRUE(succeeded(cpu::emitObject(*code, *target::findTarget("avx2"), bytes)));
  auto jit = llvm::orc::LLJITBuilder().create();
  ASSERT_TRUE(bool(jit));
  ASSERT_FALSE(
      (*jit)->addObjectFile(std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(bytes), false)));
  auto address = (*jit)->lookup("ingot_module_query_avx2");
  ASSERT_TRUE(bool(address));
  auto query = address->toPtr<ingot_module_query_fn>();
  EXPECT_EQ(query(INGOT_ABI_VERSION - 1), nullptr);
  const ingot_module_v1 *m = query(INGOT_ABI_VERSION);
  ASSERT_NE(m, nullptr);
  EXPECT_EQ(query(INGOT_ABI_VERSION + 1), m);

  EXPECT_EQ(m->struct_size, sizeof(ingot_module_v1));
  EXPECT_EQ(m->abi_version, INGOT_ABI_VERSION);
  EXPECT_STREQ(m->isa, "avx2");
  EXPECT_STREQ(m->features, "avx2,fma,f16c");
  EXPECT_STREQ(m->build, "ingot test");
  EXPECT_EQ(m->weight_bytes, 12544u);
  EXPECT_EQ(m->vocab, 96u);
  EXPECT_EQ(m->hidden, 64u);
  EXPECT_EQ(m->layers, 2u);
  EXPECT_EQ(m->context, 128u);
  EXPECT_EQ(m->max_seqs, 3u);

  ASSERT_EQ(m->n_kernels, 2u);
  EXPECT_STREQ(m->kernels[0].name, "k_embed");
  EXPECT_STREQ(m->kernels[0].family, "embed");
  EXPECT_EQ(m->kernels[0].struct_size, sizeof(ingot_kernel_v1));
  EXPECT_EQ(m->kernels[0].scratch_bytes, 0u);
  EXPECT_EQ(m->kernels[0].fn(nullptr, nullptr, 0, 1), 7);
  EXPECT_STREQ(m->kernels[1].name, "k_norm");
  EXPECT_EQ(m->kernels[1].scratch_bytes, 4096u);
  EXPECT_EQ(m->kernels[0].max_parts, 1u);
  EXPECT_EQ(m->kernels[1].max_parts, 48u);
  EXPECT_EQ(m->kernels[1].fn(nullptr, nullptr, 0, 1), 9);

  ASSERT_EQ(m->n_params, 2u);
  EXPECT_STREQ(m->params[0].name, "tok");
  EXPECT_STREQ(m->params[0].scheme, "f16");
  EXPECT_STREQ(m->params[0].layout, "n16");
  EXPECT_EQ(m->params[0].rows, 96u);
  EXPECT_EQ(m->params[0].cols, 64u);
  EXPECT_EQ(m->params[0].bytes, 12288u);
  EXPECT_STREQ(m->params[1].name, "g");
  EXPECT_STREQ(m->params[1].layout, "row");
  EXPECT_EQ(m->params[1].offset, 12288u);
  // The hash is that of the pack format: names, formats and places of all params.
  std::string text;
  for (uint32_t i = 0; i < m->n_params; ++i) {
    const ingot_param_v1 &p = m->params[i];
    for (const char *s : {p.name, p.scheme, p.layout})
      text.append(s).push_back('\0');
    for (uint64_t v : {p.rows, p.cols, p.offset, p.bytes})
      text.append(reinterpret_cast<const char *>(&v), sizeof v);
  }
  EXPECT_EQ(m->weight_hash, llvm::xxHash64(text));

  ASSERT_EQ(m->n_kv_layers, 1u);
  EXPECT_EQ(m->kv_layers[0].heads, 2u);
  EXPECT_EQ(m->kv_layers[0].dim, 32u);
  EXPECT_EQ(m->kv_layers[0].v_dim, 32u);
  EXPECT_EQ(m->kv_layers[0].dtype, uint32_t(INGOT_KV_BF16));
  EXPECT_EQ(m->kv_layers[0].window, 48u);
  EXPECT_EQ(m->kv_layers[0].page_bytes, 4096u);
  ASSERT_EQ(m->n_ropes, 1u);
  EXPECT_EQ(m->ropes[0].pairs, 2u);
  EXPECT_EQ(m->ropes[0].scale, 1.15);
  EXPECT_EQ(m->ropes[0].inv_freq[0], 1.0);
  EXPECT_EQ(m->ropes[0].inv_freq[1], 0.30000000000000004);

  ASSERT_EQ(m->n_programs, 2u);
  const ingot_program_v1 &p = m->programs[0];
  EXPECT_EQ(p.struct_size, sizeof(ingot_program_v1));
  EXPECT_EQ(p.m_class, 1u);
  EXPECT_EQ(p.n_stages, 2u);
  EXPECT_EQ(p.arena_bytes, 640u);
  EXPECT_EQ(p.private_bytes, 256u);
  EXPECT_EQ(p.logits_stride, 96u);
  EXPECT_EQ(p.logits_slot, INGOT_SLOT_PRIVATE | 64u);
  ASSERT_EQ(p.n_launches, 2u);
  EXPECT_EQ(p.launches[0].kernel, 0u);
  EXPECT_EQ(p.launches[0].stage, 0u);
  EXPECT_EQ(p.launches[0].flags, 0u);
  EXPECT_EQ(p.launches[0].kv_layer, -1);
  EXPECT_EQ(p.launches[0].n_slots, 1u);
  EXPECT_EQ(p.launches[0].n_weights, 1u);
  EXPECT_EQ(p.launches[0].slot[0], 128u);
  EXPECT_EQ(p.launches[1].kernel, 1u);
  EXPECT_EQ(p.launches[1].stage, 1u);
  EXPECT_EQ(p.launches[1].flags, uint32_t(INGOT_LAUNCH_REPLICATED));
  EXPECT_EQ(p.launches[1].layer, 1u);
  EXPECT_EQ(p.launches[1].kv_layer, 0);
  EXPECT_EQ(p.launches[1].n_slots, 2u);
  EXPECT_EQ(p.launches[1].slot[0], 128u);
  EXPECT_EQ(p.launches[1].slot[1], INGOT_SLOT_PRIVATE | 64u);
  EXPECT_EQ(p.launches[1].weight[0], 12288u);
  ASSERT_EQ(p.n_taps, 2u);
  EXPECT_EQ(p.taps[0].kind, uint32_t(INGOT_TAP_EMBED));
  EXPECT_EQ(p.taps[0].width, 60u);
  EXPECT_EQ(p.taps[0].stride, 64u);
  EXPECT_EQ(p.taps[0].slot, 128u);
  EXPECT_EQ(p.taps[1].kind, uint32_t(INGOT_TAP_LAYER));
  EXPECT_EQ(p.taps[1].layer, 1u);
  EXPECT_EQ(p.taps[1].stage, 1u);
  EXPECT_EQ(p.taps[1].slot, INGOT_SLOT_PRIVATE | 64u);
  EXPECT_EQ(m->programs[1].m_class, 8u);
  EXPECT_EQ(m->programs[1].min_rows, 2u);
  EXPECT_EQ(m->programs[1].max_rows, 8u);
  EXPECT_EQ(m->programs[1].max_out, 5u);
  EXPECT_EQ(m->programs[1].n_taps, 0u);
  EXPECT_EQ(m->programs[1].taps, nullptr);
}

TEST_F(Tables, NamesWhatIsMissing) {
  kernel("k_embed", 0);
  EXPECT_NE(emit({{"k_embed", {}}}).find("has no emitted function"), std::string::npos);
}

TEST_F(Tables, NeedsScratchSizes) {
  kernel("k_embed", 0);
  kernel("k_norm", 0);
  EXPECT_NE(emit({{"k_embed", {}}}).find("has no facts"), std::string::npos);
}

TEST_F(Tables, RefusesValuesThatDoNotFit) {
  kernel("k_embed", 0);
  kernel("k_norm", 0);
  EXPECT_NE(emit({{"k_embed", {}}, {"k_norm", {int64_t(1) << 33}}}).find("does not fit its field"),
            std::string::npos);
}

TEST_F(Tables, RefusesAnotherTarget) {
  EXPECT_NE(emit({}, "vnni").find("is planned for avx2, not for vnni"), std::string::npos);
}

TEST_F(Tables, RefusesAnUnplannedModule) {
  (*planned->getOps<rt::ModuleOp>().begin()).setWeightBytes(-1);
  EXPECT_NE(emit({}).find("run rt-plan-memory"), std::string::npos);
}

} // namespace
