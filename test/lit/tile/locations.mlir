// RUN: ingot-opt %s --tile-form-kernels --tile-attention --tile-select=isa=avx2 --qfmt-assign-layouts --tile-dedup \
// RUN:   --rt-lower --rt-schedule --rt-plan-memory --mlir-print-debuginfo --mlir-print-local-scope \
// RUN:   | FileCheck %s

// A launch keeps the names of all model ops that it computes, also where its kernel serves several layers.

llm.config "t" arch "t" kv f16 {hidden = 64 : i64, layers = 1 : i64, max_context = 128 : i64, vocab = 96 : i64}
llm.param @tok : !qfmt.packed<96x64, q8_0, row> from q8_0 [#llm.ext<0, 0, 6528>] rows [96]
llm.param @g : !qfmt.packed<1x64, f32, row> from f32 [#llm.ext<0, 0, 256>] rows [64]
llm.param @w : !qfmt.packed<64x64, q4_0, row> from q4_0 [#llm.ext<0, 0, 2304>] rows [64]
#a = #qfmt.act<i8, group = 32, block = 1>

// CHECK: rt.launch @k_norm_{{.*}} loc(fused["blk.0.norm", "blk.0.quant"])
// CHECK: rt.launch @[[K:k_linear_q4_0_[0-9a-z_]+]]({{.*}} loc("blk.0.w")
// CHECK: rt.launch @k_norm_{{.*}} loc(fused["blk.1.norm", "blk.1.quant"])
// CHECK: rt.launch @[[K]]({{.*}} loc("blk.1.w")
llm.step @m1(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x96xf32> attributes {rows = 1 : i64} {
  %x = llm.embed %ids, @tok : tensor<?x64xf32> loc("embd")
  %n = llm.rms_norm %x, @g {eps = 1.0e-5 : f32} : tensor<?x64xf32> loc("blk.0.norm")
  %n8 = llm.quantize %n {act = #a} : tensor<?x64xf32> -> !llm.act<64, #a> loc("blk.0.quant")
  %y = llm.linear %n8, @w : !llm.act<64, #a> -> tensor<?x64xf32> loc("blk.0.w")
  %m = llm.rms_norm %y, @g {eps = 1.0e-5 : f32} : tensor<?x64xf32> loc("blk.1.norm")
  %m8 = llm.quantize %m {act = #a} : tensor<?x64xf32> -> !llm.act<64, #a> loc("blk.1.quant")
  %z = llm.linear %m8, @w : !llm.act<64, #a> -> tensor<?x64xf32> loc("blk.1.w")
  %r = llm.select_rows %z, %b : tensor<?x64xf32>
  %r8 = llm.quantize %r {act = #a} : tensor<?x64xf32> -> !llm.act<64, #a>
  %l = llm.logits %r8, @tok : !llm.act<64, #a> -> tensor<?x96xf32>
  llm.return %l : tensor<?x96xf32>
}
