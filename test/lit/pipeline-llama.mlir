// The layers of a small llama through every pass from the model to the planned program. n = 64, 4 query heads on
// 2 KV heads of 32, Q4_1 weights and a Q8_0 vocabulary that is its own head.
//
// RUN: ingot-opt %s -o %t.rt.mlir --llm-verify-model --llm-simplify --llm-fuse-projections --llm-fuse-epilogues \
// RUN:   --qfmt-assign-schemes --qfmt-insert-act-quant --llm-plan-kv="context=1024 max-seqs=4" \
// RUN:   --llm-specialize-steps="classes=1,4,512" --tile-form-kernels --tile-attention --tile-select=isa=vnni \
// RUN:   --qfmt-assign-layouts --tile-dedup --rt-lower --rt-schedule --rt-plan-memory --rt-verify-abi
// RUN: FileCheck %s --input-file=%t.rt.mlir
//
// Every phase ends in text that the next one can start from: phase by phase the plan is the same.
// RUN: ingot-opt %s --llm-verify-model --llm-simplify --llm-fuse-projections --llm-fuse-epilogues \
// RUN:   | ingot-opt --qfmt-assign-schemes --qfmt-insert-act-quant \
// RUN:   | ingot-opt --llm-plan-kv="context=1024 max-seqs=4" --llm-specialize-steps="classes=1,4,512" \
// RUN:   | ingot-opt --tile-form-kernels | ingot-opt --tile-attention | ingot-opt --tile-select=isa=vnni \
// RUN:   | ingot-opt --qfmt-assign-layouts | ingot-opt --tile-dedup | ingot-opt --rt-lower | ingot-opt --rt-schedule \
// RUN:   | ingot-opt --rt-plan-memory | ingot-opt --rt-verify-abi | diff - %t.rt.mlir
//
// The text of the plan is the plan: it reads back, and the checks hold again.
// RUN: ingot-opt %t.rt.mlir --rt-verify-abi | diff - %t.rt.mlir
// RUN: ingot-opt %t.rt.mlir --emit-bytecode | ingot-opt | diff - %t.rt.mlir

// One body for both layers: 12 kernels for one row, and as many for the other classes.
// CHECK-COUNT-12: tile.kernel @k_{{[a-z_0-9]+}}_m1_{{[0-9a-f]+}}
// CHECK-NOT: tile.kernel @k_{{[a-z_0-9]+}}_m1_

// CHECK: rt.module "vnni" {hidden = 64 : i64, layers = 2 : i64, max_seqs = 4 : i64, positions = 1024 : i64, vocab = 96 : i64, weight_bytes = 61568 : i64}
// CHECK: rt.kv_layer 0 "f16" {dim = 32 : i64, heads = 2 : i64, page_bytes = 4096 : i64, v_dim = 32 : i64, window = 0 : i64}
// CHECK-NEXT: rt.kv_layer 1 "f16"
// CHECK-NEXT: rt.rope 0 "powers"

