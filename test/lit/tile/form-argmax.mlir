// RUN: ingot-opt %s --tile-form-kernels -split-input-file | FileCheck %s
// RUN: ingot-opt %s --tile-form-kernels=argmax-head=false -split-input-file | FileCheck %s --check-prefix=OFF
// RUN: ingot-opt %s --tile-form-kernels --tile-select=isa=vnni --qfmt-assign-layouts --tile-dedup --rt-lower --rt-schedule --rt-plan-memory --rt-verify-abi -split-input-file | FileCheck %s --check-prefix=PLAN
// RUN: ingot-opt %s --tile-form-kernels=argmax-head=false --tile-select=isa=vnni --qfmt-assign-layouts --tile-dedup --rt-lower --rt-plan-memory --rt-verify-abi -split-input-file | FileCheck %s --check-prefix=OFFPLAN
// OFF-NOT: tile.argmax
// OFFPLAN-NOT: argmax

// The head that the step returns, after its softcap; with a vocabulary that does not fill its last panel.
// CHECK-LABEL: llm.config "capped"
// CHECK: tile.kernel @[[K:p[0-9]+_linear]] linear ins(%[[X:.*]]: !tile.act<64, {{.*}}>) outs(%[[Y:.*]]: !tile.rows<90>) weights(%[[W:.*]]: !qfmt.packed<90x64, q8_0, row>) attributes {domain = #tile.domain<out>, rows = 4 : i64}
// CHECK-NEXT: tile.grid panels 6 {
// CHECK-NEXT: %[[D:.*]] = tile.dot undecided %[[X]], %[[W]]
// CHECK-NEXT: %[[C:.*]] = tile.softcap %[[D]] {cap = 3.000000e+01 : f32}
// CHECK-NEXT: %[[A:.*]] = tile.argmax %[[C]] : !tile.frag<90>
// CHECK-NEXT: tile.store %[[A]], %[[Y]]
// CHECK: tile.launch @[[K]]
// PLAN-LABEL: llm.config "capped"
// PLAN: tile.kernel @[[K:k_linear_q8_0_90x64_argmax_m4_[0-9a-f]+]] {{.*}}reason = "linear vnni, tile of 4 rows, logits or their arg-max
// PLAN: rt.launch @[[K]]
// PLAN: rt.logits %{{.*}} {argmax_panels = 6 : i64, stride = 96 : i64}
llm.config "capped" arch "t" kv f16 {hidden = 64 : i64, layers = 1 : i64, max_context = 128 : i64, max_seqs = 4 : i64, vocab = 90 : i64}
llm.param @tok : !qfmt.packed<90x64, q8_0, row> from q8_0 [#llm.ext<0, 0, 6120>] rows [90]
#a = #qfmt.act<i8, group = 32, block = 4>
llm.step @m4(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x90xf32> attributes {rows = 4 : i64} {
  %x = llm.embed %ids, @tok : tensor<?x64xf32>
  %r = llm.select_rows %x, %b : tensor<?x64xf32>
  %q = llm.quantize %r {act = #a} : tensor<?x64xf32> -> !llm.act<64, #a>
  %l = llm.logits %q, @tok {softcap = 30.0 : f32} : !llm.act<64, #a> -> tensor<?x90xf32>
  llm.return %l : tensor<?x90xf32>
}

// -----

// A softcap that stayed apart reads the logits, so every step stores them.
// CHECK-LABEL: llm.config "apart"
// CHECK-NOT: tile.argmax
// PLAN-LABEL: llm.config "apart"
// PLAN-NOT: argmax
// PLAN: rt.logits %{{.*}} {stride = 96 : i64}
llm.config "apart" arch "t" kv f16 {hidden = 64 : i64, layers = 1 : i64, max_context = 128 : i64, max_seqs = 4 : i64, vocab = 96 : i64}
llm.param @tok : !qfmt.packed<96x64, f16, row> from f16 [#llm.ext<0, 0, 12288>] rows [96]
llm.step @m1(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x96xf32> attributes {rows = 1 : i64} {
  %x = llm.embed %ids, @tok : tensor<?x64xf32>
  %r = llm.select_rows %x, %b : tensor<?x64xf32>
  %l = llm.logits %r, @tok : tensor<?x64xf32> -> tensor<?x96xf32>
  %c = llm.softcap %l {cap = 30.0 : f32} : tensor<?x96xf32>
  llm.return %c : tensor<?x96xf32>
}
