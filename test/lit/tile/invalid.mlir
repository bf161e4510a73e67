// RUN: ingot-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{vector must be 4, 16, 32 or 64 bytes, not 128}}
#s = #tile.schedule<vector = 128, panels = 1, rows = 1, unroll = 1, prefetch = 0, chunk = 0, ops = 1>

// -----
// A body that unrolls without end is refused before anybody compiles it.
// expected-error @+1 {{ops must be between panels * rows * unroll = 64 and 8192, not 100000}}
#s = #tile.schedule<vector = 64, panels = 4, rows = 16, unroll = 1, prefetch = 0, chunk = 0, ops = 100000>

// -----
// expected-error @+1 {{ops must be between panels * rows * unroll = 4096 and 8192, not 64}}
#s = #tile.schedule<vector = 64, panels = 64, rows = 64, unroll = 1, prefetch = 0, chunk = 0, ops = 64>

// -----
// expected-error @+1 {{panels, rows and unroll must be 1 .. 64}}
#s = #tile.schedule<vector = 64, panels = 0, rows = 1, unroll = 1, prefetch = 0, chunk = 0, ops = 1>

// -----
// expected-error @+1 {{dtype must be f32, f16, bf16 or int8, not 'i8'}}
#k = #tile.kv<heads = 1, dim = 32, v_dim = 32, dtype = "i8">

// -----
// expected-error @+1 {{rows must be 1, 2, 4, 8 or 0 (known at run time), not 3}}
tile.kernel @k scale ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<rows>, rows = 3 : i64} {
  tile.grid rows {
    %0 = tile.load %x : !tile.rows<64> -> !tile.frag<64>
    %1 = tile.scale %0 {factor = 0.5 : f32} : !tile.frag<64>
    tile.store %1, %y : !tile.frag<64>, !tile.rows<64>
  }
}

// -----
// expected-error @+1 {{has a schedule but no isa}}
tile.kernel @k scale ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<rows>, rows = 1 : i64,
    schedule = #tile.schedule<vector = 64, panels = 1, rows = 1, unroll = 1, prefetch = 0, chunk = 0, ops = 1>} {
  tile.grid rows {
    %0 = tile.load %x : !tile.rows<64> -> !tile.frag<64>
    %1 = tile.scale %0 {factor = 0.5 : f32} : !tile.frag<64>
    tile.store %1, %y : !tile.frag<64>, !tile.rows<64>
  }
}

// -----
// A step that the family's struct cannot hold is an error, not a step less.
tile.kernel @k scale ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<rows>, rows = 1 : i64} {
  tile.grid rows {
    %0 = tile.load %x : !tile.rows<64> -> !tile.frag<64>
    // expected-error @+1 {{found where family scale has a tile.load of an input}}
    %1 = tile.softcap %0 {cap = 5.0 : f32} : !tile.frag<64>
    %2 = tile.scale %1 {factor = 0.5 : f32} : !tile.frag<64>
    tile.store %2, %y : !tile.frag<64>, !tile.rows<64>
  }
}

// -----
tile.kernel @k scale ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<rows>, rows = 1 : i64} {
  tile.grid rows {
    %0 = tile.load %x : !tile.rows<64> -> !tile.frag<64>
    %1 = tile.scale %0 {factor = 0.5 : f32} : !tile.frag<64>
    // expected-error @+1 {{does not belong to family scale}}
    %2 = tile.softcap %1 {cap = 5.0 : f32} : !tile.frag<64>
    tile.store %1, %y : !tile.frag<64>, !tile.rows<64>
  }
}

// -----
// expected-error @+1 {{argument 1 is not used}}
tile.kernel @k scale ins(%x: !tile.rows<64>, %z: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<rows>, rows = 1 : i64} {
  tile.grid rows {
    %0 = tile.load %x : !tile.rows<64> -> !tile.frag<64>
    %1 = tile.scale %0 {factor = 0.5 : f32} : !tile.frag<64>
    tile.store %1, %y : !tile.frag<64>, !tile.rows<64>
  }
}

// -----
// expected-error @+1 {{output 1 must be stored to exactly once}}
tile.kernel @k scale ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<rows>, rows = 1 : i64} {
  tile.grid rows {
    %0 = tile.load %x : !tile.rows<64> -> !tile.frag<64>
  }
}

