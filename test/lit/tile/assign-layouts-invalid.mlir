// RUN: ingot-opt %s --qfmt-assign-layouts -split-input-file -verify-diagnostics --allow-unregistered-dialect

// A pack holds every weight once: two kernels that want it in two layouts cannot both be served.
// expected-error @+1 {{param @w cannot have one layout: kernel @a reads n16, kernel @b reads row}}
llm.param @w : !qfmt.packed<64x64, f16, row> from f16 [#llm.ext<0, 0, 8192>] rows [64]
tile.kernel @a linear ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<64x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 1 : i64} {
  tile.grid panels 4 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<64x64, f16, n16> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @b linear ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<64x64, f16, row>) attributes {domain = #tile.domain<rows>, rows = 1 : i64} {
  tile.grid panels 4 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<64x64, f16, row> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
llm.step @m1(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x64xf32> attributes {rows = 1 : i64} {
  %x = "test.source"() : () -> tensor<?x64xf32>
  %y = tile.launch @a(%x) params = [@w] : (tensor<?x64xf32>) -> tensor<?x64xf32>
  %z = tile.launch @b(%y) params = [@w] : (tensor<?x64xf32>) -> tensor<?x64xf32>
  llm.return %z : tensor<?x64xf32>
}

// -----
// expected-error @+1 {{param @w cannot have one layout: it is '!qfmt.packed<64x64, f32, row>', kernel @a reads '!qfmt.packed<64x64, f16, n16>'}}
llm.param @w : !qfmt.packed<64x64, f32, row> from f16 [#llm.ext<0, 0, 8192>] rows [64]
tile.kernel @a linear ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<64x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 1 : i64} {
  tile.grid panels 4 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<64x64, f16, n16> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
llm.step @m1(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x64xf32> attributes {rows = 1 : i64} {
  %x = "test.source"() : () -> tensor<?x64xf32>
  %y = tile.launch @a(%x) params = [@w] : (tensor<?x64xf32>) -> tensor<?x64xf32>
  llm.return %y : tensor<?x64xf32>
}
