//===- LlmInterfaces.td - interfaces of llm operations ----------------------------------------*- tablegen -*-===//
#ifndef INGOT_DIALECTS_LLM_INTERFACES_TD
#define INGOT_DIALECTS_LLM_INTERFACES_TD

include "mlir/IR/OpBase.td"

def SemanticsInterface : OpInterface<"SemanticsInterface"> {
  let cppNamespace = "::ingot::llm";
  let description = [{
    Operations with variants. A lowering compares the keys with the set it handles and refuses the operation when one
    is missing there; dropping a variant silently would give wrong text and no failing test.
  }];
  let methods = [
    InterfaceMethod<[{
      Names of the variants this operation uses, sorted, without their values: e.g. "gqa", "mask.window".
    }], "::llvm::SmallVector<::std::string>", "getSemanticsKeys">
  ];
}

#endif
