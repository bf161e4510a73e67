// RUN: ingot-opt %s | FileCheck %s
// RUN: ingot-opt %s --verify-roundtrip -o /dev/null
// RUN: ingot-opt %s --emit-bytecode | ingot-opt | FileCheck %s
// RUN: ingot-opt %s --mlir-print-op-generic | ingot-opt | FileCheck %s

// One kernel of every family.

#act = #qfmt.act<i8, group = 32, block = 4>
!kv = !llm.kv<layer = 1, heads = 2, dim = 32, v_dim = 32, dtype = f16>

// CHECK: tile.rope_table 0 "base" {inv_freq = array<f64: 1.000000e+00, 5.000000e-01>, scale = 1.150000e+00 : f64}
tile.rope_table 0 "base" {inv_freq = array<f64: 1.0, 0.5>, scale = 1.15 : f64}
llm.param @g : !qfmt.packed<1x64, f32, row> from f32 [#llm.ext<0, 0, 256>] rows [64]

// CHECK: tile.kernel @embed embed outs(%{{.*}}: !tile.rows<64>) weights(%{{.*}}: !qfmt.packed<96x64, q8_0, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64} {
// CHECK-NEXT: tile.grid rows {
// CHECK-NEXT: tile.embed %{{.*}} {scale = 8.000000e+00 : f32} : !qfmt.packed<96x64, q8_0, n16> -> !tile.frag<64>
tile.kernel @embed embed outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<96x64, q8_0, n16>)
    attributes {domain = #tile.domain<rows>, rows = 0 : i64} {
  tile.grid rows {
    %0 = tile.embed %w {scale = 8.0 : f32} : !qfmt.packed<96x64, q8_0, n16> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}

// CHECK: tile.kernel @norm norm ins(%{{.*}}: !tile.rows<64>, %{{.*}}: !tile.rows<64>) outs(%{{.*}}: !tile.rows<64>, %{{.*}}: !tile.act<64, <i8, group = 32, block = 4>>) weights
// CHECK: tile.add
// CHECK: tile.quantize %{{.*}} : !tile.frag<64> -> !tile.frag<64, <i8, group = 32, block = 4>>
tile.kernel @norm norm ins(%x: !tile.rows<64>, %r: !tile.rows<64>) outs(%y: !tile.rows<64>, %q: !tile.act<64, #act>)
    weights(%g: !qfmt.packed<1x64, f32, row>)
    attributes {domain = #tile.domain<out>, rows = 4 : i64, isa = "vnni", reason = "one", refused = ["two: slower"],
      schedule = #tile.schedule<vector = 64, panels = 1, rows = 1, unroll = 1, prefetch = 0, chunk = 0, ops = 64>} {
  tile.grid rows {
    %0 = tile.load %r : !tile.rows<64> -> !tile.frag<64>
    %1 = tile.load %x : !tile.rows<64> -> !tile.frag<64>
    %2 = tile.rms_norm %1, %g {eps = 1.0e-5 : f32} : !tile.frag<64>, !qfmt.packed<1x64, f32, row> -> !tile.frag<64>
    %3 = tile.add %0, %2 : !tile.frag<64>
    tile.store %3, %y : !tile.frag<64>, !tile.rows<64>
    %4 = tile.quantize %3 : !tile.frag<64> -> !tile.frag<64, #act>
    tile.store %4, %q : !tile.frag<64, #act>, !tile.act<64, #act>
  }
}

// CHECK: tile.kernel private @linear linear
// CHECK: tile.grid panels 4 {
// CHECK-NEXT: tile.dot vnni
// CHECK: tile.bias
// CHECK: tile.gate_interleaved gelu_tanh
// CHECK: tile.softcap %{{.*}} {cap = 3.000000e+01 : f32}
// CHECK: tile.load
// CHECK: tile.add
tile.kernel private @linear linear ins(%x: !tile.act<64, #act>, %r: !tile.rows<32>) outs(%y: !tile.rows<32>)
    weights(%w: !qfmt.packed<64x64, q4_1, n16>, %b: !qfmt.packed<1x64, f32, row>)
    attributes {domain = #tile.domain<rows>, rows = 4 : i64} {
  tile.grid panels 4 {
    %0 = tile.dot vnni %x, %w : !tile.act<64, #act>, !qfmt.packed<64x64, q4_1, n16> -> !tile.frag<64>
    %1 = tile.bias %0, %b : !tile.frag<64>, !qfmt.packed<1x64, f32, row> -> !tile.frag<64>
    %2 = tile.gate_interleaved gelu_tanh %1 : !tile.frag<64> -> !tile.frag<32>
    %3 = tile.softcap %2 {cap = 30.0 : f32} : !tile.frag<32>
    %4 = tile.load %r : !tile.rows<32> -> !tile.frag<32>
    %5 = tile.add %3, %4 : !tile.frag<32>
    tile.store %5, %y : !tile.frag<32>, !tile.rows<32>
  }
}

// CHECK: tile.kernel @head linear
// CHECK: tile.softcap
// CHECK-NEXT: %[[A:.*]] = tile.argmax %{{.*}} : !tile.frag<96>
// CHECK-NEXT: tile.store %[[A]]
tile.kernel @head linear ins(%x: !tile.act<64, #act>) outs(%y: !tile.rows<96>) weights(%w: !qfmt.packed<96x64, q8_0, n16>)
    attributes {domain = #tile.domain<out>, rows = 4 : i64} {
  tile.grid panels 6 {
    %0 = tile.dot vnni %x, %w : !tile.act<64, #act>, !qfmt.packed<96x64, q8_0, n16> -> !tile.frag<96>
    %1 = tile.softcap %0 {cap = 30.0 : f32} : !tile.frag<96>
    %2 = tile.argmax %1 : !tile.frag<96>
    tile.store %2, %y : !tile.frag<96>, !tile.rows<96>
  }
}

// CHECK: tile.kernel @linear_rope_kv linear
// CHECK: tile.bias
// CHECK-NEXT: %[[Q:.*]] = tile.columns %{{.*}} {offset = 0 : i64} : !tile.frag<256> -> !tile.frag<128>
// CHECK-NEXT: tile.rope %[[Q]]
// CHECK: tile.columns %{{.*}} {offset = 192 : i64} : !tile.frag<256> -> !tile.frag<64>
// CHECK-NEXT: tile.kv_store
tile.kernel @linear_rope_kv linear ins(%x: !tile.act<64, #act>) outs(%y: !tile.rows<128>)
    weights(%w: !qfmt.packed<256x64, q4_1, n16>, %b: !qfmt.packed<1x256, f32, row>)
    attributes {domain = #tile.domain<rows>, rows = 4 : i64} {
  tile.grid panels 16 {
    %0 = tile.dot vnni %x, %w : !tile.act<64, #act>, !qfmt.packed<256x64, q4_1, n16> -> !tile.frag<256>
    %1 = tile.bias %0, %b : !tile.frag<256>, !qfmt.packed<1x256, f32, row> -> !tile.frag<256>
    %2 = tile.columns %1 {offset = 0 : i64} : !tile.frag<256> -> !tile.frag<128>
    %3 = tile.rope %2 {head_dim = 32 : i64, heads = 4 : i64, rotary_dim = 32 : i64, style = #tile.rope_style<interleaved>, table = 0 : i64} : !tile.frag<128>
    tile.store %3, %y : !tile.frag<128>, !tile.rows<128>
    %4 = tile.columns %1 {offset = 128 : i64} : !tile.frag<256> -> !tile.frag<64>
    %5 = tile.rope %4 {head_dim = 32 : i64, heads = 2 : i64, rotary_dim = 32 : i64, style = #tile.rope_style<interleaved>, table = 0 : i64} : !tile.frag<64>
    %6 = tile.columns %1 {offset = 192 : i64} : !tile.frag<256> -> !tile.frag<64>
    tile.kv_store %5, %6 {kv = #tile.kv<heads = 2, dim = 32, v_dim = 32, dtype = "f16">} : !tile.frag<64>, !tile.frag<64>
  }
}

// CHECK: tile.kernel @rope_kv rope_kv
// CHECK: tile.grid row_heads 6 {
// CHECK: tile.rms_norm %{{.*}} {eps = {{.*}}, groups = 4 : i64}
// CHECK: tile.kv_store %{{.*}} {kv = #tile.kv<heads = 2, dim = 32, v_dim = 32, dtype = "f16">}
tile.kernel @rope_kv rope_kv ins(%x: !tile.rows<256>) outs(%y: !tile.rows<128>)
    weights(%g: !qfmt.packed<1x32, f32, row>) attributes {domain = #tile.domain<rows>, rows = 1 : i64} {
  tile.grid row_heads 6 {
    %0 = tile.load %x : !tile.rows<256> -> !tile.frag<128>
    %1 = tile.rms_norm %0, %g {eps = 1.0e-6 : f32, groups = 4 : i64} : !tile.frag<128>, !qfmt.packed<1x32, f32, row> -> !tile.frag<128>
    %2 = tile.rope %1 {head_dim = 32 : i64, heads = 4 : i64, rotary_dim = 4 : i64, style = #tile.rope_style<half>, table = 0 : i64} : !tile.frag<128>
    tile.store %2, %y : !tile.frag<128>, !tile.rows<128>
    %3 = tile.load %x {offset = 128 : i64} : !tile.rows<256> -> !tile.frag<64>
    %4 = tile.rope %3 {head_dim = 32 : i64, heads = 2 : i64, rotary_dim = 4 : i64, style = #tile.rope_style<half>, table = 0 : i64} : !tile.frag<64>
    %5 = tile.load %x {offset = 192 : i64} : !tile.rows<256> -> !tile.frag<64>
    tile.kv_store %4, %5 {kv = #tile.kv<heads = 2, dim = 32, v_dim = 32, dtype = "f16">} : !tile.frag<64>, !tile.frag<64>
  }
}

// CHECK: tile.kernel @split attn_split ins(%{{.*}}: !tile.rows<128>) outs(%{{.*}}: !tile.partials<heads = 4, dim = 32, segments = 2>)
// CHECK: tile.kv_block %{{.*}} {block = 64 : i64, kv = {{.*}}, q_heads = 4 : i64, segment = 512 : i64} : !tile.frag<128> -> !tile.state<32> {
// CHECK-NEXT: ^bb0(%[[H:.*]]: !tile.frag<32>):
// CHECK-NEXT: tile.score %[[H]] {scale = 2.500000e-01 : f32}
// CHECK-NEXT: tile.softcap
// CHECK-NEXT: tile.mask %{{.*}} {window = 128 : i64}
// CHECK-NEXT: tile.online_softmax
// CHECK-NEXT: tile.pv
tile.kernel @split attn_split ins(%q: !tile.rows<128>) outs(%p: !tile.partials<heads = 4, dim = 32, segments = 2>)
    attributes {domain = #tile.domain<rows>, rows = 1 : i64} {
  tile.grid segments 2 {
    %0 = tile.load %q : !tile.rows<128> -> !tile.frag<128>
    %s = tile.kv_block %0 {block = 64 : i64, kv = #tile.kv<heads = 2, dim = 32, v_dim = 32, dtype = "f16">, q_heads = 4 : i64, segment = 512 : i64} : !tile.frag<128> -> !tile.state<32> {
    ^bb0(%h: !tile.frag<32>):
      %1 = tile.score %h {scale = 0.25 : f32} : !tile.frag<32> -> !tile.frag<64>
      %2 = tile.softcap %1 {cap = 50.0 : f32} : !tile.frag<64>
      %3 = tile.mask %2 {window = 128 : i64} : !tile.frag<64>
      %4 = tile.online_softmax %3 : !tile.frag<64>
      %5 = tile.pv %4 : !tile.frag<64> -> !tile.state<32>
    }
    tile.store %s, %p : !tile.state<32>, !tile.partials<heads = 4, dim = 32, segments = 2>
  }
}

// CHECK: tile.kernel @merge attn_merge
// CHECK: tile.load_partials
// CHECK: tile.normalize
tile.kernel @merge attn_merge ins(%p: !tile.partials<heads = 4, dim = 32, segments = 2>) outs(%y: !tile.rows<128>)
    attributes {domain = #tile.domain<rows>, rows = 1 : i64} {
  tile.grid rows {
    %0 = tile.load_partials %p {segment = 512 : i64, window = 128 : i64} : !tile.partials<heads = 4, dim = 32, segments = 2> -> !tile.state<32>
    %1 = tile.normalize %0 : !tile.state<32> -> !tile.frag<128>
    tile.store %1, %y : !tile.frag<128>, !tile.rows<128>
  }
}

// CHECK: tile.kernel @gate gate
// CHECK: tile.gate silu
tile.kernel @gate gate ins(%g: !tile.rows<64>, %u: !tile.rows<64>) outs(%y: !tile.rows<64>)
    attributes {domain = #tile.domain<rows>, rows = 1 : i64} {
  tile.grid rows {
    %0 = tile.load %g : !tile.rows<64> -> !tile.frag<64>
    %1 = tile.load %u : !tile.rows<64> -> !tile.frag<64>
    %2 = tile.gate silu %0, %1 : !tile.frag<64>
    tile.store %2, %y : !tile.frag<64>, !tile.rows<64>
  }
}

// CHECK: tile.kernel @select select
// CHECK: tile.load %{{.*}} {selected}
tile.kernel @select select ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>)
    attributes {domain = #tile.domain<out>, rows = 1 : i64} {
  tile.grid rows {
    %0 = tile.load %x {selected} : !tile.rows<64> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}

// CHECK: tile.kernel @scale scale
// CHECK: tile.scale %{{.*}} {factor = 5.000000e-01 : f32}
tile.kernel @scale scale ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>)
    attributes {domain = #tile.domain<rows>, rows = 1 : i64} {
  tile.grid rows {
    %0 = tile.load %x : !tile.rows<64> -> !tile.frag<64>
    %1 = tile.scale %0 {factor = 0.5 : f32} : !tile.frag<64>
    tile.store %1, %y : !tile.frag<64>, !tile.rows<64>
  }
}

// CHECK: llm.step
// CHECK: tile.launch @scale(%{{.*}}) params = [] replicated {layer = 3 : i64, tap = "layer"} : (tensor<?x64xf32>) -> tensor<?x64xf32>
llm.step @step(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x64xf32> attributes {rows = 1 : i64} {
  %x = tile.launch @embed() params = [@g] : () -> tensor<?x64xf32>
  %y = tile.launch @scale(%x) params = [] replicated {layer = 3 : i64, tap = "layer"} : (tensor<?x64xf32>) -> tensor<?x64xf32>
  llm.return %y : tensor<?x64xf32>
}
