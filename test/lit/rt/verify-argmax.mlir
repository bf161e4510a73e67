// RUN: ingot-opt %s --rt-verify-abi -split-input-file -verify-diagnostics

// rt.logits says what the kernel that fills the logits can do.
#s = #tile.schedule<vector = 64, panels = 1, rows = 1, unroll = 1, prefetch = 0, chunk = 0, ops = 16>
llm.param @tok : !qfmt.packed<96x64, f16, n16> from f16 [#llm.ext<0, 0, 12288>] rows [96]
rt.module "vnni" {hidden = 64 : i64, layers = 1 : i64, max_seqs = 2 : i64, positions = 128 : i64, vocab = 96 : i64, weight_bytes = 12288 : i64}
rt.weight @tok at 0 bytes 12288
tile.kernel @embed embed outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.embed %w {scale = 1.0 : f32} : !qfmt.packed<96x64, f16, n16> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @head linear ins(%x: !tile.rows<64>) outs(%y: !tile.rows<96>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 6 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<96x64, f16, n16> -> !tile.frag<96>
    %1 = tile.argmax %0 : !tile.frag<96>
    tile.store %1, %y : !tile.frag<96>, !tile.rows<96>
  }
}
rt.program @m1 attributes {m_class = 1 : i64, min_rows = 1 : i64, max_rows = 1 : i64, alloc_rows = 1 : i64, max_out = 1 : i64, arena_bytes = 1024 : i64, private_bytes = 0 : i64} {
  %r = rt.buffer arena 256 at 0 "r" out_rows
  %l = rt.buffer arena 384 at 256 "l" out_rows
  %m = rt.buffer arena 384 at 640 "m" out_rows
  rt.stage 0 {
    rt.launch @embed(%r) weights [@tok] outs 1
  }
  rt.stage 1 {
    rt.launch @head(%r, %l) weights [@tok] outs 1
  }
  rt.logits %l {argmax_panels = 6 : i64, stride = 96 : i64}
}

// -----

#s = #tile.schedule<vector = 64, panels = 1, rows = 1, unroll = 1, prefetch = 0, chunk = 0, ops = 16>
llm.param @tok : !qfmt.packed<96x64, f16, n16> from f16 [#llm.ext<0, 0, 12288>] rows [96]
rt.module "vnni" {hidden = 64 : i64, layers = 1 : i64, max_seqs = 2 : i64, positions = 128 : i64, vocab = 96 : i64, weight_bytes = 12288 : i64}
rt.weight @tok at 0 bytes 12288
tile.kernel @embed embed outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.embed %w {scale = 1.0 : f32} : !qfmt.packed<96x64, f16, n16> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @head linear ins(%x: !tile.rows<64>) outs(%y: !tile.rows<96>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 6 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<96x64, f16, n16> -> !tile.frag<96>
    %1 = tile.argmax %0 : !tile.frag<96>
    tile.store %1, %y : !tile.frag<96>, !tile.rows<96>
  }
}
rt.program @m1 attributes {m_class = 1 : i64, min_rows = 1 : i64, max_rows = 1 : i64, alloc_rows = 1 : i64, max_out = 1 : i64, arena_bytes = 1024 : i64, private_bytes = 0 : i64} {
  %r = rt.buffer arena 256 at 0 "r" out_rows
  %l = rt.buffer arena 384 at 256 "l" out_rows
  %m = rt.buffer arena 384 at 640 "m" out_rows
  rt.stage 0 {
    rt.launch @embed(%r) weights [@tok] outs 1
  }
  rt.stage 1 {
    rt.launch @head(%r, %l) weights [@tok] outs 1
  }
  // expected-error @+1 {{argmax_panels is 0, the kernel that fills the logits has 6}}
  rt.logits %l {stride = 96 : i64}
}

// -----

#s = #tile.schedule<vector = 64, panels = 1, rows = 1, unroll = 1, prefetch = 0, chunk = 0, ops = 16>
llm.param @tok : !qfmt.packed<96x64, f16, n16> from f16 [#llm.ext<0, 0, 12288>] rows [96]
rt.module "vnni" {hidden = 64 : i64, layers = 1 : i64, max_seqs = 2 : i64, positions = 128 : i64, vocab = 96 : i64, weight_bytes = 12288 : i64}
rt.weight @tok at 0 bytes 12288
tile.kernel @embed embed outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.embed %w {scale = 1.0 : f32} : !qfmt.packed<96x64, f16, n16> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @head linear ins(%x: !tile.rows<64>) outs(%y: !tile.rows<96>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 6 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<96x64, f16, n16> -> !tile.frag<96>
    %1 = tile.argmax %0 : !tile.frag<96>
    tile.store %1, %y : !tile.frag<96>, !tile.rows<96>
  }
}
rt.program @m1 attributes {m_class = 1 : i64, min_rows = 1 : i64, max_rows = 1 : i64, alloc_rows = 1 : i64, max_out = 1 : i64, arena_bytes = 1024 : i64, private_bytes = 0 : i64} {
  %r = rt.buffer arena 256 at 0 "r" out_rows
  %l = rt.buffer arena 384 at 256 "l" out_rows
  %m = rt.buffer arena 384 at 640 "m" out_rows
  rt.stage 0 {
    rt.launch @embed(%r) weights [@tok] outs 1
  }
  rt.stage 1 {
    rt.launch @head(%r, %l) weights [@tok] outs 1
  }
  // expected-error @+1 {{argmax_panels is 5, the kernel that fills the logits has 6}}
  rt.logits %l {argmax_panels = 5 : i64, stride = 96 : i64}
}

// -----

// What a step may leave out is read by nothing: that launch is the last one.
#s = #tile.schedule<vector = 64, panels = 1, rows = 1, unroll = 1, prefetch = 0, chunk = 0, ops = 16>
llm.param @tok : !qfmt.packed<96x64, f16, n16> from f16 [#llm.ext<0, 0, 12288>] rows [96]
rt.module "vnni" {hidden = 64 : i64, layers = 1 : i64, max_seqs = 2 : i64, positions = 128 : i64, vocab = 96 : i64, weight_bytes = 12288 : i64}
rt.weight @tok at 0 bytes 12288
tile.kernel @embed embed outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.embed %w {scale = 1.0 : f32} : !qfmt.packed<96x64, f16, n16> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @head linear ins(%x: !tile.rows<64>) outs(%y: !tile.rows<96>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 6 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<96x64, f16, n16> -> !tile.frag<96>
    %1 = tile.argmax %0 : !tile.frag<96>
    tile.store %1, %y : !tile.frag<96>, !tile.rows<96>
  }
}
rt.program @m1 attributes {m_class = 1 : i64, min_rows = 1 : i64, max_rows = 1 : i64, alloc_rows = 1 : i64, max_out = 1 : i64, arena_bytes = 1024 : i64, private_bytes = 0 : i64} {
  %r = rt.buffer arena 256 at 0 "r" out_rows
  %l = rt.buffer arena 384 at 256 "l" out_rows
  %m = rt.buffer arena 384 at 640 "m" out_rows
  rt.stage 0 {
    rt.launch @embed(%r) weights [@tok] outs 1
  }
  rt.stage 1 {
    // expected-error @+1 {{ends in argmax, but is not the last launch, which fills the logits}}
    rt.launch @head(%r, %l) weights [@tok] outs 1
  }
  rt.stage 2 {
    rt.launch @head(%r, %m) weights [@tok] outs 1
  }
  rt.logits %m {argmax_panels = 6 : i64, stride = 96 : i64}
}
