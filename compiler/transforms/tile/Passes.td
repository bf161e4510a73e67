//===- Passes.td - from model ops to kernels -------------------------------------------------------===//
#ifndef INGOT_COMPILER_TRANSFORMS_TILE_PASSES_TD
#define INGOT_COMPILER_TRANSFORMS_TILE_PASSES_TD

include "mlir/Pass/PassBase.td"

def TileFormKernelsPass : Pass<"tile-form-kernels", "::mlir::ModuleOp"> {
  let summary = "turn the llm ops of every specialised step into launches of kernel prototypes";
  let description = [{
    Each op (or group that one kernel computes) becomes a `tile.launch` and a `tile.kernel` whose body is complete
    and whose schedule is undecided. Groups: rms_norm with the quantization of its result; per-head norms, rope of
    q and k and kv_append, which join the projection where one linear gives q, k and v and heads are whole panels of
    16 (`rope-in-linear`; where they do not, `refused` of the rope_kv kernel says why); attention with the
    quantization of its result, where heads are whole groups of 32. Column slices and layer ends become offsets and taps, not kernels.
    ```mlir
    %n = llm.rms_norm %x, @norm {eps = 1.0e-5 : f32} : tensor<?x64xf32>
    %a = llm.quantize %n {act = #qfmt.act<i8, group = 32, block = 1>} : tensor<?x64xf32> -> !llm.act<64, <...>>
    ```
    becomes
    ```mlir
    %a = tile.launch @p0_norm(%x) params = [@norm] replicated : (tensor<?x64xf32>) -> !llm.act<64, <...>>
    ```
    and
    ```mlir
    %p = llm.linear %a, @qkv : !llm.act<64, <...>> -> tensor<?x128xf32>
    %q = llm.slice %p {offset = 0 : i64, size = 64 : i64} : ...   // k and v alike
    %qn = llm.rms_norm %q, @gq {eps = 1.0e-6 : f32, groups = 2 : i64} : tensor<?x64xf32>
    %qr = llm.rope %qn, %b {heads = 2 : i64, rope = #llm.rope<half, ...>} : tensor<?x64xf32>
    %c = llm.kv_append %kr, %v, %b : ...
    ```
    becomes
    ```mlir
    %qr, %c = tile.launch @p2_linear(%a) params = [@qkv, @gq, @gk] {kv_layer = 0 : i64} : ...
    ```
    Launches of M classes up to 8 that are cheaper than a barrier (norm, quantize, elementwise, select) are
    `replicated`. An op variant that no kernel body can say is an error that names it.

    The head whose result the step returns ends in `tile.argmax` (`argmax-head`), so that a step of which nothing but
    the best token of each row is wanted stores no logits:
    ```mlir
    %l = llm.logits %r, @head {softcap = 30.0 : f32} : !llm.act<64, <...>> -> tensor<?x96xf32>
    llm.return %l
    ```
    becomes a launch of
    ```mlir
    %0 = tile.dot undecided %x, %w : !tile.act<64, <...>>, !qfmt.packed<96x64, q8_0, row> -> !tile.frag<96>
    %1 = tile.softcap %0 {cap = 30.0 : f32} : !tile.frag<96>
    %2 = tile.argmax %1 : !tile.frag<96>
    tile.store %2, %y : !tile.frag<96>, !tile.rows<96>
    ```
  }];
  let options = [Option<"ropeInLinear", "rope-in-linear", "std::string", /*default=*/"\"all\"",
                        "rope and kv_append in the epilogue of the projection: all, pairs (where no unit of work is a "
                        "whole head) or none">,
                 Option<"ropeApartReason", "rope-apart-reason", "std::string", /*default=*/"\"rope-in-linear\"",
                        "why the others are launches of their own, for `refused`">,
                 Option<"argmaxHead", "argmax-head", "bool", /*default=*/"true",
                        "arg-max in the epilogue of the head">];
  let dependentDialects = ["::ingot::tile::TileDialect"];
  let statistics = [Statistic<"numKernels", "kernels", "prototypes formed">,
                    Statistic<"numFused", "fused-ops", "ops that share a kernel with another op">];
}

