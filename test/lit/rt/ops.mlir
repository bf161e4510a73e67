// RUN: ingot-opt %s | FileCheck %s
// RUN: ingot-opt %s --verify-roundtrip -o /dev/null
// RUN: ingot-opt %s --emit-bytecode | ingot-opt | FileCheck %s
// RUN: ingot-opt %s --mlir-print-op-generic | ingot-opt | FileCheck %s

// CHECK: rt.module "vnni" {hidden = 64 : i64, layers = 1 : i64, max_seqs = 4 : i64, positions = 128 : i64, vocab = 96 : i64}
rt.module "vnni" {hidden = 64 : i64, layers = 1 : i64, max_seqs = 4 : i64, positions = 128 : i64, vocab = 96 : i64}
// CHECK: rt.kv_layer 0 "bf16" {dim = 32 : i64, heads = 2 : i64, page_bytes = 4096 : i64, v_dim = 32 : i64, window = 48 : i64}
rt.kv_layer 0 "bf16" {heads = 2 : i64, dim = 32 : i64, v_dim = 32 : i64, window = 48 : i64, page_bytes = 4096 : i64}
// CHECK: rt.kv_layer 1 "int8" {{.*}}page_bytes = 2304
rt.kv_layer 1 "int8" {heads = 2 : i64, dim = 32 : i64, v_dim = 32 : i64, window = 0 : i64, page_bytes = 2304 : i64}
// CHECK: rt.rope 0 "r" {inv_freq = array<f64: 1.000000e+00, 5.000000e-01>, scale = 1.000000e+00 : f64}
rt.rope 0 "r" {inv_freq = array<f64: 1.0, 0.5>, scale = 1.0 : f64}
// CHECK: rt.weight @w at 64 bytes 256
rt.weight @w at 64 bytes 256
// CHECK: rt.program @step_m4 attributes {alloc_rows = 4 : i64, m_class = 4 : i64, max_out = 4 : i64, max_rows = 4 : i64, min_rows = 1 : i64} {
rt.program @step_m4 attributes {m_class = 4 : i64, min_rows = 1 : i64, max_rows = 4 : i64, alloc_rows = 4 : i64, max_out = 4 : i64} {
  // CHECK-NEXT: %[[A:.*]] = rt.buffer arena 1024 at -1 "x"
  %0 = rt.buffer arena 1024 at -1 "x"
  // CHECK-NEXT: %[[B:.*]] = rt.buffer private 1024 at 64 "y" out_rows
  %1 = rt.buffer private 1024 at 64 "y" out_rows
  // CHECK-NEXT: rt.stage 0 {
  rt.stage 0 {
    // CHECK-NEXT: rt.launch @k(%[[A]]) weights [@w] outs 1 {kv_layer = 0 : i64, kv_write, layer = 3 : i64}
    rt.launch @k(%0) weights [@w] outs 1 {kv_layer = 0 : i64, layer = 3 : i64, kv_write}
    // CHECK-NEXT: rt.launch @n(%[[A]], %[[B]]) weights [] outs 1 replicated
    rt.launch @n(%0, %1) weights [] outs 1 replicated
    // CHECK-NEXT: rt.tap layer 3 %[[A]] {stride = 64 : i64, width = 60 : i64}
    rt.tap layer 3 %0 {width = 60 : i64, stride = 64 : i64}
  }
  // CHECK: rt.logits %[[B]] {stride = 64 : i64}
  rt.logits %1 {stride = 64 : i64}
}
