// RUN: ingot-opt %s -llm-plan-kv="kv-dtype=bf16 context=64 max-seqs=4" | FileCheck %s
// RUN: ingot-opt %s -llm-plan-kv | FileCheck %s --check-prefix=KEEP
// RUN: ingot-opt %s -llm-plan-kv=kv-dtype=int8 | FileCheck %s --check-prefix=INT8
// RUN: not ingot-opt %s -llm-plan-kv=kv-dtype=i8 2>&1 | FileCheck %s --check-prefix=DTYPE
// RUN: not ingot-opt %s -llm-plan-kv=context=129 2>&1 | FileCheck %s --check-prefix=CTX
// RUN: not ingot-opt %s -llm-plan-kv=page=32 2>&1 | FileCheck %s --check-prefix=PAGE
// RUN: not ingot-opt %s -llm-plan-kv=max-seqs=-1 2>&1 | FileCheck %s --check-prefix=SEQS

// CHECK: llm.config "m" arch "llama" kv bf16 {{{.*}}max_context = 64 : i64, max_seqs = 4 : i64
// KEEP: llm.config "m" arch "llama" kv f16 {{{.*}}max_context = 128 : i64, vocab
// INT8: llm.config "m" arch "llama" kv int8
// DTYPE: error: kv-dtype must be f32, f16, bf16 or int8, got 'i8'
// CTX: error: context must lie in 1..128, what the model supports; got 129
// PAGE: error: page must be 16, got 32
// SEQS: error: max-seqs must be positive, got -1
llm.config "m" arch "llama" kv f16 {hidden = 64 : i64, layers = 1 : i64, max_context = 128 : i64, vocab = 96 : i64}
llm.param @t : !qfmt.packed<64x64, q8_0, row> from q8_0 [#llm.ext<0, 0, 4352>] rows [64]
llm.step @step(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x64xf32> {
  %x = llm.embed %ids, @t : tensor<?x64xf32>
  // CHECK: llm.kv_append {{.*}} -> !llm.kv<layer = 0, heads = 4, dim = 16, v_dim = 16, dtype = bf16>
  // KEEP: llm.kv_append {{.*}} -> !llm.kv<layer = 0, heads = 4, dim = 16, v_dim = 16, dtype = f16>
  // INT8: llm.kv_append {{.*}} -> !llm.kv<layer = 0, heads = 4, dim = 16, v_dim = 16, dtype = int8>
  %c = llm.kv_append %x, %x, %b : tensor<?x64xf32>, tensor<?x64xf32> -> !llm.kv<layer = 0, heads = 4, dim = 16, v_dim = 16, dtype = f32>
  // CHECK: llm.attention {{.*}} mask = #llm.mask<causal, window = 0>{{.*}} dtype = bf16>
  // KEEP: llm.attention {{.*}} mask = #llm.mask<causal, window = 64>{{.*}} dtype = f16>
  %a = llm.attention %x, %c, %b {head_dim = 16 : i64, kv_heads = 4 : i64, mask = #llm.mask<causal, window = 64>, q_heads = 4 : i64, scale = 0.25 : f32} : tensor<?x64xf32>, !llm.kv<layer = 0, heads = 4, dim = 16, v_dim = 16, dtype = f32> -> tensor<?x64xf32>
  // CHECK: llm.attention {{.*}} mask = #llm.mask<causal, window = 63>
  %d = llm.attention %x, %c, %b {head_dim = 16 : i64, kv_heads = 4 : i64, mask = #llm.mask<causal, window = 63>, q_heads = 4 : i64, scale = 0.25 : f32} : tensor<?x64xf32>, !llm.kv<layer = 0, heads = 4, dim = 16, v_dim = 16, dtype = f32> -> tensor<?x64xf32>
  llm.return %d : tensor<?x64xf32>
}
