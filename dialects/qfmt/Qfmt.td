//===- Qfmt.td - weight formats and packed layouts ------------------------------------------*- tablegen -*-===//
//
// Types and attributes only: what the bytes of a parameter mean (scheme), where they lie (layout), and how a row
// of activations is stored for a dot product. No operations: who reads which format is said by `llm` and `tile`.
//
//===----------------------------------------------------------------------------------------------------===//
#ifndef INGOT_DIALECTS_QFMT_TD
#define INGOT_DIALECTS_QFMT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinTypeInterfaces.td"
include "mlir/IR/OpBase.td"

def Qfmt_Dialect : Dialect {
  let name = "qfmt";
  let cppNamespace = "::ingot::qfmt";
  let summary = "Weight formats (schemes) and packed layouts, as types and attributes";
  let description = [{
    A parameter's type says its logical shape, the scheme of its values and the layout of its bytes:

    ```mlir
    !qfmt.packed<960x576, q4_1, row>     // as the file holds it
    !qfmt.packed<960x576, q4_1, n16>     // the same, in CPU panels of 16 rows
    !qfmt.packed<1x576, f32, row>        // a vector: norm weight, bias
    ```

    The layout is part of the type, so that bytes packed one way cannot be read another way unnoticed.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

class Qfmt_Attr<string name, string mnem, list<Trait> traits = []> : AttrDef<Qfmt_Dialect, name, traits> {
  let mnemonic = mnem;
}

def Qfmt_SchemeParam : AttrParameter<"::ingot::qfmt::Scheme", "weight scheme">;
def Qfmt_LayoutParam : AttrParameter<"::ingot::qfmt::Layout", "packed layout">;
def Qfmt_ActKindParam : AttrParameter<"::ingot::qfmt::ActKind", "activation element kind">;

def Qfmt_SchemeAttr : Qfmt_Attr<"Scheme", "scheme"> {
  let summary = "encoding of a weight matrix's values";
  let description = [{
    One of `f32 f16 bf16 q8_0 q4_0 q4_1 q5_0 q5_1 q4_k q5_k q6_k`. Example: `#qfmt.scheme<q4_1>`.
    Queries answer the block geometry of the file format.
  }];
  let parameters = (ins Qfmt_SchemeParam:$value);
  let assemblyFormat = "`<` $value `>`";
  let extraClassDeclaration = [{
    const ::ingot::qfmt::SchemeGeometry &geometry() const { return ::ingot::qfmt::geometry(getValue()); }
    unsigned blockElems() const { return geometry().blockElems; }
    unsigned blockBytes() const { return geometry().blockBytes; }
    unsigned subBlock() const { return geometry().subBlock; }
    bool isFloat() const { return geometry().isFloat; }
    bool hasMin() const { return geometry().hasMin; }
    ::llvm::StringRef schemeName() const { return geometry().name; }
  }];
}

def Qfmt_LayoutAttr : Qfmt_Attr<"Layout", "layout"> {
  let summary = "where the bytes of a packed matrix lie";
  let description = [{
    `row`: canonical file order, row after row. `n16`: CPU panels of 16 rows, K padded to the scheme's step and N to
    16; a panel is one stream of scales and payloads. Example: `#qfmt.layout<n16>`.
  }];
  let parameters = (ins Qfmt_LayoutParam:$value);
  let assemblyFormat = "`<` $value `>`";
}

def Qfmt_ActAttr : Qfmt_Attr<"Act", "act"> {
  let summary = "how a row of activations is stored for a linear";
  let description = [{
    `#qfmt.act<f32>`: plain rows. `#qfmt.act<i8, group = 32, block = R>`: signed bytes with one f32 scale and the
    exact sums per group of 32; R rows are interleaved in one block. `block = 0`: not decided yet (R depends on the
    step's row class).
  }];
  let parameters = (ins Qfmt_ActKindParam:$kind, "int64_t":$group, "int64_t":$block);
  let builders = [
    AttrBuilderWithInferredContext<(ins "::mlir::MLIRContext *":$context), [{
      return $_get(context, ::ingot::qfmt::ActKind::F32, 0, 0);
    }]>,
    AttrBuilderWithInferredContext<(ins "::mlir::MLIRContext *":$context, "int64_t":$block), [{
      return $_get(context, ::ingot::qfmt::ActKind::I8, 32, block);
    }]>];
  let skipDefaultBuilders = 0;
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool isQuantized() const { return getKind() == ::ingot::qfmt::ActKind::I8; }
    /// The same format with another number of rows per block.
    ActAttr withBlock(int64_t block) const { return get(getContext(), getKind(), getGroup(), block); }
  }];
}

def Qfmt_PackedType : TypeDef<Qfmt_Dialect, "Packed"> {
  let mnemonic = "packed";
  let summary = "N rows x K columns of weights in a scheme and a layout";
  let description = [{
    `!qfmt.packed<NxK, scheme, layout>`: logical sizes; padding is a property of the layout. A vector of D values is
    `1xD` with scheme f32 and layout row. K is a multiple of the scheme's block.
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$cols, Qfmt_SchemeParam:$scheme, Qfmt_LayoutParam:$layout);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    const ::ingot::qfmt::SchemeGeometry &geometry() const { return ::ingot::qfmt::geometry(getScheme()); }
    bool isFloat() const { return geometry().isFloat; }
    bool isVector() const { return getRows() == 1; }
    SchemeAttr getSchemeAttr() const { return SchemeAttr::get(getContext(), getScheme()); }
    LayoutAttr getLayoutAttr() const { return LayoutAttr::get(getContext(), getLayout()); }
    /// Bytes in a pack. The verifier has checked that the size does not overflow.
    int64_t packedBytes() const;
    PackedType withScheme(::ingot::qfmt::Scheme s) const {
      return get(getContext(), getRows(), getCols(), s, getLayout());
    }
    PackedType withLayout(::ingot::qfmt::Layout l) const {
      return get(getContext(), getRows(), getCols(), getScheme(), l);
    }
    PackedType withRows(int64_t n) const { return get(getContext(), n, getCols(), getScheme(), getLayout()); }
  }];
}

#endif
