// RUN: ingot-opt %s --tile-form-kernels -split-input-file | FileCheck %s
// RUN: ingot-opt %s --tile-form-kernels=rope-in-linear=none -split-input-file | FileCheck %s --check-prefix=OFF
// RUN: ingot-opt %s --tile-form-kernels='rope-in-linear=pairs rope-apart-reason=slower' -split-input-file \
// RUN:   | FileCheck %s --check-prefix=PAIRS
// RUN: not ingot-opt %s --tile-form-kernels=rope-in-linear=some -split-input-file 2>&1 | FileCheck %s --check-prefix=BAD
// BAD: rope-in-linear is all, pairs or none, not 'some'

// The projection of q, k and v rotates q and k and appends k and v by itself.
// OFF: tile.kernel @{{.*}} rope_kv {{.*}} refused = ["rope_kv of the projection: rope-in-linear"]
// OFF-NOT: tile.columns
// CHECK-LABEL: llm.config "t"
// CHECK: tile.kernel @[[K:p2_linear]] linear ins(%[[X:.*]]: !tile.act<64, {{.*}}>) outs(%[[Y:.*]]: !tile.rows<64>) weights(%[[W:.*]]: !qfmt.packed<128x64, q4_1, row>, %[[B:.*]]: !qfmt.packed<1x128, f32, row>)
// CHECK-NEXT: tile.grid panels 8 {
// CHECK-NEXT: %[[D:.*]] = tile.dot undecided %[[X]], %[[W]]
// CHECK-NEXT: %[[P:.*]] = tile.bias %[[D]], %[[B]]
// CHECK-NEXT: %[[Q:.*]] = tile.columns %[[P]] {offset = 0 : i64} : !tile.frag<128> -> !tile.frag<64>
// CHECK-NEXT: %[[QR:.*]] = tile.rope %[[Q]] {{.*}}heads = 2 : i64
// CHECK-NEXT: tile.store %[[QR]], %[[Y]]
// CHECK-NEXT: %[[KC:.*]] = tile.columns %[[P]] {offset = 64 : i64} : !tile.frag<128> -> !tile.frag<32>
// CHECK-NEXT: %[[KR:.*]] = tile.rope %[[KC]]
// CHECK-NEXT: %[[V:.*]] = tile.columns %[[P]] {offset = 96 : i64}
// CHECK-NEXT: tile.kv_store %[[KR]], %[[V]]
// CHECK-NOT: rope_kv
// CHECK: %[[L:.*]]:2 = tile.launch @[[K]](%{{.*}}) params = [@qkv, @bias] {kv_layer = 0 : i64} : (!llm.act<64, {{.*}}>) -> (tensor<?x64xf32>, !llm.kv<{{.*}}>)
// CHECK-NEXT: tile.launch @{{.*}}attention(%[[L]]#0) kv(%[[L]]#1)
llm.config "t" arch "t" kv f16 {hidden = 64 : i64, layers = 1 : i64, max_context = 128 : i64, vocab = 96 : i64}
llm.param @tok : !qfmt.packed<96x64, f16, row> from f16 [#llm.ext<0, 0, 12288>] rows [96]
llm.param @qkv : !qfmt.packed<128x64, q4_1, row> from q4_1 [#llm.ext<0, 20000, 5120>] rows [128]
llm.param @bias : !qfmt.packed<1x128, f32, row> from f32 [#llm.ext<0, 50000, 512>] rows [128]
#a = #qfmt.act<i8, group = 32, block = 4>
#rope = #llm.rope<interleaved, head_dim = 32, rotary_dim = 32, scale = 1.0, inv_freq = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], name = "r">
llm.step @m4(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x96xf32> attributes {rows = 4 : i64} {
  %x = llm.embed %ids, @tok : tensor<?x64xf32>
  %x8 = llm.quantize %x {act = #a} : tensor<?x64xf32> -> !llm.act<64, #a>
  %p = llm.linear %x8, @qkv bias @bias {epilogue = [#llm.epilogue<bias>]} : !llm.act<64, #a> -> tensor<?x128xf32>
  %qs = llm.slice %p {offset = 0 : i64, size = 64 : i64} : tensor<?x128xf32> -> tensor<?x64xf32>
  %ks = llm.slice %p {offset = 64 : i64, size = 32 : i64} : tensor<?x128xf32> -> tensor<?x32xf32>
  %vs = llm.slice %p {offset = 96 : i64, size = 32 : i64} : tensor<?x128xf32> -> tensor<?x32xf32>
  %qr = llm.rope %qs, %b {heads = 2 : i64, rope = #rope} : tensor<?x64xf32>
  %kr = llm.rope %ks, %b {heads = 1 : i64, rope = #rope} : tensor<?x32xf32>
  %c = llm.kv_append %kr, %vs, %b : tensor<?x32xf32>, tensor<?x32xf32> -> !llm.kv<layer = 0, heads = 1, dim = 32, v_dim = 32, dtype = f16>
  %o = llm.attention %qr, %c, %b {head_dim = 32 : i64, kv_heads = 1 : i64, mask = #llm.mask<causal, window = 0>, q_heads = 2 : i64, scale = 0.25 : f32} : tensor<?x64xf32>, !llm.kv<layer = 0, heads = 1, dim = 32, v_dim = 32, dtype = f16> -> tensor<?x64xf32>
  %r = llm.select_rows %x, %b : tensor<?x64xf32>
  %l = llm.logits %r, @tok : tensor<?x64xf32> -> tensor<?x96xf32>
  llm.return %l : tensor<?x96xf32>
}

// -----

// In the class of any number of rows too.
// CHECK-LABEL: llm.config "t"
// CHECK: tile.kernel @p2_linear linear
// CHECK: tile.kv_store
// CHECK-NOT: rope_kv
// CHECK: llm.step
llm.config "t" arch "t" kv f16 {hidden = 64 : i64, layers = 1 : i64, max_context = 128 : i64, vocab = 96 : i64}
llm.param @tok : !qfmt.packed<96x64, f16, row> from f16 [#llm.ext<0, 0, 12288>] rows [96]
llm.param @qkv : !qfmt.packed<128x64, q4_1, row> from q4_1 [#llm.ext<0, 20000, 5120>] rows [128]
llm.param @bias : !qfmt.packed<1x128, f32, row> from f32 [#llm.ext<0, 50000, 512>] rows [128]
#a = #qfmt.act<i8, group = 32, block = 12>
#rope = #llm.rope<interleaved, head_dim = 32, rotary_dim = 32, scale = 1.0, inv_freq = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], name = "r">
llm.step @m512(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x96xf32> attributes {rows = 512 : i64} {
  %x = llm.embed %ids, @tok : tensor<?x64xf32>
  %x8 = llm.quantize %x {act = #a} : tensor<?x64xf32> -> !llm.act<64, #a>
  %p = llm.linear %x8, @qkv bias @bias {epilogue = [#llm.epilogue<bias>]} : !llm.act<64, #a> -> tensor<?x128xf32>
  %qs = llm.slice %p {offset = 0 : i64, size = 64 : i64} : tensor<?x128xf32> -> tensor<?x64xf32>
  %ks = llm.slice %p {offset = 64 : i64, size = 32 : i64} : tensor<?x128xf32> -> tensor<?x32xf32>
  %vs = llm.slice %p {offset = 96 : i64, size = 32 : i64} : tensor<?x128xf32> -> tensor<?x32xf32>
  %qr = llm.rope %qs, %b {heads = 2 : i64, rope = #rope} : tensor<?x64xf32>
  %kr = llm.rope %ks, %b {heads = 1 : i64, rope = #rope} : tensor<?x32xf32>
  %c = llm.kv_append %kr, %vs, %b : tensor<?x32xf32>, tensor<?x32xf32> -> !llm.kv<layer = 0, heads = 1, dim = 32, v_dim = 32, dtype = f16>
  %o = llm.attention %qr, %c, %b {head_dim = 32 : i64, kv_heads = 1 : i64, mask = #llm.mask<causal, window = 0>, q_heads = 2 : i64, scale = 0.25 : f32} : tensor<?x64xf32>, !llm.kv<layer = 0, heads = 1, dim = 32, v_dim = 32, dtype = f16> -> tensor<?x64xf32>
  %r = llm.select_rows %x, %b : tensor<?x64xf32>
  %l = llm.logits %r, @tok : tensor<?x64xf32> -> tensor<?x96xf32>
  llm.return %l : tensor<?x96xf32>
}

// -----

// Halves of a pair lie in different panels of one unit of work.
// CHECK-LABEL: llm.config "t"
// CHECK: tile.kernel @p2_linear linear
// CHECK: tile.rope {{.*}} style = #tile.rope_style<half>
// CHECK: tile.kv_store
// CHECK-NOT: rope_kv
// CHECK: llm.step
// PAIRS: style = #tile.rope_style<half>
// PAIRS-NOT: rope_kv
// PAIRS: llm.step
llm.config "t" arch "t" kv f16 {hidden = 64 : i64, layers = 1 : i64, max_context = 128 : i64, vocab = 96 : i64}
llm.param @tok : !qfmt.packed<96x64, f16, row> from f16 [#llm.ext<0, 0, 12288>] rows [96]
llm.param @qkv : !qfmt.packed<128x64, q4_1, row> from q4_1 [#llm.ext<0, 20000, 5120>] rows [128]
llm.param @bias : !qfmt.packed<1x128, f32, row> from f32 [#llm.ext<0, 50000, 512>] rows [128]
#a = #qfmt.act<i8, group = 32, block = 4>
#rope = #llm.rope<half, head_dim = 32, rotary_dim = 32, scale = 1.0, inv_freq = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], name = "r">
llm.step @m4(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x96xf32> attributes {rows = 4 : i64} {
  %x = llm.embed %ids, @tok : tensor<?x64xf32>
  %x8 = llm.quantize %x {act = #a} : tensor<?x64xf32> -> !llm.act<64, #a>
  %p = llm.linear %x8, @qkv bias @bias {epilogue = [#llm.epilogue<bias>]} : !llm.act<64, #a> -> tensor<?x128xf32>
  %qs = llm.slice %p {offset = 0 : i64, size = 64 : i64} : tensor<?x128xf32> -> tensor<?x64xf32>
  %ks = llm.slice %p {offset = 64 : i64, size = 32 : i64} : tensor<?x128xf32> -> tensor<?x32xf32>
  %vs = llm.slice %p {offset = 96 : i64, size = 32 : i64} : tensor<?x128xf32> -> tensor<?x32xf32>
  %qr = llm.rope %qs, %b {heads = 2 : i64, rope = #rope} : tensor<?x64xf32>
  %kr = llm.rope %ks, %b {heads = 1 : i64, rope = #rope} : tensor<?x32xf32>
  %c = llm.kv_append %kr, %vs, %b : tensor<?x32xf32>, tensor<?x32xf32> -> !llm.kv<layer = 0, heads = 1, dim = 32, v_dim = 32, dtype = f16>
  %o = llm.attention %qr, %c, %b {head_dim = 32 : i64, kv_heads = 1 : i64, mask = #llm.mask<causal, window = 0>, q_heads = 2 : i64, scale = 0.25 : f32} : tensor<?x64xf32>, !llm.kv<layer = 0, heads = 1, dim = 32, v_dim = 32, dtype = f16> -> tensor<?x64xf32>
  %r = llm.select_rows %x, %b : tensor<?x64xf32>
  %l = llm.logits %r, @tok : tensor<?x64xf32> -> tensor<?x96xf32>
  llm.return %l : tensor<?x96xf32>
}

// -----

// A norm needs the whole head; its weight follows the bias.
// CHECK-LABEL: llm.config "t"
// CHECK: tile.kernel @[[K:p2_linear]] linear ins({{.*}}) outs(%[[Y:.*]]: !tile.rows<64>) weights(%{{.*}}: !qfmt.packed<128x64, q4_1, row>, %{{.*}}: !qfmt.packed<1x128, f32, row>, %[[G:.*]]: !qfmt.packed<1x32, f32, row>)
// CHECK: %[[Q:.*]] = tile.rope
// CHECK-NEXT: tile.store %[[Q]], %[[Y]]
// CHECK-NEXT: %[[C:.*]] = tile.columns %{{.*}} {offset = 64 : i64}
// CHECK-NEXT: %[[N:.*]] = tile.rms_norm %[[C]], %[[G]]
// CHECK-NEXT: tile.rope %[[N]]
// CHECK: tile.kv_store
// CHECK-NOT: rope_kv
// CHECK: tile.launch @[[K]](%{{.*}}) params = [@qkv, @bias, @gk]
// PAIRS: tile.kernel @{{.*}} rope_kv {{.*}} refused = ["rope_kv of the projection: slower"]
// PAIRS: llm.step
llm.config "t" arch "t" kv f16 {hidden = 64 : i64, layers = 1 : i64, max_context = 128 : i64, vocab = 96 : i64}
llm.param @tok : !qfmt.packed<96x64, f16, row> from f16 [#llm.ext<0, 0, 12288>] rows [96]
llm.param @qkv : !qfmt.packed<128x64, q4_1, row> from q4_1 [#llm.ext<0, 20000, 5120>] rows [128]
llm.param @bias : !qfmt.packed<1x128, f32, row> from f32 [#llm.ext<0, 50000, 512>] rows [128]
llm.param @gk : !qfmt.packed<1x32, f32, row> from f32 [#llm.ext<0, 70000, 128>] rows [32]
#a = #qfmt.act<i8, group = 32, block = 4>
#rope = #llm.rope<interleaved, head_dim = 32, rotary_dim = 32, scale = 1.0, inv_freq = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], name = "r">
llm.step @m4(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x96xf32> attributes {rows = 4 : i64} {
  %x = llm.embed %ids, @tok : tensor<?x64xf32>
  %x8 = llm.quantize %x {act = #a} : tensor<?x64xf32> -> !llm.act<64, #a>
  %p = llm.linear %x8, @qkv bias @bias {epilogue = [#llm.epilogue<bias>]} : !llm.act<64, #a> -> tensor<?x128xf32>
  %qs = llm.slice %p {offset = 0 : i64, size = 64 : i64} : tensor<?x128xf32> -> tensor<?x64xf32>
  %ks = llm.slice %p {offset = 64 : i64, size = 32 : i64} : tensor<?x128xf32> -> tensor<?x32xf32>
  %vs = llm.slice %p {offset = 96 : i64, size = 32 : i64} : tensor<?x128xf32> -> tensor<?x32xf32>
  %kn = llm.rms_norm %ks, @gk {eps = 1.0e-5 : f32, groups = 1 : i64} : tensor<?x32xf32>
  %qr = llm.rope %qs, %b {heads = 2 : i64, rope = #rope} : tensor<?x64xf32>
  %kr = llm.rope %kn, %b {heads = 1 : i64, rope = #rope} : tensor<?x32xf32>
  %c = llm.kv_append %kr, %vs, %b : tensor<?x32xf32>, tensor<?x32xf32> -> !llm.kv<layer = 0, heads = 1, dim = 32, v_dim = 32, dtype = f16>
  %o = llm.attention %qr, %c, %b {head_dim = 32 : i64, kv_heads = 1 : i64, mask = #llm.mask<causal, window = 0>, q_heads = 2 : i64, scale = 0.25 : f32} : tensor<?x64xf32>, !llm.kv<layer = 0, heads = 1, dim = 32, v_dim = 32, dtype = f16> -> tensor<?x64xf32>
  %r = llm.select_rows %x, %b : tensor<?x64xf32>
  %l = llm.logits %r, @tok : tensor<?x64xf32> -> tensor<?x96xf32>
  llm.return %l : tensor<?x96xf32>
}

// -----

// Heads of 24 cross panels.
// CHECK-LABEL: llm.config "t"
// CHECK: tile.kernel @p2_linear linear
// CHECK-NOT: tile.kv_store
// CHECK: tile.kernel @p3_rope_kv rope_kv {{.*}} refused = ["rope_kv of the projection: heads are no whole panels of 16 columns"]
llm.config "t" arch "t" kv f16 {hidden = 64 : i64, layers = 1 : i64, max_context = 128 : i64, vocab = 96 : i64}
llm.param @tok : !qfmt.packed<96x64, f16, row> from f16 [#llm.ext<0, 0, 12288>] rows [96]
llm.param @qkv : !qfmt.packed<96x64, q4_1, row> from q4_1 [#llm.ext<0, 20000, 3840>] rows [96]
llm.param @bias : !qfmt.packed<1x96, f32, row> from f32 [#llm.ext<0, 50000, 384>] rows [96]
#a = #qfmt.act<i8, group = 32, block = 4>
#rope = #llm.rope<interleaved, head_dim = 24, rotary_dim = 24, scale = 1.0, inv_freq = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], name = "r">
llm.step @m4(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x96xf32> attributes {rows = 4 : i64} {
  %x = llm.embed %ids, @tok : tensor<?x64xf32>
  %x8 = llm.quantize %x {act = #a} : tensor<?x64xf32> -> !llm.act<64, #a>
  %p = llm.linear %x8, @qkv bias @bias {epilogue = [#llm.epilogue<bias>]} : !llm.act<64, #a> -> tensor<?x96xf32>
  %qs = llm.slice %p {offset = 0 : i64, size = 48 : i64} : tensor<?x96xf32> -> tensor<?x48xf32>
  %ks = llm.slice %p {offset = 48 : i64, size = 24 : i64} : tensor<?x96xf32> -> tensor<?x24xf32>
  %vs = llm.slice %p {offset = 72 : i64, size = 24 : i64} : tensor<?x96xf32> -> tensor<?x24xf32>
  %qr = llm.rope %qs, %b {heads = 2 : i64, rope = #rope} : tensor<?x48xf32>
  %kr = llm.rope %ks, %b {heads = 1 : i64, rope = #rope} : tensor<?x24xf32>
  %c = llm.kv_append %kr, %vs, %b : tensor<?x24xf32>, tensor<?x24xf32> -> !llm.kv<layer = 0, heads = 1, dim = 24, v_dim = 24, dtype = f16>
  %o = llm.attention %qr, %c, %b {head_dim = 24 : i64, kv_heads = 1 : i64, mask = #llm.mask<causal, window = 0>, q_heads = 2 : i64, scale = 0.25 : f32} : tensor<?x48xf32>, !llm.kv<layer = 0, heads = 1, dim = 24, v_dim = 24, dtype = f16> -> tensor<?x48xf32>
  %r = llm.select_rows %x, %b : tensor<?x64xf32>
  %l = llm.logits %r, @tok : tensor<?x64xf32> -> tensor<?x96xf32>
  llm.return %l : tensor<?x96xf32>
}

// -----

// Another reader of the product.
// CHECK-LABEL: llm.config "t"
// CHECK: tile.kernel @p2_linear linear
// CHECK-NOT: tile.kv_store
// CHECK: tile.kernel @p3_rope_kv rope_kv {{.*}} refused = ["rope_kv of the projection: q, k or v is read elsewhere too"]
llm.config "t" arch "t" kv f16 {hidden = 64 : i64, layers = 1 : i64, max_context = 128 : i64, vocab = 96 : i64}
llm.param @tok : !qfmt.packed<96x64, f16, row> from f16 [#llm.ext<0, 0, 12288>] rows [96]
llm.param @qkv : !qfmt.packed<128x64, q4_1, row> from q4_1 [#llm.ext<0, 20000, 5120>] rows [128]
llm.param @bias : !qfmt.packed<1x128, f32, row> from f32 [#llm.ext<0, 50000, 512>] rows [128]
#a = #qfmt.act<i8, group = 32, block = 4>
#rope = #llm.rope<interleaved, head_dim = 32, rotary_dim = 32, scale = 1.0, inv_freq = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], name = "r">
llm.step @m4(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x96xf32> attributes {rows = 4 : i64} {
  %x = llm.embed %ids, @tok : tensor<?x64xf32>
  %x8 = llm.quantize %x {act = #a} : tensor<?x64xf32> -> !llm.act<64, #a>
  %p = llm.linear %x8, @qkv bias @bias {epilogue = [#llm.epilogue<bias>]} : !llm.act<64, #a> -> tensor<?x128xf32>
  %qs = llm.slice %p {offset = 0 : i64, size = 64 : i64} : tensor<?x128xf32> -> tensor<?x64xf32>
  %ks = llm.slice %p {offset = 64 : i64, size = 32 : i64} : tensor<?x128xf32> -> tensor<?x32xf32>
  %vs = llm.slice %p {offset = 96 : i64, size = 32 : i64} : tensor<?x128xf32> -> tensor<?x32xf32>
  %qr = llm.rope %qs, %b {heads = 2 : i64, rope = #rope} : tensor<?x64xf32>
  %kr = llm.rope %ks, %b {heads = 1 : i64, rope = #rope} : tensor<?x32xf32>
  %c = llm.kv_append %kr, %vs, %b : tensor<?x32xf32>, tensor<?x32xf32> -> !llm.kv<layer = 0, heads = 1, dim = 32, v_dim = 32, dtype = f16>
  %o = llm.attention %qr, %c, %b {head_dim = 32 : i64, kv_heads = 1 : i64, mask = #llm.mask<causal, window = 0>, q_heads = 2 : i64, scale = 0.25 : f32} : tensor<?x64xf32>, !llm.kv<layer = 0, heads = 1, dim = 32, v_dim = 32, dtype = f16> -> tensor<?x64xf32>
  %z = llm.add %p, %p : tensor<?x128xf32>
  %r = llm.select_rows %x, %b : tensor<?x64xf32>
  %l = llm.logits %r, @tok : tensor<?x64xf32> -> tensor<?x96xf32>
  llm.return %l : tensor<?x96xf32>
}

// -----

// v has a weight of its own, as in files of mixed schemes.
// CHECK-LABEL: llm.config "t"
// CHECK: tile.kernel @p4_rope_kv rope_kv {{.*}} refused = ["rope_kv of the projection: q, k and v come from several linears: their weights have different schemes"]
llm.config "t" arch "t" kv f16 {hidden = 64 : i64, layers = 1 : i64, max_context = 128 : i64, vocab = 96 : i64}
llm.param @tok : !qfmt.packed<96x64, f16, row> from f16 [#llm.ext<0, 0, 12288>] rows [96]
llm.param @qk : !qfmt.packed<96x64, q4_1, row> from q4_1 [#llm.ext<0, 20000, 3840>] rows [96]
llm.param @v : !qfmt.packed<32x64, q8_0, row> from q8_0 [#llm.ext<0, 60000, 2176>] rows [32]
#a = #qfmt.act<i8, group = 32, block = 4>
#rope = #llm.rope<half, head_dim = 32, rotary_dim = 32, scale = 1.0, inv_freq = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], name = "r">
llm.step @m4(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x96xf32> attributes {rows = 4 : i64} {
  %x = llm.embed %ids, @tok : tensor<?x64xf32>
  %x8 = llm.quantize %x {act = #a} : tensor<?x64xf32> -> !llm.act<64, #a>
  %p = llm.linear %x8, @qk : !llm.act<64, #a> -> tensor<?x96xf32>
  %vs = llm.linear %x8, @v : !llm.act<64, #a> -> tensor<?x32xf32>
  %qs = llm.slice %p {offset = 0 : i64, size = 64 : i64} : tensor<?x96xf32> -> tensor<?x64xf32>
  %ks = llm.slice %p {offset = 64 : i64, size = 32 : i64} : tensor<?x96xf32> -> tensor<?x32xf32>
  %qr = llm.rope %qs, %b {heads = 2 : i64, rope = #rope} : tensor<?x64xf32>
  %kr = llm.rope %ks, %b {heads = 1 : i64, rope = #rope} : tensor<?x32xf32>
  %c = llm.kv_append %kr, %vs, %b : tensor<?x32xf32>, tensor<?x32xf32> -> !llm.kv<layer = 0, heads = 1, dim = 32, v_dim = 32, dtype = f16>
  %o = llm.attention %qr, %c, %b {head_dim = 32 : i64, kv_heads = 1 : i64, mask = #llm.mask<causal, window = 0>, q_heads = 2 : i64, scale = 0.25 : f32} : tensor<?x64xf32>, !llm.kv<layer = 0, heads = 1, dim = 32, v_dim = 32, dtype = f16> -> tensor<?x64xf32>
  %r = llm.select_rows %x, %b : tensor<?x64xf32>
  %l = llm.logits %r, @tok : tensor<?x64xf32> -> tensor<?x96xf32>
  llm.return %l : tensor<?x96xf32>
}

// -----

// A head of an int8 cache has one scale: the unit of work is the head, though pairs are neighbours.
// CHECK-LABEL: llm.config "t"
// CHECK: tile.kernel @p2_linear linear
// CHECK: tile.kv_store {{.*}}dtype = "int8"
// CHECK-NOT: rope_kv
// PAIRS: tile.kernel @{{.*}} rope_kv {{.*}} refused = ["rope_kv of the projection: slower"]
llm.config "t" arch "t" kv int8 {hidden = 64 : i64, layers = 1 : i64, max_context = 128 : i64, vocab = 96 : i64}
llm.param @tok : !qfmt.packed<96x64, f16, row> from f16 [#llm.ext<0, 0, 12288>] rows [96]
llm.param @qkv : !qfmt.packed<128x64, q4_1, row> from q4_1 [#llm.ext<0, 20000, 5120>] rows [128]
#a = #qfmt.act<i8, group = 32, block = 4>
#rope = #llm.rope<interleaved, head_dim = 32, rotary_dim = 32, scale = 1.0, inv_freq = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], name = "r">
llm.step @m4(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x96xf32> attributes {rows = 4 : i64} {
  %x = llm.embed %ids, @tok : tensor<?x64xf32>
  %x8 = llm.quantize %x {act = #a} : tensor<?x64xf32> -> !llm.act<64, #a>
  %p = llm.linear %x8, @qkv : !llm.act<64, #a> -> tensor<?x128xf32>
  %qs = llm.slice %p {offset = 0 : i64, size = 64 : i64} : tensor<?x128xf32> -> tensor<?x64xf32>
  %ks = llm.slice %p {offset = 64 : i64, size = 32 : i64} : tensor<?x128xf32> -> tensor<?x32xf32>
  %vs = llm.slice %p {offset = 96 : i64, size = 32 : i64} : tensor<?x128xf32> -> tensor<?x32xf32>
  %qr = llm.rope %qs, %b {heads = 2 : i64, rope = #rope} : tensor<?x64xf32>
  %kr = llm.rope %ks, %b {heads = 1 : i64, rope = #rope} : tensor<?x32xf32>
  %c = llm.kv_append %kr, %vs, %b : tensor<?x32xf32>, tensor<?x32xf32> -> !llm.kv<layer = 0, heads = 1, dim = 32, v_dim = 32, dtype = int8>
  %o = llm.attention %qr, %c, %b {head_dim = 32 : i64, kv_heads = 1 : i64, mask = #llm.mask<causal, window = 0>, q_heads = 2 : i64, scale = 0.25 : f32} : tensor<?x64xf32>, !llm.kv<layer = 0, heads = 1, dim = 32, v_dim = 32, dtype = int8> -> tensor<?x64xf32>
  %r = llm.select_rows %x, %b : tensor<?x64xf32>
  %l = llm.logits %r, @tok : tensor<?x64xf32> -> tensor<?x96xf32>
  llm.return %l : tensor<?x96xf32>
}
