// RUN: ingot-opt %s -qfmt-insert-act-quant -mlir-print-debuginfo | FileCheck %s
// RUN: ingot-opt %s -qfmt-insert-act-quant -qfmt-insert-act-quant -mlir-print-debuginfo | FileCheck %s

llm.param @t : !qfmt.packed<64x64, q8_0, row> from q8_0 [#llm.ext<0, 0, 4352>] rows [64]
llm.param @a : !qfmt.packed<64x64, q4_1, row> from q4_1 [#llm.ext<0, 0, 2560>] rows [64]
llm.param @b : !qfmt.packed<64x64, q8_0, row> from q8_0 [#llm.ext<0, 0, 4352>] rows [64]
llm.param @f : !qfmt.packed<64x64, f16, row> from f16 [#llm.ext<0, 0, 8192>] rows [64]
// CHECK-LABEL: llm.step @step
llm.step @step(%ids: tensor<?xi32>, %batch: !llm.batch) -> tensor<?x64xf32> {
  // CHECK: %[[X:.*]] = llm.embed
  %x = llm.embed %ids, @t : tensor<?x64xf32> loc("embed")
  // Float weights take the rows as they are.
  // CHECK-NEXT: llm.linear %[[X]], @f : tensor<?x64xf32> -> tensor<?x64xf32>
  %f = llm.linear %x, @f : tensor<?x64xf32> -> tensor<?x64xf32>
  // CHECK-NEXT: %[[Q:.*]] = llm.quantize %[[X]] {act = #qfmt.act<i8, group = 32, block = 0>} : tensor<?x64xf32> -> !llm.act<64, <i8, group = 32, block = 0>> loc(#[[E:.*]])
  // CHECK-NEXT: %[[A:.*]] = llm.linear %[[Q]], @a : !llm.act<64, <i8, group = 32, block = 0>> -> tensor<?x64xf32>
  %a = llm.linear %x, @a : tensor<?x64xf32> -> tensor<?x64xf32>
  // The residual stays in f32; the quantized rows are shared.
  // CHECK-NEXT: %[[B:.*]] = llm.linear %[[Q]], @b residual(%[[X]] : tensor<?x64xf32>)
  %b = llm.linear %x, @b residual(%x : tensor<?x64xf32>) {epilogue = [#llm.epilogue<residual>]} : tensor<?x64xf32> -> tensor<?x64xf32>
  // CHECK-NEXT: %[[R:.*]] = llm.quantize %[[B]]
  // CHECK-NEXT: llm.logits %[[R]], @t : !llm.act<64, <i8, group = 32, block = 0>> -> tensor<?x64xf32>
  %l = llm.logits %b, @t : tensor<?x64xf32> -> tensor<?x64xf32>
  llm.return %l : tensor<?x64xf32>
}
// CHECK: #[[E]] = loc("embed")
