//===- Passes.td - from kernels to the step program ------------------------------------------------===//
#ifndef INGOT_COMPILER_TRANSFORMS_RT_PASSES_TD
#define INGOT_COMPILER_TRANSFORMS_RT_PASSES_TD

include "mlir/Pass/PassBase.td"

def RtLowerPass : Pass<"rt-lower", "::mlir::ModuleOp"> {
  let summary = "turn every step of launches into a program of stages over symbolic buffers";
  let description = [{
    A launch stands one stage after the last launch that computes an input in parts; a `replicated` launch and its
    consumers share a stage, because every worker has its own copy. Results of replicated launches go to private
    buffers, all others to the arena. Also makes the tables: rt.module, rt.kv_layer, rt.rope.
    ```mlir
    llm.step @step(...) attributes {rows = 1 : i64} {
      %a = tile.launch @k_norm(%x) params = [@n] replicated : (tensor<?x64xf32>) -> !llm.act<64, ...>
      %y = tile.launch @k_linear(%a) params = [@w] : (!llm.act<64, ...>) -> tensor<?x64xf32>
    }
    // becomes
    rt.program @step_m1 attributes {m_class = 1 : i64, ...} {
      %0 = rt.buffer arena 256 at -1 "embed 0"
      %1 = rt.buffer private 128 at -1 "norm 0"
      %2 = rt.buffer arena 256 at -1 "linear 0"
      rt.stage 1 {
        rt.launch @k_norm(%0, %1) weights [@n] outs 1 replicated
        rt.launch @k_linear(%1, %2) weights [@w] outs 1
      }
    }
    ```
    `max-out` bounds the rows of logits of one step; 0: the number of sequences, at least 64, at most the rows.
  }];
  let dependentDialects = ["::ingot::rt::RtDialect"];
  let options = [Option<"maxOut", "max-out", "int64_t", "0", "most rows of logits of one step; 0: automatic">];
  let statistics = [Statistic<"numLaunches", "launches", "launches of all programs">,
                    Statistic<"numStages", "stages", "stages of all programs">];
}

def RtPlanMemoryPass : Pass<"rt-plan-memory", "::mlir::ModuleOp"> {
  let summary = "give every buffer and every weight its offset";
  let description = [{
    Arena buffers that are live in a common stage get disjoint bytes, private ones that are live at a common launch.
    An output takes the place of an input where the kernel allows it (residual, elementwise) and nothing else of
    that stage or later reads the input. Buffers with rows of outputs lie behind all others, so that a step with few
    outputs touches few pages. Weights follow each other in the order of first use, 64-byte aligned.
    ```mlir
    %0 = rt.buffer arena 256 at -1 "embed 0"    // becomes: at 0
    rt.weight @w at 64 bytes 2560               // new
    ```
  }];
  let dependentDialects = ["::ingot::rt::RtDialect"];
  let statistics = [Statistic<"numInPlace", "in-place", "outputs in the place of an input">,
                    Statistic<"arenaPeak", "arena-bytes", "largest arena">,
                    Statistic<"privatePeak", "private-bytes", "largest private area of a worker">];
}

def RtSchedulePass : Pass<"rt-schedule", "::mlir::ModuleOp"> {
  let summary = "move launches into the earliest stage that their memory allows and number the stages";
  let description = [{
    Looks at memory, not at values: two launches that touch common bytes of the arena or one KV layer, one of them
    writing, need a barrier between them. Works before rt-plan-memory (a buffer is its own memory) and after it
    (byte ranges count). Stages that need no barrier between them become one.
    ```mlir
    rt.stage 0 { rt.launch @a(%0, %1) ... }
    rt.stage 1 { rt.launch @b(%0, %2) ... }
    // becomes
    rt.stage 0 { rt.launch @a(%0, %1) ...  rt.launch @b(%0, %2) ... }
    ```
  }];
  let dependentDialects = ["::ingot::rt::RtDialect"];
  let statistics = [Statistic<"numMerged", "merged", "stages saved">,
                    Statistic<"numBarriers", "barriers", "barriers of all programs">];
}

def RtVerifyAbiPass : Pass<"rt-verify-abi", "::mlir::ModuleOp"> {
  let summary = "check the planned programs against the limits and rules of ingot_abi.h";
  let description = [{
    Limits of slots and weights, alignment, sizes, types of params, KV layers and rope tables, and the plan itself:
    nothing reads memory that was not written, no launch overwrites memory that is still needed, and launches of one
    stage do not meet in the arena.
  }];
  let statistics = [Statistic<"numChecked", "checked", "launches checked">];
}

#endif