// CHECK-LABEL: rt.program @step_m1
// CHECK-SAME: max_out = 1 : i64, max_rows = 1 : i64, min_rows = 1 : i64
// The residual stream stays in one place, and a layer has five stages: the projection rotates and appends.
// CHECK: %[[X:[0-9]+]] = rt.buffer arena 256 at [[AT:[0-9]+]] "embed 0"
// CHECK: %[[H:[0-9]+]] = rt.buffer arena 256 at [[AT]] "linear 0"
// CHECK: %[[Y:[0-9]+]] = rt.buffer arena 256 at [[AT]] "linear 0"
// CHECK: rt.stage 0 {
// CHECK-NEXT: rt.launch @k_embed_q8_0_96x64_m1_{{.*}}(%[[X]]) weights [@tok] outs 1
// CHECK-NEXT: rt.tap embed 0 %[[X]] {stride = 64 : i64, width = 64 : i64}
// CHECK: rt.stage 1 {
// CHECK-NEXT: rt.launch @[[NORM:k_norm_64_m1_[0-9a-f]+]](%[[X]], %{{.*}}) weights [@blk.0.attn_norm] outs 1 replicated
// CHECK-NEXT: rt.launch @[[QKV:k_linear_q4_1_256x64_rope_kv_m1_[0-9a-f]+]]({{.*}}) weights [@blk.0.q_k_v] outs 1 {kv_layer = 0 : i64, kv_write}
// CHECK: rt.stage 2 {
// CHECK-NEXT: rt.launch @k_attn_split_h4_kv2_d32_m1_{{.*}} {kv_layer = 0 : i64}
// CHECK: rt.stage 3 {
// CHECK-NEXT: rt.launch @k_attn_merge_h4_d32_m1_{{.*}} replicated
// CHECK-NEXT: rt.launch @k_linear_q4_1_64x128_m1_{{.*}}(%{{.*}}, %[[X]], %[[H]]) weights [@blk.0.o] outs 1
// CHECK: rt.stage 4 {
// CHECK-NEXT: rt.launch @[[NORM]](%[[H]], %{{.*}}) weights [@blk.0.ffn_norm] outs 1 replicated
// CHECK-NEXT: rt.launch @k_linear_q4_1_192x64_m1_{{.*}} weights [@blk.0.gate_up] outs 1
// CHECK: rt.stage 5 {
// CHECK-NEXT: rt.launch @k_quantize_96_m1_{{.*}} replicated
// CHECK-NEXT: rt.launch @k_linear_q4_1_64x96_m1_{{.*}}(%{{.*}}, %[[H]], %[[Y]]) weights [@blk.0.down] outs 1
// CHECK-NEXT: rt.tap layer 0 %[[Y]]
// CHECK: rt.stage 6 {
// CHECK-NEXT: rt.launch @[[NORM]]{{.*}} weights [@blk.1.attn_norm] outs 1 replicated {layer = 1 : i64}
// CHECK-NEXT: rt.launch @[[QKV]]{{.*}} weights [@blk.1.q_k_v] outs 1 {kv_layer = 1 : i64, kv_write, layer = 1 : i64}
// CHECK: rt.stage 11 {
// CHECK-NEXT: rt.launch @k_select_64_m1_{{.*}} replicated
// CHECK-NEXT: rt.launch @k_norm_64_m1_{{.*}} weights [@norm] outs 2 replicated
// CHECK-NEXT: rt.launch @k_linear_q8_0_96x64_argmax_m1_{{.*}} weights [@tok] outs 1
// CHECK-NEXT: rt.tap norm 0
// CHECK-NOT: rt.stage
// CHECK: rt.logits %{{.*}} {argmax_panels = 6 : i64, stride = 96 : i64}

// CHECK-LABEL: rt.program @step_m4
// CHECK-SAME: max_out = 4 : i64, max_rows = 4 : i64, min_rows = 2 : i64
// Blocks of 12 rows: room for 516; no segments in this class.
// CHECK-LABEL: rt.program @step_m512
// CHECK-SAME: alloc_rows = 516 : i64
// CHECK-SAME: max_out = 64 : i64, max_rows = 512 : i64, min_rows = 5 : i64
// CHECK-NOT: attn_split
// CHECK: rt.weight @tok at 0 bytes 6528
// CHECK-NEXT: rt.weight @blk.0.attn_norm at 6528 bytes 256
// CHECK-NEXT: rt.weight @blk.0.q_k_v at 6784 bytes 10240

llm.config "tiny" arch "llama" kv f16 {hidden = 64 : i64, layers = 2 : i64, max_context = 2048 : i64, vocab = 96 : i64}

