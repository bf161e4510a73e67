// RUN: ingot-opt %s --tile-form-kernels | FileCheck %s

// Ops that stand alone: heads of 24 are no whole groups of 32, so the attention stays f32; a rotated k with another
// reader is a kernel of its own; a class of 512 rows is one kernel for any number of rows, replicated nowhere.

llm.config "t" arch "t" kv f32 {hidden = 48 : i64, layers = 1 : i64, max_context = 128 : i64, vocab = 96 : i64}
llm.param @tok : !qfmt.packed<96x48, f16, row> from f16 [#llm.ext<0, 0, 9216>] rows [96]

#a = #qfmt.act<i8, group = 32, block = 12>
#rope = #llm.rope<interleaved, head_dim = 24, rotary_dim = 4, scale = 1.0, inv_freq = [1.0, 0.5], name = "r">

// CHECK-NOT: replicated
// CHECK: tile.kernel @p1_scale scale {{.*}} attributes {domain = #tile.domain<rows>, rows = 0 : i64}
// CHECK: tile.kernel @p2_rope_kv rope_kv ins(%{{.*}}: !tile.rows<48>) outs(%{{.*}}: !tile.rows<48>)
// CHECK: tile.kernel @p3_rope_kv rope_kv
// CHECK-NEXT: tile.grid row_heads 4 {
// CHECK: tile.kv_store
// CHECK: tile.kernel @p4_attention attention ins(%{{.*}}: !tile.rows<48>) outs(%{{.*}}: !tile.rows<48>)
// CHECK: tile.kernel @p5_quantize quantize ins(%{{.*}}: !tile.rows<48>) outs(%{{.*}}: !tile.act<48,
// CHECK: tile.kernel @p6_gate gate ins(%[[G:.*]]: !tile.rows<48>) outs(%{{.*}}: !tile.rows<24>)
// CHECK: tile.load %[[G]] : !tile.rows<48> -> !tile.frag<24>
// CHECK: tile.load %[[G]] {offset = 24 : i64} : !tile.rows<48> -> !tile.frag<24>
// CHECK: tile.gate gelu
// CHECK: tile.kernel @p7_add add
// CHECK: tile.kernel @p8_softcap softcap

// The embedding's own scale is part of the tap.
// CHECK: tile.launch @p0_embed() params = [@tok] : ()
// CHECK: tile.launch @p1_scale(%{{.*}}) params = [] {tap = "embed"}
llm.step @m512(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x96xf32> attributes {rows = 512 : i64} {
  %e = llm.embed %ids, @tok : tensor<?x48xf32>
  %x = llm.scale %e {factor = 3.0 : f32} : tensor<?x48xf32>
  %kr = llm.rope %x, %b {heads = 2 : i64, rope = #rope} : tensor<?x48xf32>
  %qr = llm.rope %x, %b {heads = 2 : i64, rope = #rope} : tensor<?x48xf32>
  %c = llm.kv_append %kr, %x, %b : tensor<?x48xf32>, tensor<?x48xf32> -> !llm.kv<layer = 0, heads = 2, dim = 24, v_dim = 24, dtype = f32>
  %a = llm.attention %qr, %c, %b {head_dim = 24 : i64, kv_heads = 2 : i64, mask = #llm.mask<causal, window = 0>, q_heads = 2 : i64, scale = 0.25 : f32} : tensor<?x48xf32>, !llm.kv<layer = 0, heads = 2, dim = 24, v_dim = 24, dtype = f32> -> tensor<?x48xf32>
  %q = llm.quantize %a {act = #a} : tensor<?x48xf32> -> !llm.act<48, #a>
  %s0 = llm.slice %kr {offset = 0 : i64, size = 24 : i64} : tensor<?x48xf32> -> tensor<?x24xf32>
  %s1 = llm.slice %kr {offset = 24 : i64, size = 24 : i64} : tensor<?x48xf32> -> tensor<?x24xf32>
  %g = llm.gate gelu %s0, %s1 : tensor<?x24xf32>
  %h = llm.add %g, %s1 : tensor<?x24xf32>
  %t = llm.softcap %h {cap = 9.0 : f32} : tensor<?x24xf32>
  %r = llm.select_rows %x, %b : tensor<?x48xf32>
  %l = llm.logits %r, @tok : tensor<?x48xf32> -> tensor<?x96xf32>
  llm.return %l : tensor<?x96xf32>
}
