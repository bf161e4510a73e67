//===- Passes.td - passes on the llm dialect ---------------------------------------------------*- tablegen -*-===//
//
// In pipeline order. None depends on canonicalize; none looks at the target.
//
//===----------------------------------------------------------------------------------------------------===//
#ifndef INGOT_COMPILER_TRANSFORMS_LLM_PASSES_TD
#define INGOT_COMPILER_TRANSFORMS_LLM_PASSES_TD

include "mlir/Pass/PassBase.td"

def LlmVerifyModelPass : Pass<"llm-verify-model", "::mlir::ModuleOp"> {
  let summary = "Check what no single operation can check";
  let description = [{
    Changes nothing. An error names the tensor or layer:

    - model_c1: there is one `llm.config` and at least one `llm.step`;
    - model_c2: embedding and logits have the sizes `llm.config` states;
    - model_c3: every layer 0 .. layers - 1 ends in one `llm.layer_end`, in order;
    - model_c4: a layer's cache is appended to once per step, for a layer that exists, and `llm.attention` reads a
      cache that the same step has appended to;
    - model_c5: every parameter is used;
    - model_c6: a parameter is used once per step; the embedding table may also be the head (tied).

    ```mlir
    llm.param @blk.0.attn_q : ...     // used by nothing
    // error: model_c5: parameter 'blk.0.attn_q' is never used
    ```
  }];
}

def LlmSimplifyPass : Pass<"llm-simplify", "::mlir::ModuleOp"> {
  let summary = "Fold constants of the model into parameters; drop what does nothing";
  let description = [{
    `weight_offset = 1` of a norm becomes `offset_add` of its gamma, so that kernels know one kind of norm; a scale of
    the embedding moves into `llm.embed`; scales by 1, whole-row slices, unused results and unused parameters go.
    A gamma that norms of different offsets share stays as it is.

    ```mlir
    llm.param @g : !qfmt.packed<1x64, f32, row> from f32 [#llm.ext<0, 0, 256>] rows [64]
    %n = llm.rms_norm %x, @g {eps = 1.0e-6 : f32, weight_offset = 1.0 : f32} : tensor<?x64xf32>
    // becomes
    llm.param @g : !qfmt.packed<1x64, f32, row> from f32 [#llm.ext<0, 0, 256>] rows [64] offset_add 1.0
    %n = llm.rms_norm %x, @g {eps = 1.0e-6 : f32} : tensor<?x64xf32>
    ```
  }];
  let statistics = [
    Statistic<"numFolded", "num-folded", "offsets and scales folded into parameters or embeddings">,
    Statistic<"numDroppedOps", "num-dropped-ops", "operations without effect">,
    Statistic<"numDroppedParams", "num-dropped-params", "parameters without use">];
}

def LlmFuseProjectionsPass : Pass<"llm-fuse-projections", "::mlir::ModuleOp"> {
  let summary = "One linear for q, k, v and one for gate and up";
  let description = [{
    Linears of one input whose weights agree in scheme read the activations once. Those that lead to attention are
    concatenated; their results become column slices. When only some agree (a file that keeps v in more bits), those
    are fused. A gate and an up projection that feed one `llm.gate` are interleaved by 16 rows, and the gate becomes
    an epilogue, when N is a multiple of 16. Parameters used elsewhere are left alone.

    ```mlir
    %q = llm.linear %n, @b.q : tensor<?x64xf32> -> tensor<?x64xf32>
    %k = llm.linear %n, @b.k : tensor<?x64xf32> -> tensor<?x32xf32>
    // becomes
    %f = llm.linear %n, @b.q_k : tensor<?x64xf32> -> tensor<?x96xf32>
    %q = llm.slice %f {offset = 0 : i64, size = 64 : i64} : tensor<?x96xf32> -> tensor<?x64xf32>
    %k = llm.slice %f {offset = 64 : i64, size = 32 : i64} : tensor<?x96xf32> -> tensor<?x32xf32>
    ```
  }];
  let statistics = [
    Statistic<"numConcat", "num-concat", "linears merged by concatenation">,
    Statistic<"numInterleave", "num-interleave", "gate and up pairs interleaved">];
}