def TileAttentionPass : Pass<"tile-attention", "::mlir::ModuleOp"> {
  let summary = "split attention of small M classes over KV segments";
  let description = [{
    For M classes up to 8 one attention launch becomes `attn_split` (a part is a row, kv head and segment of 512
    absolute positions) and `attn_merge`; the run-time-rows class keeps one kernel that loops over segments inside.
    Segment boundaries are absolute positions, so both give the same result bit for bit. The partials have room for
    the context of llm.config.
    ```mlir
    %o = tile.launch @attention(%q) kv(%c) params = [] : ...
    // becomes
    %p = tile.launch @attention_split(%q) kv(%c) params = [] : ... -> tensor<?xNxf32>
    %o = tile.launch @attention_merge(%p) params = [] : ...
    ```
    The merge is `replicated` for one and two rows, where it is cheaper than a barrier.
  }];
  let dependentDialects = ["::ingot::tile::TileDialect"];
  let statistics = [Statistic<"numSplit", "split", "attention kernels split">];
}

def TileSelectPass : Pass<"tile-select", "::mlir::ModuleOp"> {
  let summary = "choose a schedule, dot kind and weight layout for every kernel from the registry";
  let description = [{
    Asks the kernel registry for every prototype; the cheapest legal candidate sets `isa`, `schedule`, the dot kind,
    and the layout in the type of the weight argument. `reason` and `refused` keep the answer for `explain`. No
    candidate is an error that names op, tensor, scheme, target and the option that would change it. With a profile of
    `ingot tune`, kernels that it has get its schedule where the registry still offers it; a warning counts those where
    it does not.
    ```mlir
    %0 = tile.dot undecided %x, %w : ..., !qfmt.packed<576x576, q4_1, row> -> !tile.frag<576>
    // becomes, with isa = "vnni" and schedule = #tile.schedule<...> on the kernel
    %0 = tile.dot vnni %x, %w : ..., !qfmt.packed<576x576, q4_1, n16> -> !tile.frag<576>
    ```
  }];
  let dependentDialects = ["::ingot::tile::TileDialect"];
  let options = [Option<"isa", "isa", "std::string", "\"avx2\"", "target variant: avx2, avx512, vnni, avx512bf16, amx, amxbf16, ref">,
                 Option<"tune", "tune", "std::string", "\"\"", "profile whose schedules win">];
  let statistics = [Statistic<"numSelected", "selected", "kernels with a schedule">,
                    Statistic<"numTuned", "tuned", "kernels with a schedule of the profile">];
}

def QfmtAssignLayoutsPass : Pass<"qfmt-assign-layouts", "::mlir::ModuleOp"> {
  let summary = "give every param the one layout that all kernels of all M classes read it in";
  let description = [{
    ```mlir
    llm.param @q : !qfmt.packed<576x576, q4_1, row> ...   // read by kernels that want n16
    // becomes
    llm.param @q : !qfmt.packed<576x576, q4_1, n16> ...
    ```
    Two kernels that want different layouts of one param are an error: a pack holds every weight once.
  }];
  let dependentDialects = ["::ingot::tile::TileDialect"];
  let statistics = [Statistic<"numChanged", "changed", "params with a new layout">];
}

def TileDedupPass : Pass<"tile-dedup", "::mlir::ModuleOp"> {
  let summary = "one kernel for all launches with equal bodies; final kernel names";
  let description = [{
    Kernels that are equal but for name and location share one body; weights are arguments already. The names say
    family, scheme, shape and M class and end with a hash of the kernel's text, e.g.
    `k_linear_q4_1_960x576_m1_9f02c1aa`; `mN` stands for rows known at run time.
    ```mlir
    tile.kernel @p3_linear ...  tile.kernel @p9_linear ...   // equal
    // becomes
    tile.kernel @k_linear_q4_1_576x576_m1_1b2c3d4e ...
    ```
  }];
  let dependentDialects = ["::ingot::tile::TileDialect"];
  let statistics = [Statistic<"numBefore", "before", "kernels before">, Statistic<"numAfter", "after", "kernels after">];
}

#endif
