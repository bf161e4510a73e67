// RUN: ingot-opt %s -llm-verify-model -split-input-file -verify-diagnostics -o /dev/null

// A correct model, tied head: no diagnostic.
llm.config "m" arch "llama" kv f16 {hidden = 64 : i64, layers = 1 : i64, max_context = 128 : i64, vocab = 96 : i64}
llm.param @t : !qfmt.packed<96x64, q8_0, row> from q8_0 [#llm.ext<0, 0, 6528>] rows [96]
llm.step @step(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x96xf32> {
  %x = llm.embed %ids, @t : tensor<?x64xf32>
  %e = llm.layer_end %x {layer = 0 : i64} : tensor<?x64xf32>
  %l = llm.logits %e, @t : tensor<?x64xf32> -> tensor<?x96xf32>
  llm.return %l : tensor<?x96xf32>
}

// -----

// expected-error @+1 {{model_c1: a model needs one llm.config and at least one llm.step}}
module {
}

// -----

llm.config "m" arch "llama" kv f16 {hidden = 64 : i64, layers = 1 : i64, max_context = 128 : i64, vocab = 96 : i64}
llm.param @t : !qfmt.packed<96x32, q8_0, row> from q8_0 [#llm.ext<0, 0, 3264>] rows [96]
llm.step @step(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x96xf32> {
  // expected-error @+1 {{model_c2: the embedding @t is not as wide as the hidden state, 64}}
  %x = llm.embed %ids, @t : tensor<?x32xf32>
  %e = llm.layer_end %x {layer = 0 : i64} : tensor<?x32xf32>
  %l = llm.logits %e, @t : tensor<?x32xf32> -> tensor<?x96xf32>
  llm.return %l : tensor<?x96xf32>
}

// -----

llm.config "m" arch "llama" kv f16 {hidden = 64 : i64, layers = 1 : i64, max_context = 128 : i64, vocab = 96 : i64}
llm.param @t : !qfmt.packed<80x64, q8_0, row> from q8_0 [#llm.ext<0, 0, 5440>] rows [80]
// expected-error @+1 {{model_c2: the logits are not as wide as the vocabulary, 96}}
llm.step @step(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x80xf32> {
  %x = llm.embed %ids, @t : tensor<?x64xf32>
  %e = llm.layer_end %x {layer = 0 : i64} : tensor<?x64xf32>
  %l = llm.logits %e, @t : tensor<?x64xf32> -> tensor<?x80xf32>
  llm.return %l : tensor<?x80xf32>
}

// -----

llm.config "m" arch "llama" kv f16 {hidden = 64 : i64, layers = 1 : i64, max_context = 128 : i64, vocab = 96 : i64}
llm.param @t : !qfmt.packed<96x64, q8_0, row> from q8_0 [#llm.ext<0, 0, 6528>] rows [96]
llm.step @step(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x96xf32> {
  %x = llm.embed %ids, @t : tensor<?x64xf32>
  // expected-error @+1 {{model_c3: end of layer 1 where layer 0 of 1 is expected}}
  %e = llm.layer_end %x {layer = 1 : i64} : tensor<?x64xf32>
  %l = llm.logits %e, @t : tensor<?x64xf32> -> tensor<?x96xf32>
  llm.return %l : tensor<?x96xf32>
}

// -----

llm.config "m" arch "llama" kv f16 {hidden = 64 : i64, layers = 1 : i64, max_context = 128 : i64, vocab = 96 : i64}
llm.param @t : !qfmt.packed<96x64, q8_0, row> from q8_0 [#llm.ext<0, 0, 6528>] rows [96]
// expected-error @+1 {{model_c3: 1 layers are stated, 0 end}}
llm.step @step(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x96xf32> {
  %x = llm.embed %ids, @t : tensor<?x64xf32>
  %l = llm.logits %x, @t : tensor<?x64xf32> -> tensor<?x96xf32>
  llm.return %l : tensor<?x96xf32>
}

// -----

llm.config "m" arch "llama" kv f16 {hidden = 64 : i64, layers = 1 : i64, max_context = 128 : i64, vocab = 96 : i64}
llm.param @t : !qfmt.packed<96x64, q8_0, row> from q8_0 [#llm.ext<0, 0, 6528>] rows [96]
llm.step @step(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x96xf32> {
  %x = llm.embed %ids, @t : tensor<?x64xf32>
  %c = llm.kv_append %x, %x, %b : tensor<?x64xf32>, tensor<?x64xf32> -> !llm.kv<layer = 0, heads = 4, dim = 16, v_dim = 16, dtype = f32>
  // expected-error @+1 {{model_c4: the cache of layer 0 is appended to twice}}
  %d = llm.kv_append %x, %x, %b : tensor<?x64xf32>, tensor<?x64xf32> -> !llm.kv<layer = 0, heads = 4, dim = 16, v_dim = 16, dtype = f32>
  %e = llm.layer_end %x {layer = 0 : i64} : tensor<?x64xf32>
  %l = llm.logits %e, @t : tensor<?x64xf32> -> tensor<?x96xf32>
  llm.return %l : tensor<?x96xf32>
}

// -----

llm.config "m" arch "llama" kv f16 {hidden = 64 : i64, layers = 1 : i64, max_context = 128 : i64, vocab = 96 : i64}
llm.param @t : !qfmt.packed<96x64, q8_0, row> from q8_0 [#llm.ext<0, 0, 6528>] rows [96]
llm.step @step(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x96xf32> {
  %x = llm.embed %ids, @t : tensor<?x64xf32>
  // expected-error @+1 {{model_c4: the model has no layer 1}}
  %c = llm.kv_append %x, %x, %b : tensor<?x64xf32>, tensor<?x64xf32> -> !llm.kv<layer = 1, heads = 4, dim = 16, v_dim = 16, dtype = f32>
  %e = llm.layer_end %x {layer = 0 : i64} : tensor<?x64xf32>
  %l = llm.logits %e, @t : tensor<?x64xf32> -> tensor<?x96xf32>
  llm.return %l : tensor<?x96xf32>
}

// -----

llm.config "m" arch "llama" kv f16 {hidden = 64 : i64, layers = 1 : i64, max_context = 128 : i64, vocab = 96 : i64}
llm.param @t : !qfmt.packed<96x64, q8_0, row> from q8_0 [#llm.ext<0, 0, 6528>] rows [96]
// expected-error @+1 {{model_c5: parameter 'unused' is never used}}
llm.param @unused : !qfmt.packed<1x64, f32, row> from f32 [#llm.ext<0, 0, 256>] rows [64]
llm.step @step(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x96xf32> {
  %x = llm.embed %ids, @t : tensor<?x64xf32>
  %e = llm.layer_end %x {layer = 0 : i64} : tensor<?x64xf32>
  %l = llm.logits %e, @t : tensor<?x64xf32> -> tensor<?x96xf32>
  llm.return %l : tensor<?x96xf32>
}

// -----

llm.config "m" arch "llama" kv f16 {hidden = 64 : i64, layers = 1 : i64, max_context = 128 : i64, vocab = 96 : i64}
llm.param @t : !qfmt.packed<96x64, q8_0, row> from q8_0 [#llm.ext<0, 0, 6528>] rows [96]
// expected-error @+1 {{model_c6: parameter 'g' is used more than once in a step}}
llm.param @g : !qfmt.packed<1x64, f32, row> from f32 [#llm.ext<0, 0, 256>] rows [64]
llm.step @step(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x96xf32> {
  %x = llm.embed %ids, @t : tensor<?x64xf32>
  %n = llm.rms_norm %x, @g {eps = 1.0e-5 : f32} : tensor<?x64xf32>
  // expected-note @+1 {{used again here}}
  %m = llm.rms_norm %n, @g {eps = 1.0e-5 : f32} : tensor<?x64xf32>
  %e = llm.layer_end %m {layer = 0 : i64} : tensor<?x64xf32>
  %l = llm.logits %e, @t : tensor<?x64xf32> -> tensor<?x96xf32>
  llm.return %l : tensor<?x96xf32>
}