// -----
tile.kernel @k scale ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<rows>, rows = 1 : i64} {
  tile.grid rows {
    // expected-error @+1 {{columns 32 .. 96 lie outside rows of 64}}
    %0 = tile.load %x {offset = 32 : i64} : !tile.rows<64> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}

// -----
tile.kernel @k linear ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<64x64, q4_1, n16>)
    attributes {domain = #tile.domain<rows>, rows = 1 : i64} {
  tile.grid panels 4 {
    // expected-error @+1 {{scheme q4_1 takes quantized activations, not '!tile.rows<64>'}}
    %0 = tile.dot undecided %x, %w : !tile.rows<64>, !qfmt.packed<64x64, q4_1, n16> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}

// -----
tile.kernel @k linear ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<64x64, f16, n16>)
    attributes {domain = #tile.domain<rows>, rows = 1 : i64} {
  tile.grid panels 4 {
    // expected-error @+1 {{dot kind vnni does not fit scheme f16}}
    %0 = tile.dot vnni %x, %w : !tile.rows<64>, !qfmt.packed<64x64, f16, n16> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}

// -----
tile.kernel @k linear ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<64x64, f16, n16>)
    attributes {domain = #tile.domain<rows>, rows = 1 : i64} {
  // expected-error @+1 {{count must be the 4 panels of the weight}}
  tile.grid panels 3 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<64x64, f16, n16> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}