def LlmFuseEpiloguesPass : Pass<"llm-fuse-epilogues", "::mlir::ModuleOp"> {
  let summary = "Residual adds and softcaps become part of their producer";
  let description = [{
    An `llm.add` of a linear (or of a norm) that has no other use becomes that operation's residual; a softcap of a
    linear or of logits becomes its epilogue. Bias and gate are already there (import, llm-fuse-projections). The
    values are the same: the dot product is complete before the residual is added in f32.

    ```mlir
    %o = llm.linear %a, @o : tensor<?x64xf32> -> tensor<?x64xf32>
    %h = llm.add %x, %o : tensor<?x64xf32>
    // becomes
    %h = llm.linear %a, @o residual(%x : tensor<?x64xf32>) {epilogue = [#llm.epilogue<residual>]}
           : tensor<?x64xf32> -> tensor<?x64xf32>
    ```
  }];
  let statistics = [
    Statistic<"numResiduals", "num-residuals", "adds fused">,
    Statistic<"numSoftcaps", "num-softcaps", "softcaps fused">];
}

def LlmPlanKvPass : Pass<"llm-plan-kv", "::mlir::ModuleOp"> {
  let summary = "Decide the KV cache: element type, positions, sequences, page";
  let description = [{
    Writes the plan into `llm.config` and the element type into every `!llm.kv`. A window that no served position can
    reach (window >= context) is dropped, so that such layers share the kernels of full attention.

    ```mlir
    // kv-dtype=bf16 context=1024
    llm.config "m" arch "llama" kv f16 {..., max_context = 2048 : i64}
    %a = llm.attention %q, %c, %b {..., mask = #llm.mask<causal, window = 4096>}
    // becomes
    llm.config "m" arch "llama" kv bf16 {..., max_context = 1024 : i64}
    %a = llm.attention %q, %c, %b {..., mask = #llm.mask<causal, window = 0>}
    ```
  }];
  let options = [
    Option<"kvDtype", "kv-dtype", "std::string", "\"f16\"", "element type of the cache: f32, f16, bf16 or int8">,
    Option<"context", "context", "int64_t", "0", "positions served per sequence; 0: what llm.config says">,
    Option<"maxSeqs", "max-seqs", "int64_t", "0", "sequences served at once; 0: what llm.config says">,
    Option<"page", "page", "int64_t", "16", "tokens per KV page; the runtime interface fixes it to 16">];
  let statistics = [Statistic<"numWindows", "num-windows", "windows dropped">];
}

def LlmSpecializeStepsPass : Pass<"llm-specialize-steps", "::mlir::ModuleOp"> {
  let summary = "One step per row class";
  let description = [{
    Clones each `llm.step` for every class, sets `rows`, and decides how many rows one block of quantized activations
    interleaves: the class itself up to 8 rows, `gemm-block` above. The largest class serves any number of rows
    up to it.

    ```mlir
    llm.step @step(...)          // classes=1,512
      llm.quantize %n {act = #qfmt.act<i8, group = 32, block = 0>}
    // becomes
    llm.step @step_m1(...) attributes {rows = 1 : i64}
      llm.quantize %n {act = #qfmt.act<i8, group = 32, block = 1>}
    llm.step @step_m512(...) attributes {rows = 512 : i64}
      llm.quantize %n {act = #qfmt.act<i8, group = 32, block = 12>}
    ```
  }];
  let options = [
    ListOption<"classes", "classes", "int64_t", "row classes, ascending (default 1,2,4,8,512)">,
    Option<"gemmBlock", "gemm-block", "int64_t", "12", "rows per activation block of classes above 8">];
  let statistics = [Statistic<"numSteps", "num-steps", "steps made">];
}

#endif
