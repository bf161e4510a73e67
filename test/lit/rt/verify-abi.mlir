// RUN: ingot-opt %s --rt-verify-abi -split-input-file -verify-diagnostics

// One small program, then the same with one fault each.

#s = #tile.schedule<vector = 64, panels = 1, rows = 1, unroll = 1, prefetch = 0, chunk = 0, ops = 16>
llm.param @tok : !qfmt.packed<96x64, f16, n16> from f16 [#llm.ext<0, 0, 12288>] rows [96]
llm.param @w : !qfmt.packed<64x64, f16, n16> from f16 [#llm.ext<0, 0, 8192>] rows [64]
rt.module "vnni" {hidden = 64 : i64, layers = 1 : i64, max_seqs = 2 : i64, positions = 128 : i64, vocab = 96 : i64, weight_bytes = 20480 : i64}
rt.weight @tok at 0 bytes 12288
rt.weight @w at 12288 bytes 8192
tile.kernel @embed embed outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.embed %w {scale = 1.0 : f32} : !qfmt.packed<96x64, f16, n16> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @scale scale ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.load %x : !tile.rows<64> -> !tile.frag<64>
    %1 = tile.scale %0 {factor = 0.5 : f32} : !tile.frag<64>
    tile.store %1, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @linear linear ins(%x: !tile.rows<64>, %r: !tile.rows<64>) outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<64x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 4 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<64x64, f16, n16> -> !tile.frag<64>
    %1 = tile.load %r : !tile.rows<64> -> !tile.frag<64>
    %2 = tile.add %0, %1 : !tile.frag<64>
    tile.store %2, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @select select ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.load %x {selected} : !tile.rows<64> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @head linear ins(%x: !tile.rows<64>) outs(%y: !tile.rows<96>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 6 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<96x64, f16, n16> -> !tile.frag<96>
    tile.store %0, %y : !tile.frag<96>, !tile.rows<96>
  }
}
// A plan that holds: not a word.
rt.program @m1 attributes {m_class = 1 : i64, min_rows = 1 : i64, max_rows = 1 : i64, alloc_rows = 1 : i64, max_out = 1 : i64, arena_bytes = 1408 : i64, private_bytes = 256 : i64} {
  %x = rt.buffer arena 256 at 0 "x"
  %p = rt.buffer private 256 at 0 "p"
  %y = rt.buffer arena 256 at 0 "y"
  %r = rt.buffer arena 256 at 256 "r" out_rows
  %l = rt.buffer arena 384 at 1024 "l" out_rows
  rt.stage 0 {
    rt.launch @embed(%x) weights [@tok] outs 1
  }
  rt.stage 1 {
    rt.launch @scale(%x, %p) weights [] outs 1 replicated
  }
  rt.stage 2 {
    rt.launch @linear(%p, %x, %y) weights [@w] outs 1
  }
  rt.stage 3 {
    rt.launch @select(%y, %r) weights [] outs 1
  }
  rt.stage 4 {
    rt.launch @head(%r, %l) weights [@tok] outs 1
    rt.tap layer 0 %y {width = 64 : i64, stride = 64 : i64}
  }
  rt.logits %l {stride = 96 : i64}
}

// -----
#s = #tile.schedule<vector = 64, panels = 1, rows = 1, unroll = 1, prefetch = 0, chunk = 0, ops = 16>
llm.param @tok : !qfmt.packed<96x64, f16, n16> from f16 [#llm.ext<0, 0, 12288>] rows [96]
llm.param @w : !qfmt.packed<64x64, f16, n16> from f16 [#llm.ext<0, 0, 8192>] rows [64]
rt.module "vnni" {hidden = 64 : i64, layers = 1 : i64, max_seqs = 2 : i64, positions = 128 : i64, vocab = 96 : i64, weight_bytes = 20480 : i64}
rt.weight @tok at 0 bytes 12288
rt.weight @w at 12288 bytes 8192
tile.kernel @embed embed outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.embed %w {scale = 1.0 : f32} : !qfmt.packed<96x64, f16, n16> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @scale scale ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.load %x : !tile.rows<64> -> !tile.frag<64>
    %1 = tile.scale %0 {factor = 0.5 : f32} : !tile.frag<64>
    tile.store %1, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @linear linear ins(%x: !tile.rows<64>, %r: !tile.rows<64>) outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<64x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 4 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<64x64, f16, n16> -> !tile.frag<64>
    %1 = tile.load %r : !tile.rows<64> -> !tile.frag<64>
    %2 = tile.add %0, %1 : !tile.frag<64>
    tile.store %2, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @select select ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.load %x {selected} : !tile.rows<64> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @head linear ins(%x: !tile.rows<64>) outs(%y: !tile.rows<96>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 6 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<96x64, f16, n16> -> !tile.frag<96>
    tile.store %0, %y : !tile.frag<96>, !tile.rows<96>
  }
}
rt.program @m1 attributes {m_class = 1 : i64, min_rows = 1 : i64, max_rows = 1 : i64, alloc_rows = 1 : i64, max_out = 1 : i64, arena_bytes = 1408 : i64, private_bytes = 256 : i64} {
  %x = rt.buffer arena 256 at 0 "x"
  %p = rt.buffer private 256 at 0 "p"
  %y = rt.buffer arena 256 at 512 "y"
  %r = rt.buffer arena 256 at 256 "r" out_rows
  %l = rt.buffer arena 384 at 1024 "l" out_rows
  rt.stage 0 {
    rt.launch @embed(%x) weights [@tok] outs 1
  }
  rt.stage 1 {
    // expected-error @+1 {{results of replicated launches are private, others are not}}
    rt.launch @scale(%x, %p) weights [] outs 1
  }
  rt.stage 2 {
    rt.launch @linear(%p, %p, %y) weights [@w] outs 1
  }
  rt.stage 3 {
    rt.launch @select(%y, %r) weights [] outs 1
  }
  rt.stage 4 {
    rt.launch @head(%r, %l) weights [@tok] outs 1
    rt.tap layer 0 %y {width = 64 : i64, stride = 64 : i64}
  }
  rt.logits %l {stride = 96 : i64}
}

// -----
#s = #tile.schedule<vector = 64, panels = 1, rows = 1, unroll = 1, prefetch = 0, chunk = 0, ops = 16>
llm.param @tok : !qfmt.packed<96x64, f16, n16> from f16 [#llm.ext<0, 0, 12288>] rows [96]
llm.param @w : !qfmt.packed<64x64, f16, n16> from f16 [#llm.ext<0, 0, 8192>] rows [64]
rt.module "vnni" {hidden = 64 : i64, layers = 1 : i64, max_seqs = 2 : i64, positions = 128 : i64, vocab = 96 : i64, weight_bytes = 20480 : i64}
rt.weight @tok at 0 bytes 12288
rt.weight @w at 12288 bytes 8192
tile.kernel @embed embed outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.embed %w {scale = 1.0 : f32} : !qfmt.packed<96x64, f16, n16> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @scale scale ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.load %x : !tile.rows<64> -> !tile.frag<64>
    %1 = tile.scale %0 {factor = 0.5 : f32} : !tile.frag<64>
    tile.store %1, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @linear linear ins(%x: !tile.rows<64>, %r: !tile.rows<64>) outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<64x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 4 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<64x64, f16, n16> -> !tile.frag<64>
    %1 = tile.load %r : !tile.rows<64> -> !tile.frag<64>
    %2 = tile.add %0, %1 : !tile.frag<64>
    tile.store %2, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @select select ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.load %x {selected} : !tile.rows<64> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @head linear ins(%x: !tile.rows<64>) outs(%y: !tile.rows<96>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 6 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<96x64, f16, n16> -> !tile.frag<96>
    tile.store %0, %y : !tile.frag<96>, !tile.rows<96>
  }
}
rt.program @m1 attributes {m_class = 1 : i64, min_rows = 1 : i64, max_rows = 1 : i64, alloc_rows = 1 : i64, max_out = 1 : i64, arena_bytes = 1408 : i64, private_bytes = 256 : i64} {
  %x = rt.buffer arena 256 at 0 "x"
  %p = rt.buffer private 256 at 0 "p"
  %y = rt.buffer arena 256 at 512 "y"
  %r = rt.buffer arena 256 at 256 "r" out_rows
  %l = rt.buffer arena 384 at 1024 "l" out_rows
  rt.stage 0 {
    rt.launch @embed(%x) weights [@tok] outs 1
  }
  rt.stage 1 {
    rt.launch @scale(%x, %p) weights [] outs 1 replicated
  }
  rt.stage 2 {
    // expected-error @+1 {{reads 'y', which holds nothing at this point}}
    rt.launch @linear(%x, %y, %y) weights [@w] outs 1
  }
  rt.stage 3 {
    rt.launch @select(%y, %r) weights [] outs 1
  }
  rt.stage 4 {
    rt.launch @head(%r, %l) weights [@tok] outs 1
    rt.tap layer 0 %y {width = 64 : i64, stride = 64 : i64}
  }
  rt.logits %l {stride = 96 : i64}
}

// -----
#s = #tile.schedule<vector = 64, panels = 1, rows = 1, unroll = 1, prefetch = 0, chunk = 0, ops = 16>
llm.param @tok : !qfmt.packed<96x64, f16, n16> from f16 [#llm.ext<0, 0, 12288>] rows [96]
llm.param @w : !qfmt.packed<64x64, f16, n16> from f16 [#llm.ext<0, 0, 8192>] rows [64]
rt.module "vnni" {hidden = 64 : i64, layers = 1 : i64, max_seqs = 2 : i64, positions = 128 : i64, vocab = 96 : i64, weight_bytes = 20480 : i64}
rt.weight @tok at 0 bytes 12288
rt.weight @w at 12288 bytes 8192
tile.kernel @embed embed outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.embed %w {scale = 1.0 : f32} : !qfmt.packed<96x64, f16, n16> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @scale scale ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.load %x : !tile.rows<64> -> !tile.frag<64>
    %1 = tile.scale %0 {factor = 0.5 : f32} : !tile.frag<64>
    tile.store %1, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @linear linear ins(%x: !tile.rows<64>, %r: !tile.rows<64>) outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<64x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 4 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<64x64, f16, n16> -> !tile.frag<64>
    %1 = tile.load %r : !tile.rows<64> -> !tile.frag<64>
    %2 = tile.add %0, %1 : !tile.frag<64>
    tile.store %2, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @select select ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.load %x {selected} : !tile.rows<64> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @head linear ins(%x: !tile.rows<64>) outs(%y: !tile.rows<96>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 6 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<96x64, f16, n16> -> !tile.frag<96>
    tile.store %0, %y : !tile.frag<96>, !tile.rows<96>
  }
}
rt.program @m1 attributes {m_class = 1 : i64, min_rows = 1 : i64, max_rows = 1 : i64, alloc_rows = 1 : i64, max_out = 1 : i64, arena_bytes = 1408 : i64, private_bytes = 256 : i64} {
  %x = rt.buffer arena 256 at 0 "x"
  %p = rt.buffer private 256 at 0 "p"
  %y = rt.buffer arena 256 at 64 "y"
  %r = rt.buffer arena 256 at 256 "r" out_rows
  %l = rt.buffer arena 384 at 1024 "l" out_rows
  rt.stage 0 {
    rt.launch @embed(%x) weights [@tok] outs 1
  }
  rt.stage 1 {
    rt.launch @scale(%x, %p) weights [] outs 1 replicated
  }
  rt.stage 2 {
    // Not the place of the residual, but some of its bytes.
    // expected-error @+1 {{overwrites 'x', which is still read}}
    rt.launch @linear(%p, %x, %y) weights [@w] outs 1
  }
  rt.stage 3 {
    rt.launch @select(%y, %r) weights [] outs 1
  }
  rt.stage 4 {
    rt.launch @head(%r, %l) weights [@tok] outs 1
    rt.tap layer 0 %y {width = 64 : i64, stride = 64 : i64}
  }
  rt.logits %l {stride = 96 : i64}
}

// -----
#s = #tile.schedule<vector = 64, panels = 1, rows = 1, unroll = 1, prefetch = 0, chunk = 0, ops = 16>
llm.param @tok : !qfmt.packed<96x64, f16, n16> from f16 [#llm.ext<0, 0, 12288>] rows [96]
llm.param @w : !qfmt.packed<64x64, f16, n16> from f16 [#llm.ext<0, 0, 8192>] rows [64]
rt.module "vnni" {hidden = 64 : i64, layers = 1 : i64, max_seqs = 2 : i64, positions = 128 : i64, vocab = 96 : i64, weight_bytes = 20480 : i64}
rt.weight @tok at 0 bytes 12288
rt.weight @w at 12288 bytes 8192
tile.kernel @embed embed outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.embed %w {scale = 1.0 : f32} : !qfmt.packed<96x64, f16, n16> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @scale scale ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.load %x : !tile.rows<64> -> !tile.frag<64>
    %1 = tile.scale %0 {factor = 0.5 : f32} : !tile.frag<64>
    tile.store %1, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @linear linear ins(%x: !tile.rows<64>, %r: !tile.rows<64>) outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<64x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 4 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<64x64, f16, n16> -> !tile.frag<64>
    %1 = tile.load %r : !tile.rows<64> -> !tile.frag<64>
    %2 = tile.add %0, %1 : !tile.frag<64>
    tile.store %2, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @select select ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.load %x {selected} : !tile.rows<64> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @head linear ins(%x: !tile.rows<64>) outs(%y: !tile.rows<96>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 6 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<96x64, f16, n16> -> !tile.frag<96>
    tile.store %0, %y : !tile.frag<96>, !tile.rows<96>
  }
}
rt.program @m1 attributes {m_class = 1 : i64, min_rows = 1 : i64, max_rows = 1 : i64, alloc_rows = 1 : i64, max_out = 1 : i64, arena_bytes = 1408 : i64, private_bytes = 256 : i64} {
  %x = rt.buffer arena 256 at 0 "x"
  %p = rt.buffer private 256 at 0 "p"
  %y = rt.buffer arena 256 at 0 "y"
  %r = rt.buffer arena 256 at 256 "r" out_rows
  %l = rt.buffer arena 384 at 1024 "l" out_rows
  rt.stage 0 {
    rt.launch @embed(%x) weights [@tok] outs 1
  }
  rt.stage 1 {
    rt.launch @scale(%x, %p) weights [] outs 1 replicated
  }
  rt.stage 2 {
    // The dot reads all of x while other workers write y.
    // expected-error @+1 {{overwrites 'x', which is still read}}
    rt.launch @linear(%x, %x, %y) weights [@w] outs 1
  }
  rt.stage 3 {
    rt.launch @select(%y, %r) weights [] outs 1
  }
  rt.stage 4 {
    rt.launch @head(%r, %l) weights [@tok] outs 1
    rt.tap layer 0 %y {width = 64 : i64, stride = 64 : i64}
  }
  rt.logits %l {stride = 96 : i64}
}

// -----
#s = #tile.schedule<vector = 64, panels = 1, rows = 1, unroll = 1, prefetch = 0, chunk = 0, ops = 16>
llm.param @tok : !qfmt.packed<96x64, f16, n16> from f16 [#llm.ext<0, 0, 12288>] rows [96]
llm.param @w : !qfmt.packed<64x64, f16, n16> from f16 [#llm.ext<0, 0, 8192>] rows [64]
rt.module "vnni" {hidden = 64 : i64, layers = 1 : i64, max_seqs = 2 : i64, positions = 128 : i64, vocab = 96 : i64, weight_bytes = 20480 : i64}
rt.weight @tok at 0 bytes 12288
rt.weight @w at 12288 bytes 8192
tile.kernel @embed embed outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.embed %w {scale = 1.0 : f32} : !qfmt.packed<96x64, f16, n16> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @scale scale ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.load %x : !tile.rows<64> -> !tile.frag<64>
    %1 = tile.scale %0 {factor = 0.5 : f32} : !tile.frag<64>
    tile.store %1, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @linear linear ins(%x: !tile.rows<64>, %r: !tile.rows<64>) outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<64x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 4 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<64x64, f16, n16> -> !tile.frag<64>
    %1 = tile.load %r : !tile.rows<64> -> !tile.frag<64>
    %2 = tile.add %0, %1 : !tile.frag<64>
    tile.store %2, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @select select ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.load %x {selected} : !tile.rows<64> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @head linear ins(%x: !tile.rows<64>) outs(%y: !tile.rows<96>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 6 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<96x64, f16, n16> -> !tile.frag<96>
    tile.store %0, %y : !tile.frag<96>, !tile.rows<96>
  }
}
rt.program @m1 attributes {m_class = 1 : i64, min_rows = 1 : i64, max_rows = 1 : i64, alloc_rows = 1 : i64, max_out = 1 : i64, arena_bytes = 1408 : i64, private_bytes = 256 : i64} {
  %x = rt.buffer arena 256 at 0 "x"
  %p = rt.buffer private 256 at 0 "p"
  %y = rt.buffer arena 256 at 0 "y"
  %r = rt.buffer arena 256 at 256 "r" out_rows
  %l = rt.buffer arena 384 at 1024 "l" out_rows
  rt.stage 0 {
    rt.launch @embed(%x) weights [@tok] outs 1
  }
  rt.stage 1 {
    rt.launch @scale(%x, %p) weights [] outs 1 replicated
    // Worker 0 may be done with its norm and write x while worker 1 still reads it.
    // expected-error @+1 {{meets @scale of the same stage in the arena or in KV}}
    rt.launch @linear(%p, %x, %y) weights [@w] outs 1
  }
  rt.stage 2 {
    rt.launch @select(%y, %r) weights [] outs 1
  }
  rt.stage 3 {
    rt.launch @head(%r, %l) weights [@tok] outs 1
    rt.tap layer 0 %y {width = 64 : i64, stride = 64 : i64}
  }
  rt.logits %l {stride = 96 : i64}
}

// -----
#s = #tile.schedule<vector = 64, panels = 1, rows = 1, unroll = 1, prefetch = 0, chunk = 0, ops = 16>
llm.param @tok : !qfmt.packed<96x64, f16, n16> from f16 [#llm.ext<0, 0, 12288>] rows [96]
llm.param @w : !qfmt.packed<64x64, f16, n16> from f16 [#llm.ext<0, 0, 8192>] rows [64]
rt.module "vnni" {hidden = 64 : i64, layers = 1 : i64, max_seqs = 2 : i64, positions = 128 : i64, vocab = 96 : i64, weight_bytes = 20480 : i64}
rt.weight @tok at 0 bytes 12288
rt.weight @w at 12288 bytes 8192
tile.kernel @embed embed outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.embed %w {scale = 1.0 : f32} : !qfmt.packed<96x64, f16, n16> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @scale scale ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.load %x : !tile.rows<64> -> !tile.frag<64>
    %1 = tile.scale %0 {factor = 0.5 : f32} : !tile.frag<64>
    tile.store %1, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @linear linear ins(%x: !tile.rows<64>, %r: !tile.rows<64>) outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<64x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 4 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<64x64, f16, n16> -> !tile.frag<64>
    %1 = tile.load %r : !tile.rows<64> -> !tile.frag<64>
    %2 = tile.add %0, %1 : !tile.frag<64>
    tile.store %2, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @select select ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.load %x {selected} : !tile.rows<64> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @head linear ins(%x: !tile.rows<64>) outs(%y: !tile.rows<96>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 6 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<96x64, f16, n16> -> !tile.frag<96>
    tile.store %0, %y : !tile.frag<96>, !tile.rows<96>
  }
}
rt.program @m1 attributes {m_class = 1 : i64, min_rows = 1 : i64, max_rows = 1 : i64, alloc_rows = 1 : i64, max_out = 1 : i64, arena_bytes = 1408 : i64, private_bytes = 256 : i64} {
  %x = rt.buffer arena 256 at 0 "x"
  %p = rt.buffer private 256 at 0 "p"
  %y = rt.buffer arena 256 at 0 "y"
  %r = rt.buffer arena 256 at 256 "r" out_rows
  %l = rt.buffer arena 384 at 1024 "l" out_rows
  rt.stage 0 {
    rt.launch @embed(%x) weights [@tok] outs 1
  }
  rt.stage 1 {
    rt.launch @scale(%x, %p) weights [] outs 1 replicated
  }
  rt.stage 2 {
    rt.launch @linear(%p, %x, %y) weights [@w] outs 1
  }
  rt.stage 3 {
    rt.launch @select(%y, %r) weights [] outs 1
    // expected-error @+1 {{reads 'r' without a barrier after its write}}
    rt.launch @head(%r, %l) weights [@tok] outs 1
    rt.tap layer 0 %y {width = 64 : i64, stride = 64 : i64}
  }
  rt.logits %l {stride = 96 : i64}
}

// -----
#s = #tile.schedule<vector = 64, panels = 1, rows = 1, unroll = 1, prefetch = 0, chunk = 0, ops = 16>
llm.param @tok : !qfmt.packed<96x64, f16, n16> from f16 [#llm.ext<0, 0, 12288>] rows [96]
llm.param @w : !qfmt.packed<64x64, f16, n16> from f16 [#llm.ext<0, 0, 8192>] rows [64]
rt.module "vnni" {hidden = 64 : i64, layers = 1 : i64, max_seqs = 2 : i64, positions = 128 : i64, vocab = 96 : i64, weight_bytes = 20480 : i64}
rt.weight @tok at 0 bytes 12288
rt.weight @w at 12288 bytes 8192
tile.kernel @embed embed outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.embed %w {scale = 1.0 : f32} : !qfmt.packed<96x64, f16, n16> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @scale scale ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.load %x : !tile.rows<64> -> !tile.frag<64>
    %1 = tile.scale %0 {factor = 0.5 : f32} : !tile.frag<64>
    tile.store %1, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @linear linear ins(%x: !tile.rows<64>, %r: !tile.rows<64>) outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<64x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 4 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<64x64, f16, n16> -> !tile.frag<64>
    %1 = tile.load %r : !tile.rows<64> -> !tile.frag<64>
    %2 = tile.add %0, %1 : !tile.frag<64>
    tile.store %2, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @select select ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.load %x {selected} : !tile.rows<64> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @head linear ins(%x: !tile.rows<64>) outs(%y: !tile.rows<96>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 6 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<96x64, f16, n16> -> !tile.frag<96>
    tile.store %0, %y : !tile.frag<96>, !tile.rows<96>
  }
}
rt.program @m1 attributes {m_class = 1 : i64, min_rows = 1 : i64, max_rows = 1 : i64, alloc_rows = 1 : i64, max_out = 1 : i64, arena_bytes = 1408 : i64, private_bytes = 256 : i64} {
  %x = rt.buffer arena 256 at 0 "x"
  %p = rt.buffer private 256 at 0 "p"
  %y = rt.buffer arena 256 at 0 "y"
  %r = rt.buffer arena 256 at 256 "r" out_rows
  %l = rt.buffer arena 384 at 1024 "l" out_rows
  rt.stage 0 {
    rt.launch @embed(%x) weights [@tok] outs 1
  }
  rt.stage 1 {
    rt.launch @scale(%x, %p) weights [] outs 1 replicated
  }
  rt.stage 2 {
    rt.launch @linear(%p, %x, %y) weights [@w] outs 1
  }
  rt.stage 3 {
    rt.launch @select(%y, %r) weights [] outs 1
  }
  rt.stage 4 {
    // expected-error @+1 {{weight @w is '!qfmt.packed<64x64, f16, n16>', the kernel reads '!qfmt.packed<96x64, f16, n16>'}}
    rt.launch @head(%r, %l) weights [@w] outs 1
    rt.tap layer 0 %y {width = 64 : i64, stride = 64 : i64}
  }
  rt.logits %l {stride = 96 : i64}
}

// -----
#s = #tile.schedule<vector = 64, panels = 1, rows = 1, unroll = 1, prefetch = 0, chunk = 0, ops = 16>
llm.param @tok : !qfmt.packed<96x64, f16, n16> from f16 [#llm.ext<0, 0, 12288>] rows [96]
llm.param @w : !qfmt.packed<64x64, f16, n16> from f16 [#llm.ext<0, 0, 8192>] rows [64]
rt.module "vnni" {hidden = 64 : i64, layers = 1 : i64, max_seqs = 2 : i64, positions = 128 : i64, vocab = 96 : i64, weight_bytes = 20480 : i64}
rt.weight @tok at 0 bytes 12288
rt.weight @w at 12288 bytes 8192
tile.kernel @embed embed outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.embed %w {scale = 1.0 : f32} : !qfmt.packed<96x64, f16, n16> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @scale scale ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.load %x : !tile.rows<64> -> !tile.frag<64>
    %1 = tile.scale %0 {factor = 0.5 : f32} : !tile.frag<64>
    tile.store %1, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @linear linear ins(%x: !tile.rows<64>, %r: !tile.rows<64>) outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<64x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 4 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<64x64, f16, n16> -> !tile.frag<64>
    %1 = tile.load %r : !tile.rows<64> -> !tile.frag<64>
    %2 = tile.add %0, %1 : !tile.frag<64>
    tile.store %2, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @select select ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.load %x {selected} : !tile.rows<64> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @head linear ins(%x: !tile.rows<64>) outs(%y: !tile.rows<96>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 6 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<96x64, f16, n16> -> !tile.frag<96>
    tile.store %0, %y : !tile.frag<96>, !tile.rows<96>
  }
}
rt.program @m1 attributes {m_class = 1 : i64, min_rows = 1 : i64, max_rows = 1 : i64, alloc_rows = 1 : i64, max_out = 1 : i64, arena_bytes = 1408 : i64, private_bytes = 256 : i64} {
  %x = rt.buffer arena 192 at 0 "x"
  %p = rt.buffer private 256 at 0 "p"
  %y = rt.buffer arena 256 at 0 "y"
  %r = rt.buffer arena 256 at 256 "r" out_rows
  %l = rt.buffer arena 384 at 1024 "l" out_rows
  rt.stage 0 {
    // expected-error @+1 {{slot 0 of '!tile.rows<64>' does not fit its buffer of 192 bytes}}
    rt.launch @embed(%x) weights [@tok] outs 1
  }
  rt.stage 1 {
    rt.launch @scale(%x, %p) weights [] outs 1 replicated
  }
  rt.stage 2 {
    rt.launch @linear(%p, %x, %y) weights [@w] outs 1
  }
  rt.stage 3 {
    rt.launch @select(%y, %r) weights [] outs 1
  }
  rt.stage 4 {
    rt.launch @head(%r, %l) weights [@tok] outs 1
    rt.tap layer 0 %y {width = 64 : i64, stride = 64 : i64}
  }
  rt.logits %l {stride = 96 : i64}
}

// -----
#s = #tile.schedule<vector = 64, panels = 1, rows = 1, unroll = 1, prefetch = 0, chunk = 0, ops = 16>
llm.param @tok : !qfmt.packed<96x64, f16, n16> from f16 [#llm.ext<0, 0, 12288>] rows [96]
llm.param @w : !qfmt.packed<64x64, f16, n16> from f16 [#llm.ext<0, 0, 8192>] rows [64]
rt.module "vnni" {hidden = 64 : i64, layers = 1 : i64, max_seqs = 2 : i64, positions = 128 : i64, vocab = 96 : i64, weight_bytes = 20480 : i64}
rt.weight @tok at 0 bytes 12288
rt.weight @w at 12288 bytes 8192
tile.kernel @embed embed outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.embed %w {scale = 1.0 : f32} : !qfmt.packed<96x64, f16, n16> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @scale scale ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.load %x : !tile.rows<64> -> !tile.frag<64>
    %1 = tile.scale %0 {factor = 0.5 : f32} : !tile.frag<64>
    tile.store %1, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @linear linear ins(%x: !tile.rows<64>, %r: !tile.rows<64>) outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<64x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 4 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<64x64, f16, n16> -> !tile.frag<64>
    %1 = tile.load %r : !tile.rows<64> -> !tile.frag<64>
    %2 = tile.add %0, %1 : !tile.frag<64>
    tile.store %2, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @select select ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.load %x {selected} : !tile.rows<64> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @head linear ins(%x: !tile.rows<64>) outs(%y: !tile.rows<96>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 6 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<96x64, f16, n16> -> !tile.frag<96>
    tile.store %0, %y : !tile.frag<96>, !tile.rows<96>
  }
}
rt.program @m1 attributes {m_class = 1 : i64, min_rows = 1 : i64, max_rows = 1 : i64, alloc_rows = 1 : i64, max_out = 1 : i64, arena_bytes = 1408 : i64, private_bytes = 256 : i64} {
  %x = rt.buffer arena 256 at 0 "x"
  %p = rt.buffer private 256 at 0 "p"
  %y = rt.buffer arena 256 at 0 "y"
  %r = rt.buffer arena 256 at 256 "r" out_rows
  // expected-error @+1 {{does not lie aligned inside its 1408 bytes}}
  %l = rt.buffer arena 384 at 1088 "l" out_rows
  rt.stage 0 {
    rt.launch @embed(%x) weights [@tok] outs 1
  }
  rt.stage 1 {
    rt.launch @scale(%x, %p) weights [] outs 1 replicated
  }
  rt.stage 2 {
    rt.launch @linear(%p, %x, %y) weights [@w] outs 1
  }
  rt.stage 3 {
    rt.launch @select(%y, %r) weights [] outs 1
  }
  rt.stage 4 {
    rt.launch @head(%r, %l) weights [@tok] outs 1
    rt.tap layer 0 %y {width = 64 : i64, stride = 64 : i64}
  }
  rt.logits %l {stride = 96 : i64}
}

// -----
#s = #tile.schedule<vector = 64, panels = 1, rows = 1, unroll = 1, prefetch = 0, chunk = 0, ops = 16>
llm.param @tok : !qfmt.packed<96x64, f16, n16> from f16 [#llm.ext<0, 0, 12288>] rows [96]
llm.param @w : !qfmt.packed<64x64, f16, n16> from f16 [#llm.ext<0, 0, 8192>] rows [64]
rt.module "vnni" {hidden = 64 : i64, layers = 1 : i64, max_seqs = 2 : i64, positions = 128 : i64, vocab = 96 : i64, weight_bytes = 20480 : i64}
rt.weight @tok at 0 bytes 12288
rt.weight @w at 12288 bytes 8192
tile.kernel @embed embed outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.embed %w {scale = 1.0 : f32} : !qfmt.packed<96x64, f16, n16> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @scale scale ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.load %x : !tile.rows<64> -> !tile.frag<64>
    %1 = tile.scale %0 {factor = 0.5 : f32} : !tile.frag<64>
    tile.store %1, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @linear linear ins(%x: !tile.rows<64>, %r: !tile.rows<64>) outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<64x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 4 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<64x64, f16, n16> -> !tile.frag<64>
    %1 = tile.load %r : !tile.rows<64> -> !tile.frag<64>
    %2 = tile.add %0, %1 : !tile.frag<64>
    tile.store %2, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @select select ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.load %x {selected} : !tile.rows<64> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @head linear ins(%x: !tile.rows<64>) outs(%y: !tile.rows<96>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 6 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<96x64, f16, n16> -> !tile.frag<96>
    tile.store %0, %y : !tile.frag<96>, !tile.rows<96>
  }
}
rt.program @m1 attributes {m_class = 1 : i64, min_rows = 1 : i64, max_rows = 1 : i64, alloc_rows = 1 : i64, max_out = 1 : i64, arena_bytes = 1408 : i64, private_bytes = 256 : i64} {
  %x = rt.buffer arena 256 at 0 "x"
  %p = rt.buffer private 256 at 0 "p"
  %y = rt.buffer arena 256 at 0 "y"
  %r = rt.buffer arena 256 at 256 "r" out_rows
  // expected-error @+1 {{does not lie aligned inside its 1408 bytes}}
  %l = rt.buffer arena 384 at -1 "l" out_rows
  rt.stage 0 {
    rt.launch @embed(%x) weights [@tok] outs 1
  }
  rt.stage 1 {
    rt.launch @scale(%x, %p) weights [] outs 1 replicated
  }
  rt.stage 2 {
    rt.launch @linear(%p, %x, %y) weights [@w] outs 1
  }
  rt.stage 3 {
    rt.launch @select(%y, %r) weights [] outs 1
  }
  rt.stage 4 {
    rt.launch @head(%r, %l) weights [@tok] outs 1
    rt.tap layer 0 %y {width = 64 : i64, stride = 64 : i64}
  }
  rt.logits %l {stride = 96 : i64}
}

// -----
#s = #tile.schedule<vector = 64, panels = 1, rows = 1, unroll = 1, prefetch = 0, chunk = 0, ops = 16>
llm.param @tok : !qfmt.packed<96x64, f16, n16> from f16 [#llm.ext<0, 0, 12288>] rows [96]
llm.param @w : !qfmt.packed<64x64, f16, n16> from f16 [#llm.ext<0, 0, 8192>] rows [64]
rt.module "vnni" {hidden = 64 : i64, layers = 1 : i64, max_seqs = 2 : i64, positions = 128 : i64, vocab = 96 : i64, weight_bytes = 20480 : i64}
rt.weight @tok at 0 bytes 12288
rt.weight @w at 12288 bytes 8192
tile.kernel @embed embed outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.embed %w {scale = 1.0 : f32} : !qfmt.packed<96x64, f16, n16> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @scale scale ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.load %x : !tile.rows<64> -> !tile.frag<64>
    %1 = tile.scale %0 {factor = 0.5 : f32} : !tile.frag<64>
    tile.store %1, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @linear linear ins(%x: !tile.rows<64>, %r: !tile.rows<64>) outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<64x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 4 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<64x64, f16, n16> -> !tile.frag<64>
    %1 = tile.load %r : !tile.rows<64> -> !tile.frag<64>
    %2 = tile.add %0, %1 : !tile.frag<64>
    tile.store %2, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @select select ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.load %x {selected} : !tile.rows<64> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @head linear ins(%x: !tile.rows<64>) outs(%y: !tile.rows<96>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 6 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<96x64, f16, n16> -> !tile.frag<96>
    tile.store %0, %y : !tile.frag<96>, !tile.rows<96>
  }
}
rt.program @m1 attributes {m_class = 1 : i64, min_rows = 1 : i64, max_rows = 1 : i64, alloc_rows = 1 : i64, max_out = 1 : i64, arena_bytes = 1408 : i64, private_bytes = 256 : i64} {
  %x = rt.buffer arena 256 at 0 "x"
  %p = rt.buffer private 256 at 0 "p"
  %y = rt.buffer arena 256 at 0 "y"
  %r = rt.buffer arena 256 at 256 "r" out_rows
  %l = rt.buffer arena 384 at 1024 "l" out_rows
  rt.stage 0 {
    rt.launch @embed(%x) weights [@tok] outs 1
  }
  rt.stage 1 {
    rt.launch @scale(%x, %p) weights [] outs 1 replicated
  }
  rt.stage 2 {
    rt.launch @linear(%p, %x, %y) weights [@w] outs 1
  }
  rt.stage 3 {
    rt.launch @select(%y, %r) weights [] outs 1
  }
  rt.stage 4 {
    rt.launch @head(%r, %l) weights [@tok] outs 1
    rt.tap layer 0 %y {width = 64 : i64, stride = 64 : i64}
  }
  // expected-error @+1 {{stride 64 is below the vocabulary, 96}}
  rt.logits %l {stride = 64 : i64}
}

// -----
#s = #tile.schedule<vector = 64, panels = 1, rows = 1, unroll = 1, prefetch = 0, chunk = 0, ops = 16>
llm.param @tok : !qfmt.packed<96x64, f16, n16> from f16 [#llm.ext<0, 0, 12288>] rows [96]
llm.param @w : !qfmt.packed<64x64, f16, n16> from f16 [#llm.ext<0, 0, 8192>] rows [64]
rt.module "vnni" {hidden = 64 : i64, layers = 1 : i64, max_seqs = 2 : i64, positions = 128 : i64, vocab = 96 : i64, weight_bytes = 20480 : i64}
rt.weight @tok at 0 bytes 12288
rt.weight @w at 12288 bytes 8192
tile.kernel @embed embed outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.embed %w {scale = 1.0 : f32} : !qfmt.packed<96x64, f16, n16> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @scale scale ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.load %x : !tile.rows<64> -> !tile.frag<64>
    %1 = tile.scale %0 {factor = 0.5 : f32} : !tile.frag<64>
    tile.store %1, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @linear linear ins(%x: !tile.rows<64>, %r: !tile.rows<64>) outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<64x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 4 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<64x64, f16, n16> -> !tile.frag<64>
    %1 = tile.load %r : !tile.rows<64> -> !tile.frag<64>
    %2 = tile.add %0, %1 : !tile.frag<64>
    tile.store %2, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @select select ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.load %x {selected} : !tile.rows<64> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @head linear ins(%x: !tile.rows<64>) outs(%y: !tile.rows<96>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 6 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<96x64, f16, n16> -> !tile.frag<96>
    tile.store %0, %y : !tile.frag<96>, !tile.rows<96>
  }
}
rt.program @m1 attributes {m_class = 1 : i64, min_rows = 1 : i64, max_rows = 1 : i64, alloc_rows = 1 : i64, max_out = 1 : i64, arena_bytes = 1408 : i64, private_bytes = 256 : i64} {
  %x = rt.buffer arena 256 at 0 "x"
  %p = rt.buffer private 256 at 0 "p"
  %y = rt.buffer arena 256 at 0 "y"
  %r = rt.buffer arena 256 at 256 "r" out_rows
  %l = rt.buffer arena 384 at 1024 "l" out_rows
  rt.stage 0 {
    rt.launch @embed(%x) weights [@tok] outs 1
  }
  rt.stage 1 {
    rt.launch @scale(%x, %p) weights [] outs 1 replicated
  }
  rt.stage 2 {
    rt.launch @linear(%p, %x, %y) weights [@w] outs 1
  }
  rt.stage 3 {
    // expected-error @+1 {{no kernel @nowhere}}
    rt.launch @nowhere(%y, %r) weights [] outs 1
  }
  rt.stage 4 {
    rt.launch @head(%r, %l) weights [@tok] outs 1
    rt.tap layer 0 %y {width = 64 : i64, stride = 64 : i64}
  }
  rt.logits %l {stride = 96 : i64}
}

// -----
#s = #tile.schedule<vector = 64, panels = 1, rows = 1, unroll = 1, prefetch = 0, chunk = 0, ops = 16>
llm.param @tok : !qfmt.packed<96x64, f16, n16> from f16 [#llm.ext<0, 0, 12288>] rows [96]
llm.param @w : !qfmt.packed<64x64, f16, n16> from f16 [#llm.ext<0, 0, 8192>] rows [64]
rt.module "vnni" {hidden = 64 : i64, layers = 1 : i64, max_seqs = 2 : i64, positions = 128 : i64, vocab = 96 : i64, weight_bytes = 20480 : i64}
rt.weight @tok at 0 bytes 12288
rt.weight @w at 12288 bytes 8192
tile.kernel @embed embed outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.embed %w {scale = 1.0 : f32} : !qfmt.packed<96x64, f16, n16> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @scale scale ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.load %x : !tile.rows<64> -> !tile.frag<64>
    %1 = tile.scale %0 {factor = 0.5 : f32} : !tile.frag<64>
    tile.store %1, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @linear linear ins(%x: !tile.rows<64>, %r: !tile.rows<64>) outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<64x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 4 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<64x64, f16, n16> -> !tile.frag<64>
    %1 = tile.load %r : !tile.rows<64> -> !tile.frag<64>
    %2 = tile.add %0, %1 : !tile.frag<64>
    tile.store %2, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @select select ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.load %x {selected} : !tile.rows<64> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @head linear ins(%x: !tile.rows<64>) outs(%y: !tile.rows<96>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 6 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<96x64, f16, n16> -> !tile.frag<96>
    tile.store %0, %y : !tile.frag<96>, !tile.rows<96>
  }
}
rt.program @m1 attributes {m_class = 1 : i64, min_rows = 1 : i64, max_rows = 1 : i64, alloc_rows = 1 : i64, max_out = 1 : i64, arena_bytes = 1408 : i64, private_bytes = 256 : i64} {
  %x = rt.buffer arena 256 at 0 "x"
  %p = rt.buffer private 256 at 0 "p"
  %y = rt.buffer arena 256 at 0 "y"
  %r = rt.buffer arena 256 at 256 "r" out_rows
  %l = rt.buffer arena 384 at 1024 "l" out_rows
  rt.stage 0 {
    // expected-error @+1 {{takes no kv_layer}}
    rt.launch @embed(%x) weights [@tok] outs 1 {kv_layer = 0 : i64}
  }
  rt.stage 1 {
    rt.launch @scale(%x, %p) weights [] outs 1 replicated
  }
  rt.stage 2 {
    rt.launch @linear(%p, %x, %y) weights [@w] outs 1
  }
  rt.stage 3 {
    rt.launch @select(%y, %r) weights [] outs 1
  }
  rt.stage 4 {
    rt.launch @head(%r, %l) weights [@tok] outs 1
    rt.tap layer 0 %y {width = 64 : i64, stride = 64 : i64}
  }
  rt.logits %l {stride = 96 : i64}
}

// -----
#s = #tile.schedule<vector = 64, panels = 1, rows = 1, unroll = 1, prefetch = 0, chunk = 0, ops = 16>
llm.param @tok : !qfmt.packed<96x64, f16, n16> from f16 [#llm.ext<0, 0, 12288>] rows [96]
llm.param @w : !qfmt.packed<64x64, f16, n16> from f16 [#llm.ext<0, 0, 8192>] rows [64]
rt.module "vnni" {hidden = 64 : i64, layers = 1 : i64, max_seqs = 2 : i64, positions = 128 : i64, vocab = 96 : i64, weight_bytes = 20480 : i64}
rt.weight @tok at 0 bytes 12288
rt.weight @w at 12288 bytes 8192
tile.kernel @embed embed outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.embed %w {scale = 1.0 : f32} : !qfmt.packed<96x64, f16, n16> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @scale scale ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.load %x : !tile.rows<64> -> !tile.frag<64>
    %1 = tile.scale %0 {factor = 0.5 : f32} : !tile.frag<64>
    tile.store %1, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @linear linear ins(%x: !tile.rows<64>, %r: !tile.rows<64>) outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<64x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 4 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<64x64, f16, n16> -> !tile.frag<64>
    %1 = tile.load %r : !tile.rows<64> -> !tile.frag<64>
    %2 = tile.add %0, %1 : !tile.frag<64>
    tile.store %2, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @select select ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.load %x {selected} : !tile.rows<64> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @head linear ins(%x: !tile.rows<64>) outs(%y: !tile.rows<96>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 6 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<96x64, f16, n16> -> !tile.frag<96>
    tile.store %0, %y : !tile.frag<96>, !tile.rows<96>
  }
}
rt.program @m1 attributes {m_class = 1 : i64, min_rows = 1 : i64, max_rows = 1 : i64, alloc_rows = 1 : i64, max_out = 1 : i64, arena_bytes = 1408 : i64, private_bytes = 256 : i64} {
  %x = rt.buffer arena 256 at 0 "x"
  %p = rt.buffer private 256 at 0 "p"
  %y = rt.buffer arena 256 at 0 "y"
  %r = rt.buffer arena 256 at 0 "r" out_rows
  %l = rt.buffer arena 384 at 1024 "l" out_rows
  rt.stage 0 {
    rt.launch @embed(%x) weights [@tok] outs 1
  }
  rt.stage 1 {
    rt.launch @scale(%x, %p) weights [] outs 1 replicated
  }
  rt.stage 2 {
    rt.launch @linear(%p, %x, %y) weights [@w] outs 1
  }
  rt.stage 3 {
    // expected-error @+1 {{overwrites 'y', which is still read}}
    rt.launch @select(%y, %r) weights [] outs 1
  }
  rt.stage 4 {
    rt.launch @head(%r, %l) weights [@tok] outs 1
    rt.tap layer 0 %y {width = 64 : i64, stride = 64 : i64}
  }
  rt.logits %l {stride = 96 : i64}
}

// -----
#s = #tile.schedule<vector = 64, panels = 1, rows = 1, unroll = 1, prefetch = 0, chunk = 0, ops = 16>
llm.param @tok : !qfmt.packed<96x64, f16, n16> from f16 [#llm.ext<0, 0, 12288>] rows [96]
llm.param @w : !qfmt.packed<64x64, f16, n16> from f16 [#llm.ext<0, 0, 8192>] rows [64]
rt.module "vnni" {hidden = 64 : i64, layers = 1 : i64, max_seqs = 2 : i64, positions = 128 : i64, vocab = 96 : i64, weight_bytes = 20480 : i64}
rt.weight @tok at 0 bytes 12288
rt.weight @w at 12288 bytes 8192
tile.kernel @embed embed outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.embed %w {scale = 1.0 : f32} : !qfmt.packed<96x64, f16, n16> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @scale scale ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.load %x : !tile.rows<64> -> !tile.frag<64>
    %1 = tile.scale %0 {factor = 0.5 : f32} : !tile.frag<64>
    tile.store %1, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @linear linear ins(%x: !tile.rows<64>, %r: !tile.rows<64>) outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<64x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 4 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<64x64, f16, n16> -> !tile.frag<64>
    %1 = tile.load %r : !tile.rows<64> -> !tile.frag<64>
    %2 = tile.add %0, %1 : !tile.frag<64>
    tile.store %2, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @select select ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.load %x {selected} : !tile.rows<64> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @head linear ins(%x: !tile.rows<64>) outs(%y: !tile.rows<96>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 6 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<96x64, f16, n16> -> !tile.frag<96>
    tile.store %0, %y : !tile.frag<96>, !tile.rows<96>
  }
}
rt.program @m1 attributes {m_class = 1 : i64, min_rows = 1 : i64, max_rows = 1 : i64, alloc_rows = 1 : i64, max_out = 1 : i64, arena_bytes = 1408 : i64, private_bytes = 256 : i64} {
  %x = rt.buffer arena 256 at 0 "x"
  %p = rt.buffer private 256 at 0 "p"
  %y = rt.buffer arena 256 at 0 "y"
  %r = rt.buffer arena 256 at 512 "r" out_rows
  %l = rt.buffer arena 384 at 0 "l" out_rows
  rt.stage 0 {
    rt.launch @embed(%x) weights [@tok] outs 1
  }
  rt.stage 1 {
    rt.launch @scale(%x, %p) weights [] outs 1 replicated
  }
  rt.stage 2 {
    rt.launch @linear(%p, %x, %y) weights [@w] outs 1
  }
  rt.stage 3 {
    rt.launch @select(%y, %r) weights [] outs 1
  }
  rt.stage 4 {
    // expected-error @+1 {{overwrites a tap of stage 4}}
    rt.launch @head(%r, %l) weights [@tok] outs 1
    rt.tap layer 0 %y {width = 64 : i64, stride = 64 : i64}
  }
  rt.logits %l {stride = 96 : i64}
}

// -----
#s = #tile.schedule<vector = 64, panels = 1, rows = 1, unroll = 1, prefetch = 0, chunk = 0, ops = 16>
llm.param @tok : !qfmt.packed<96x64, f16, n16> from f16 [#llm.ext<0, 0, 12288>] rows [96]
llm.param @w : !qfmt.packed<64x64, f16, n16> from f16 [#llm.ext<0, 0, 8192>] rows [64]
rt.module "vnni" {hidden = 64 : i64, layers = 1 : i64, max_seqs = 2 : i64, positions = 128 : i64, vocab = 96 : i64, weight_bytes = 20480 : i64}
rt.weight @tok at 0 bytes 12288
rt.weight @w at 12288 bytes 8192
tile.kernel @embed embed outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.embed %w {scale = 1.0 : f32} : !qfmt.packed<96x64, f16, n16> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @scale scale ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.load %x : !tile.rows<64> -> !tile.frag<64>
    %1 = tile.scale %0 {factor = 0.5 : f32} : !tile.frag<64>
    tile.store %1, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @linear linear ins(%x: !tile.rows<64>, %r: !tile.rows<64>) outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<64x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 4 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<64x64, f16, n16> -> !tile.frag<64>
    %1 = tile.load %r : !tile.rows<64> -> !tile.frag<64>
    %2 = tile.add %0, %1 : !tile.frag<64>
    tile.store %2, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @select select ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.load %x {selected} : !tile.rows<64> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @head linear ins(%x: !tile.rows<64>) outs(%y: !tile.rows<96>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 6 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<96x64, f16, n16> -> !tile.frag<96>
    tile.store %0, %y : !tile.frag<96>, !tile.rows<96>
  }
}
rt.program @m1 attributes {m_class = 1 : i64, min_rows = 1 : i64, max_rows = 1 : i64, alloc_rows = 1 : i64, max_out = 1 : i64, arena_bytes = 1408 : i64, private_bytes = 256 : i64} {
  %x = rt.buffer arena 256 at 0 "x"
  %p = rt.buffer private 256 at 0 "p"
  %y = rt.buffer arena 256 at 0 "y"
  %r = rt.buffer arena 256 at 256 "r" out_rows
  %l = rt.buffer arena 384 at 1024 "l" out_rows
  rt.stage 0 {
    rt.launch @embed(%x) weights [@tok] outs 1
  }
  rt.stage 1 {
    rt.launch @scale(%x, %p) weights [] outs 1 replicated
  }
  rt.stage 2 {
    rt.launch @linear(%p, %x, %y) weights [@w] outs 1
  }
  rt.stage 3 {
    rt.launch @select(%y, %r) weights [] outs 1
  }
  rt.stage 4 {
    rt.launch @head(%r, %l) weights [@tok] outs 1
    // expected-error @+1 {{does not fit its buffer}}
    rt.tap layer 0 %y {width = 80 : i64, stride = 64 : i64}
  }
  rt.logits %l {stride = 96 : i64}
}

// -----
#s = #tile.schedule<vector = 64, panels = 1, rows = 1, unroll = 1, prefetch = 0, chunk = 0, ops = 16>
llm.param @tok : !qfmt.packed<96x64, f16, n16> from f16 [#llm.ext<0, 0, 12288>] rows [96]
llm.param @w : !qfmt.packed<64x64, f16, n16> from f16 [#llm.ext<0, 0, 8192>] rows [64]
rt.module "vnni" {hidden = 64 : i64, layers = 1 : i64, max_seqs = 2 : i64, positions = 128 : i64, vocab = 96 : i64, weight_bytes = 20480 : i64}
rt.weight @tok at 0 bytes 12288
rt.weight @w at 12288 bytes 8192
tile.kernel @embed embed outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.embed %w {scale = 1.0 : f32} : !qfmt.packed<96x64, f16, n16> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @scale scale ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.load %x : !tile.rows<64> -> !tile.frag<64>
    %1 = tile.scale %0 {factor = 0.5 : f32} : !tile.frag<64>
    tile.store %1, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @linear linear ins(%x: !tile.rows<64>, %r: !tile.rows<64>) outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<64x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 4 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<64x64, f16, n16> -> !tile.frag<64>
    %1 = tile.load %r : !tile.rows<64> -> !tile.frag<64>
    %2 = tile.add %0, %1 : !tile.frag<64>
    tile.store %2, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @select select ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.load %x {selected} : !tile.rows<64> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @head linear ins(%x: !tile.rows<64>) outs(%y: !tile.rows<96>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 6 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<96x64, f16, n16> -> !tile.frag<96>
    tile.store %0, %y : !tile.frag<96>, !tile.rows<96>
  }
}
// expected-error @+1 {{serves rows from 2, not from 1}}
rt.program @m1 attributes {m_class = 1 : i64, min_rows = 2 : i64, max_rows = 2 : i64, alloc_rows = 2 : i64, max_out = 1 : i64, arena_bytes = 1408 : i64, private_bytes = 512 : i64} {
  %x = rt.buffer arena 512 at 0 "x"
  %p = rt.buffer private 512 at 0 "p"
  %y = rt.buffer arena 512 at 0 "y"
  %r = rt.buffer arena 256 at 512 "r" out_rows
  %l = rt.buffer arena 384 at 1024 "l" out_rows
  rt.stage 0 {
    rt.launch @embed(%x) weights [@tok] outs 1
  }
  rt.stage 1 {
    rt.launch @scale(%x, %p) weights [] outs 1 replicated
  }
  rt.stage 2 {
    rt.launch @linear(%p, %x, %y) weights [@w] outs 1
  }
  rt.stage 3 {
    rt.launch @select(%y, %r) weights [] outs 1
  }
  rt.stage 4 {
    rt.launch @head(%r, %l) weights [@tok] outs 1
    rt.tap layer 0 %y {width = 64 : i64, stride = 64 : i64}
  }
  rt.logits %l {stride = 96 : i64}
}

// -----
#s = #tile.schedule<vector = 64, panels = 1, rows = 1, unroll = 1, prefetch = 0, chunk = 0, ops = 16>
llm.param @tok : !qfmt.packed<96x64, f16, n16> from f16 [#llm.ext<0, 0, 12288>] rows [96]
llm.param @w : !qfmt.packed<64x64, f16, n16> from f16 [#llm.ext<0, 0, 8192>] rows [64]
rt.module "vnni" {hidden = 64 : i64, layers = 1 : i64, max_seqs = 2 : i64, positions = 128 : i64, vocab = 96 : i64, weight_bytes = 20480 : i64}
rt.weight @tok at 0 bytes 12288
rt.weight @w at 12288 bytes 8192
tile.kernel @embed embed outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.embed %w {scale = 1.0 : f32} : !qfmt.packed<96x64, f16, n16> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @scale scale ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.load %x : !tile.rows<64> -> !tile.frag<64>
    %1 = tile.scale %0 {factor = 0.5 : f32} : !tile.frag<64>
    tile.store %1, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @linear linear ins(%x: !tile.rows<64>, %r: !tile.rows<64>) outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<64x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 4 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<64x64, f16, n16> -> !tile.frag<64>
    %1 = tile.load %r : !tile.rows<64> -> !tile.frag<64>
    %2 = tile.add %0, %1 : !tile.frag<64>
    tile.store %2, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @select select ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.load %x {selected} : !tile.rows<64> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @head linear ins(%x: !tile.rows<64>) outs(%y: !tile.rows<96>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 6 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<96x64, f16, n16> -> !tile.frag<96>
    tile.store %0, %y : !tile.frag<96>, !tile.rows<96>
  }
}
// expected-error @+1 {{is not planned: run rt-plan-memory}}
rt.program @m1 attributes {m_class = 1 : i64, min_rows = 1 : i64, max_rows = 1 : i64, alloc_rows = 1 : i64, max_out = 1 : i64} {
  %x = rt.buffer arena 256 at 0 "x"
  %p = rt.buffer private 256 at 0 "p"
  %y = rt.buffer arena 256 at 0 "y"
  %r = rt.buffer arena 256 at 256 "r" out_rows
  %l = rt.buffer arena 384 at 1024 "l" out_rows
  rt.stage 0 {
    rt.launch @embed(%x) weights [@tok] outs 1
  }
  rt.stage 1 {
    rt.launch @scale(%x, %p) weights [] outs 1 replicated
  }
  rt.stage 2 {
    rt.launch @linear(%p, %x, %y) weights [@w] outs 1
  }
  rt.stage 3 {
    rt.launch @select(%y, %r) weights [] outs 1
  }
  rt.stage 4 {
    rt.launch @head(%r, %l) weights [@tok] outs 1
    rt.tap layer 0 %y {width = 64 : i64, stride = 64 : i64}
  }
  rt.logits %l {stride = 96 : i64}
}

// -----
#s = #tile.schedule<vector = 64, panels = 1, rows = 1, unroll = 1, prefetch = 0, chunk = 0, ops = 16>
llm.param @tok : !qfmt.packed<96x64, f16, n16> from f16 [#llm.ext<0, 0, 12288>] rows [96]
llm.param @w : !qfmt.packed<64x64, f16, n16> from f16 [#llm.ext<0, 0, 8192>] rows [64]
rt.module "vnni" {hidden = 64 : i64, layers = 1 : i64, max_seqs = 2 : i64, positions = 128 : i64, vocab = 96 : i64, weight_bytes = 20480 : i64}
rt.weight @tok at 0 bytes 12288
// expected-error @+1 {{offset must be a multiple of 64 from 12288}}
rt.weight @w at 12224 bytes 8192
tile.kernel @embed embed outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.embed %w {scale = 1.0 : f32} : !qfmt.packed<96x64, f16, n16> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @scale scale ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.load %x : !tile.rows<64> -> !tile.frag<64>
    %1 = tile.scale %0 {factor = 0.5 : f32} : !tile.frag<64>
    tile.store %1, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @linear linear ins(%x: !tile.rows<64>, %r: !tile.rows<64>) outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<64x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 4 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<64x64, f16, n16> -> !tile.frag<64>
    %1 = tile.load %r : !tile.rows<64> -> !tile.frag<64>
    %2 = tile.add %0, %1 : !tile.frag<64>
    tile.store %2, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @select select ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.load %x {selected} : !tile.rows<64> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @head linear ins(%x: !tile.rows<64>) outs(%y: !tile.rows<96>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 6 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<96x64, f16, n16> -> !tile.frag<96>
    tile.store %0, %y : !tile.frag<96>, !tile.rows<96>
  }
}
rt.program @m1 attributes {m_class = 1 : i64, min_rows = 1 : i64, max_rows = 1 : i64, alloc_rows = 1 : i64, max_out = 1 : i64, arena_bytes = 1408 : i64, private_bytes = 256 : i64} {
  %x = rt.buffer arena 256 at 0 "x"
  %p = rt.buffer private 256 at 0 "p"
  %y = rt.buffer arena 256 at 0 "y"
  %r = rt.buffer arena 256 at 256 "r" out_rows
  %l = rt.buffer arena 384 at 1024 "l" out_rows
  rt.stage 0 {
    rt.launch @embed(%x) weights [@tok] outs 1
  }
  rt.stage 1 {
    rt.launch @scale(%x, %p) weights [] outs 1 replicated
  }
  rt.stage 2 {
    rt.launch @linear(%p, %x, %y) weights [@w] outs 1
  }
  rt.stage 3 {
    rt.launch @select(%y, %r) weights [] outs 1
  }
  rt.stage 4 {
    rt.launch @head(%r, %l) weights [@tok] outs 1
    rt.tap layer 0 %y {width = 64 : i64, stride = 64 : i64}
  }
  rt.logits %l {stride = 96 : i64}
}

// -----
#s = #tile.schedule<vector = 64, panels = 1, rows = 1, unroll = 1, prefetch = 0, chunk = 0, ops = 16>
llm.param @tok : !qfmt.packed<96x64, f16, n16> from f16 [#llm.ext<0, 0, 12288>] rows [96]
llm.param @w : !qfmt.packed<64x64, f16, n16> from f16 [#llm.ext<0, 0, 8192>] rows [64]
rt.module "vnni" {hidden = 64 : i64, layers = 1 : i64, max_seqs = 2 : i64, positions = 128 : i64, vocab = 96 : i64, weight_bytes = 20480 : i64}
rt.weight @tok at 0 bytes 12288
// expected-error @+1 {{has 8000 bytes, '!qfmt.packed<64x64, f16, n16>' takes 8192}}
rt.weight @w at 12288 bytes 8000
tile.kernel @embed embed outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.embed %w {scale = 1.0 : f32} : !qfmt.packed<96x64, f16, n16> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @scale scale ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.load %x : !tile.rows<64> -> !tile.frag<64>
    %1 = tile.scale %0 {factor = 0.5 : f32} : !tile.frag<64>
    tile.store %1, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @linear linear ins(%x: !tile.rows<64>, %r: !tile.rows<64>) outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<64x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 4 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<64x64, f16, n16> -> !tile.frag<64>
    %1 = tile.load %r : !tile.rows<64> -> !tile.frag<64>
    %2 = tile.add %0, %1 : !tile.frag<64>
    tile.store %2, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @select select ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.load %x {selected} : !tile.rows<64> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @head linear ins(%x: !tile.rows<64>) outs(%y: !tile.rows<96>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 6 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<96x64, f16, n16> -> !tile.frag<96>
    tile.store %0, %y : !tile.frag<96>, !tile.rows<96>
  }
}
rt.program @m1 attributes {m_class = 1 : i64, min_rows = 1 : i64, max_rows = 1 : i64, alloc_rows = 1 : i64, max_out = 1 : i64, arena_bytes = 1408 : i64, private_bytes = 256 : i64} {
  %x = rt.buffer arena 256 at 0 "x"
  %p = rt.buffer private 256 at 0 "p"
  %y = rt.buffer arena 256 at 0 "y"
  %r = rt.buffer arena 256 at 256 "r" out_rows
  %l = rt.buffer arena 384 at 1024 "l" out_rows
  rt.stage 0 {
    rt.launch @embed(%x) weights [@tok] outs 1
  }
  rt.stage 1 {
    rt.launch @scale(%x, %p) weights [] outs 1 replicated
  }
  rt.stage 2 {
    rt.launch @linear(%p, %x, %y) weights [@w] outs 1
  }
  rt.stage 3 {
    rt.launch @select(%y, %r) weights [] outs 1
  }
  rt.stage 4 {
    rt.launch @head(%r, %l) weights [@tok] outs 1
    rt.tap layer 0 %y {width = 64 : i64, stride = 64 : i64}
  }
  rt.logits %l {stride = 96 : i64}
}

// -----
#s = #tile.schedule<vector = 64, panels = 1, rows = 1, unroll = 1, prefetch = 0, chunk = 0, ops = 16>
llm.param @tok : !qfmt.packed<96x64, f16, n16> from f16 [#llm.ext<0, 0, 12288>] rows [96]
llm.param @w : !qfmt.packed<64x64, f16, n16> from f16 [#llm.ext<0, 0, 8192>] rows [64]
rt.module "avx2" {hidden = 64 : i64, layers = 1 : i64, max_seqs = 2 : i64, positions = 128 : i64, vocab = 96 : i64, weight_bytes = 20480 : i64}
rt.weight @tok at 0 bytes 12288
rt.weight @w at 12288 bytes 8192
tile.kernel @embed embed outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.embed %w {scale = 1.0 : f32} : !qfmt.packed<96x64, f16, n16> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @scale scale ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.load %x : !tile.rows<64> -> !tile.frag<64>
    %1 = tile.scale %0 {factor = 0.5 : f32} : !tile.frag<64>
    tile.store %1, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @linear linear ins(%x: !tile.rows<64>, %r: !tile.rows<64>) outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<64x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 4 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<64x64, f16, n16> -> !tile.frag<64>
    %1 = tile.load %r : !tile.rows<64> -> !tile.frag<64>
    %2 = tile.add %0, %1 : !tile.frag<64>
    tile.store %2, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @select select ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid rows {
    %0 = tile.load %x {selected} : !tile.rows<64> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @head linear ins(%x: !tile.rows<64>) outs(%y: !tile.rows<96>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<out>, rows = 0 : i64, isa = "vnni", schedule = #s} {
  tile.grid panels 6 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<96x64, f16, n16> -> !tile.frag<96>
    tile.store %0, %y : !tile.frag<96>, !tile.rows<96>
  }
}
rt.program @m1 attributes {m_class = 1 : i64, min_rows = 1 : i64, max_rows = 1 : i64, alloc_rows = 1 : i64, max_out = 1 : i64, arena_bytes = 1408 : i64, private_bytes = 256 : i64} {
  %x = rt.buffer arena 256 at 0 "x"
  %p = rt.buffer private 256 at 0 "p"
  %y = rt.buffer arena 256 at 0 "y"
  %r = rt.buffer arena 256 at 256 "r" out_rows
  %l = rt.buffer arena 384 at 1024 "l" out_rows
  rt.stage 0 {
    // expected-error @+1 {{has no schedule for avx2}}
    rt.launch @embed(%x) weights [@tok] outs 1
  }
  rt.stage 1 {
    rt.launch @scale(%x, %p) weights [] outs 1 replicated
  }
  rt.stage 2 {
    rt.launch @linear(%p, %x, %y) weights [@w] outs 1
  }
  rt.stage 3 {
    rt.launch @select(%y, %r) weights [] outs 1
  }
  rt.stage 4 {
    rt.launch @head(%r, %l) weights [@tok] outs 1
    rt.tap layer 0 %y {width = 64 : i64, stride = 64 : i64}
  }
  rt.logits %l {stride = 96 : i64}
}
