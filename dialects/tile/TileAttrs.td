//===- TileAttrs.td - attributes and types of the tile dialect -------------------------------------===//
#ifndef INGOT_DIALECTS_TILE_TILEATTRS_TD
#define INGOT_DIALECTS_TILE_TILEATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/BuiltinAttributes.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::ingot::tile";
  let summary = "one kernel: its operands, coarse steps and schedule";
  let description = [{
    A `tile.kernel` is the body of one function of the generated object. Its ops say what is computed for each
    row; `#tile.schedule` says how. The meaning is the same for every target.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
    void registerTypes();
  }];
}

//===--- enums ------------------------------------------------------------------------------------------===//

class Tile_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::ingot::tile";
  let genSpecializedAttr = 0;
}

def Tile_Family : Tile_Enum<"Family", "kernel family: one emitter each", [
  I32EnumAttrCase<"Embed", 0, "embed">, I32EnumAttrCase<"Norm", 1, "norm">,
  I32EnumAttrCase<"Quantize", 2, "quantize">, I32EnumAttrCase<"Linear", 3, "linear">,
  I32EnumAttrCase<"RopeKv", 4, "rope_kv">, I32EnumAttrCase<"Attention", 5, "attention">,
  I32EnumAttrCase<"AttnSplit", 6, "attn_split">, I32EnumAttrCase<"AttnMerge", 7, "attn_merge">,
  I32EnumAttrCase<"Gate", 8, "gate">, I32EnumAttrCase<"Add", 9, "add">,
  I32EnumAttrCase<"Select", 10, "select">, I32EnumAttrCase<"Softcap", 11, "softcap">,
  I32EnumAttrCase<"Scale", 12, "scale">]>;
def Tile_FamilyAttr : EnumAttr<Tile_Dialect, Tile_Family, "family"> { let assemblyFormat = "`<` $value `>`"; }

def Tile_Domain : Tile_Enum<"Domain", "rows a kernel works on: rows = step->n_rows, out = step->n_out", [
  I32EnumAttrCase<"Rows", 0, "rows">, I32EnumAttrCase<"Out", 1, "out">]>;
def Tile_DomainAttr : EnumAttr<Tile_Dialect, Tile_Domain, "domain"> { let assemblyFormat = "`<` $value `>`"; }

def Tile_Unit : Tile_Enum<"GridUnit", "what the parts of a launch divide: panels = 16 output columns, row_heads = (row, head), items = (tile of query rows, kv head), segments = (row, kv head, segment of 512 positions)", [
  I32EnumAttrCase<"Rows", 0, "rows">, I32EnumAttrCase<"Panels", 1, "panels">,
  I32EnumAttrCase<"RowHeads", 2, "row_heads">,
  I32EnumAttrCase<"Items", 3, "items">,
  I32EnumAttrCase<"Segments", 4, "segments">]>;
def Tile_UnitAttr : EnumAttr<Tile_Dialect, Tile_Unit, "unit"> { let assemblyFormat = "`<` $value `>`"; }

def Tile_DotKind : Tile_Enum<"DotKind", "instruction that a dot is built from", [
  I32EnumAttrCase<"Undecided", 0, "undecided">, I32EnumAttrCase<"Fma", 1, "fma">,
  I32EnumAttrCase<"Vnni", 2, "vnni">, I32EnumAttrCase<"Maddubs", 3, "maddubs">, I32EnumAttrCase<"Amx", 4, "amx">,
  I32EnumAttrCase<"Bf16", 5, "bf16">, I32EnumAttrCase<"AmxBf16", 6, "amx_bf16">]>;
def Tile_DotKindAttr : EnumAttr<Tile_Dialect, Tile_DotKind, "dot_kind"> { let assemblyFormat = "`<` $value `>`"; }

def Tile_GateKind : Tile_Enum<"GateKind", "activation of a gate", [
  I32EnumAttrCase<"Silu", 0, "silu">, I32EnumAttrCase<"Gelu", 1, "gelu">,
  I32EnumAttrCase<"GeluTanh", 2, "gelu_tanh">]>;
def Tile_GateKindAttr : EnumAttr<Tile_Dialect, Tile_GateKind, "gate_kind"> { let assemblyFormat = "`<` $value `>`"; }

