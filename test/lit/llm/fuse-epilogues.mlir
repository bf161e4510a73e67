// RUN: ingot-opt %s -llm-fuse-epilogues -split-input-file -mlir-print-debuginfo | FileCheck %s

llm.param @t : !qfmt.packed<96x64, q8_0, row> from q8_0 [#llm.ext<0, 0, 6528>] rows [96]
llm.param @o : !qfmt.packed<64x64, f16, row> from f16 [#llm.ext<0, 0, 8192>] rows [64]
llm.param @p : !qfmt.packed<64x64, f16, row> from f16 [#llm.ext<0, 8192, 8192>] rows [64]
llm.param @b : !qfmt.packed<1x64, f32, row> from f32 [#llm.ext<0, 0, 256>] rows [64]
llm.param @g : !qfmt.packed<1x64, f32, row> from f32 [#llm.ext<0, 0, 256>] rows [64]
// CHECK-LABEL: llm.step @fuse
llm.step @fuse(%ids: tensor<?xi32>, %batch: !llm.batch) -> tensor<?x96xf32> {
  // CHECK: %[[X:.*]] = llm.embed
  %x = llm.embed %ids, @t : tensor<?x64xf32>
  // CHECK-NEXT: %[[H:.*]] = llm.linear %[[X]], @o bias @b residual(%[[X]] : tensor<?x64xf32>) {epilogue = [#llm.epilogue<bias>, #llm.epilogue<residual>]} : tensor<?x64xf32> -> tensor<?x64xf32> loc(#[[FUSED:.*]])
  %o = llm.linear %x, @o bias @b {epilogue = [#llm.epilogue<bias>]} : tensor<?x64xf32> -> tensor<?x64xf32> loc("attn_output")
  %h = llm.add %x, %o : tensor<?x64xf32> loc("residual")
  // The producer moves to where the residual is known.
  // CHECK-NEXT: %[[U:.*]] = llm.layer_end %[[H]]
  // CHECK-NEXT: %[[V:.*]] = llm.linear %[[H]], @p residual(%[[U]] : tensor<?x64xf32>) {epilogue = [#llm.epilogue<residual>]}
  %d = llm.linear %h, @p : tensor<?x64xf32> -> tensor<?x64xf32>
  %u = llm.layer_end %h {layer = 0 : i64} : tensor<?x64xf32>
  %v = llm.add %d, %u : tensor<?x64xf32>
  // CHECK-NEXT: %[[W:.*]] = llm.rms_norm %[[V]], @g residual(%[[H]] : tensor<?x64xf32>) {eps = 9.99999997E-7 : f32}
  %n = llm.rms_norm %v, @g {eps = 1.0e-6 : f32} : tensor<?x64xf32>
  %w = llm.add %h, %n : tensor<?x64xf32>
  // CHECK-NEXT: %[[L:.*]] = llm.logits %[[W]], @t {softcap = 3.000000e+01 : f32}
  %l = llm.logits %w, @t : tensor<?x64xf32> -> tensor<?x96xf32>
  %s = llm.softcap %l {cap = 30.0 : f32} : tensor<?x96xf32>
  // CHECK-NEXT: llm.return %[[L]]
  llm.return %s : tensor<?x96xf32>
}
// CHECK-DAG: #[[A:.*]] = loc("attn_output")
// CHECK-DAG: #[[R:.*]] = loc("residual")
// CHECK-DAG: #[[FUSED]] = loc(fused[#[[A]], #[[R]]])

// -----

// A linear's softcap; then nothing: a result with two uses, a second residual, a per-head norm.
llm.param @t : !qfmt.packed<96x64, q8_0, row> from q8_0 [#llm.ext<0, 0, 6528>] rows [96]
llm.param @o : !qfmt.packed<64x64, f16, row> from f16 [#llm.ext<0, 0, 8192>] rows [64]
llm.param @p : !qfmt.packed<64x64, f16, row> from f16 [#llm.ext<0, 0, 8192>] rows [64]
llm.param @g : !qfmt.packed<1x16, f32, row> from f32 [#llm.ext<0, 0, 64>] rows [16]
// CHECK-LABEL: llm.step @nothing
llm.step @nothing(%ids: tensor<?xi32>, %batch: !llm.batch) -> tensor<?x64xf32> {
  // CHECK-NEXT: llm.embed
  %x = llm.embed %ids, @t : tensor<?x64xf32>
  // CHECK-NEXT: llm.linear %{{.*}}, @o {epilogue = [#llm.epilogue<softcap = 5.000000e+00>]}
  %o = llm.linear %x, @o : tensor<?x64xf32> -> tensor<?x64xf32>
  %c = llm.softcap %o {cap = 5.0 : f32} : tensor<?x64xf32>
  // CHECK-NEXT: llm.add
  %h = llm.add %x, %c : tensor<?x64xf32>
  // CHECK-NEXT: llm.linear %{{.*}}, @p residual(
  %p = llm.linear %h, @p residual(%h : tensor<?x64xf32>) {epilogue = [#llm.epilogue<residual>]} : tensor<?x64xf32> -> tensor<?x64xf32>
  // CHECK-NEXT: llm.add
  %y = llm.add %x, %p : tensor<?x64xf32>
  // CHECK-NEXT: llm.rms_norm %{{.*}}, @g {eps = {{.*}}, groups = 4 : i64}
  %n = llm.rms_norm %y, @g {eps = 1.0e-6 : f32, groups = 4 : i64} : tensor<?x64xf32>
  // CHECK-NEXT: llm.add
  %w = llm.add %y, %n : tensor<?x64xf32>
  // CHECK-NEXT: llm.return
  llm.return %w : tensor<?x64xf32>
}
