// RUN: split-file %s %t
// RUN: ingot-opt %t/kernel.mlir --tile-select="isa=vnni tune=%t/good.tune" 2>&1 | FileCheck %s --check-prefix=GOOD
// RUN: ingot-opt %t/kernel.mlir --tile-select="isa=avx2 tune=%t/good.tune" 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: ingot-opt %t/kernel.mlir --tile-select="isa=vnni tune=%t/stale.tune" 2>&1 | FileCheck %s --check-prefix=STALE
// RUN: ingot-opt %t/kernel.mlir --tile-select="isa=vnni tune=%t/old.tune" 2>&1 | FileCheck %s --check-prefix=OLD
// RUN: not ingot-opt %t/kernel.mlir --tile-select="isa=vnni tune=%t/bad.tune" 2>&1 | FileCheck %s --check-prefix=BAD
// RUN: not ingot-opt %t/kernel.mlir --tile-select="isa=vnni tune=%t/none.tune" 2>&1 | FileCheck %s --check-prefix=NONE

// A measured schedule wins over the cost model where the registry offers it.
// GOOD-NOT: warning
// GOOD: tile.kernel @one linear
// GOOD-SAME: reason = "tuned, linear maddubs, tile of 1 rows ({{.+}} ns)"{{.*}}schedule = #tile.schedule<vector = 64, panels = 1, rows = 1, unroll = 1, prefetch = 4096, chunk = 0,
// GOOD: tile.dot maddubs
// GOOD: tile.kernel @four linear
// GOOD-NOT: reason = "tuned
// GOOD: tile.dot vnni

// OTHER: warning: --tune: the profile has no kernel of this model on avx2
// OTHER-NOT: reason = "tuned

// Neither a schedule that is not offered nor one of other kernels is used.
// STALE: warning: --tune: 1 of the 2 entries for kernels of this model on vnni no longer apply, the kernels have no such schedules; 'ingot tune' times them again
// STALE: tile.kernel @one linear
// STALE-NOT: reason = "tuned
// STALE: tile.kernel @four linear
// STALE-SAME: reason = "tuned, linear vnni, tile of 2 rows
// OLD: warning: --tune: 1 of the 1 entries for kernels of this model on vnni no longer apply, the kernels have changed since they were timed;
// OLD-NOT: reason = "tuned

// BAD: error: --tune: {{.*}}bad.tune:3: 'rows=many' is no number in range
// NONE: error: --tune: cannot read {{.*}}none.tune: No such file or directory

//--- good.tune
ingot-tune 1 kernels 3
# a note
linear isa=vnni rows=1 n=64 k=64 scheme=q4_1 act=1 keys=bias | dot=maddubs vector=64 panels=1 rows=1 unroll=1 prefetch=4096 chunk=0 | threads=1 default=300 chosen=200
linear isa=vnni rows=1 n=128 k=64 scheme=q4_1 act=1 | dot=vnni vector=64 panels=1 rows=1 unroll=1 prefetch=7 chunk=0 | threads=1 default=300 chosen=200

//--- stale.tune
ingot-tune 1 kernels 3
linear isa=vnni rows=1 n=64 k=64 scheme=q4_1 act=1 keys=bias | dot=vnni vector=64 panels=1 rows=1 unroll=1 prefetch=7 chunk=0 | threads=1 default=300 chosen=200
linear isa=vnni rows=4 n=64 k=64 scheme=q4_1 act=4 | dot=vnni vector=64 panels=1 rows=2 unroll=1 prefetch=0 chunk=0 | threads=1 default=300 chosen=200

//--- old.tune
ingot-tune 1 kernels 999999
linear isa=vnni rows=1 n=64 k=64 scheme=q4_1 act=1 keys=bias | dot=maddubs vector=64 panels=1 rows=1 unroll=1 prefetch=4096 chunk=0 | threads=1 default=300 chosen=200

//--- bad.tune
ingot-tune 1 kernels 3

linear isa=vnni rows=many n=64 k=64 scheme=q4_1 act=1 | dot=vnni vector=64 panels=1 rows=1 unroll=1 prefetch=0 chunk=0 | threads=1 default=300 chosen=200

//--- kernel.mlir
#a1 = #qfmt.act<i8, group = 32, block = 1>
#a4 = #qfmt.act<i8, group = 32, block = 4>
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
