//===- LlmBase.td - the llm dialect, its attributes and types ---------------------------------*- tablegen -*-===//
#ifndef INGOT_DIALECTS_LLM_BASE_TD
#define INGOT_DIALECTS_LLM_BASE_TD

include "dialects/qfmt/Qfmt.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Llm_Dialect : Dialect {
  let name = "llm";
  let cppNamespace = "::ingot::llm";
  let summary = "A transformer language model: one step over a ragged batch of token rows";
  let description = [{
    Activations are token-major: `tensor<?xDxf32>`, one row per token of the step; which sequence and position a row
    has is said by `!llm.batch`. Weights are symbols (`llm.param`) that name bytes in the model's files; their values
    never enter the IR. Every variant of an operation is an inherent attribute and is listed by
    `getSemanticsKeys()`, so that a lowering can refuse what it does not handle.
  }];
  let dependentDialects = ["::ingot::qfmt::QfmtDialect"];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

//===-- Enums ------------------------------------------------------------------------------------------===//

class Llm_Enum<string name, string doc, list<I32EnumAttrCase> cases> : I32EnumAttr<name, doc, cases> {
  let cppNamespace = "::ingot::llm";
  let genSpecializedAttr = 0;
}

def Llm_GateKind : Llm_Enum<"GateKind", "activation of a gated unit", [
    I32EnumAttrCase<"Silu", 0, "silu">, I32EnumAttrCase<"Gelu", 1, "gelu">,
    I32EnumAttrCase<"GeluTanh", 2, "gelu_tanh">]>;
def Llm_RopeStyle : Llm_Enum<"RopeStyle", "which columns of a head form a rotated pair", [
    I32EnumAttrCase<"Half", 0, "half">, I32EnumAttrCase<"Interleaved", 1, "interleaved">]>;
def Llm_MaskKind : Llm_Enum<"MaskKind", "which keys a row may see", [I32EnumAttrCase<"Causal", 0, "causal">]>;
def Llm_KvDtype : Llm_Enum<"KvDtype", "element type of a KV cache", [
    I32EnumAttrCase<"F32", 0, "f32">, I32EnumAttrCase<"F16", 1, "f16">, I32EnumAttrCase<"BF16", 2, "bf16">,
    I32EnumAttrCase<"Int8", 3, "int8">]>;
def Llm_Numerics : Llm_Enum<"Numerics", "exact: every target computes the same bits; fast: faster roundings are allowed", [
    I32EnumAttrCase<"Exact", 0, "exact">, I32EnumAttrCase<"Fast", 1, "fast">]>;
def Llm_Recipe : Llm_Enum<"Recipe", "how a parameter is made of its sources", [
    I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Concat", 1, "concat">,
    I32EnumAttrCase<"Interleave16", 2, "interleave16">]>;
def Llm_EpilogueKind : Llm_Enum<"EpilogueKind", "what follows a dot product in the same kernel", [
    I32EnumAttrCase<"Bias", 0, "bias">, I32EnumAttrCase<"Residual", 1, "residual">,
    I32EnumAttrCase<"Gate", 2, "gate">, I32EnumAttrCase<"Softcap", 3, "softcap">]>;

// Written as bare keywords by the operations' formats.
def Llm_GateKindAttr : EnumAttr<Llm_Dialect, Llm_GateKind, "gate_kind"> {
  let assemblyFormat = "`<` $value `>`";
}
def Llm_KvDtypeAttr : EnumAttr<Llm_Dialect, Llm_KvDtype, "kv_dtype"> {
  let assemblyFormat = "`<` $value `>`";
}
def Llm_NumericsAttr : EnumAttr<Llm_Dialect, Llm_Numerics, "numerics"> {
  let assemblyFormat = "`<` $value `>`";
}
def Llm_RecipeAttr : EnumAttr<Llm_Dialect, Llm_Recipe, "recipe"> {
  let assemblyFormat = "`<` $value `>`";
}

//===-- Attributes -------------------------------------------------------------------------------------===//

class Llm_Attr<string name, string mnem> : AttrDef<Llm_Dialect, name> { let mnemonic = mnem; }

def Llm_ExtAttr : Llm_Attr<"Ext", "ext"> {
  let summary = "bytes in one of the model's files";
  let description = [{
    `#llm.ext<file, offset, bytes>`: `file` is an index into the file list of the model source (no path is stored).
    Example: `#llm.ext<0, 1713152, 207360>`.
  }];
  let parameters = (ins "int64_t":$file, "int64_t":$offset, "int64_t":$bytes);
  let assemblyFormat = "`<` $file `,` $offset `,` $bytes `>`";
  let genVerifyDecl = 1;
}

def Llm_RopeAttr : Llm_Attr<"Rope", "rope"> {
  let summary = "rotary position embedding";
  let description = [{
    The first `rotary_dim` columns of every head are rotated in pairs: pair i at position p by the angle
    p * inv_freq[i]; cos and sin are multiplied by `scale` (the attention factor of yarn and longrope). `half` pairs
    columns (i, i + rotary_dim / 2), `interleaved` pairs (2i, 2i + 1). Scaled frequencies (linear, llama3, yarn, ...)
    are already in `inv_freq`, computed in f64; `name` says how, for people.

    ```mlir
    #llm.rope<half, head_dim = 4, rotary_dim = 4, scale = 1.0, inv_freq = [1.0, 0.01], name = "base 1e4">
    ```
  }];
  let parameters = (ins EnumParameter<Llm_RopeStyle>:$style, "int64_t":$headDim, "int64_t":$rotaryDim,
                        "::mlir::FloatAttr":$scale, "::mlir::DenseF64ArrayAttr":$invFreq, "::mlir::StringAttr":$name);
  let builders = [
    AttrBuilder<(ins "::ingot::llm::RopeStyle":$style, "int64_t":$headDim, "int64_t":$rotaryDim, "double":$scale,
                     "::llvm::ArrayRef<double>":$invFreq, "::llvm::StringRef":$name), [{
      return $_get($_ctxt, style, headDim, rotaryDim,
                   ::mlir::FloatAttr::get(::mlir::Float64Type::get($_ctxt), scale),
                   ::mlir::DenseF64ArrayAttr::get($_ctxt, invFreq), ::mlir::StringAttr::get($_ctxt, name));
    }]>];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    double scaleValue() const { return getScale().getValueAsDouble(); }
    ::llvm::ArrayRef<double> frequencies() const { return getInvFreq().asArrayRef(); }
  }];
}

