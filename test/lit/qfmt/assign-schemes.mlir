// RUN: ingot-opt %s -qfmt-assign-schemes=scheme=f32 | FileCheck %s --check-prefix=F32
// RUN: ingot-opt %s -qfmt-assign-schemes | FileCheck %s --check-prefix=FILE
// RUN: not ingot-opt %s -qfmt-assign-schemes=scheme=q3 2>&1 | FileCheck %s --check-prefix=BAD

// BAD: error: scheme must be file or f32, got 'q3'
// F32: llm.param @a : !qfmt.packed<64x64, f32, row> from q8_0
// FILE: llm.param @a : !qfmt.packed<64x64, q8_0, row> from q8_0
llm.param @a : !qfmt.packed<64x64, q8_0, row> from q8_0 [#llm.ext<0, 0, 4352>] rows [64]
// F32: llm.param @b : !qfmt.packed<64x64, f32, row> from bf16
// FILE: llm.param @b : !qfmt.packed<64x64, bf16, row> from bf16
llm.param @b : !qfmt.packed<64x64, f32, row> from bf16 [#llm.ext<0, 0, 8192>] rows [64]
// Vectors are f32 either way.
// F32: llm.param @v : !qfmt.packed<1x64, f32, row> from f16
// FILE: llm.param @v : !qfmt.packed<1x64, f32, row> from f16
llm.param @v : !qfmt.packed<1x64, f32, row> from f16 [#llm.ext<0, 0, 128>] rows [64]
