// RUN: ingot-opt %s --tile-form-kernels | FileCheck %s

// What shares a kernel, what is a view, what is replicated.

llm.config "t" arch "t" kv f16 {hidden = 64 : i64, layers = 1 : i64, max_context = 128 : i64, vocab = 96 : i64}
llm.param @tok : !qfmt.packed<96x64, q8_0, row> from q8_0 [#llm.ext<0, 0, 6528>] rows [96]
llm.param @g : !qfmt.packed<1x64, f32, row> from f32 [#llm.ext<0, 0, 256>] rows [64]
llm.param @g32 : !qfmt.packed<1x32, f32, row> from f32 [#llm.ext<0, 0, 128>] rows [32]
llm.param @qk : !qfmt.packed<128x64, q4_0, row> from q4_0 [#llm.ext<0, 0, 4608>] rows [128]
llm.param @v : !qfmt.packed<64x64, q8_0, row> from q8_0 [#llm.ext<0, 0, 4352>] rows [64]
llm.param @bv : !qfmt.packed<1x64, f32, row> from f32 [#llm.ext<0, 0, 256>] rows [64]
llm.param @o : !qfmt.packed<64x64, q4_0, row> from q4_0 [#llm.ext<0, 0, 2304>] rows [64]

#a = #qfmt.act<i8, group = 32, block = 4>
#rope = #llm.rope<half, head_dim = 32, rotary_dim = 4, scale = 1.0, inv_freq = [1.0, 0.5], name = "r">
#rope2 = #llm.rope<half, head_dim = 32, rotary_dim = 4, scale = 1.0, inv_freq = [1.0, 0.25], name = "r2">

// The norm and the quantization of its result: one kernel, with f32 rows because they are used too.
// CHECK: tile.kernel @[[N:p[0-9]+_norm]] norm ins(%{{.*}}: !tile.rows<64>) outs(%{{.*}}: !tile.rows<64>, %{{.*}}: !tile.act<64, <i8, group = 32, block = 4>>) weights(%{{.*}}: !qfmt.packed<1x64, f32, row>) attributes {domain = #tile.domain<rows>, rows = 4 : i64}
// CHECK: tile.kernel @[[QK:p[0-9]+_linear]] linear
// CHECK-NEXT: tile.grid panels 8 {
// CHECK-NEXT: tile.dot undecided
// CHECK: tile.kernel @[[V:p[0-9]+_linear]] linear
// CHECK: tile.bias
// Norms of the heads, rope of q and k and the cache: one kernel that reads columns of two tensors.
// CHECK: tile.kernel @[[RK:p[0-9]+_rope_kv]] rope_kv ins(%[[A:.*]]: !tile.rows<128>, %[[B:.*]]: !tile.rows<64>) outs(%{{.*}}: !tile.rows<64>) weights(%[[GQ:.*]]: !qfmt.packed<1x32, f32, row>, %[[GK:.*]]: !qfmt.packed<1x32, f32, row>)
// CHECK-NEXT: tile.grid row_heads 4 {
// CHECK-NEXT: tile.load %[[A]] : !tile.rows<128> -> !tile.frag<64>
// CHECK-NEXT: tile.rms_norm %{{.*}}, %[[GQ]] {{.*}}groups = 2
// CHECK-NEXT: tile.rope %{{.*}} table = 0
// CHECK-NEXT: tile.store
// CHECK-NEXT: tile.load %[[A]] {offset = 64 : i64}
// CHECK-NEXT: tile.rms_norm %{{.*}}, %[[GK]]
// CHECK-NEXT: tile.rope %{{.*}} table = 1
// CHECK-NEXT: tile.load %[[B]]
// CHECK-NEXT: tile.kv_store
// CHECK: tile.rope_table 0 "r" {{.*}}5.000000e-01
// CHECK: tile.rope_table 1 "r2" {{.*}}2.500000e-01
// CHECK: tile.kernel @[[AT:p[0-9]+_attention]] attention ins(%{{.*}}: !tile.rows<64>) outs(%{{.*}}: !tile.act<64, <i8, group = 32, block = 4>>)
// CHECK: tile.mask %{{.*}} {window = 48 : i64}
// CHECK: tile.kernel @[[O:p[0-9]+_linear]] linear ins(%{{.*}}: !tile.act<{{.*}}>, %{{.*}}: !tile.rows<64>)
// CHECK: tile.add
// CHECK: tile.kernel @[[S:p[0-9]+_select]] select {{.*}} attributes {domain = #tile.domain<out>, rows = 4 : i64}
// CHECK: tile.load %{{.*}} {selected}
// CHECK: tile.kernel @[[F:p[0-9]+_norm]] norm {{.*}} outs(%{{.*}}: !tile.rows<64>, %{{.*}}: !tile.act<{{.*}}>){{.*}} attributes {domain = #tile.domain<out>, rows = 4 : i64}
// CHECK: tile.kernel @[[L:p[0-9]+_linear]] linear {{.*}} attributes {domain = #tile.domain<out>, rows = 4 : i64}
// CHECK: tile.softcap %{{.*}} {cap = 3.000000e+01 : f32}

// CHECK: llm.step @m4(%[[IDS:.*]]: tensor<?xi32>, %{{.*}}: !llm.batch)
// CHECK-NEXT: %[[X:.*]] = tile.launch @p0_embed() params = [@tok] {tap = "embed"} : () -> tensor<?x64xf32>
// CHECK-NEXT: %[[NN:.*]]:2 = tile.launch @[[N]](%[[X]]) params = [@g] replicated : (tensor<?x64xf32>) -> (tensor<?x64xf32>, !llm.act<
// CHECK-NEXT: %[[QKV:.*]] = tile.launch @[[QK]](%[[NN]]#1) params = [@qk] :
// CHECK-NEXT: %[[VV:.*]] = tile.launch @[[V]](%[[NN]]#1) params = [@v, @bv] :
// CHECK-NEXT: %[[QR:.*]]:2 = tile.launch @[[RK]](%[[QKV]], %[[VV]]) params = [@g32, @g32] {kv_layer = 0 : i64} :
// CHECK-NEXT: %[[AA:.*]] = tile.launch @[[AT]](%[[QR]]#0) kv(%[[QR]]#1) params = [] {kv_layer = 0 : i64} :
// CHECK-NEXT: %[[OO:.*]] = tile.launch @[[O]](%[[AA]], %[[NN]]#0) params = [@o] {tap = "layer"} :
// CHECK-NEXT: %[[SS:.*]] = tile.launch @[[S]](%[[OO]]) params = [] replicated :
// CHECK-NEXT: %[[FF:.*]]:2 = tile.launch @[[F]](%[[SS]]) params = [@g] replicated {tap = "norm"} :
// CHECK-NEXT: %[[LL:.*]] = tile.launch @[[L]](%[[FF]]#1) params = [@tok] :
// CHECK-NEXT: llm.return %[[LL]]
llm.step @m4(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x96xf32> attributes {rows = 4 : i64} {
  %x = llm.embed %ids, @tok : tensor<?x64xf32>
  %n = llm.rms_norm %x, @g {eps = 1.0e-5 : f32} : tensor<?x64xf32>
  %n8 = llm.quantize %n {act = #a} : tensor<?x64xf32> -> !llm.act<64, #a>
  %qk = llm.linear %n8, @qk : !llm.act<64, #a> -> tensor<?x128xf32>
  %v = llm.linear %n8, @v bias @bv {epilogue = [#llm.epilogue<bias>]} : !llm.act<64, #a> -> tensor<?x64xf32>
  %q = llm.slice %qk {offset = 0 : i64, size = 64 : i64} : tensor<?x128xf32> -> tensor<?x64xf32>
  %k = llm.slice %qk {offset = 64 : i64, size = 64 : i64} : tensor<?x128xf32> -> tensor<?x64xf32>
  %qn = llm.rms_norm %q, @g32 {eps = 1.0e-6 : f32, groups = 2 : i64} : tensor<?x64xf32>
  %kn = llm.rms_norm %k, @g32 {eps = 1.0e-6 : f32, groups = 2 : i64} : tensor<?x64xf32>
  %qr = llm.rope %qn, %b {heads = 2 : i64, rope = #rope} : tensor<?x64xf32>
  %kr = llm.rope %kn, %b {heads = 2 : i64, rope = #rope2} : tensor<?x64xf32>
  %c = llm.kv_append %kr, %v, %b : tensor<?x64xf32>, tensor<?x64xf32> -> !llm.kv<layer = 0, heads = 2, dim = 32, v_dim = 32, dtype = f16>
  %a = llm.attention %qr, %c, %b {head_dim = 32 : i64, kv_heads = 2 : i64, mask = #llm.mask<causal, window = 48>, q_heads = 2 : i64, scale = 0.25 : f32} : tensor<?x64xf32>, !llm.kv<layer = 0, heads = 2, dim = 32, v_dim = 32, dtype = f16> -> tensor<?x64xf32>
  %a8 = llm.quantize %a {act = #a} : tensor<?x64xf32> -> !llm.act<64, #a>
  %o = llm.linear %a8, @o residual(%n : tensor<?x64xf32>) {epilogue = [#llm.epilogue<residual>]} : !llm.act<64, #a> -> tensor<?x64xf32>
  %e = llm.layer_end %o {layer = 0 : i64} : tensor<?x64xf32>
  %r = llm.select_rows %e, %b : tensor<?x64xf32>
  %f = llm.rms_norm %r, @g {eps = 1.0e-5 : f32} : tensor<?x64xf32>
  %f8 = llm.quantize %f {act = #a} : tensor<?x64xf32> -> !llm.act<64, #a>
  %l = llm.logits %f8, @tok {softcap = 30.0 : f32} : !llm.act<64, #a> -> tensor<?x96xf32>
  llm.return %l : tensor<?x96xf32>
}
