// RUN: ingot-opt %s --tile-select=isa=ref -split-input-file -verify-diagnostics --allow-unregistered-dialect
// RUN: not ingot-opt %s --tile-select=isa=sse2 --allow-unregistered-dialect 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: unknown target 'sse2'; --isa takes avx2, avx512, vnni, avx512bf16, amx, amxbf16, ref

// No kernel: the message names op, tensor, scheme, shape, target and what would change it.
#a1 = #qfmt.act<i8, group = 32, block = 1>
llm.param @blk.0.w : !qfmt.packed<64x64, q4_1, row> from q4_1 [#llm.ext<0, 0, 2560>] rows [64]
// expected-error @+2 {{no kernel for op 'linear' of tensor @blk.0.w with scheme q4_1 (64x64) on target ref for 1 rows; change it by --scheme=f32}}
// expected-note @+1 {{ref: weights are f32}}
tile.kernel @one linear ins(%x: !tile.act<64, #a1>) outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<64x64, q4_1, row>)
    attributes {domain = #tile.domain<rows>, rows = 1 : i64} {
  tile.grid panels 4 {
    %0 = tile.dot undecided %x, %w : !tile.act<64, #a1>, !qfmt.packed<64x64, q4_1, row> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
llm.step @m1(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x64xf32> attributes {rows = 1 : i64} {
  %x = "test.source"() : () -> !llm.act<64, #a1>
  %y = tile.launch @one(%x) params = [@blk.0.w] : (!llm.act<64, #a1>) -> tensor<?x64xf32>
  llm.return %y : tensor<?x64xf32>
}
