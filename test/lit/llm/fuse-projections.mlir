// RUN: ingot-opt %s -llm-fuse-projections -split-input-file | FileCheck %s
// RUN: ingot-opt %s -llm-fuse-projections -split-input-file -mlir-print-debuginfo | FileCheck %s --check-prefix=LOC

llm.param @t : !qfmt.packed<96x64, q8_0, row> from q8_0 [#llm.ext<0, 0, 6528>] rows [96]
// CHECK: llm.param @blk.0.q_k_v.w : !qfmt.packed<128x64, q4_1, row> from q4_1 [#llm.ext<0, 0, 2560>, #llm.ext<0, 2560, 1280>, #llm.ext<0, 3840, 1280>] rows [64, 32, 32] recipe concat tensors ["blk.0.attn_q.weight", "blk.0.k.w", "blk.0.v.w"]
llm.param @blk.0.q.w : !qfmt.packed<64x64, q4_1, row> from q4_1 [#llm.ext<0, 0, 2560>] rows [64] tensors ["blk.0.attn_q.weight"]
llm.param @blk.0.k.w : !qfmt.packed<32x64, q4_1, row> from q4_1 [#llm.ext<0, 2560, 1280>] rows [32]
llm.param @blk.0.v.w : !qfmt.packed<32x64, q4_1, row> from q4_1 [#llm.ext<0, 3840, 1280>] rows [32]
// CHECK: llm.param @blk.0.q_k_v.b : !qfmt.packed<1x128, f32, row> from f32 [{{.*}}] rows [64, 32, 32] recipe concat
llm.param @blk.0.q.b : !qfmt.packed<1x64, f32, row> from f32 [#llm.ext<0, 0, 256>] rows [64]
llm.param @blk.0.k.b : !qfmt.packed<1x32, f32, row> from f32 [#llm.ext<0, 0, 128>] rows [32]
llm.param @blk.0.v.b : !qfmt.packed<1x32, f32, row> from f32 [#llm.ext<0, 0, 128>] rows [32]
// CHECK: llm.param @blk.0.gate_up : !qfmt.packed<192x64, q4_0, row> from q4_0 [#llm.ext<0, 0, 3456>, #llm.ext<0, 3456, 3456>] rows [96, 96] recipe interleave16
llm.param @blk.0.gate : !qfmt.packed<96x64, q4_0, row> from q4_0 [#llm.ext<0, 0, 3456>] rows [96]
llm.param @blk.0.up : !qfmt.packed<96x64, q4_0, row> from q4_0 [#llm.ext<0, 3456, 3456>] rows [96]
llm.param @down : !qfmt.packed<64x96, f32, row> from q5_0 [#llm.ext<0, 0, 4224>] rows [64]

// CHECK-LABEL: llm.step @all_agree
llm.step @all_agree(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x64xf32> {
  // CHECK: %[[X:.*]] = llm.embed
  %x = llm.embed %ids, @t : tensor<?x64xf32>
  // CHECK-NEXT: %[[F:.*]] = llm.linear %[[X]], @blk.0.q_k_v.w bias @blk.0.q_k_v.b {epilogue = [#llm.epilogue<bias>]} : tensor<?x64xf32> -> tensor<?x128xf32>
  // CHECK-NEXT: %[[Q:.*]] = llm.slice %[[F]] {offset = 0 : i64, size = 64 : i64}
  // CHECK-NEXT: %[[K:.*]] = llm.slice %[[F]] {offset = 64 : i64, size = 32 : i64}
  // CHECK-NEXT: %[[V:.*]] = llm.slice %[[F]] {offset = 96 : i64, size = 32 : i64}
  // LOC: llm.linear {{.*}} loc(#[[F:.*]])
  // LOC-NEXT: llm.slice {{.*}} loc(#[[Q:.*]])
  // LOC-NEXT: llm.slice {{.*}} loc(#[[K:.*]])
  // LOC-NEXT: llm.slice {{.*}} loc(#[[V:.*]])
  // LOC-DAG: #[[Q]] = loc("blk.0.attn_q")
  // LOC-DAG: #[[K]] = loc("blk.0.attn_k")
  // LOC-DAG: #[[V]] = loc("blk.0.attn_v")
  // LOC-DAG: #[[F]] = loc(fused[#[[Q]], #[[K]], #[[V]]])
  %q = llm.linear %x, @blk.0.q.w bias @blk.0.q.b {epilogue = [#llm.epilogue<bias>]} : tensor<?x64xf32> -> tensor<?x64xf32> loc("blk.0.attn_q")
  %k = llm.linear %x, @blk.0.k.w bias @blk.0.k.b {epilogue = [#llm.epilogue<bias>]} : tensor<?x64xf32> -> tensor<?x32xf32> loc("blk.0.attn_k")
  %v = llm.linear %x, @blk.0.v.w bias @blk.0.v.b {epilogue = [#llm.epilogue<bias>]} : tensor<?x64xf32> -> tensor<?x32xf32> loc("blk.0.attn_v")
  // CHECK-NEXT: llm.rope %[[Q]]
  %qr = llm.rope %q, %b {heads = 4 : i64, rope = #llm.rope<half, head_dim = 16, rotary_dim = 2, scale = 1.0, inv_freq = [1.0], name = "x">} : tensor<?x64xf32>
  // CHECK-NEXT: llm.kv_append %[[K]], %[[V]]
  %c = llm.kv_append %k, %v, %b : tensor<?x32xf32>, tensor<?x32xf32> -> !llm.kv<layer = 0, heads = 2, dim = 16, v_dim = 16, dtype = f16>
  %a = llm.attention %qr, %c, %b {head_dim = 16 : i64, kv_heads = 2 : i64, mask = #llm.mask<causal, window = 0>, q_heads = 4 : i64, scale = 0.25 : f32} : tensor<?x64xf32>, !llm.kv<layer = 0, heads = 2, dim = 16, v_dim = 16, dtype = f16> -> tensor<?x64xf32>
  // CHECK: %[[A:.*]] = llm.attention
  // CHECK-NEXT: %[[S:.*]] = llm.linear %[[A]], @blk.0.gate_up {epilogue = [#llm.epilogue<gate = silu>]} : tensor<?x64xf32> -> tensor<?x96xf32>
  %g = llm.linear %a, @blk.0.gate : tensor<?x64xf32> -> tensor<?x96xf32>
  %u = llm.linear %a, @blk.0.up : tensor<?x64xf32> -> tensor<?x96xf32>
  %s = llm.gate silu %g, %u : tensor<?x96xf32>
  // CHECK-NEXT: llm.linear %[[S]], @down : tensor<?x96xf32> -> tensor<?x64xf32>
  %d = llm.linear %s, @down : tensor<?x96xf32> -> tensor<?x64xf32>
  llm.return %d : tensor<?x64xf32>
}

// -----

// Only q and k agree in scheme; gate and up differ.
llm.param @t : !qfmt.packed<96x64, q8_0, row> from q8_0 [#llm.ext<0, 0, 6528>] rows [96]
// CHECK: llm.param @q_k : !qfmt.packed<96x64, q5_0, row>
// CHECK-NEXT: llm.param @v : !qfmt.packed<32x64, q8_0, row>
llm.param @q : !qfmt.packed<64x64, q5_0, row> from q5_0 [#llm.ext<0, 0, 2816>] rows [64]
llm.param @k : !qfmt.packed<32x64, q5_0, row> from q5_0 [#llm.ext<0, 2816, 1408>] rows [32]
llm.param @v : !qfmt.packed<32x64, q8_0, row> from q8_0 [#llm.ext<0, 4224, 2176>] rows [32]
// CHECK-NEXT: llm.param @gate : !qfmt.packed<96x64, q4_0, row>
// CHECK-NEXT: llm.param @up : !qfmt.packed<96x64, f16, row>
llm.param @gate : !qfmt.packed<96x64, q4_0, row> from q4_0 [#llm.ext<0, 0, 3456>] rows [96]
llm.param @up : !qfmt.packed<96x64, f16, row> from f16 [#llm.ext<0, 3456, 12288>] rows [96]

// CHECK-LABEL: llm.step @some_agree
llm.step @some_agree(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x96xf32> {
  %x = llm.embed %ids, @t : tensor<?x64xf32>
  // CHECK: %[[F:.*]] = llm.linear %{{.*}}, @q_k : tensor<?x64xf32> -> tensor<?x96xf32>
  // CHECK-NEXT: %[[Q:.*]] = llm.slice %[[F]] {offset = 0 : i64, size = 64 : i64}
  // CHECK-NEXT: %[[K:.*]] = llm.slice %[[F]] {offset = 64 : i64, size = 32 : i64}
  // CHECK-NEXT: %[[V:.*]] = llm.linear %{{.*}}, @v : tensor<?x64xf32> -> tensor<?x32xf32>
  // CHECK-NEXT: llm.kv_append %[[K]], %[[V]]
  %q = llm.linear %x, @q : tensor<?x64xf32> -> tensor<?x64xf32>
  %k = llm.linear %x, @k : tensor<?x64xf32> -> tensor<?x32xf32>
  %v = llm.linear %x, @v : tensor<?x64xf32> -> tensor<?x32xf32>
  %c = llm.kv_append %k, %v, %b : tensor<?x32xf32>, tensor<?x32xf32> -> !llm.kv<layer = 0, heads = 2, dim = 16, v_dim = 16, dtype = f16>
  %a = llm.attention %q, %c, %b {head_dim = 16 : i64, kv_heads = 2 : i64, mask = #llm.mask<causal, window = 0>, q_heads = 4 : i64, scale = 0.25 : f32} : tensor<?x64xf32>, !llm.kv<layer = 0, heads = 2, dim = 16, v_dim = 16, dtype = f16> -> tensor<?x64xf32>
  // CHECK: llm.linear %{{.*}}, @gate
  // CHECK-NEXT: llm.linear %{{.*}}, @up
  // CHECK-NEXT: llm.gate gelu
  %g = llm.linear %a, @gate : tensor<?x64xf32> -> tensor<?x96xf32>
  %u = llm.linear %a, @up : tensor<?x64xf32> -> tensor<?x96xf32>
  %s = llm.gate gelu %g, %u : tensor<?x96xf32>
  llm.return %s : tensor<?x96xf32>
}

// -----

// Nothing to do: rows that are no multiple of 16, a parameter with two uses, linears that feed no attention, a gate
// projection that others read too.
llm.param @t : !qfmt.packed<24x32, q8_0, row> from q8_0 [#llm.ext<0, 0, 816>] rows [24]
llm.param @g24 : !qfmt.packed<24x32, f32, row> from f32 [#llm.ext<0, 0, 3072>] rows [24]
llm.param @u24 : !qfmt.packed<24x32, f32, row> from f32 [#llm.ext<0, 0, 3072>] rows [24]
llm.param @g32 : !qfmt.packed<32x24, f32, row> from f32 [#llm.ext<0, 0, 3072>] rows [32]
llm.param @u32 : !qfmt.packed<32x24, f32, row> from f32 [#llm.ext<0, 0, 3072>] rows [32]
llm.param @k : !qfmt.packed<32x32, f32, row> from f32 [#llm.ext<0, 0, 4096>] rows [32]
// CHECK-LABEL: llm.step @nothing
llm.step @nothing(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x32xf32> {
  // CHECK-NEXT: llm.embed
  %x = llm.embed %ids, @t : tensor<?x32xf32>
  // CHECK-NEXT: llm.linear %{{.*}}, @g24
  %g = llm.linear %x, @g24 : tensor<?x32xf32> -> tensor<?x24xf32>
  // CHECK-NEXT: llm.linear %{{.*}}, @u24
  %u = llm.linear %x, @u24 : tensor<?x32xf32> -> tensor<?x24xf32>
  // CHECK-NEXT: llm.gate silu
  %s = llm.gate silu %g, %u : tensor<?x24xf32>
  // CHECK-NEXT: llm.linear %{{.*}}, @g32
  %h = llm.linear %s, @g32 : tensor<?x24xf32> -> tensor<?x32xf32>
  // CHECK-NEXT: llm.linear %{{.*}}, @u32
  %i = llm.linear %s, @u32 : tensor<?x24xf32> -> tensor<?x32xf32>
  // CHECK-NEXT: llm.gate silu
  %j = llm.gate silu %h, %i : tensor<?x32xf32>
  // CHECK-NEXT: llm.add
  %y = llm.add %j, %h : tensor<?x32xf32>
  // CHECK-NEXT: llm.linear %{{.*}}, @k
  %k = llm.linear %y, @k : tensor<?x32xf32> -> tensor<?x32xf32>
  // CHECK-NEXT: llm.linear %{{.*}}, @k
  %v = llm.linear %y, @k : tensor<?x32xf32> -> tensor<?x32xf32>
  // CHECK-NEXT: llm.kv_append
  %c = llm.kv_append %k, %v, %b : tensor<?x32xf32>, tensor<?x32xf32> -> !llm.kv<layer = 0, heads = 2, dim = 16, v_dim = 16, dtype = f16>
  // CHECK-NEXT: llm.return
  llm.return %y : tensor<?x32xf32>
}
