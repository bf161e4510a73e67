// RUN: ingot-opt %s --tile-form-kernels -split-input-file -verify-diagnostics

llm.param @tok : !qfmt.packed<96x64, f16, row> from f16 [#llm.ext<0, 0, 12288>] rows [96]
// expected-error @+1 {{has no row class: run llm-specialize-steps first}}
llm.step @step(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x96xf32> {
  %x = llm.embed %ids, @tok : tensor<?x64xf32>
  %l = llm.logits %x, @tok : tensor<?x64xf32> -> tensor<?x96xf32>
  llm.return %l : tensor<?x96xf32>
}

// -----
llm.param @tok : !qfmt.packed<96x64, f16, row> from f16 [#llm.ext<0, 0, 12288>] rows [96]
llm.step @step(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x96xf32> attributes {rows = 1 : i64} {
  %x = llm.embed %ids, @tok : tensor<?x64xf32>
  // expected-error @+1 {{must follow llm.select_rows: a step yields logits of its output rows only}}
  %l = llm.logits %x, @tok : tensor<?x64xf32> -> tensor<?x96xf32>
  llm.return %l : tensor<?x96xf32>
}

// -----
llm.param @tok : !qfmt.packed<96x64, f16, row> from f16 [#llm.ext<0, 0, 12288>] rows [96]
llm.param @w : !qfmt.packed<64x32, f16, row> from f16 [#llm.ext<0, 0, 4096>] rows [64]
llm.step @step(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x96xf32> attributes {rows = 1 : i64} {
  %x = llm.embed %ids, @tok : tensor<?x64xf32>
  %s = llm.slice %x {offset = 32 : i64, size = 32 : i64} : tensor<?x64xf32> -> tensor<?x32xf32>
  // expected-error @+1 {{reads a column slice; no linear kernel does}}
  %y = llm.linear %s, @w : tensor<?x32xf32> -> tensor<?x64xf32>
  %r = llm.select_rows %y, %b : tensor<?x64xf32>
  %l = llm.logits %r, @tok : tensor<?x64xf32> -> tensor<?x96xf32>
  llm.return %l : tensor<?x96xf32>
}

// -----
llm.param @tok : !qfmt.packed<96x64, f16, row> from f16 [#llm.ext<0, 0, 12288>] rows [96]
llm.param @g : !qfmt.packed<1x64, f32, row> from f32 [#llm.ext<0, 0, 256>] rows [64]
llm.step @step(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x96xf32> attributes {rows = 1 : i64} {
  %x = llm.embed %ids, @tok : tensor<?x64xf32>
  // A variant that no body can say is refused, never dropped.
  // expected-error @+1 {{variant 'norm.weight_offset' has no kernel body: run llm-simplify first}}
  %n = llm.rms_norm %x, @g {eps = 1.0e-5 : f32, weight_offset = 1.0 : f32} : tensor<?x64xf32>
  %r = llm.select_rows %n, %b : tensor<?x64xf32>
  %l = llm.logits %r, @tok : tensor<?x64xf32> -> tensor<?x96xf32>
  llm.return %l : tensor<?x96xf32>
}

// -----
#a = #qfmt.act<i8, group = 32, block = 0>
llm.param @tok : !qfmt.packed<96x64, q8_0, row> from q8_0 [#llm.ext<0, 0, 6528>] rows [96]
llm.step @step(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x96xf32> attributes {rows = 1 : i64} {
  %x = llm.embed %ids, @tok : tensor<?x64xf32>
  %r = llm.select_rows %x, %b : tensor<?x64xf32>
  // expected-error @+1 {{the rows of an activation block are undecided}}
  %q = llm.quantize %r {act = #a} : tensor<?x64xf32> -> !llm.act<64, #a>
  %l = llm.logits %q, @tok : !llm.act<64, #a> -> tensor<?x96xf32>
  llm.return %l : tensor<?x96xf32>
}

// -----
llm.param @tok : !qfmt.packed<96x64, f16, row> from f16 [#llm.ext<0, 0, 12288>] rows [96]
llm.step @step(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x96xf32> attributes {rows = 1 : i64} {
  %x = llm.embed %ids, @tok : tensor<?x64xf32>
  // expected-error @+1 {{has no kernel family}}
  %w = llm.dequant @tok : tensor<96x64xf32>
  %r = llm.select_rows %x, %b : tensor<?x64xf32>
  %l = llm.logits %r, @tok : tensor<?x64xf32> -> tensor<?x96xf32>
  llm.return %l : tensor<?x96xf32>
}
