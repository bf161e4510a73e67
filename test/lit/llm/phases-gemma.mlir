// One Gemma-like layer (norms stored as w - 1, per-head norms, post norms, a window, a quantized tied head) through the
// model, quant and shape phases: what each leaves behind is checked on the result.

// RUN: ingot-opt %s -o %t.1 -llm-verify-model -llm-simplify -llm-fuse-projections -llm-fuse-epilogues \
// RUN:   -qfmt-assign-schemes -qfmt-insert-act-quant -llm-plan-kv=context=64 -llm-specialize-steps=classes=2,512
// RUN: FileCheck %s --input-file=%t.1
// Same text again, and with canonicalize and cse between the passes: no pass depends on them.
// RUN: ingot-opt %s -o %t.2 -llm-verify-model -llm-simplify -llm-fuse-projections -llm-fuse-epilogues \
// RUN:   -qfmt-assign-schemes -qfmt-insert-act-quant -llm-plan-kv=context=64 -llm-specialize-steps=classes=2,512
// RUN: diff %t.1 %t.2
// RUN: ingot-opt %s -o %t.3 -canonicalize -cse -llm-verify-model -llm-simplify -canonicalize -llm-fuse-projections -cse \
// RUN:   -canonicalize -llm-fuse-epilogues -qfmt-assign-schemes -canonicalize -qfmt-insert-act-quant -cse \
// RUN:   -llm-plan-kv=context=64 -llm-specialize-steps=classes=2,512
// RUN: diff %t.1 %t.3
// The reference: no fusion, everything f32.
// RUN: ingot-opt %s -llm-verify-model -llm-simplify -qfmt-assign-schemes=scheme=f32 -llm-plan-kv="kv-dtype=f32" \
// RUN:   -llm-specialize-steps=classes=1 | FileCheck %s --check-prefix=REF

// CHECK: llm.config "gemma" arch "gemma3" kv f16 {{.*}}max_context = 64
// CHECK-NEXT: llm.param @embd : !qfmt.packed<96x64, q8_0, row>
// CHECK-NEXT: llm.param @b.n1 {{.*}} offset_add 1.000000e+00
// CHECK-NEXT: llm.param @b.q_k : !qfmt.packed<96x64, q5_0, row> {{.*}} rows [64, 32] recipe concat
// CHECK-NEXT: llm.param @b.v : !qfmt.packed<32x64, q8_0, row>
// CHECK-NEXT: llm.param @b.qn {{.*}} offset_add 1.000000e+00
// CHECK-NEXT: llm.param @b.kn {{.*}} offset_add 1.000000e+00
// CHECK-NEXT: llm.param @b.o
// CHECK-NEXT: llm.param @b.pn
// CHECK-NEXT: llm.param @b.n2
// CHECK-NEXT: llm.param @b.gate_up {{.*}} recipe interleave16
// CHECK-NEXT: llm.param @b.down
// CHECK-NEXT: llm.param @b.pn2
// CHECK-NEXT: llm.param @nf
// CHECK-NEXT: llm.step @step_m2(%[[IDS:.*]]: tensor<?xi32>, %[[B:.*]]: !llm.batch) -> tensor<?x96xf32> attributes {rows = 2 : i64} {
// CHECK-NEXT: %[[X:.*]] = llm.embed %[[IDS]], @embd {scale = 8.000000e+00 : f32}
// CHECK-NEXT: %[[N:.*]] = llm.rms_norm %[[X]], @b.n1 {eps = 9.99999997E-7 : f32} : tensor<?x64xf32>
// CHECK-NEXT: %[[N8:.*]] = llm.quantize %[[N]] {act = #qfmt.act<i8, group = 32, block = 2>}
// CHECK-NEXT: %[[QK:.*]] = llm.linear %[[N8]], @b.q_k
// CHECK-NEXT: %[[Q:.*]] = llm.slice %[[QK]] {offset = 0 : i64, size = 64 : i64}
// CHECK-NEXT: %[[K:.*]] = llm.slice %[[QK]] {offset = 64 : i64, size = 32 : i64}
// CHECK-NEXT: %[[V:.*]] = llm.linear %[[N8]], @b.v
// CHECK-NEXT: %[[QN:.*]] = llm.rms_norm %[[Q]], @b.qn {eps = 9.99999997E-7 : f32, groups = 4 : i64}
// CHECK-NEXT: %[[KN:.*]] = llm.rms_norm %[[K]], @b.kn {eps = 9.99999997E-7 : f32, groups = 2 : i64}
// CHECK-NEXT: %[[QR:.*]] = llm.rope %[[QN]], %[[B]]
// CHECK-NEXT: %[[KR:.*]] = llm.rope %[[KN]], %[[B]]
// CHECK-NEXT: %[[C:.*]] = llm.kv_append %[[KR]], %[[V]], %[[B]] {{.*}} dtype = f16>
// CHECK-NEXT: %[[A:.*]] = llm.attention %[[QR]], %[[C]], %[[B]] {{.*}} window = 0>
// CHECK-NEXT: %[[A8:.*]] = llm.quantize %[[A]]
// CHECK-NEXT: %[[O:.*]] = llm.linear %[[A8]], @b.o :
// CHECK-NEXT: %[[H:.*]] = llm.rms_norm %[[O]], @b.pn residual(%[[X]] : tensor<?x64xf32>)
// CHECK-NEXT: %[[M:.*]] = llm.rms_norm %[[H]], @b.n2
// CHECK-NEXT: %[[M8:.*]] = llm.quantize %[[M]]
// CHECK-NEXT: %[[S:.*]] = llm.linear %[[M8]], @b.gate_up {epilogue = [#llm.epilogue<gate = gelu_tanh>]}
// CHECK-NEXT: %[[S8:.*]] = llm.quantize %[[S]]
// CHECK-NEXT: %[[D:.*]] = llm.linear %[[S8]], @b.down :
// CHECK-NEXT: %[[Y:.*]] = llm.rms_norm %[[D]], @b.pn2 residual(%[[H]] : tensor<?x64xf32>)
// CHECK-NEXT: %[[E:.*]] = llm.layer_end %[[Y]] {layer = 0 : i64}
// CHECK-NEXT: %[[R:.*]] = llm.select_rows %[[E]], %[[B]]
// CHECK-NEXT: %[[F:.*]] = llm.rms_norm %[[R]], @nf
// CHECK-NEXT: %[[F8:.*]] = llm.quantize %[[F]]
// CHECK-NEXT: %[[L:.*]] = llm.logits %[[F8]], @embd {softcap = 3.000000e+01 : f32}
// CHECK-NEXT: llm.return %[[L]]
// CHECK: llm.step @step_m512(
// CHECK-COUNT-5: block = 12>}

