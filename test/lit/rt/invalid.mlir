// RUN: ingot-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{page_bytes must be 4096: 16 tokens of K and V of 2 heads in f16}}
rt.kv_layer 0 "f16" {heads = 2 : i64, dim = 32 : i64, v_dim = 32 : i64, window = 0 : i64, page_bytes = 2048 : i64}

// -----
// With the scales: 2 * (16 * 64 + 2 * 16 * 4).
// expected-error @+1 {{page_bytes must be 2304: 16 tokens of K and V of 2 heads in int8}}
rt.kv_layer 0 "int8" {heads = 2 : i64, dim = 32 : i64, v_dim = 32 : i64, window = 0 : i64, page_bytes = 2048 : i64}

// -----
// expected-error @+1 {{dtype must be f32, f16, bf16 or int8, not 'i8'}}
rt.kv_layer 0 "i8" {heads = 2 : i64, dim = 32 : i64, v_dim = 32 : i64, window = 0 : i64, page_bytes = 2048 : i64}

// -----
// expected-error @+1 {{needs 1 <= min_rows <= max_rows <= alloc_rows}}
rt.program @p attributes {m_class = 4 : i64, min_rows = 5 : i64, max_rows = 4 : i64, alloc_rows = 4 : i64, max_out = 4 : i64} {
  %0 = rt.buffer arena 1024 at -1 "x"
  rt.logits %0 {stride = 64 : i64}
}

// -----
// expected-error @+1 {{needs 1 <= max_out <= max_rows}}
rt.program @p attributes {m_class = 4 : i64, min_rows = 1 : i64, max_rows = 4 : i64, alloc_rows = 4 : i64, max_out = 5 : i64} {
  %0 = rt.buffer arena 1024 at -1 "x"
  rt.logits %0 {stride = 64 : i64}
}

// -----
// expected-error @+1 {{has no rt.logits}}
rt.program @p attributes {m_class = 1 : i64, min_rows = 1 : i64, max_rows = 1 : i64, alloc_rows = 1 : i64, max_out = 1 : i64} {
}

// -----
rt.program @p attributes {m_class = 1 : i64, min_rows = 1 : i64, max_rows = 1 : i64, alloc_rows = 1 : i64, max_out = 1 : i64} {
  // expected-error @+1 {{offset must be -1 or a multiple of 64, not 32}}
  %0 = rt.buffer arena 1024 at 32 "x"
  rt.logits %0 {stride = 64 : i64}
}

// -----
rt.program @p attributes {m_class = 1 : i64, min_rows = 1 : i64, max_rows = 1 : i64, alloc_rows = 1 : i64, max_out = 1 : i64} {
  // expected-error @+1 {{unknown word 'heap'}}
  %0 = rt.buffer heap 1024 at 0 "x"
  rt.logits %0 {stride = 64 : i64}
}

// -----
rt.program @p attributes {m_class = 1 : i64, min_rows = 1 : i64, max_rows = 1 : i64, alloc_rows = 1 : i64, max_out = 1 : i64} {
  %0 = rt.buffer arena 1024 at 0 "x"
  // expected-error @+1 {{stages must be numbered 0, 1, ...; expected 0}}
  rt.stage 1 {
  }
  rt.logits %0 {stride = 64 : i64}
}

// -----
rt.program @p attributes {m_class = 1 : i64, min_rows = 1 : i64, max_rows = 1 : i64, alloc_rows = 1 : i64, max_out = 1 : i64} {
  %0 = rt.buffer arena 1024 at 0 "x"
  rt.stage 0 {
    // expected-error @+1 {{outs = 2 but there are 1 slots}}
    rt.launch @k(%0) weights [] outs 2
  }
  rt.logits %0 {stride = 64 : i64}
}

// -----
rt.program @p attributes {m_class = 1 : i64, min_rows = 1 : i64, max_rows = 1 : i64, alloc_rows = 1 : i64, max_out = 1 : i64} {
  %0 = rt.buffer arena 1024 at 0 "x"
  rt.stage 0 {
    // expected-error @+1 {{writes KV but names no kv_layer}}
    rt.launch @k(%0) weights [] outs 1 {kv_write}
  }
  rt.logits %0 {stride = 64 : i64}
}
