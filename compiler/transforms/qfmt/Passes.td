//===- Passes.td - passes that decide weight and activation formats -----------------------------*- tablegen -*-===//
#ifndef INGOT_COMPILER_TRANSFORMS_QFMT_PASSES_TD
#define INGOT_COMPILER_TRANSFORMS_QFMT_PASSES_TD

include "mlir/Pass/PassBase.td"

def QfmtAssignSchemesPass : Pass<"qfmt-assign-schemes", "::mlir::ModuleOp"> {
  let summary = "Decide the scheme that each parameter has in the pack";
  let description = [{
    `scheme=file`: matrices keep the file's scheme. `scheme=f32`: every matrix becomes f32 (the reference). Vectors
    are f32 either way. Layouts stay row; they are chosen after the kernels.

    ```mlir
    // scheme=f32
    llm.param @w : !qfmt.packed<64x64, q8_0, row> from q8_0 [#llm.ext<0, 0, 4352>] rows [64]
    // becomes
    llm.param @w : !qfmt.packed<64x64, f32, row> from q8_0 [#llm.ext<0, 0, 4352>] rows [64]
    ```
  }];
  let options = [Option<"scheme", "scheme", "std::string", "\"file\"", "file or f32">];
  let statistics = [Statistic<"numChanged", "num-changed", "parameters whose scheme changed">];
}

def QfmtInsertActQuantPass : Pass<"qfmt-insert-act-quant", "::mlir::ModuleOp"> {
  let summary = "Quantize the inputs of integer dot products, once per value";
  let description = [{
    A linear or head with a quantized weight takes its input as signed bytes with one scale per 32; one
    `llm.quantize` serves all consumers of a value. Float weights keep f32 rows. The block size stays 0 (undecided)
    until the row class is known. `numerics` goes into `llm.config`, where tile-select reads it: under `fast` a
    kernel may round f32 rows further (docs/numerics.md).

    ```mlir
    %q = llm.linear %n, @q : tensor<?x64xf32> -> tensor<?x64xf32>
    // becomes
    %n8 = llm.quantize %n {act = #qfmt.act<i8, group = 32, block = 0>} : tensor<?x64xf32>
            -> !llm.act<64, <i8, group = 32, block = 0>>
    %q = llm.linear %n8, @q : !llm.act<64, <i8, group = 32, block = 0>> -> tensor<?x64xf32>
    ```
  }];
  let options = [Option<"numerics", "numerics", "std::string", "\"exact\"", "exact or fast">];
  let statistics = [Statistic<"numQuantize", "num-quantize", "values quantized">];
}

#endif