// REF: llm.param @embd : !qfmt.packed<96x64, f32, row> from q8_0
// REF-COUNT-7: llm.linear {{.*}} : tensor<?x{{64|96}}xf32> -> tensor
// REF-NOT: llm.quantize

llm.config "gemma" arch "gemma3" kv f16 {hidden = 64 : i64, layers = 1 : i64, max_context = 128 : i64, vocab = 96 : i64}
llm.param @embd : !qfmt.packed<96x64, q8_0, row> from q8_0 [#llm.ext<0, 0, 6528>] rows [96]
llm.param @b.n1 : !qfmt.packed<1x64, f32, row> from f32 [#llm.ext<0, 7000, 256>] rows [64]
llm.param @b.q : !qfmt.packed<64x64, q5_0, row> from q5_0 [#llm.ext<0, 0, 2816>] rows [64]
llm.param @b.k : !qfmt.packed<32x64, q5_0, row> from q5_0 [#llm.ext<0, 2816, 1408>] rows [32]
llm.param @b.v : !qfmt.packed<32x64, q8_0, row> from q8_0 [#llm.ext<0, 4224, 2176>] rows [32]
llm.param @b.qn : !qfmt.packed<1x16, f32, row> from f32 [#llm.ext<0, 7000, 64>] rows [16]
llm.param @b.kn : !qfmt.packed<1x16, f32, row> from f32 [#llm.ext<0, 7000, 64>] rows [16]
llm.param @b.o : !qfmt.packed<64x64, q5_0, row> from q5_0 [#llm.ext<0, 0, 2816>] rows [64]
llm.param @b.pn : !qfmt.packed<1x64, f32, row> from f32 [#llm.ext<0, 7000, 256>] rows [64]
llm.param @b.n2 : !qfmt.packed<1x64, f32, row> from f32 [#llm.ext<0, 7000, 256>] rows [64]
llm.param @b.gate : !qfmt.packed<96x64, q4_0, row> from q4_0 [#llm.ext<0, 0, 3456>] rows [96]
llm.param @b.up : !qfmt.packed<96x64, q4_0, row> from q4_0 [#llm.ext<0, 3456, 3456>] rows [96]
llm.param @b.down : !qfmt.packed<64x96, q5_0, row> from q5_0 [#llm.ext<0, 0, 4224>] rows [64]
llm.param @b.pn2 : !qfmt.packed<1x64, f32, row> from f32 [#llm.ext<0, 7000, 256>] rows [64]
llm.param @nf : !qfmt.packed<1x64, f32, row> from f32 [#llm.ext<0, 7000, 256>] rows [64]

llm.step @step(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x96xf32> {
  %x0 = llm.embed %ids, @embd : tensor<?x64xf32>
  %x = llm.scale %x0 {factor = 8.0 : f32} : tensor<?x64xf32>
  %n = llm.rms_norm %x, @b.n1 {eps = 1.0e-6 : f32, weight_offset = 1.0 : f32} : tensor<?x64xf32>
  %q = llm.linear %n, @b.q : tensor<?x64xf32> -> tensor<?x64xf32>
  %k = llm.linear %n, @b.k : tensor<?x64xf32> -> tensor<?x32xf32>
  %v = llm.linear %n, @b.v : tensor<?x64xf32> -> tensor<?x32xf32>
  %qn = llm.rms_norm %q, @b.qn {eps = 1.0e-6 : f32, weight_offset = 1.0 : f32, groups = 4 : i64} : tensor<?x64xf32>
  %kn = llm.rms_norm %k, @b.kn {eps = 1.0e-6 : f32, weight_offset = 1.0 : f32, groups = 2 : i64} : tensor<?x32xf32>
  %qr = llm.rope %qn, %b {heads = 4 : i64, rope = #llm.rope<half, head_dim = 16, rotary_dim = 2, scale = 1.0, inv_freq = [1.0], name = "x">} : tensor<?x64xf32>
  %kr = llm.rope %kn, %b {heads = 2 : i64, rope = #llm.rope<half, head_dim = 16, rotary_dim = 2, scale = 1.0, inv_freq = [1.0], name = "x">} : tensor<?x32xf32>
  %c = llm.kv_append %kr, %v, %b : tensor<?x32xf32>, tensor<?x32xf32> -> !llm.kv<layer = 0, heads = 2, dim = 16, v_dim = 16, dtype = f16>
  %a = llm.attention %qr, %c, %b {head_dim = 16 : i64, kv_heads = 2 : i64, mask = #llm.mask<causal, window = 100>, q_heads = 4 : i64, scale = 0.25 : f32} : tensor<?x64xf32>, !llm.kv<layer = 0, heads = 2, dim = 16, v_dim = 16, dtype = f16> -> tensor<?x64xf32>
  %o = llm.linear %a, @b.o : tensor<?x64xf32> -> tensor<?x64xf32>
  %pn = llm.rms_norm %o, @b.pn {eps = 1.0e-6 : f32, weight_offset = 1.0 : f32} : tensor<?x64xf32>
  %h = llm.add %x, %pn : tensor<?x64xf32>
  %m = llm.rms_norm %h, @b.n2 {eps = 1.0e-6 : f32, weight_offset = 1.0 : f32} : tensor<?x64xf32>
  %g = llm.linear %m, @b.gate : tensor<?x64xf32> -> tensor<?x96xf32>
  %u = llm.linear %m, @b.up : tensor<?x64xf32> -> tensor<?x96xf32>
  %s = llm.gate gelu_tanh %g, %u : tensor<?x96xf32>
  %d = llm.linear %s, @b.down : tensor<?x96xf32> -> tensor<?x64xf32>
  %pd = llm.rms_norm %d, @b.pn2 {eps = 1.0e-6 : f32, weight_offset = 1.0 : f32} : tensor<?x64xf32>
  %y = llm.add %h, %pd : tensor<?x64xf32>
  %e = llm.layer_end %y {layer = 0 : i64} : tensor<?x64xf32>
  %r = llm.select_rows %e, %b : tensor<?x64xf32>
  %f = llm.rms_norm %r, @nf {eps = 1.0e-6 : f32, weight_offset = 1.0 : f32} : tensor<?x64xf32>
  %l = llm.logits %f, @embd : tensor<?x64xf32> -> tensor<?x96xf32>
  %z = llm.softcap %l {cap = 30.0 : f32} : tensor<?x96xf32>
  llm.return %z : tensor<?x96xf32>
}
