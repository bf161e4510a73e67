// RUN: ingot-opt %s --rt-lower -split-input-file -verify-diagnostics --allow-unregistered-dialect

// expected-error @+1 {{rt-lower needs llm.config}}
module {
}

// -----
llm.config "t" arch "t" kv f16 {hidden = 64 : i64, layers = 1 : i64, max_context = 128 : i64, max_seqs = 2 : i64, vocab = 96 : i64}
llm.step @m1(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x64xf32> attributes {rows = 1 : i64} {
  // expected-error @+1 {{is no launch: run tile-form-kernels first}}
  %x = "test.source"() : () -> tensor<?x64xf32>
  llm.return %x : tensor<?x64xf32>
}

// -----
llm.config "t" arch "t" kv f16 {hidden = 64 : i64, layers = 1 : i64, max_context = 128 : i64, max_seqs = 2 : i64, vocab = 96 : i64}
llm.param @tok : !qfmt.packed<96x64, f16, n16> from f16 [#llm.ext<0, 0, 12288>] rows [96]
tile.kernel @embed embed outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64} {
  tile.grid rows {
    %0 = tile.embed %w {scale = 1.0 : f32} : !qfmt.packed<96x64, f16, n16> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
llm.step @m1(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x64xf32> attributes {rows = 1 : i64} {
  // expected-error @+1 {{kernel @embed has no schedule: run tile-select first}}
  %x = tile.launch @embed() params = [@tok] : () -> tensor<?x64xf32>
  llm.return %x : tensor<?x64xf32>
}

// -----
#s = #tile.schedule<vector = 64, panels = 1, rows = 1, unroll = 1, prefetch = 0, chunk = 0, ops = 16>
llm.config "t" arch "t" kv f16 {hidden = 64 : i64, layers = 1 : i64, max_context = 128 : i64, max_seqs = 2 : i64, vocab = 96 : i64}
llm.param @tok : !qfmt.packed<96x64, f16, n16> from f16 [#llm.ext<0, 0, 12288>] rows [96]
tile.kernel @embed embed outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<96x64, f16, n16>) attributes {domain = #tile.domain<rows>, rows = 0 : i64, isa = "avx2", schedule = #s} {
  tile.grid rows {
    %0 = tile.embed %w {scale = 1.0 : f32} : !qfmt.packed<96x64, f16, n16> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
llm.step @m1(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x64xf32> attributes {rows = 1 : i64} {
  %x = tile.launch @embed() params = [@tok] : () -> tensor<?x64xf32>
  llm.return %x : tensor<?x64xf32>
}
// expected-error @+1 {{has row class 1, which is not above the class before, 1}}
llm.step @again(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x64xf32> attributes {rows = 1 : i64} {
  %x = tile.launch @embed() params = [@tok] : () -> tensor<?x64xf32>
  llm.return %x : tensor<?x64xf32>
}
