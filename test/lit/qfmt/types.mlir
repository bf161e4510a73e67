// RUN: ingot-opt %s -allow-unregistered-dialect | FileCheck %s
// RUN: ingot-opt %s -allow-unregistered-dialect -verify-roundtrip -o /dev/null
// RUN: ingot-opt %s -allow-unregistered-dialect -emit-bytecode | ingot-opt -allow-unregistered-dialect | FileCheck %s

// CHECK: !qfmt.packed<960x576, q4_1, n16>
"test.use"() {t = !qfmt.packed<960x576, q4_1, n16>} : () -> ()
// CHECK: !qfmt.packed<1x576, f32, row>
"test.use"() {t = !qfmt.packed<1x576, f32, row>} : () -> ()
// CHECK: !qfmt.packed<3x7, bf16, row>, !qfmt.packed<3x7, f16, n16>
"test.use"() {t = [!qfmt.packed<3x7, bf16, row>, !qfmt.packed<3x7, f16, n16>]} : () -> ()
// CHECK: [#qfmt.scheme<q8_0>, #qfmt.scheme<q4_0>, #qfmt.scheme<q5_0>, #qfmt.scheme<q5_1>, #qfmt.scheme<q4_k>, #qfmt.scheme<q5_k>, #qfmt.scheme<q6_k>]
"test.use"() {s = [#qfmt.scheme<q8_0>, #qfmt.scheme<q4_0>, #qfmt.scheme<q5_0>, #qfmt.scheme<q5_1>, #qfmt.scheme<q4_k>, #qfmt.scheme<q5_k>, #qfmt.scheme<q6_k>]} : () -> ()
// CHECK: [#qfmt.layout<row>, #qfmt.layout<n16>]
"test.use"() {s = [#qfmt.layout<row>, #qfmt.layout<n16>]} : () -> ()
// CHECK: [#qfmt.act<f32>, #qfmt.act<i8, group = 32, block = 12>]
"test.use"() {s = [#qfmt.act<f32>, #qfmt.act<i8, group = 32, block = 12>]} : () -> ()
