// RUN: ingot-opt %s | FileCheck %s
// RUN: ingot-opt %s --verify-roundtrip -o /dev/null
// RUN: ingot-opt %s --emit-bytecode | ingot-opt | FileCheck %s
// RUN: ingot-opt %s --mlir-print-op-generic | ingot-opt | FileCheck %s

// One layer with every operation of the dialect.

// CHECK: llm.config "tiny" arch "llama" kv f16 {hidden = 64 : i64, layers = 1 : i64, max_context = 128 : i64, vocab = 96 : i64}
llm.config "tiny" arch "llama" kv f16 {hidden = 64 : i64, layers = 1 : i64, max_context = 128 : i64, vocab = 96 : i64}

// CHECK: llm.param @tok : !qfmt.packed<96x64, q8_0, row> from q8_0 [#llm.ext<0, 0, 6528>] rows [96] tensors ["token_embd.weight"]
llm.param @tok : !qfmt.packed<96x64, q8_0, row> from q8_0 [#llm.ext<0, 0, 6528>] rows [96] tensors ["token_embd.weight"]
// CHECK: llm.param @g : !qfmt.packed<1x64, f32, row> from bf16 [#llm.ext<1, 7000, 128>] rows [64] offset_add 1.000000e+00
llm.param @g : !qfmt.packed<1x64, f32, row> from bf16 [#llm.ext<1, 7000, 128>] rows [64] offset_add 1.0
// CHECK: llm.param @g16 : !qfmt.packed<1x16, f32, row> from f32 [#llm.ext<0, 0, 64>] rows [16]{{$}}
llm.param @g16 : !qfmt.packed<1x16, f32, row> from f32 [#llm.ext<0, 0, 64>] rows [16]
// CHECK: llm.param @blk.0.qkv : !qfmt.packed<128x64, q4_1, n16> from q4_1 [#llm.ext<0, 0, 2560>, #llm.ext<0, 2560, 1280>, #llm.ext<0, 3840, 1280>] rows [64, 32, 32] recipe concat
llm.param @blk.0.qkv : !qfmt.packed<128x64, q4_1, n16> from q4_1
  [#llm.ext<0, 0, 2560>, #llm.ext<0, 2560, 1280>, #llm.ext<0, 3840, 1280>] rows [64, 32, 32] recipe concat
// CHECK: llm.param @bqkv {{.*}} rows [64, 32, 32] recipe concat
llm.param @bqkv : !qfmt.packed<1x128, f32, row> from f32
  [#llm.ext<0, 0, 256>, #llm.ext<0, 256, 128>, #llm.ext<0, 512, 128>] rows [64, 32, 32] recipe concat
llm.param @o : !qfmt.packed<64x64, f16, row> from f16 [#llm.ext<0, 0, 8192>] rows [64]
// CHECK: llm.param @gu {{.*}} recipe interleave16
llm.param @gu : !qfmt.packed<192x64, q4_0, row> from q4_0 [#llm.ext<0, 0, 3456>, #llm.ext<0, 3456, 3456>] rows [96, 96]
  recipe interleave16
llm.param @up : !qfmt.packed<96x64, bf16, row> from bf16 [#llm.ext<0, 0, 12288>] rows [96]
llm.param @down : !qfmt.packed<64x96, f32, row> from q5_0 [#llm.ext<0, 0, 4224>] rows [64]

// CHECK: llm.step @step(%[[IDS:.*]]: tensor<?xi32>, %[[B:.*]]: !llm.batch) -> tensor<?x96xf32> attributes {rows = 8 : i64}
llm.step @step(%ids: tensor<?xi32>, %batch: !llm.batch) -> tensor<?x96xf32> attributes {rows = 8 : i64} {
  // CHECK: llm.embed %[[IDS]], @tok {scale = 8.000000e+00 : f32} : tensor<?x64xf32>
  %x = llm.embed %ids, @tok {scale = 8.0 : f32} : tensor<?x64xf32>
  // CHECK: llm.rms_norm %{{.*}}, @g {eps = 9.99999974E-6 : f32} : tensor<?x64xf32>
  %n = llm.rms_norm %x, @g {eps = 1.0e-5 : f32} : tensor<?x64xf32>
  // CHECK: llm.quantize %{{.*}} {act = #qfmt.act<i8, group = 32, block = 8>} : tensor<?x64xf32> -> !llm.act<64, <i8, group = 32, block = 8>>
  %n8 = llm.quantize %n {act = #qfmt.act<i8, group = 32, block = 8>} : tensor<?x64xf32> -> !llm.act<64, <i8, group = 32, block = 8>>
  // CHECK: llm.linear %{{.*}}, @blk.0.qkv bias @bqkv {epilogue = [#llm.epilogue<bias>]} : !llm.act<64, <i8, group = 32, block = 8>> -> tensor<?x128xf32>
  %qkv = llm.linear %n8, @blk.0.qkv bias @bqkv {epilogue = [#llm.epilogue<bias>]} : !llm.act<64, <i8, group = 32, block = 8>> -> tensor<?x128xf32>
  // CHECK: llm.slice %{{.*}} {offset = 64 : i64, size = 32 : i64} : tensor<?x128xf32> -> tensor<?x32xf32>
  %q = llm.slice %qkv {offset = 0 : i64, size = 64 : i64} : tensor<?x128xf32> -> tensor<?x64xf32>
  %k = llm.slice %qkv {offset = 64 : i64, size = 32 : i64} : tensor<?x128xf32> -> tensor<?x32xf32>
  %v = llm.slice %qkv {offset = 96 : i64, size = 32 : i64} : tensor<?x128xf32> -> tensor<?x32xf32>
  // CHECK: llm.rms_norm %{{.*}}, @g16 {eps = {{.*}}, groups = 4 : i64, weight_offset = 1.000000e+00 : f32}
  %qn = llm.rms_norm %q, @g16 {eps = 1.0e-6 : f32, groups = 4 : i64, weight_offset = 1.0 : f32} : tensor<?x64xf32>
  // CHECK: llm.rope %{{.*}}, %[[B]] {heads = 4 : i64, rope = #llm.rope<interleaved, head_dim = 16, rotary_dim = 4, scale = 1.150000e+00, inv_freq = [1.000000e+00, 0.0031622776601683794], name = "base 1e5">} : tensor<?x64xf32>
  %qr = llm.rope %qn, %batch {heads = 4 : i64, rope = #llm.rope<interleaved, head_dim = 16, rotary_dim = 4, scale = 1.15, inv_freq = [1.0, 0.0031622776601683794], name = "base 1e5">} : tensor<?x64xf32>
  // CHECK: llm.kv_append %{{.*}}, %{{.*}}, %[[B]] : tensor<?x32xf32>, tensor<?x32xf32> -> !llm.kv<layer = 0, heads = 2, dim = 16, v_dim = 16, dtype = f16>
  %c = llm.kv_append %k, %v, %batch : tensor<?x32xf32>, tensor<?x32xf32> -> !llm.kv<layer = 0, heads = 2, dim = 16, v_dim = 16, dtype = f16>
  // CHECK: llm.attention %{{.*}}, %{{.*}}, %[[B]] {head_dim = 16 : i64, kv_heads = 2 : i64, mask = #llm.mask<causal, window = 32>, q_heads = 4 : i64, scale = 2.500000e-01 : f32, softcap = 5.000000e+01 : f32}
  %a = llm.attention %qr, %c, %batch {head_dim = 16 : i64, kv_heads = 2 : i64, mask = #llm.mask<causal, window = 32>, q_heads = 4 : i64, scale = 0.25 : f32, softcap = 50.0 : f32} : tensor<?x64xf32>, !llm.kv<layer = 0, heads = 2, dim = 16, v_dim = 16, dtype = f16> -> tensor<?x64xf32>
  // CHECK: llm.linear %{{.*}}, @o residual(%{{.*}} : tensor<?x64xf32>) {epilogue = [#llm.epilogue<residual>]} : tensor<?x64xf32> -> tensor<?x64xf32>
  %h = llm.linear %a, @o residual(%x : tensor<?x64xf32>) {epilogue = [#llm.epilogue<residual>]} : tensor<?x64xf32> -> tensor<?x64xf32>
  %m8 = llm.quantize %h {act = #qfmt.act<i8, group = 32, block = 8>} : tensor<?x64xf32> -> !llm.act<64, <i8, group = 32, block = 8>>
  // CHECK: llm.linear %{{.*}}, @gu {epilogue = [#llm.epilogue<gate = gelu_tanh>, #llm.epilogue<softcap = 3.000000e+01>]} : !llm.act<64, <i8, group = 32, block = 8>> -> tensor<?x96xf32>
  %gu = llm.linear %m8, @gu {epilogue = [#llm.epilogue<gate = gelu_tanh>, #llm.epilogue<softcap = 30.0>]} : !llm.act<64, <i8, group = 32, block = 8>> -> tensor<?x96xf32>
  // CHECK: llm.linear %{{.*}}, @up : tensor<?x64xf32> -> tensor<?x96xf32>
  %u = llm.linear %h, @up : tensor<?x64xf32> -> tensor<?x96xf32>
  // CHECK: llm.gate silu %{{.*}}, %{{.*}} : tensor<?x96xf32>
  %s = llm.gate silu %gu, %u : tensor<?x96xf32>
  %d = llm.linear %s, @down : tensor<?x96xf32> -> tensor<?x64xf32>
  // CHECK: llm.scale %{{.*}} {factor = 5.000000e-01 : f32} : tensor<?x64xf32>
  %ds = llm.scale %d {factor = 0.5 : f32} : tensor<?x64xf32>
  // CHECK: llm.rms_norm %{{.*}}, @g residual(%{{.*}} : tensor<?x64xf32>) {eps = 9.99999974E-6 : f32} : tensor<?x64xf32>
  %pn = llm.rms_norm %ds, @g residual(%h : tensor<?x64xf32>) {eps = 1.0e-5 : f32} : tensor<?x64xf32>
  // CHECK: llm.add %{{.*}}, %{{.*}} : tensor<?x64xf32>
  %y = llm.add %h, %pn : tensor<?x64xf32>
  // CHECK: llm.layer_end %{{.*}} {layer = 0 : i64} : tensor<?x64xf32>
  %e = llm.layer_end %y {layer = 0 : i64} : tensor<?x64xf32>
  // CHECK: llm.select_rows %{{.*}}, %[[B]] : tensor<?x64xf32>
  %r = llm.select_rows %e, %batch : tensor<?x64xf32>
  // CHECK: llm.softcap %{{.*}} {cap = 2.000000e+01 : f32} : tensor<?x64xf32>
  %t = llm.softcap %r {cap = 20.0 : f32} : tensor<?x64xf32>
  // CHECK: llm.dequant @o : tensor<64x64xf32>
  %w = llm.dequant @o : tensor<64x64xf32>
  // CHECK: llm.logits %{{.*}}, @tok {softcap = 3.000000e+01 : f32} : tensor<?x64xf32> -> tensor<?x96xf32>
  %l = llm.logits %t, @tok {softcap = 30.0 : f32} : tensor<?x64xf32> -> tensor<?x96xf32>
  // CHECK: llm.return %{{.*}} : tensor<?x96xf32>
  llm.return %l : tensor<?x96xf32>
}
