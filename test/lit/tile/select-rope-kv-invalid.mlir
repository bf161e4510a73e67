// RUN: ingot-opt %s --tile-select=isa=vnni -split-input-file -verify-diagnostics

// What the epilogue rope_kv cannot do is said with its reason; tile-form-kernels forms no such kernel.
#a4 = #qfmt.act<i8, group = 32, block = 4>
// expected-error @+2 {{no kernel for op 'linear' with scheme q4_1 (112x64) on target vnni for 4 rows}}
// expected-note @+1 {{linear vnni: heads of v are no whole units of 2 panels}}
tile.kernel @narrow_v linear ins(%x: !tile.act<64, #a4>) outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<112x64, q4_1, row>)
    attributes {domain = #tile.domain<rows>, rows = 4 : i64} {
  tile.grid panels 7 {
    %0 = tile.dot undecided %x, %w : !tile.act<64, #a4>, !qfmt.packed<112x64, q4_1, row> -> !tile.frag<112>
    %1 = tile.columns %0 {offset = 0 : i64} : !tile.frag<112> -> !tile.frag<64>
    %2 = tile.rope %1 {head_dim = 32 : i64, heads = 2 : i64, rotary_dim = 32 : i64, style = #tile.rope_style<half>, table = 0 : i64} : !tile.frag<64>
    tile.store %2, %y : !tile.frag<64>, !tile.rows<64>
    %3 = tile.columns %0 {offset = 64 : i64} : !tile.frag<112> -> !tile.frag<32>
    %4 = tile.rope %3 {head_dim = 32 : i64, heads = 1 : i64, rotary_dim = 32 : i64, style = #tile.rope_style<half>, table = 0 : i64} : !tile.frag<32>
    %5 = tile.columns %0 {offset = 96 : i64} : !tile.frag<112> -> !tile.frag<16>
    tile.kv_store %4, %5 {kv = #tile.kv<heads = 1, dim = 32, v_dim = 16, dtype = "f16">} : !tile.frag<32>, !tile.frag<16>
  }
}

// -----

#a4 = #qfmt.act<i8, group = 32, block = 4>
// expected-error @+2 {{no kernel for op 'linear' with scheme q4_1 (96x64) on target vnni for 4 rows}}
// expected-note @+1 {{linear vnni: heads are no whole panels of 16 columns}}
tile.kernel @odd_heads linear ins(%x: !tile.act<64, #a4>) outs(%y: !tile.rows<48>) weights(%w: !qfmt.packed<96x64, q4_1, row>)
    attributes {domain = #tile.domain<rows>, rows = 4 : i64} {
  tile.grid panels 6 {
    %0 = tile.dot undecided %x, %w : !tile.act<64, #a4>, !qfmt.packed<96x64, q4_1, row> -> !tile.frag<96>
    %1 = tile.columns %0 {offset = 0 : i64} : !tile.frag<96> -> !tile.frag<48>
    %2 = tile.rope %1 {head_dim = 24 : i64, heads = 2 : i64, rotary_dim = 24 : i64, style = #tile.rope_style<interleaved>, table = 0 : i64} : !tile.frag<48>
    tile.store %2, %y : !tile.frag<48>, !tile.rows<48>
    %3 = tile.columns %0 {offset = 48 : i64} : !tile.frag<96> -> !tile.frag<24>
    %4 = tile.rope %3 {head_dim = 24 : i64, heads = 1 : i64, rotary_dim = 24 : i64, style = #tile.rope_style<interleaved>, table = 0 : i64} : !tile.frag<24>
    %5 = tile.columns %0 {offset = 72 : i64} : !tile.frag<96> -> !tile.frag<24>
    tile.kv_store %4, %5 {kv = #tile.kv<heads = 1, dim = 24, v_dim = 24, dtype = "f16">} : !tile.frag<24>, !tile.frag<24>
  }
}
