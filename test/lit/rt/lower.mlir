// RUN: ingot-opt %s --rt-lower | FileCheck %s
// RUN: ingot-opt %s --rt-lower=max-out=3 | FileCheck %s --check-prefix=OUT
// RUN: ingot-opt %s --rt-lower --rt-plan-memory | FileCheck %s --check-prefix=PLAN
// RUN: ingot-opt %s --rt-lower --rt-schedule --rt-plan-memory --rt-verify-abi -o /dev/null
// RUN: ingot-opt %s --rt-lower --rt-plan-memory --rt-schedule --rt-verify-abi -o /dev/null

// Stages by dependence: %a and %b need no barrier between them, the replicated launch stands with its consumer, and
// the class of two rows serves one and two. Then the plan: the linear adds to %x in place, where nothing else of its
// stage reads %x; the rows of outputs lie behind.

// CHECK: rt.module "vnni" {hidden = 64 : i64, layers = 1 : i64, max_seqs = 2 : i64, positions = 128 : i64, vocab = 96 : i64}
// CHECK-NEXT: rt.program @step_m2 attributes {alloc_rows = 2 : i64, m_class = 2 : i64, max_out = 2 : i64, max_rows = 2 : i64, min_rows = 1 : i64} {
// CHECK-NEXT: %[[X:.*]] = rt.buffer arena 512 at -1 "embed 0"
// CHECK-NEXT: %[[A:.*]] = rt.buffer arena 512 at -1 "scale 0"
// CHECK-NEXT: %[[B:.*]] = rt.buffer private 512 at -1 "scale 0"
// CHECK-NEXT: %[[C:.*]] = rt.buffer private 512 at -1 "scale 0"
// CHECK-NEXT: %[[Y:.*]] = rt.buffer arena 512 at -1 "linear 0"
// CHECK-NEXT: %[[Z:.*]] = rt.buffer arena 512 at -1 "linear 0"
// CHECK-NEXT: %[[R:.*]] = rt.buffer arena 512 at -1 "select 0" out_rows
// CHECK-NEXT: %[[L:.*]] = rt.buffer arena 768 at -1 "linear 0" out_rows
// CHECK-NEXT: rt.stage 0 {
// CHECK-NEXT: rt.launch @embed(%[[X]]) weights [@tok] outs 1{{$}}
// CHECK-NEXT: rt.tap embed 0 %[[X]] {stride = 64 : i64, width = 64 : i64}
// CHECK-NEXT: }
// CHECK-NEXT: rt.stage 1 {
// CHECK-NEXT: rt.launch @scale(%[[X]], %[[A]]) weights [] outs 1{{$}}
// CHECK-NEXT: rt.launch @scale(%[[X]], %[[B]]) weights [] outs 1 replicated
// CHECK-NEXT: rt.launch @scale(%[[B]], %[[C]]) weights [] outs 1 replicated
// CHECK-NEXT: rt.launch @linear(%[[C]], %[[X]], %[[Y]]) weights [@w] outs 1{{$}}
// CHECK-NEXT: }
// CHECK-NEXT: rt.stage 2 {
// CHECK-NEXT: rt.launch @linear(%[[A]], %[[Y]], %[[Z]]) weights [@w] outs 1
// CHECK-NEXT: rt.tap layer 0 %[[Z]] {{.*}}
// CHECK-NEXT: }
// CHECK-NEXT: rt.stage 3 {
// CHECK-NEXT: rt.launch @select(%[[Z]], %[[R]])
// CHECK: rt.stage 4 {
// CHECK-NEXT: rt.launch @head(%[[R]], %[[L]]) weights [@tok]
// CHECK: rt.logits %[[L]] {stride = 96 : i64}
// CHECK: rt.program @step_m512 attributes {alloc_rows = 512 : i64, m_class = 512 : i64, max_out = 64 : i64, max_rows = 512 : i64, min_rows = 3 : i64}
// CHECK-NOT: llm.step
// CHECK-NOT: tile.launch

