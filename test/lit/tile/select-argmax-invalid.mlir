// RUN: ingot-opt %s --tile-select=isa=ref -verify-diagnostics

// The reference's kernels have no epilogues; the pipeline forms it no such head.
// expected-error @+2 {{no kernel for op 'linear' with scheme f32 (96x64) on target ref for 1 rows; change it by --isa, or argmax-head=false of tile-form-kernels}}
// expected-note @+1 {{ref: the oracle stores the logits}}
tile.kernel @head linear ins(%x: !tile.rows<64>) outs(%y: !tile.rows<96>) weights(%w: !qfmt.packed<96x64, f32, row>)
    attributes {domain = #tile.domain<out>, rows = 1 : i64} {
  tile.grid panels 6 {
    %0 = tile.dot undecided %x, %w : !tile.rows<64>, !qfmt.packed<96x64, f32, row> -> !tile.frag<96>
    %1 = tile.argmax %0 : !tile.frag<96>
    tile.store %1, %y : !tile.frag<96>, !tile.rows<96>
  }
}
