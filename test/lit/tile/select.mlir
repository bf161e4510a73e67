// RUN: ingot-opt %s --allow-unregistered-dialect --tile-select=isa=vnni | FileCheck %s --check-prefixes=CHECK,VNNI
// RUN: ingot-opt %s --allow-unregistered-dialect --tile-select=isa=avx2 | FileCheck %s --check-prefixes=CHECK,AVX2
// RUN: ingot-opt %s --allow-unregistered-dialect --tile-select=isa=vnni --qfmt-assign-layouts | FileCheck %s --check-prefix=LAYOUT
// RUN: ingot-opt %s --allow-unregistered-dialect --tile-select=isa=vnni --qfmt-assign-layouts --qfmt-assign-layouts | FileCheck %s --check-prefix=LAYOUT

// The registry decides schedule, dot and layout; the answer stays with the kernel. Then the param follows: one layout
// for both kernels that read it.

#a1 = #qfmt.act<i8, group = 32, block = 1>
#a4 = #qfmt.act<i8, group = 32, block = 4>
// LAYOUT: llm.param @w : !qfmt.packed<64x64, q4_1, n16> from q4_1
// LAYOUT: llm.param @b : !qfmt.packed<1x64, f32, row>
llm.param @w : !qfmt.packed<64x64, q4_1, row> from q4_1 [#llm.ext<0, 0, 2560>] rows [64]
llm.param @b : !qfmt.packed<1x64, f32, row> from f32 [#llm.ext<0, 0, 256>] rows [64]

// CHECK: tile.kernel @one linear {{.*}} weights(%{{.*}}: !qfmt.packed<64x64, q4_1, n16>, %{{.*}}: !qfmt.packed<1x64, f32, row>)
// VNNI-SAME: isa = "vnni", reason = "{{.+}} ns)"{{.*}}schedule = #tile.schedule<vector = 64,
// AVX2-SAME: isa = "avx2", reason = "{{.+}} ns)"{{.*}}schedule = #tile.schedule<vector = 32,
// VNNI: tile.dot vnni %{{.*}} : !tile.act<{{.*}}>, !qfmt.packed<64x64, q4_1, n16>
// AVX2: tile.dot maddubs
// CHECK: tile.kernel @four linear {{.*}} weights(%{{.*}}: !qfmt.packed<64x64, q4_1, n16>)
tile.kernel @one linear ins(%x: !tile.act<64, #a1>) outs(%y: !tile.rows<64>)
    weights(%w: !qfmt.packed<64x64, q4_1, row>, %b: !qfmt.packed<1x64, f32, row>) attributes {domain = #tile.domain<rows>, rows = 1 : i64} {
  tile.grid panels 4 {
    %0 = tile.dot undecided %x, %w : !tile.act<64, #a1>, !qfmt.packed<64x64, q4_1, row> -> !tile.frag<64>
    %1 = tile.bias %0, %b : !tile.frag<64>, !qfmt.packed<1x64, f32, row> -> !tile.frag<64>
    tile.store %1, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @four linear ins(%x: !tile.act<64, #a4>) outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<64x64, q4_1, row>)
    attributes {domain = #tile.domain<rows>, rows = 4 : i64} {
  tile.grid panels 4 {
    %0 = tile.dot undecided %x, %w : !tile.act<64, #a4>, !qfmt.packed<64x64, q4_1, row> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
llm.step @m1(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x64xf32> attributes {rows = 1 : i64} {
  %x = "test.source"() : () -> !llm.act<64, #a1>
  %y = tile.launch @one(%x) params = [@w, @b] : (!llm.act<64, #a1>) -> tensor<?x64xf32>
  llm.return %y : tensor<?x64xf32>
}
llm.step @m4(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x64xf32> attributes {rows = 4 : i64} {
  %x = "test.source"() : () -> !llm.act<64, #a4>
  %y = tile.launch @four(%x) params = [@w] : (!llm.act<64, #a4>) -> tensor<?x64xf32>
  llm.return %y : tensor<?x64xf32>
}