// OUT: rt.program @step_m2 {{.*}}max_out = 2
// OUT: rt.program @step_m512 {{.*}}max_out = 3

// x and y of stage 1 are both needed there, so y has a place of its own; z takes the place of y (stage 2).
// PLAN: rt.module {{.*}}weight_bytes = 20480 : i64
// PLAN: rt.program @step_m2 attributes {alloc_rows = 2 : i64, arena_bytes = 2816 : i64, {{.*}}private_bytes = 512 : i64}
// PLAN-NEXT: rt.buffer arena 512 at [[X:[0-9]+]] "embed 0"
// PLAN-NEXT: rt.buffer arena 512 at {{[0-9]+}} "scale 0"
// PLAN-NEXT: rt.buffer private 512 at 0 "scale 0"
// PLAN-NEXT: rt.buffer private 512 at 0 "scale 0"
// PLAN-NEXT: rt.buffer arena 512 at [[Y:[0-9]+]] "linear 0"
// PLAN-NEXT: rt.buffer arena 512 at [[Y]] "linear 0"
// PLAN-NEXT: rt.buffer arena 512 at 2304 "select 0" out_rows
// PLAN-NEXT: rt.buffer arena 768 at 1536 "linear 0" out_rows
// PLAN: rt.weight @tok at 0 bytes 12288
// PLAN-NEXT: rt.weight @w at 12288 bytes 8192

#s = #tile.schedule<vector = 64, panels = 1, rows = 1, unroll = 1, prefetch = 0, chunk = 0, ops = 16>
llm.config "t" arch "t" kv f16 {hidden = 64 : i64, layers = 1 : i64, max_context = 128 : i64, max_seqs = 2 : i64, vocab = 96 : i64}
llm.param @tok : !qfmt.packed<96x64, f16, n16> from f16 [#llm.ext<0, 0, 12288>] rows [96]
llm.param @w : !qfmt.packed<64x64, f16, n16> from f16 [#llm.ext<0, 0, 8192>] rows [64]
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
llm.step @m512(%ids: tensor<?xi32>, %batch: !llm.batch) -> tensor<?x96xf32> attributes {rows = 512 : i64} {
  %x = tile.launch @embed() params = [@tok] : () -> tensor<?x64xf32>
  %r = tile.launch @select(%x) params = [] : (tensor<?x64xf32>) -> tensor<?x64xf32>
  %l = tile.launch @head(%r) params = [@tok] : (tensor<?x64xf32>) -> tensor<?x96xf32>
  llm.return %l : tensor<?x96xf32>
}
llm.step @m2(%ids: tensor<?xi32>, %batch: !llm.batch) -> tensor<?x96xf32> attributes {rows = 2 : i64} {
  %x = tile.launch @embed() params = [@tok] {tap = "embed"} : () -> tensor<?x64xf32>
  %a = tile.launch @scale(%x) params = [] : (tensor<?x64xf32>) -> tensor<?x64xf32>
  %b = tile.launch @scale(%x) params = [] replicated : (tensor<?x64xf32>) -> tensor<?x64xf32>
  %c = tile.launch @scale(%b) params = [] replicated : (tensor<?x64xf32>) -> tensor<?x64xf32>
  %y = tile.launch @linear(%c, %x) params = [@w] : (tensor<?x64xf32>, tensor<?x64xf32>) -> tensor<?x64xf32>
  %z = tile.launch @linear(%a, %y) params = [@w] {tap = "layer"} : (tensor<?x64xf32>, tensor<?x64xf32>) -> tensor<?x64xf32>
  %r = tile.launch @select(%z) params = [] : (tensor<?x64xf32>) -> tensor<?x64xf32>
  %l = tile.launch @head(%r) params = [@tok] : (tensor<?x64xf32>) -> tensor<?x96xf32>
  llm.return %l : tensor<?x96xf32>
}