def Tile_RopeStyle : Tile_Enum<"RopeStyle", "pairs of a rotary embedding: half = (i, i + rotary_dim / 2), interleaved = (2i, 2i + 1)", [
  I32EnumAttrCase<"Half", 0, "half">,
  I32EnumAttrCase<"Interleaved", 1, "interleaved">]>;
def Tile_RopeStyleAttr : EnumAttr<Tile_Dialect, Tile_RopeStyle, "rope_style"> {
  let assemblyFormat = "`<` $value `>`";
}

//===--- attributes -------------------------------------------------------------------------------------===//

class Tile_Attr<string name, string mnem> : AttrDef<Tile_Dialect, name> { let mnemonic = mnem; }

def Tile_ScheduleAttr : Tile_Attr<"Schedule", "schedule"> {
  let summary = "how a kernel is computed; data, chosen by tile-select from the kernel registry";
  let description = [{
    `vector`: bytes of one vector register. `panels`: panels of 16 columns (or heads, keys, vectors) in flight.
    `rows`: rows of the register tile. `unroll`: further unrolling of the inner loop. `prefetch`: bytes ahead, 0
    none. `chunk`: rows of one cache block, 0 all. `ops`: estimate of the vector ops of the unrolled body.
    The verifier caps `vector` at 64 and `ops` at 8192, and asks ops >= panels * rows * unroll, so that no
    schedule makes a compile explode.
    Example: `#tile.schedule<vector = 64, panels = 2, rows = 12, unroll = 1, prefetch = 0, chunk = 96, ops = 420>`
  }];
  let parameters = (ins "int64_t":$vector, "int64_t":$panels, "int64_t":$rows, "int64_t":$unroll,
                        "int64_t":$prefetch, "int64_t":$chunk, "int64_t":$ops);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Tile_KvAttr : Tile_Attr<"Kv", "kv"> {
  let summary = "shape of the KV cache that a kernel reads or writes, the same for all layers that share it";
  let parameters = (ins "int64_t":$heads, "int64_t":$dim, "int64_t":$v_dim,
                        StringRefParameter<"f32, f16, bf16 or int8">:$dtype);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

//===--- types ------------------------------------------------------------------------------------------===//

class Tile_Type<string name, string mnem> : TypeDef<Tile_Dialect, name> { let mnemonic = mnem; }

def Tile_RowsType : Tile_Type<"Rows", "rows"> {
  let summary = "slot: f32 rows of `width` floats, row stride = width rounded up to 16 floats";
  let parameters = (ins "int64_t":$width);
  let assemblyFormat = "`<` $width `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Floats from one row to the next.
    int64_t getStride() const { return (getWidth() + 15) / 16 * 16; }
  }];
}

def Tile_ActType : Tile_Type<"Act", "act"> {
  let summary = "slot: rows of `width` values quantized as `#qfmt.act` says, in row blocks";
  let parameters = (ins "int64_t":$width, "::ingot::qfmt::ActAttr":$act);
  let assemblyFormat = "`<` $width `,` $act `>`";
  let genVerifyDecl = 1;
}

def Tile_PartialsType : Tile_Type<"Partials", "partials"> {
  let summary = "slot: attention results of one segment each: running maximum, sum and unscaled output";
  let description = [{
    Entry (row, query head, segment) at float index ((row * heads + head) * segments + segment) * entry, where
    entry = 16 + round_up(dim, 16): float 0 is m, float 1 is l, floats 2..15 are unused, O[d] at 16 + d.
    Only the segments that hold a visible key of the row are written and read.
  }];
  let parameters = (ins "int64_t":$heads, "int64_t":$dim, "int64_t":$segments);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Floats of one entry.
    int64_t getEntry() const { return 16 + (getDim() + 15) / 16 * 16; }
  }];
}

def Tile_FragType : Tile_Type<"Frag", "frag"> {
  let summary = "value inside a kernel: `width` values of each row of the domain, f32 or quantized";
  let parameters = (ins "int64_t":$width, OptionalParameter<"::ingot::qfmt::ActAttr">:$act);
  let assemblyFormat = "`<` $width (`,` $act^)? `>`";
  let genVerifyDecl = 1;
}

def Tile_StateType : Tile_Type<"State", "state"> {
  let summary = "value inside a kernel: running (m, l, O[dim]) of an attention head over one segment";
  let parameters = (ins "int64_t":$dim);
  let assemblyFormat = "`<` $dim `>`";
}

#endif
