// RUN: ingot-opt %s --tile-attention | FileCheck %s

// Small classes split over segments of 512 positions; 1025 positions are three.

llm.config "t" arch "t" kv f16 {hidden = 64 : i64, layers = 1 : i64, max_context = 1025 : i64, vocab = 96 : i64}
!kv = !llm.kv<layer = 0, heads = 1, dim = 64, v_dim = 64, dtype = f16>

// CHECK: tile.kernel @one_split attn_split ins(%{{.*}}: !tile.rows<64>) outs(%[[P:.*]]: !tile.partials<heads = 1, dim = 64, segments = 3>) attributes {domain = #tile.domain<rows>, rows = 1 : i64} {
// CHECK-NEXT: tile.grid segments 1 {
// CHECK: tile.mask %{{.*}} {window = 600 : i64}
// CHECK: tile.store %{{.*}}, %[[P]] : !tile.state<64>, !tile.partials<heads = 1, dim = 64, segments = 3>
// CHECK: tile.kernel @one_merge attn_merge ins(%{{.*}}: !tile.partials<heads = 1, dim = 64, segments = 3>) outs(%{{.*}}: !tile.rows<64>)
// CHECK: tile.load_partials %{{.*}} {segment = 512 : i64, window = 600 : i64}
// CHECK: tile.kernel @four_split
// CHECK: tile.kernel @four_merge
// The class with its rows at run time loops inside.
// CHECK: tile.kernel @any attention
// CHECK-NOT: tile.kernel @one attention

// CHECK: llm.step @m1
// CHECK: %[[S:.*]] = tile.launch @one_split(%{{.*}}) kv(%{{.*}}) params = [] {kv_layer = 0 : i64} : (tensor<?x64xf32>, !llm.kv<{{.*}}>) -> tensor<?x240xf32>
// CHECK: tile.launch @one_merge(%[[S]]) params = [] replicated : (tensor<?x240xf32>) -> tensor<?x64xf32>
// CHECK: llm.step @m4
// CHECK: tile.launch @four_split
// CHECK: tile.launch @four_merge(%{{.*}}) params = [] : (
// CHECK: llm.step @m512
// CHECK: tile.launch @any
tile.kernel @src rope_kv ins(%x: !tile.rows<64>) attributes {domain = #tile.domain<rows>, rows = 0 : i64} {
  tile.grid row_heads 1 {
    %0 = tile.load %x : !tile.rows<64> -> !tile.frag<64>
    tile.kv_store %0, %0 {kv = #tile.kv<heads = 1, dim = 64, v_dim = 64, dtype = "f16">} : !tile.frag<64>, !tile.frag<64>
  }
}
tile.kernel @embed embed outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64} {
  tile.grid rows {
    %0 = tile.embed %w {scale = 1.0 : f32} : !qfmt.packed<96x64, f16, n16> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @one attention ins(%q: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<rows>, rows = 1 : i64} {
  tile.grid items 1 {
    %0 = tile.load %q : !tile.rows<64> -> !tile.frag<64>
    %s = tile.kv_block %0 {block = 64 : i64, kv = #tile.kv<heads = 1, dim = 64, v_dim = 64, dtype = "f16">, q_heads = 1 : i64, segment = 512 : i64} : !tile.frag<64> -> !tile.state<64> {
    ^bb0(%h: !tile.frag<64>):
      %1 = tile.score %h {scale = 0.125 : f32} : !tile.frag<64> -> !tile.frag<64>
      %2 = tile.mask %1 {window = 600 : i64} : !tile.frag<64>
      %3 = tile.online_softmax %2 : !tile.frag<64>
      %4 = tile.pv %3 : !tile.frag<64> -> !tile.state<64>
    }
    %o = tile.normalize %s : !tile.state<64> -> !tile.frag<64>
    tile.store %o, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @four attention ins(%q: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<rows>, rows = 4 : i64} {
  tile.grid items 1 {
    %0 = tile.load %q : !tile.rows<64> -> !tile.frag<64>
    %s = tile.kv_block %0 {block = 64 : i64, kv = #tile.kv<heads = 1, dim = 64, v_dim = 64, dtype = "f16">, q_heads = 1 : i64, segment = 512 : i64} : !tile.frag<64> -> !tile.state<64> {
    ^bb0(%h: !tile.frag<64>):
      %1 = tile.score %h {scale = 0.125 : f32} : !tile.frag<64> -> !tile.frag<64>
      %2 = tile.mask %1 {window = 600 : i64} : !tile.frag<64>
      %3 = tile.online_softmax %2 : !tile.frag<64>
      %4 = tile.pv %3 : !tile.frag<64> -> !tile.state<64>
    }
    %o = tile.normalize %s : !tile.state<64> -> !tile.frag<64>
    tile.store %o, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @any attention ins(%q: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<rows>, rows = 0 : i64} {
  tile.grid items 1 {
    %0 = tile.load %q : !tile.rows<64> -> !tile.frag<64>
    %s = tile.kv_block %0 {block = 64 : i64, kv = #tile.kv<heads = 1, dim = 64, v_dim = 64, dtype = "f16">, q_heads = 1 : i64, segment = 512 : i64} : !tile.frag<64> -> !tile.state<64> {
    ^bb0(%h: !tile.frag<64>):
      %1 = tile.score %h {scale = 0.125 : f32} : !tile.frag<64> -> !tile.frag<64>
      %2 = tile.mask %1 {window = 600 : i64} : !tile.frag<64>
      %3 = tile.online_softmax %2 : !tile.frag<64>
      %4 = tile.pv %3 : !tile.frag<64> -> !tile.state<64>
    }
    %o = tile.normalize %s : !tile.state<64> -> !tile.frag<64>
    tile.store %o, %y : !tile.frag<64>, !tile.rows<64>
  }
}
llm.param @tok : !qfmt.packed<96x64, f16, n16> from f16 [#llm.ext<0, 0, 12288>] rows [96]
llm.step @m1(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x64xf32> attributes {rows = 1 : i64} {
  %x = tile.launch @embed() params = [@tok] : () -> tensor<?x64xf32>
  %c = tile.launch @src(%x) params = [] {kv_layer = 0 : i64} : (tensor<?x64xf32>) -> !kv
  %y = tile.launch @one(%x) kv(%c) params = [] {kv_layer = 0 : i64} : (tensor<?x64xf32>, !kv) -> tensor<?x64xf32>
  llm.return %y : tensor<?x64xf32>
}
llm.step @m4(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x64xf32> attributes {rows = 4 : i64} {
  %x = tile.launch @embed() params = [@tok] : () -> tensor<?x64xf32>
  %c = tile.launch @src(%x) params = [] {kv_layer = 0 : i64} : (tensor<?x64xf32>) -> !kv
  %y = tile.launch @four(%x) kv(%c) params = [] {kv_layer = 0 : i64} : (tensor<?x64xf32>, !kv) -> tensor<?x64xf32>
  llm.return %y : tensor<?x64xf32>
}
llm.step @m512(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x64xf32> attributes {rows = 512 : i64} {
  %x = tile.launch @embed() params = [@tok] : () -> tensor<?x64xf32>
  %c = tile.launch @src(%x) params = [] {kv_layer = 0 : i64} : (tensor<?x64xf32>) -> !kv
  %y = tile.launch @any(%x) kv(%c) params = [] {kv_layer = 0 : i64} : (tensor<?x64xf32>, !kv) -> tensor<?x64xf32>
  llm.return %y : tensor<?x64xf32>
}
