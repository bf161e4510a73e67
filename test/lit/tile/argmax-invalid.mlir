// RUN: ingot-opt %s -split-input-file -verify-diagnostics

// Where tile.argmax may not stand.
tile.kernel @of_the_step linear ins(%x: !tile.rows<64>) outs(%y: !tile.rows<96>) weights(%w: !qfmt.packed<96x64, f16, n16>)
    attributes {domain = #tile.domain<rows>, rows = 1 : i64} {
  tile.grid panels 6 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<96x64, f16, n16> -> !tile.frag<96>
    // expected-error @+1 {{belongs into a linear kernel over the rows of outputs}}
    %1 = tile.argmax %0 : !tile.frag<96>
    tile.store %1, %y : !tile.frag<96>, !tile.rows<96>
  }
}

// -----

tile.kernel @softcap softcap ins(%x: !tile.rows<96>) outs(%y: !tile.rows<96>)
    attributes {domain = #tile.domain<out>, rows = 1 : i64} {
  tile.grid rows {
    %0 = tile.load %x : !tile.rows<96> -> !tile.frag<96>
    %1 = tile.softcap %0 {cap = 5.0 : f32} : !tile.frag<96>
    // expected-error @+1 {{belongs into a linear kernel over the rows of outputs}}
    %2 = tile.argmax %1 : !tile.frag<96>
    tile.store %2, %y : !tile.frag<96>, !tile.rows<96>
  }
}

// -----

tile.kernel @read_on linear ins(%x: !tile.rows<64>) outs(%y: !tile.rows<96>) weights(%w: !qfmt.packed<96x64, f16, n16>)
    attributes {domain = #tile.domain<out>, rows = 1 : i64} {
  tile.grid panels 6 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<96x64, f16, n16> -> !tile.frag<96>
    // expected-error @+1 {{must be stored, and used by nothing else}}
    %1 = tile.argmax %0 : !tile.frag<96>
    %2 = tile.softcap %1 {cap = 5.0 : f32} : !tile.frag<96>
    tile.store %2, %y : !tile.frag<96>, !tile.rows<96>
  }
}

// -----

tile.kernel @after_residual linear ins(%x: !tile.rows<64>, %r: !tile.rows<96>) outs(%y: !tile.rows<96>) weights(%w: !qfmt.packed<96x64, f16, n16>)
    attributes {domain = #tile.domain<out>, rows = 1 : i64} {
  tile.grid panels 6 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<96x64, f16, n16> -> !tile.frag<96>
    %1 = tile.load %r : !tile.rows<96> -> !tile.frag<96>
    // expected-error @+1 {{found where family linear has tile.dot}}
    %2 = tile.add %0, %1 : !tile.frag<96>
    %3 = tile.argmax %2 : !tile.frag<96>
    tile.store %3, %y : !tile.frag<96>, !tile.rows<96>
  }
}

// -----

tile.kernel @after_gate linear ins(%x: !tile.rows<64>) outs(%y: !tile.rows<48>) weights(%w: !qfmt.packed<96x64, f16, n16>)
    attributes {domain = #tile.domain<out>, rows = 1 : i64} {
  tile.grid panels 6 {
    %0 = tile.dot fma %x, %w : !tile.rows<64>, !qfmt.packed<96x64, f16, n16> -> !tile.frag<96>
    // expected-error @+1 {{found where family linear has tile.dot}}
    %1 = tile.gate_interleaved silu %0 : !tile.frag<96> -> !tile.frag<48>
    %2 = tile.argmax %1 : !tile.frag<48>
    tile.store %2, %y : !tile.frag<48>, !tile.rows<48>
  }
}
