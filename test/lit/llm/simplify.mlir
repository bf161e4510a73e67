// RUN: ingot-opt %s -llm-simplify -split-input-file -mlir-print-debuginfo | FileCheck %s

llm.param @t : !qfmt.packed<96x64, q8_0, row> from q8_0 [#llm.ext<0, 0, 6528>] rows [96]
// CHECK: llm.param @g : {{.*}} offset_add 1.000000e+00
llm.param @g : !qfmt.packed<1x64, f32, row> from f32 [#llm.ext<0, 0, 256>] rows [64]
// CHECK-NOT: @unused
llm.param @unused : !qfmt.packed<1x64, f32, row> from f32 [#llm.ext<0, 0, 256>] rows [64]
// CHECK-LABEL: llm.step @fold
llm.step @fold(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x96xf32> {
  // CHECK: %[[X:.*]] = llm.embed %{{.*}}, @t {scale = 8.000000e+00 : f32} : tensor<?x64xf32> loc(#[[FUSED:.*]])
  %x = llm.embed %ids, @t : tensor<?x64xf32> loc("token_embd")
  %s = llm.scale %x {factor = 8.0 : f32} : tensor<?x64xf32> loc("embed_scale")
  // CHECK-NEXT: %[[N:.*]] = llm.rms_norm %[[X]], @g {eps = 9.99999997E-7 : f32} : tensor<?x64xf32>
  %n = llm.rms_norm %s, @g {eps = 1.0e-6 : f32, weight_offset = 1.0 : f32} : tensor<?x64xf32>
  %dead = llm.add %n, %n : tensor<?x64xf32>
  %dead2 = llm.softcap %dead {cap = 1.0 : f32} : tensor<?x64xf32>
  %one = llm.scale %n {factor = 1.0 : f32} : tensor<?x64xf32>
  %all = llm.slice %one {offset = 0 : i64, size = 64 : i64} : tensor<?x64xf32> -> tensor<?x64xf32>
  // CHECK-NEXT: %[[E:.*]] = llm.layer_end %[[N]]
  %e = llm.layer_end %all {layer = 0 : i64} : tensor<?x64xf32>
  // CHECK-NEXT: llm.logits %[[E]], @t
  %l = llm.logits %e, @t : tensor<?x64xf32> -> tensor<?x96xf32>
  llm.return %l : tensor<?x96xf32>
}
// CHECK-DAG: #[[A:.*]] = loc("token_embd")
// CHECK-DAG: #[[B:.*]] = loc("embed_scale")
// CHECK-DAG: #[[FUSED]] = loc(fused[#[[A]], #[[B]]])

// -----

// Nothing to do: a gamma shared by norms of different offsets, a scale that is not of an embedding, an embedding
// that others read.
llm.param @t : !qfmt.packed<96x64, q8_0, row> from q8_0 [#llm.ext<0, 0, 6528>] rows [96]
// CHECK: llm.param @g : !qfmt.packed<1x64, f32, row> from f32 [#llm.ext<0, 0, 256>] rows [64] loc
llm.param @g : !qfmt.packed<1x64, f32, row> from f32 [#llm.ext<0, 0, 256>] rows [64]
// CHECK-LABEL: llm.step @nothing
llm.step @nothing(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x96xf32> {
  // CHECK: llm.embed %{{.*}}, @t : tensor<?x64xf32>
  %x = llm.embed %ids, @t : tensor<?x64xf32>
  // CHECK-NEXT: llm.scale %{{.*}} {factor = 8.000000e+00 : f32}
  %s = llm.scale %x {factor = 8.0 : f32} : tensor<?x64xf32>
  // CHECK-NEXT: llm.rms_norm %{{.*}}, @g {eps = 9.99999997E-7 : f32, weight_offset = 1.000000e+00 : f32}
  %n = llm.rms_norm %s, @g {eps = 1.0e-6 : f32, weight_offset = 1.0 : f32} : tensor<?x64xf32>
  // CHECK-NEXT: llm.rms_norm %{{.*}}, @g {eps = 9.99999997E-7 : f32}
  %m = llm.rms_norm %n, @g {eps = 1.0e-6 : f32} : tensor<?x64xf32>
  // CHECK-NEXT: llm.add
  %h = llm.add %x, %m : tensor<?x64xf32>
  %l = llm.logits %h, @t : tensor<?x64xf32> -> tensor<?x96xf32>
  llm.return %l : tensor<?x96xf32>
}