def Llm_MaskAttr : Llm_Attr<"Mask", "mask"> {
  let summary = "which keys a row sees";
  let description = [{
    `#llm.mask<causal, window = W>`: a row at position p sees keys max(0, p - W + 1) .. p; W = 0: all keys up to p.
  }];
  let parameters = (ins EnumParameter<Llm_MaskKind>:$kind, "int64_t":$window);
  let assemblyFormat = "`<` $kind `,` `window` `=` $window `>`";
  let genVerifyDecl = 1;
}

def Llm_EpilogueAttr : Llm_Attr<"Epilogue", "epilogue"> {
  let summary = "one step that follows a linear's dot product";
  let description = [{
    `bias`: y + bias; `residual`: y + residual; `gate = KIND`: the rows of the weight alternate 16 gate rows and 16
    up rows, y' = KIND(gate) * up, half as wide; `softcap = C`: C * tanh(y / C).

    ```mlir
    [#llm.epilogue<bias>, #llm.epilogue<gate = silu>]
    #llm.epilogue<softcap = 3.000000e+01>
    ```
  }];
  let parameters = (ins EnumParameter<Llm_EpilogueKind>:$kind, EnumParameter<Llm_GateKind>:$gate,
                        "::mlir::FloatAttr":$cap);
  let builders = [
    AttrBuilder<(ins "::ingot::llm::EpilogueKind":$kind), [{
      return $_get($_ctxt, kind, ::ingot::llm::GateKind::Silu,
                   ::mlir::FloatAttr::get(::mlir::Float32Type::get($_ctxt), 0.0));
    }]>,
    AttrBuilder<(ins "::ingot::llm::GateKind":$gate), [{
      return $_get($_ctxt, ::ingot::llm::EpilogueKind::Gate, gate,
                   ::mlir::FloatAttr::get(::mlir::Float32Type::get($_ctxt), 0.0));
    }]>,
    AttrBuilder<(ins "float":$cap), [{
      return $_get($_ctxt, ::ingot::llm::EpilogueKind::Softcap, ::ingot::llm::GateKind::Silu,
                   ::mlir::FloatAttr::get(::mlir::Float32Type::get($_ctxt), cap));
    }]>];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    float capValue() const { return getCap().getValue().convertToFloat(); }
  }];
}
def Llm_EpilogueList : TypedArrayAttrBase<Llm_EpilogueAttr, "list of epilogues">;
// Sizes are signed in C++: they are compared with MLIR's own.
def Llm_I64Attr : TypedSignlessIntegerAttrBase<I64, "int64_t", "64-bit integer attribute">;
def Llm_ExtList : TypedArrayAttrBase<Llm_ExtAttr, "list of byte ranges">;

//===-- Types ------------------------------------------------------------------------------------------===//

class Llm_TypeDef<string name, string mnem> : TypeDef<Llm_Dialect, name> { let mnemonic = mnem; }

def Llm_BatchType : Llm_TypeDef<"Batch", "batch"> {
  let summary = "positions, sequences and block tables of a step's rows";
  let builderCall = "$_builder.getType<::ingot::llm::BatchType>()";
}

def Llm_KvType : Llm_TypeDef<"Kv", "kv"> {
  let summary = "the KV cache of one layer, with this step's rows appended";
  let description = [{
    `!llm.kv<layer = L, heads = H, dim = D, v_dim = Dv, dtype = f16>`. In `int8` a token's K of a head has one f32
    scale, and its V another.
  }];
  let parameters = (ins "int64_t":$layer, "int64_t":$heads, "int64_t":$dim, "int64_t":$vDim,
                        EnumParameter<Llm_KvDtype>:$dtype);
  let assemblyFormat = [{
    `<` `layer` `=` $layer `,` `heads` `=` $heads `,` `dim` `=` $dim `,` `v_dim` `=` $vDim `,` `dtype` `=` $dtype `>`
  }];
  let genVerifyDecl = 1;
}

def Llm_ActType : Llm_TypeDef<"Act", "act"> {
  let summary = "rows of D activations, quantized";
  let description = [{ `!llm.act<D, <i8, group = 32, block = R>>`, see `#qfmt.act`. }];
  let parameters = (ins "int64_t":$dim, "::ingot::qfmt::ActAttr":$act);
  let assemblyFormat = "`<` $dim `,` $act `>`";
  let genVerifyDecl = 1;
}

// Token rows: tensor<?xDxf32>.
def Llm_Rows : Type<CPred<"::ingot::llm::isRowsType($_self)">, "token rows tensor<?xDxf32>",
                    "::mlir::RankedTensorType">;
def Llm_RowsOrAct : AnyTypeOf<[Llm_Rows, Llm_ActType]>;
// Token ids of the step: tensor<?xi32>.
def Llm_Ids : Type<CPred<"::ingot::llm::isIdsType($_self)">, "token ids tensor<?xi32>", "::mlir::RankedTensorType">,
              BuildableType<"::mlir::RankedTensorType::get({::mlir::ShapedType::kDynamic}, $_builder.getI32Type())">;

#endif
