// RUN: ingot-opt %s -llm-specialize-steps="classes=1,8,512 gemm-block=6" | FileCheck %s
// RUN: ingot-opt %s -llm-specialize-steps | FileCheck %s --check-prefix=DEFAULT
// RUN: ingot-opt %s -llm-specialize-steps=classes=2 | ingot-opt -llm-specialize-steps=classes=4 | FileCheck %s --check-prefix=AGAIN
// RUN: not ingot-opt %s -llm-specialize-steps=classes=8,4 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: not ingot-opt %s -llm-specialize-steps=gemm-block=65 2>&1 | FileCheck %s --check-prefix=BLOCK

// ORDER: error: classes must be positive and ascending, got 4
// BLOCK: error: gemm-block must lie in 1..64, got 65
// DEFAULT: llm.step @step_m1(
// DEFAULT: llm.step @step_m2(
// DEFAULT: llm.step @step_m4(
// DEFAULT: llm.step @step_m8(
// DEFAULT: llm.step @step_m512(
// DEFAULT: act = #qfmt.act<i8, group = 32, block = 12>
// A step that has its rows is left alone.
// AGAIN: llm.step @step_m2(
// AGAIN-NOT: llm.step

llm.param @t : !qfmt.packed<64x64, q8_0, row> from q8_0 [#llm.ext<0, 0, 4352>] rows [64]
// CHECK: llm.step @step_m1({{.*}} attributes {rows = 1 : i64}
// CHECK: llm.quantize {{.*}} block = 1>} : tensor<?x64xf32> -> !llm.act<64, <i8, group = 32, block = 1>>
// CHECK: llm.logits {{.*}} : !llm.act<64, <i8, group = 32, block = 1>>
// CHECK: llm.step @step_m8({{.*}} attributes {rows = 8 : i64}
// CHECK: llm.quantize {{.*}} block = 8>}
// CHECK: llm.step @step_m512({{.*}} attributes {rows = 512 : i64}
// CHECK: llm.quantize {{.*}} block = 6>}
// CHECK-NOT: llm.step
llm.step @step(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x64xf32> {
  %x = llm.embed %ids, @t : tensor<?x64xf32>
  %q = llm.quantize %x {act = #qfmt.act<i8, group = 32, block = 0>} : tensor<?x64xf32> -> !llm.act<64, <i8, group = 32, block = 0>>
  %l = llm.logits %q, @t : !llm.act<64, <i8, group = 32, block = 0>> -> tensor<?x64xf32>
  llm.return %l : tensor<?x64xf32>
}