// -----
tile.kernel @k linear ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<64x64, f16, n16>)
    attributes {domain = #tile.domain<rows>, rows = 1 : i64} {
  // expected-error @+1 {{unit rows does not fit family linear}}
  tile.grid rows {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<64x64, f16, n16> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}

// -----
tile.kernel @k attention ins(%q: !tile.rows<128>) outs(%y: !tile.rows<128>) attributes {domain = #tile.domain<rows>, rows = 1 : i64} {
  tile.grid items 2 {
    %0 = tile.load %q : !tile.rows<128> -> !tile.frag<128>
    %s = tile.kv_block %0 {block = 64 : i64, kv = #tile.kv<heads = 2, dim = 32, v_dim = 32, dtype = "f16">, q_heads = 4 : i64, segment = 512 : i64} : !tile.frag<128> -> !tile.state<32> {
    ^bb0(%h: !tile.frag<32>):
      %1 = tile.score %h {scale = 0.25 : f32} : !tile.frag<32> -> !tile.frag<64>
      // expected-error @+1 {{does not fit into score, softcap, mask, online_softmax, pv}}
      %4 = tile.online_softmax %1 : !tile.frag<64>
      %5 = tile.pv %4 : !tile.frag<64> -> !tile.state<32>
    }
    %o = tile.normalize %s : !tile.state<32> -> !tile.frag<128>
    tile.store %o, %y : !tile.frag<128>, !tile.rows<128>
  }
}

// -----
tile.kernel @k scale ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<rows>, rows = 1 : i64} {
  tile.grid rows {
    %0 = tile.load %x : !tile.rows<64> -> !tile.frag<64>
    %1 = tile.scale %0 {factor = 0.5 : f32} : !tile.frag<64>
    tile.store %1, %y : !tile.frag<64>, !tile.rows<64>
  }
}
llm.step @step(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x64xf32> attributes {rows = 1 : i64} {
  // expected-error @+1 {{gives 0 inputs, @k takes 1}}
  %y = tile.launch @k() params = [] : () -> tensor<?x64xf32>
  llm.return %y : tensor<?x64xf32>
}

// -----
llm.step @step(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x64xf32> attributes {rows = 1 : i64} {
  // expected-error @+1 {{no kernel @nowhere}}
  %y = tile.launch @nowhere() params = [] : () -> tensor<?x64xf32>
  llm.return %y : tensor<?x64xf32>
}

// -----

#act = #qfmt.act<i8, group = 32, block = 4>
tile.kernel @outside linear ins(%x: !tile.act<64, #act>) outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<128x64, q4_1, n16>)
    attributes {domain = #tile.domain<rows>, rows = 4 : i64} {
  tile.grid panels 8 {
    %0 = tile.dot vnni %x, %w : !tile.act<64, #act>, !qfmt.packed<128x64, q4_1, n16> -> !tile.frag<128>
    %1 = tile.columns %0 {offset = 0 : i64} : !tile.frag<128> -> !tile.frag<64>
    %2 = tile.rope %1 {head_dim = 32 : i64, heads = 2 : i64, rotary_dim = 32 : i64, style = #tile.rope_style<interleaved>, table = 0 : i64} : !tile.frag<64>
    tile.store %2, %y : !tile.frag<64>, !tile.rows<64>
    // expected-error @+1 {{columns 112 .. 144 lie outside a fragment of 128}}
    %3 = tile.columns %0 {offset = 112 : i64} : !tile.frag<128> -> !tile.frag<32>
    %4 = tile.rope %3 {head_dim = 32 : i64, heads = 1 : i64, rotary_dim = 32 : i64, style = #tile.rope_style<interleaved>, table = 0 : i64} : !tile.frag<32>
    %5 = tile.columns %0 {offset = 96 : i64} : !tile.frag<128> -> !tile.frag<32>
    tile.kv_store %4, %5 {kv = #tile.kv<heads = 1, dim = 32, v_dim = 32, dtype = "f16">} : !tile.frag<32>, !tile.frag<32>
  }
}

// -----

#act = #qfmt.act<i8, group = 32, block = 4>
tile.kernel @order linear ins(%x: !tile.act<64, #act>) outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<128x64, q4_1, n16>)
    attributes {domain = #tile.domain<rows>, rows = 4 : i64} {
  tile.grid panels 8 {
    %0 = tile.dot vnni %x, %w : !tile.act<64, #act>, !qfmt.packed<128x64, q4_1, n16> -> !tile.frag<128>
    %1 = tile.columns %0 {offset = 0 : i64} : !tile.frag<128> -> !tile.frag<64>
    %2 = tile.rope %1 {head_dim = 32 : i64, heads = 2 : i64, rotary_dim = 32 : i64, style = #tile.rope_style<interleaved>, table = 0 : i64} : !tile.frag<64>
    tile.store %2, %y : !tile.frag<64>, !tile.rows<64>
    %3 = tile.columns %0 {offset = 96 : i64} : !tile.frag<128> -> !tile.frag<32>
    %4 = tile.rope %3 {head_dim = 32 : i64, heads = 1 : i64, rotary_dim = 32 : i64, style = #tile.rope_style<interleaved>, table = 0 : i64} : !tile.frag<32>
    %5 = tile.columns %0 {offset = 64 : i64} : !tile.frag<128> -> !tile.frag<32>
    // expected-error @+1 {{q, k and v must follow each other and fill the product}}
    tile.kv_store %4, %5 {kv = #tile.kv<heads = 1, dim = 32, v_dim = 32, dtype = "f16">} : !tile.frag<32>, !tile.frag<32>
  }
}

// -----

#act = #qfmt.act<i8, group = 32, block = 4>
tile.kernel @gap linear ins(%x: !tile.act<64, #act>) outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<160x64, q4_1, n16>)
    attributes {domain = #tile.domain<rows>, rows = 4 : i64} {
  tile.grid panels 10 {
    %0 = tile.dot vnni %x, %w : !tile.act<64, #act>, !qfmt.packed<160x64, q4_1, n16> -> !tile.frag<160>
    %1 = tile.columns %0 {offset = 0 : i64} : !tile.frag<160> -> !tile.frag<64>
    %2 = tile.rope %1 {head_dim = 32 : i64, heads = 2 : i64, rotary_dim = 32 : i64, style = #tile.rope_style<interleaved>, table = 0 : i64} : !tile.frag<64>
    tile.store %2, %y : !tile.frag<64>, !tile.rows<64>
    %3 = tile.columns %0 {offset = 64 : i64} : !tile.frag<160> -> !tile.frag<32>
    %4 = tile.rope %3 {head_dim = 32 : i64, heads = 1 : i64, rotary_dim = 32 : i64, style = #tile.rope_style<interleaved>, table = 0 : i64} : !tile.frag<32>
    %5 = tile.columns %0 {offset = 96 : i64} : !tile.frag<160> -> !tile.frag<32>
    // expected-error @+1 {{q, k and v must follow each other and fill the product}}
    tile.kv_store %4, %5 {kv = #tile.kv<heads = 1, dim = 32, v_dim = 32, dtype = "f16">} : !tile.frag<32>, !tile.frag<32>
  }
}

// -----

#act = #qfmt.act<i8, group = 32, block = 4>
tile.kernel @capped linear ins(%x: !tile.act<64, #act>) outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<128x64, q4_1, n16>)
    attributes {domain = #tile.domain<rows>, rows = 4 : i64} {
  tile.grid panels 8 {
    %0 = tile.dot vnni %x, %w : !tile.act<64, #act>, !qfmt.packed<128x64, q4_1, n16> -> !tile.frag<128>
    // expected-error @+1 {{found where family linear has tile.dot}}
    %c = tile.softcap %0 {cap = 30.0 : f32} : !tile.frag<128>
    %1 = tile.columns %c {offset = 0 : i64} : !tile.frag<128> -> !tile.frag<64>
    %2 = tile.rope %1 {head_dim = 32 : i64, heads = 2 : i64, rotary_dim = 32 : i64, style = #tile.rope_style<interleaved>, table = 0 : i64} : !tile.frag<64>
    tile.store %2, %y : !tile.frag<64>, !tile.rows<64>
    %3 = tile.columns %c {offset = 64 : i64} : !tile.frag<128> -> !tile.frag<32>
    %4 = tile.rope %3 {head_dim = 32 : i64, heads = 1 : i64, rotary_dim = 32 : i64, style = #tile.rope_style<interleaved>, table = 0 : i64} : !tile.frag<32>
    %5 = tile.columns %c {offset = 96 : i64} : !tile.frag<128> -> !tile.frag<32>
    tile.kv_store %4, %5 {kv = #tile.kv<heads = 1, dim = 32, v_dim = 32, dtype = "f16">} : !tile.frag<32>, !tile.frag<32>
  }
}