llm.param @tok : !qfmt.packed<96x64, q8_0, row> from q8_0 [#llm.ext<0, 0, 6528>] rows [96]
llm.param @norm : !qfmt.packed<1x64, f32, row> from f32 [#llm.ext<0, 6528, 256>] rows [64]
llm.param @blk.0.attn_norm : !qfmt.packed<1x64, f32, row> from f32 [#llm.ext<0, 7000, 256>] rows [64]
llm.param @blk.0.q : !qfmt.packed<128x64, q4_1, row> from q4_1 [#llm.ext<0, 8000, 5120>] rows [128]
llm.param @blk.0.k : !qfmt.packed<64x64, q4_1, row> from q4_1 [#llm.ext<0, 14000, 2560>] rows [64]
llm.param @blk.0.v : !qfmt.packed<64x64, q4_1, row> from q4_1 [#llm.ext<0, 17000, 2560>] rows [64]
llm.param @blk.0.o : !qfmt.packed<64x128, q4_1, row> from q4_1 [#llm.ext<0, 20000, 5120>] rows [64]
llm.param @blk.0.ffn_norm : !qfmt.packed<1x64, f32, row> from f32 [#llm.ext<0, 26000, 256>] rows [64]
llm.param @blk.0.gate : !qfmt.packed<96x64, q4_1, row> from q4_1 [#llm.ext<0, 27000, 3840>] rows [96]
llm.param @blk.0.up : !qfmt.packed<96x64, q4_1, row> from q4_1 [#llm.ext<0, 31000, 3840>] rows [96]
llm.param @blk.0.down : !qfmt.packed<64x96, q4_1, row> from q4_1 [#llm.ext<0, 35000, 3840>] rows [64]
llm.param @blk.1.attn_norm : !qfmt.packed<1x64, f32, row> from f32 [#llm.ext<0, 107000, 256>] rows [64]
llm.param @blk.1.q : !qfmt.packed<128x64, q4_1, row> from q4_1 [#llm.ext<0, 108000, 5120>] rows [128]
llm.param @blk.1.k : !qfmt.packed<64x64, q4_1, row> from q4_1 [#llm.ext<0, 114000, 2560>] rows [64]
llm.param @blk.1.v : !qfmt.packed<64x64, q4_1, row> from q4_1 [#llm.ext<0, 117000, 2560>] rows [64]
llm.param @blk.1.o : !qfmt.packed<64x128, q4_1, row> from q4_1 [#llm.ext<0, 120000, 5120>] rows [64]
llm.param @blk.1.ffn_norm : !qfmt.packed<1x64, f32, row> from f32 [#llm.ext<0, 126000, 256>] rows [64]
llm.param @blk.1.gate : !qfmt.packed<96x64, q4_1, row> from q4_1 [#llm.ext<0, 127000, 3840>] rows [96]
llm.param @blk.1.up : !qfmt.packed<96x64, q4_1, row> from q4_1 [#llm.ext<0, 131000, 3840>] rows [96]
llm.param @blk.1.down : !qfmt.packed<64x96, q4_1, row> from q4_1 [#llm.ext<0, 135000, 3840>] rows [64]

#rope = #llm.rope<interleaved, head_dim = 32, rotary_dim = 32, scale = 1.0, inv_freq = [1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625, 0.001953125, 0.0009765625, 0.00048828125, 0.000244140625, 0.0001220703125, 0.00006103515625, 0.000030517578125], name = "powers">
llm.step @step(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x96xf32> {
  %x0 = llm.embed %ids, @tok : tensor<?x64xf32>

  %n0 = llm.rms_norm %x0, @blk.0.attn_norm {eps = 1.0e-5 : f32} : tensor<?x64xf32>
  %q0 = llm.linear %n0, @blk.0.q : tensor<?x64xf32> -> tensor<?x128xf32>
  %k0 = llm.linear %n0, @blk.0.k : tensor<?x64xf32> -> tensor<?x64xf32>
  %v0 = llm.linear %n0, @blk.0.v : tensor<?x64xf32> -> tensor<?x64xf32>
  %qr0 = llm.rope %q0, %b {heads = 4 : i64, rope = #rope} : tensor<?x128xf32>
  %kr0 = llm.rope %k0, %b {heads = 2 : i64, rope = #rope} : tensor<?x64xf32>
  %c0 = llm.kv_append %kr0, %v0, %b : tensor<?x64xf32>, tensor<?x64xf32> -> !llm.kv<layer = 0, heads = 2, dim = 32, v_dim = 32, dtype = f16>
  %a0 = llm.attention %qr0, %c0, %b {head_dim = 32 : i64, kv_heads = 2 : i64, mask = #llm.mask<causal, window = 0>, q_heads = 4 : i64, scale = 0.25 : f32} : tensor<?x128xf32>, !llm.kv<layer = 0, heads = 2, dim = 32, v_dim = 32, dtype = f16> -> tensor<?x128xf32>
  %o0 = llm.linear %a0, @blk.0.o : tensor<?x128xf32> -> tensor<?x64xf32>
  %h0 = llm.add %x0, %o0 : tensor<?x64xf32>
  %m0 = llm.rms_norm %h0, @blk.0.ffn_norm {eps = 1.0e-5 : f32} : tensor<?x64xf32>
  %g0 = llm.linear %m0, @blk.0.gate : tensor<?x64xf32> -> tensor<?x96xf32>
  %u0 = llm.linear %m0, @blk.0.up : tensor<?x64xf32> -> tensor<?x96xf32>
  %s0 = llm.gate silu %g0, %u0 : tensor<?x96xf32>
  %d0 = llm.linear %s0, @blk.0.down : tensor<?x96xf32> -> tensor<?x64xf32>
  %y0 = llm.add %h0, %d0 : tensor<?x64xf32>
  %x1 = llm.layer_end %y0 {layer = 0 : i64} : tensor<?x64xf32>

  %n1 = llm.rms_norm %x1, @blk.1.attn_norm {eps = 1.0e-5 : f32} : tensor<?x64xf32>
  %q1 = llm.linear %n1, @blk.1.q : tensor<?x64xf32> -> tensor<?x128xf32>
  %k1 = llm.linear %n1, @blk.1.k : tensor<?x64xf32> -> tensor<?x64xf32>
  %v1 = llm.linear %n1, @blk.1.v : tensor<?x64xf32> -> tensor<?x64xf32>
  %qr1 = llm.rope %q1, %b {heads = 4 : i64, rope = #rope} : tensor<?x128xf32>
  %kr1 = llm.rope %k1, %b {heads = 2 : i64, rope = #rope} : tensor<?x64xf32>
  %c1 = llm.kv_append %kr1, %v1, %b : tensor<?x64xf32>, tensor<?x64xf32> -> !llm.kv<layer = 1, heads = 2, dim = 32, v_dim = 32, dtype = f16>
  %a1 = llm.attention %qr1, %c1, %b {head_dim = 32 : i64, kv_heads = 2 : i64, mask = #llm.mask<causal, window = 0>, q_heads = 4 : i64, scale = 0.25 : f32} : tensor<?x128xf32>, !llm.kv<layer = 1, heads = 2, dim = 32, v_dim = 32, dtype = f16> -> tensor<?x128xf32>
  %o1 = llm.linear %a1, @blk.1.o : tensor<?x128xf32> -> tensor<?x64xf32>
  %h1 = llm.add %x1, %o1 : tensor<?x64xf32>
  %m1 = llm.rms_norm %h1, @blk.1.ffn_norm {eps = 1.0e-5 : f32} : tensor<?x64xf32>
  %g1 = llm.linear %m1, @blk.1.gate : tensor<?x64xf32> -> tensor<?x96xf32>
  %u1 = llm.linear %m1, @blk.1.up : tensor<?x64xf32> -> tensor<?x96xf32>
  %s1 = llm.gate silu %g1, %u1 : tensor<?x96xf32>
  %d1 = llm.linear %s1, @blk.1.down : tensor<?x96xf32> -> tensor<?x64xf32>
  %y1 = llm.add %h1, %d1 : tensor<?x64xf32>
  %x2 = llm.layer_end %y1 {layer = 1 : i64} : tensor<?x64xf32>

  %r = llm.select_rows %x2, %b : tensor<?x64xf32>
  %n = llm.rms_norm %r, @norm {eps = 1.0e-5 : f32} : tensor<?x64xf32>
  %l = llm.logits %n, @tok : tensor<?x64xf32> -> tensor<?x96xf32>
  llm.return %l : tensor<?x96xf32>
}
