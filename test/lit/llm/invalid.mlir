// RUN: ingot-opt %s -split-input-file -verify-diagnostics -allow-unregistered-dialect

// expected-error @+1 {{config_c1: layers must be positive, got 0}}
llm.config "m" arch "llama" kv f16 {hidden = 64 : i64, layers = 0 : i64, max_context = 128 : i64, vocab = 96 : i64}

// -----

llm.config "m" arch "llama" kv f16 {hidden = 64 : i64, layers = 1 : i64, max_context = 128 : i64, vocab = 96 : i64}
// expected-error @+1 {{config_c2: the module already has an llm.config}}
llm.config "n" arch "llama" kv f16 {hidden = 64 : i64, layers = 1 : i64, max_context = 128 : i64, vocab = 96 : i64}

// -----

// expected-error @+1 {{param_c1: 1 sources with 2 extents}}
llm.param @w : !qfmt.packed<64x64, f32, row> from f32 [#llm.ext<0, 0, 16384>] rows [32, 32]

// -----

// expected-error @+1 {{param_c2: extents add up to 32, the type has 64}}
llm.param @w : !qfmt.packed<64x64, f32, row> from f32 [#llm.ext<0, 0, 8192>] rows [32]

// -----

// expected-error @+1 {{param_c2: extents must be positive}}
llm.param @w : !qfmt.packed<64x64, f32, row> from f32 [#llm.ext<0, 0, 8192>] rows [-64]

// -----

// expected-error @+1 {{param_c3: #llm.ext<0, 0, 100> holds 100 bytes, the shape needs 16384}}
llm.param @w : !qfmt.packed<64x64, f32, row> from f32 [#llm.ext<0, 0, 100>] rows [64]

// -----

// expected-error @+1 {{q4_k does not fit the shape}}
llm.param @w : !qfmt.packed<64x64, f32, row> from q4_k [#llm.ext<0, 0, 100>] rows [64]

// -----

// expected-error @+1 {{param_c4: several sources need a recipe}}
llm.param @w : !qfmt.packed<64x64, f32, row> from f32 [#llm.ext<0, 0, 8192>, #llm.ext<0, 8192, 8192>] rows [32, 32]

// -----

// expected-error @+1 {{param_c4: interleave16 needs two sources of equal extents}}
llm.param @w : !qfmt.packed<48x64, f32, row> from f32 [#llm.ext<0, 0, 6144>, #llm.ext<0, 8192, 6144>] rows [24, 24] recipe interleave16

// -----

// expected-error @+1 {{param_c4: concat needs at least two sources}}
llm.param @w : !qfmt.packed<64x64, f32, row> from f32 [#llm.ext<0, 0, 16384>] rows [64] recipe concat

// -----

// expected-error @+1 {{param_c5: a q8_0 source cannot become q4_0}}
llm.param @w : !qfmt.packed<64x64, q4_0, row> from q8_0 [#llm.ext<0, 0, 4352>] rows [64]

// -----

// expected-error @+1 {{param_c6: a vector must be f32 in row layout}}
llm.param @w : !qfmt.packed<1x64, f16, row> from f16 [#llm.ext<0, 0, 128>] rows [64]

// -----

// expected-error @+1 {{param_c7: offset_add must be finite and is for vectors only}}
llm.param @w : !qfmt.packed<64x64, f32, row> from f32 [#llm.ext<0, 0, 16384>] rows [64] offset_add 1.0

// -----

// expected-error @+1 {{param_c8: 2 tensor names for 1 sources}}
llm.param @w : !qfmt.packed<64x64, f32, row> from f32 [#llm.ext<0, 0, 16384>] rows [64] tensors ["a", "b"]

// -----

// expected-error @+1 {{ext_c1: file and offset must not be negative}}
llm.param @w : !qfmt.packed<64x64, f32, row> from f32 [#llm.ext<0, 9223372036854775807, 16384>] rows [64]

// -----

// expected-error @+1 {{step_c1: expected (tensor<?xi32>, !llm.batch) -> tensor<?xVxf32>}}
llm.step @s(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<4x96xf32> {
  %x = "test.none"() : () -> tensor<?x96xf32>
  llm.return %x : tensor<?x96xf32>
}

// -----

llm.param @t : !qfmt.packed<96x64, f32, row> from f32 [#llm.ext<0, 0, 24576>] rows [96]
llm.step @s(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x96xf32> {
  %x = llm.embed %ids, @t : tensor<?x64xf32>
  // expected-error @+1 {{return_c1: expected 'tensor<?x96xf32>', got 'tensor<?x64xf32>'}}
  llm.return %x : tensor<?x64xf32>
}

// -----

llm.step @s(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x96xf32> {
  // expected-error @+1 {{names @t, which is no llm.param}}
  %x = llm.embed %ids, @t : tensor<?x96xf32>
  llm.return %x : tensor<?x96xf32>
}

// -----

// expected-note @+1 {{parameter is here}}
llm.param @t : !qfmt.packed<96x64, f32, row> from f32 [#llm.ext<0, 0, 24576>] rows [96]
llm.step @s(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x96xf32> {
  // expected-error @+1 {{embed_c1: the result is 96 wide, the table is '!qfmt.packed<96x64, f32, row>'}}
  %x = llm.embed %ids, @t : tensor<?x96xf32>
  llm.return %x : tensor<?x96xf32>
}

// -----

llm.param @t : !qfmt.packed<96x64, f32, row> from f32 [#llm.ext<0, 0, 24576>] rows [96]
llm.step @s(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x64xf32> {
  // expected-error @+1 {{embed_c2: scale must be finite and not 0}}
  %x = llm.embed %ids, @t {scale = 0.0 : f32} : tensor<?x64xf32>
  llm.return %x : tensor<?x64xf32>
}

// -----

llm.param @t : !qfmt.packed<96x64, f32, row> from f32 [#llm.ext<0, 0, 24576>] rows [96]
// expected-note @+1 {{parameter is here}}
llm.param @w : !qfmt.packed<96x32, f32, row> from f32 [#llm.ext<0, 0, 12288>] rows [96]
llm.step @s(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x96xf32> {
  %x = llm.embed %ids, @t : tensor<?x64xf32>
  // expected-error @+1 {{linear_c1: x is 64 wide, the weight is '!qfmt.packed<96x32, f32, row>'}}
  %y = llm.linear %x, @w : tensor<?x64xf32> -> tensor<?x96xf32>
  llm.return %y : tensor<?x96xf32>
}

// -----

// expected-note @+1 {{parameter is here}}
llm.param @t : !qfmt.packed<96x64, f32, row> from f32 [#llm.ext<0, 0, 24576>] rows [96]
llm.step @s(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x48xf32> {
  %x = llm.embed %ids, @t : tensor<?x64xf32>
  // expected-error @+1 {{linear_c2: the result must be 96 wide, got 48}}
  %y = llm.linear %x, @t : tensor<?x64xf32> -> tensor<?x48xf32>
  llm.return %y : tensor<?x48xf32>
}

// -----

llm.param @t : !qfmt.packed<96x64, f32, row> from f32 [#llm.ext<0, 0, 24576>] rows [96]
// expected-note @+1 {{parameter is here}}
llm.param @b : !qfmt.packed<1x64, f32, row> from f32 [#llm.ext<0, 0, 256>] rows [64]
llm.step @s(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x96xf32> {
  %x = llm.embed %ids, @t : tensor<?x64xf32>
  // expected-error @+1 {{linear_c3: bias must be a vector of 96 elements, got '!qfmt.packed<1x64, f32, row>'}}
  %y = llm.linear %x, @t bias @b {epilogue = [#llm.epilogue<bias>]} : tensor<?x64xf32> -> tensor<?x96xf32>
  llm.return %y : tensor<?x96xf32>
}

// -----

llm.param @t : !qfmt.packed<96x64, f32, row> from f32 [#llm.ext<0, 0, 24576>] rows [96]
llm.step @s(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x96xf32> {
  %x = llm.embed %ids, @t : tensor<?x64xf32>
  // expected-error @+1 {{linear_c4: residual must have the result's type}}
  %y = llm.linear %x, @t residual(%x : tensor<?x64xf32>) {epilogue = [#llm.epilogue<residual>]} : tensor<?x64xf32> -> tensor<?x96xf32>
  llm.return %y : tensor<?x96xf32>
}

// -----

llm.param @t : !qfmt.packed<96x64, f32, row> from f32 [#llm.ext<0, 0, 24576>] rows [96]
llm.step @s(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x96xf32> {
  %x = llm.embed %ids, @t : tensor<?x64xf32>
  // expected-error @+1 {{linear_c5: epilogues must be in the order bias, residual, gate, softcap}}
  %y = llm.linear %x, @t {epilogue = [#llm.epilogue<softcap = 3.0>, #llm.epilogue<gate = silu>]} : tensor<?x64xf32> -> tensor<?x96xf32>
  llm.return %y : tensor<?x96xf32>
}

// -----

llm.param @t : !qfmt.packed<96x64, f32, row> from f32 [#llm.ext<0, 0, 24576>] rows [96]
llm.step @s(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x96xf32> {
  %x = llm.embed %ids, @t : tensor<?x64xf32>
  // expected-error @+1 {{linear_c5: bias must be given exactly when the epilogues name it}}
  %y = llm.linear %x, @t {epilogue = [#llm.epilogue<bias>]} : tensor<?x64xf32> -> tensor<?x96xf32>
  llm.return %y : tensor<?x96xf32>
}

// -----

// expected-note @+1 {{parameter is here}}
llm.param @t : !qfmt.packed<96x64, f32, row> from f32 [#llm.ext<0, 0, 24576>] rows [96]
llm.step @s(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x48xf32> {
  %x = llm.embed %ids, @t : tensor<?x64xf32>
  // expected-error @+1 {{linear_c6: gate needs a weight made by interleave16}}
  %y = llm.linear %x, @t {epilogue = [#llm.epilogue<gate = silu>]} : tensor<?x64xf32> -> tensor<?x48xf32>
  llm.return %y : tensor<?x48xf32>
}

// -----

// expected-note @+1 {{parameter is here}}
llm.param @t : !qfmt.packed<96x64, f32, row> from f32 [#llm.ext<0, 0, 24576>] rows [96]
llm.step @s(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x96xf32> {
  %x = llm.embed %ids, @t : tensor<?x64xf32>
  %q = llm.quantize %x {act = #qfmt.act<i8, group = 32, block = 1>} : tensor<?x64xf32> -> !llm.act<64, <i8, group = 32, block = 1>>
  // expected-error @+1 {{linear_c7: quantized activations need a quantized weight}}
  %y = llm.linear %q, @t : !llm.act<64, <i8, group = 32, block = 1>> -> tensor<?x96xf32>
  llm.return %y : tensor<?x96xf32>
}

// -----

// expected-note @+1 {{parameter is here}}
llm.param @t : !qfmt.packed<96x64, f32, row> from f32 [#llm.ext<0, 0, 24576>] rows [96]
llm.step @s(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x96xf32> {
  %x = llm.embed %ids, @t : tensor<?x64xf32>
  %q = llm.quantize %x {act = #qfmt.act<i8, group = 32, block = 1>} : tensor<?x64xf32> -> !llm.act<64, <i8, group = 32, block = 1>>
  // expected-error @+1 {{logits_c4: quantized activations need a quantized weight}}
  %y = llm.logits %q, @t : !llm.act<64, <i8, group = 32, block = 1>> -> tensor<?x96xf32>
  llm.return %y : tensor<?x96xf32>
}

// -----

// expected-note @+1 {{parameter is here}}
llm.param @t : !qfmt.packed<96x64, f32, row> from f32 [#llm.ext<0, 0, 24576>] rows [96]
llm.step @s(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x64xf32> {
  %x = llm.embed %ids, @t : tensor<?x64xf32>
  // expected-error @+1 {{logits_c2: the result is 64 wide}}
  %y = llm.logits %x, @t : tensor<?x64xf32> -> tensor<?x64xf32>
  llm.return %y : tensor<?x64xf32>
}

// -----

llm.param @t : !qfmt.packed<96x64, f32, row> from f32 [#llm.ext<0, 0, 24576>] rows [96]
llm.step @s(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x96xf32> {
  %x = llm.embed %ids, @t : tensor<?x64xf32>
  // expected-error @+1 {{logits_c3: softcap must be finite and not negative}}
  %y = llm.logits %x, @t {softcap = -1.0 : f32} : tensor<?x64xf32> -> tensor<?x96xf32>
  llm.return %y : tensor<?x96xf32>
}

// -----

// expected-note @+1 {{parameter is here}}
llm.param @g : !qfmt.packed<1x64, f32, row> from f32 [#llm.ext<0, 0, 256>] rows [64]
llm.param @t : !qfmt.packed<96x64, f32, row> from f32 [#llm.ext<0, 0, 24576>] rows [96]
llm.step @s(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x64xf32> {
  %x = llm.embed %ids, @t : tensor<?x64xf32>
  // expected-error @+1 {{rms_norm_c1: gamma must be a vector of 64 / 2 elements}}
  %y = llm.rms_norm %x, @g {eps = 1.0e-5 : f32, groups = 2 : i64} : tensor<?x64xf32>
  llm.return %y : tensor<?x64xf32>
}

// -----

llm.param @g : !qfmt.packed<1x64, f32, row> from f32 [#llm.ext<0, 0, 256>] rows [64]
llm.param @t : !qfmt.packed<96x64, f32, row> from f32 [#llm.ext<0, 0, 24576>] rows [96]
llm.step @s(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x64xf32> {
  %x = llm.embed %ids, @t : tensor<?x64xf32>
  // expected-error @+1 {{rms_norm_c2: eps must be positive and finite}}
  %y = llm.rms_norm %x, @g {eps = 0.0 : f32} : tensor<?x64xf32>
  llm.return %y : tensor<?x64xf32>
}

// -----

llm.param @g : !qfmt.packed<1x64, f32, row> from f32 [#llm.ext<0, 0, 256>] rows [64]
llm.param @t : !qfmt.packed<96x64, f32, row> from f32 [#llm.ext<0, 0, 24576>] rows [96]
llm.step @s(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x64xf32> {
  %x = llm.embed %ids, @t : tensor<?x64xf32>
  // expected-error @+1 {{rms_norm_c4: weight_offset must be 0 or 1}}
  %y = llm.rms_norm %x, @g {eps = 1.0 : f32, weight_offset = 0.5 : f32} : tensor<?x64xf32>
  llm.return %y : tensor<?x64xf32>
}

// -----

llm.step @s(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x64xf32> {
  %x = "test.none"() : () -> tensor<?x64xf32>
  // expected-error @+1 {{rope_c1: 3 heads of 16 do not make a row of 64}}
  %y = llm.rope %x, %b {heads = 3 : i64, rope = #llm.rope<half, head_dim = 16, rotary_dim = 4, scale = 1.0, inv_freq = [1.0, 0.1], name = "x">} : tensor<?x64xf32>
  llm.return %y : tensor<?x64xf32>
}

// -----

llm.step @s(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x64xf32> {
  %x = "test.none"() : () -> tensor<?x64xf32>
  // expected-error @+1 {{rope_attr_c2: 2 inverse frequencies expected, got 1}}
  %y = llm.rope %x, %b {heads = 4 : i64, rope = #llm.rope<half, head_dim = 16, rotary_dim = 4, scale = 1.0, inv_freq = [1.0], name = "x">} : tensor<?x64xf32>
  llm.return %y : tensor<?x64xf32>
}

// -----

llm.step @s(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x64xf32> {
  %x = "test.none"() : () -> tensor<?x64xf32>
  // expected-error @+1 {{rope_attr_c1: rotary_dim must be even and lie in 2..head_dim, got 5 of 16}}
  %y = llm.rope %x, %b {heads = 4 : i64, rope = #llm.rope<half, head_dim = 16, rotary_dim = 5, scale = 1.0, inv_freq = [1.0, 0.1], name = "x">} : tensor<?x64xf32>
  llm.return %y : tensor<?x64xf32>
}

// -----

llm.step @s(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x64xf32> {
  %x = "test.none"() : () -> tensor<?x64xf32>
  // expected-error @+1 {{kv_append_c1: k is 64 wide}}
  %c = llm.kv_append %x, %x, %b : tensor<?x64xf32>, tensor<?x64xf32> -> !llm.kv<layer = 0, heads = 3, dim = 16, v_dim = 16, dtype = f32>
  llm.return %x : tensor<?x64xf32>
}

// -----

llm.step @s(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x64xf32> {
  %x = "test.none"() : () -> tensor<?x64xf32>
  // expected-error @+1 {{kv_append_c2: v is 64 wide}}
  %c = llm.kv_append %x, %x, %b : tensor<?x64xf32>, tensor<?x64xf32> -> !llm.kv<layer = 0, heads = 4, dim = 16, v_dim = 8, dtype = f32>
  llm.return %x : tensor<?x64xf32>
}

// -----

llm.step @s(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x64xf32> {
  %x, %c = "test.none"() : () -> (tensor<?x64xf32>, !llm.kv<layer = 0, heads = 3, dim = 16, v_dim = 16, dtype = f32>)
  // expected-error @+1 {{attention_c2: 3 kv heads do not divide 4 query heads}}
  %y = llm.attention %x, %c, %b {head_dim = 16 : i64, kv_heads = 3 : i64, mask = #llm.mask<causal, window = 0>, q_heads = 4 : i64, scale = 1.0 : f32} : tensor<?x64xf32>, !llm.kv<layer = 0, heads = 3, dim = 16, v_dim = 16, dtype = f32> -> tensor<?x64xf32>
  llm.return %x : tensor<?x64xf32>
}

// -----

llm.step @s(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x64xf32> {
  %x, %c = "test.none"() : () -> (tensor<?x64xf32>, !llm.kv<layer = 0, heads = 2, dim = 16, v_dim = 16, dtype = f32>)
  // expected-error @+1 {{attention_c1: 3 heads of 16 do not make a row of 64}}
  %y = llm.attention %x, %c, %b {head_dim = 16 : i64, kv_heads = 2 : i64, mask = #llm.mask<causal, window = 0>, q_heads = 3 : i64, scale = 1.0 : f32} : tensor<?x64xf32>, !llm.kv<layer = 0, heads = 2, dim = 16, v_dim = 16, dtype = f32> -> tensor<?x64xf32>
  llm.return %x : tensor<?x64xf32>
}

// -----

llm.step @s(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x64xf32> {
  %x, %c = "test.none"() : () -> (tensor<?x64xf32>, !llm.kv<layer = 0, heads = 4, dim = 16, v_dim = 16, dtype = f32>)
  // expected-error @+1 {{attention_c3: kv_heads 2 and head_dim 16 differ from}}
  %y = llm.attention %x, %c, %b {head_dim = 16 : i64, kv_heads = 2 : i64, mask = #llm.mask<causal, window = 0>, q_heads = 4 : i64, scale = 1.0 : f32} : tensor<?x64xf32>, !llm.kv<layer = 0, heads = 4, dim = 16, v_dim = 16, dtype = f32> -> tensor<?x64xf32>
  llm.return %x : tensor<?x64xf32>
}

// -----

llm.step @s(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x64xf32> {
  %x, %c = "test.none"() : () -> (tensor<?x64xf32>, !llm.kv<layer = 0, heads = 4, dim = 16, v_dim = 8, dtype = f32>)
  // expected-error @+1 {{attention_c4: the result must be q_heads * v_dim wide, got 64}}
  %y = llm.attention %x, %c, %b {head_dim = 16 : i64, kv_heads = 4 : i64, mask = #llm.mask<causal, window = 0>, q_heads = 4 : i64, scale = 1.0 : f32} : tensor<?x64xf32>, !llm.kv<layer = 0, heads = 4, dim = 16, v_dim = 8, dtype = f32> -> tensor<?x64xf32>
  llm.return %x : tensor<?x64xf32>
}

// -----

llm.step @s(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x64xf32> {
  %x, %c = "test.none"() : () -> (tensor<?x64xf32>, !llm.kv<layer = 0, heads = 4, dim = 16, v_dim = 16, dtype = f32>)
  // expected-error @+1 {{attention_c5: scale must be positive and finite}}
  %y = llm.attention %x, %c, %b {head_dim = 16 : i64, kv_heads = 4 : i64, mask = #llm.mask<causal, window = 0>, q_heads = 4 : i64, scale = 0.0 : f32} : tensor<?x64xf32>, !llm.kv<layer = 0, heads = 4, dim = 16, v_dim = 16, dtype = f32> -> tensor<?x64xf32>
  llm.return %x : tensor<?x64xf32>
}

// -----

llm.step @s(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x64xf32> {
  %x, %c = "test.none"() : () -> (tensor<?x64xf32>, !llm.kv<layer = 0, heads = 4, dim = 16, v_dim = 16, dtype = f32>)
  // expected-error @+1 {{mask_c1: window must not be negative, got -1}}
  %y = llm.attention %x, %c, %b {head_dim = 16 : i64, kv_heads = 4 : i64, mask = #llm.mask<causal, window = -1>, q_heads = 4 : i64, scale = 1.0 : f32} : tensor<?x64xf32>, !llm.kv<layer = 0, heads = 4, dim = 16, v_dim = 16, dtype = f32> -> tensor<?x64xf32>
  llm.return %x : tensor<?x64xf32>
}

// -----

llm.step @s(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x64xf32> {
  %x = "test.none"() : () -> tensor<?x64xf32>
  // expected-error @+1 {{slice_c1: columns 40 + 32 do not lie in a row of 64}}
  %y = llm.slice %x {offset = 40 : i64, size = 32 : i64} : tensor<?x64xf32> -> tensor<?x32xf32>
  llm.return %x : tensor<?x64xf32>
}

// -----

llm.step @s(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x64xf32> {
  %x = "test.none"() : () -> tensor<?x64xf32>
  // expected-error @+1 {{slice_c2: the result must be 32 wide, got 16}}
  %y = llm.slice %x {offset = 0 : i64, size = 32 : i64} : tensor<?x64xf32> -> tensor<?x16xf32>
  llm.return %x : tensor<?x64xf32>
}

// -----

llm.step @s(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x64xf32> {
  %x = "test.none"() : () -> tensor<?x64xf32>
  // expected-error @+1 {{quantize_c1: act must be a quantized format}}
  %y = llm.quantize %x {act = #qfmt.act<f32>} : tensor<?x64xf32> -> !llm.act<64, <i8, group = 32, block = 1>>
  llm.return %x : tensor<?x64xf32>
}

// -----

llm.step @s(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x64xf32> {
  %x = "test.none"() : () -> tensor<?x64xf32>
  // expected-error @+1 {{quantize_c2: expected !llm.act<64, #qfmt.act<i8, group = 32, block = 2>>}}
  %y = llm.quantize %x {act = #qfmt.act<i8, group = 32, block = 2>} : tensor<?x64xf32> -> !llm.act<64, <i8, group = 32, block = 1>>
  llm.return %x : tensor<?x64xf32>
}

// -----

llm.step @s(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x64xf32> {
  %x = "test.none"() : () -> tensor<?x64xf32>
  // expected-error @+1 {{softcap_c1: cap must be positive and finite}}
  %y = llm.softcap %x {cap = 0.0 : f32} : tensor<?x64xf32>
  llm.return %x : tensor<?x64xf32>
}

// -----

llm.step @s(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x64xf32> {
  %x = "test.none"() : () -> tensor<?x64xf32>
  // expected-error @+1 {{scale_c1: factor must be finite}}
  %y = llm.scale %x {factor = 0x7F800000 : f32} : tensor<?x64xf32>
  llm.return %x : tensor<?x64xf32>
}

// -----

llm.step @s(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x64xf32> {
  %x = "test.none"() : () -> tensor<?x64xf32>
  // expected-error @+1 {{layer_end_c1: layer must not be negative}}
  %y = llm.layer_end %x {layer = -1 : i64} : tensor<?x64xf32>
  llm.return %x : tensor<?x64xf32>
}

// -----

// expected-note @+1 {{parameter is here}}
llm.param @t : !qfmt.packed<96x64, f32, row> from f32 [#llm.ext<0, 0, 24576>] rows [96]
llm.step @s(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x64xf32> {
  %x = "test.none"() : () -> tensor<?x64xf32>
  // expected-error @+1 {{dequant_c1: expected the shape of}}
  %y = llm.dequant @t : tensor<64x64xf32>
  llm.return %x : tensor<?x64xf32>
}

// -----

llm.step @s(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x64xf32> {
  // expected-error @+1 {{token rows tensor<?xDxf32>, but got 'tensor<?x64xf16>'}}
  %x = "llm.embed"(%ids) {table = @t} : (tensor<?xi32>) -> tensor<?x64xf16>
  llm.return %x : tensor<?x64xf16>
}
