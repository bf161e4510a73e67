//===- RtOps.td - the rt dialect: the static program of one step -----------------------------------===//
#ifndef INGOT_DIALECTS_RT_RTOPS_TD
#define INGOT_DIALECTS_RT_RTOPS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Rt_Dialect : Dialect {
  let name = "rt";
  let cppNamespace = "::ingot::rt";
  let summary = "the program that worker threads execute for one step";
  let description = [{
    Stages of launches over buffers with byte offsets, one program per M class, and the tables that go with them.
    Every op becomes one entry of a table of runtime/abi/ingot_abi.h.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

/// I64Attr whose accessor is signed.
def Rt_Int : TypedSignlessIntegerAttrBase<I64, "int64_t", "64-bit integer">;

class Rt_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::ingot::rt";
  let genSpecializedAttr = 0;
}
def Rt_Space : Rt_Enum<"Space", "arena: one for the step; private: one per worker thread", [
  I32EnumAttrCase<"Arena", 0, "arena">, I32EnumAttrCase<"Private", 1, "private">]>;
def Rt_SpaceAttr : EnumAttr<Rt_Dialect, Rt_Space, "space">;
// Values are those of INGOT_TAP_*.
def Rt_TapKind : Rt_Enum<"TapKind", "which hidden state a tap shows", [
  I32EnumAttrCase<"Embed", 0, "embed">, I32EnumAttrCase<"Layer", 1, "layer">, I32EnumAttrCase<"Norm", 2, "norm">]>;
def Rt_TapKindAttr : EnumAttr<Rt_Dialect, Rt_TapKind, "tap_kind">;

def Rt_SlotType : TypeDef<Rt_Dialect, "Slot"> {
  let mnemonic = "slot";
  let summary = "a piece of the arena or of the private areas";
}

class Rt_Op<string mnemonic, list<Trait> traits = []> : Op<Rt_Dialect, mnemonic, traits>;

//===--- module tables ----------------------------------------------------------------------------------------===//

def Rt_ModuleOp : Rt_Op<"module", [HasParent<"::mlir::ModuleOp">]> {
  let summary = "facts of the whole generated module; one per builtin module";
  let description = [{
    `positions`: 0 .. positions - 1 are served. `weight_bytes` is -1 until rt-plan-memory.
    Example: `rt.module "vnni" {vocab = 49152 : i64, hidden = 576 : i64, layers = 30 : i64, positions = 2048 : i64, max_seqs = 8 : i64, weight_bytes = -1 : i64}`
  }];
  let arguments = (ins StrAttr:$isa, Rt_Int:$vocab, Rt_Int:$hidden, Rt_Int:$layers, Rt_Int:$positions,
                       Rt_Int:$max_seqs, DefaultValuedAttr<Rt_Int, "-1">:$weight_bytes);
  let assemblyFormat = "$isa attr-dict";
}

def Rt_WeightOp : Rt_Op<"weight", [HasParent<"::mlir::ModuleOp">]> {
  let summary = "place of an llm.param in the weight section: bytes offset .. offset + bytes - 1";
  let description = "Example: `rt.weight @blk.3.qkv at 4096 bytes 345600`";
  let arguments = (ins FlatSymbolRefAttr:$param, Rt_Int:$offset, Rt_Int:$bytes);
  let assemblyFormat = "$param `at` $offset `bytes` $bytes attr-dict";
}

def Rt_KvLayerOp : Rt_Op<"kv_layer", [HasParent<"::mlir::ModuleOp">]> {
  let summary = "KV cache number `index` of the module (ingot_kv_layer_v1)";
  let description = "Example: `rt.kv_layer 3 f16 {heads = 3 : i64, dim = 64 : i64, v_dim = 64 : i64, window = 0 : i64, page_bytes = 12288 : i64}`";
  let arguments = (ins Rt_Int:$index, StrAttr:$dtype, Rt_Int:$heads, Rt_Int:$dim, Rt_Int:$v_dim, Rt_Int:$window,
                       Rt_Int:$page_bytes);
  let assemblyFormat = "$index $dtype attr-dict";
  let hasVerifier = 1;
}

def Rt_RopeOp : Rt_Op<"rope", [HasParent<"::mlir::ModuleOp">]> {
  let summary = "rotary table number `index` of the module (ingot_rope_v1)";
  let description = "Example: `rt.rope 0 \"default\" {inv_freq = array<f64: 1.0, 0.5>, scale = 1.0 : f64}`";
  let arguments = (ins Rt_Int:$index, StrAttr:$name, DenseF64ArrayAttr:$inv_freq, F64Attr:$scale);
  let assemblyFormat = "$index $name attr-dict";
}

//===--- the program ------------------------------------------------------------------------------------------===//

def Rt_ProgramOp : Rt_Op<"program", [HasParent<"::mlir::ModuleOp">, IsolatedFromAbove, Symbol, SingleBlock,
                                     NoTerminator]> {
  let summary = "the plan of one step for one M class: buffers, then stages, then the logits";
  let description = [{
    Serves steps of min_rows .. max_rows rows. `alloc_rows` is max_rows rounded up to whole blocks of activations; `max_out` bounds the rows of the
    logits (and of everything after select_rows).
    `arena_bytes` and `private_bytes` are -1 until rt-plan-memory.
    ```mlir
    rt.program @step_m1 attributes {m_class = 1 : i64, min_rows = 1 : i64, max_rows = 1 : i64, alloc_rows = 1 : i64, max_out = 1 : i64} {
      %x = rt.buffer arena 2304 at 0 "embed"
      rt.stage 0 {
        rt.launch @k_embed(%x) weights [@token_embd]
        rt.tap embed 0 %x {width = 576 : i64, stride = 576 : i64}
      }
      ...
      rt.logits %l {stride = 49152 : i64}
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Rt_Int:$m_class, Rt_Int:$min_rows, Rt_Int:$max_rows,
                       Rt_Int:$alloc_rows, Rt_Int:$max_out,
                       DefaultValuedAttr<Rt_Int, "-1">:$arena_bytes,
                       DefaultValuedAttr<Rt_Int, "-1">:$private_bytes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block &block() { return getBody().front(); }
    LogitsOp logits();
  }];
}

def Rt_BufferOp : Rt_Op<"buffer", [HasParent<"ProgramOp">]> {
  let summary = "bytes of the arena or of each worker's private area; offset -1 until rt-plan-memory";
  let description = [{
    `out_rows`: rows are those of out_rows, mostly few of the rows that it has room for.
    Example: `%0 = rt.buffer private 704 at 64 "act"`
  }];
  let arguments = (ins Rt_SpaceAttr:$space, Rt_Int:$bytes, DefaultValuedAttr<Rt_Int, "-1">:$offset, StrAttr:$note,
                       UnitAttr:$out_rows);
  let results = (outs Rt_SlotType:$slot);
  let assemblyFormat = "custom<SpaceWord>($space) $bytes `at` $offset $note (`out_rows` $out_rows^)? attr-dict";
  let hasVerifier = 1;
}

def Rt_StageOp : Rt_Op<"stage", [HasParent<"ProgramOp">, SingleBlock, NoTerminator]> {
  let summary = "launches that need no barrier between them; a barrier follows";
  let arguments = (ins Rt_Int:$index);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$index attr-dict-with-keyword $body";
  let extraClassDeclaration = [{ ::mlir::Block &block() { return getBody().front(); } }];
}

def Rt_LaunchOp : Rt_Op<"launch", [HasParent<"StageOp">]> {
  let summary = "one entry of ingot_launch_v1: a kernel with slots and weights in its order";
  let description = [{
    `outs` is the number of slots, at the end, that it writes. `replicated`: every worker runs all of it into its
    private slots.
    Example: `rt.launch @k_linear_ab12(%0, %1, %1) weights [@blk.3.o] outs 1 {kv_layer = -1 : i64, layer = 3 : i64}`
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<Rt_SlotType>:$slots,
                       TypedArrayAttrBase<FlatSymbolRefAttr, "params">:$weights, Rt_Int:$outs,
                       DefaultValuedAttr<Rt_Int, "-1">:$kv_layer, DefaultValuedAttr<Rt_Int, "0">:$layer,
                       UnitAttr:$kv_write, UnitAttr:$replicated);
  let assemblyFormat = [{
    $kernel `(` $slots `)` `weights` $weights `outs` $outs (`replicated` $replicated^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Rt_TapOp : Rt_Op<"tap", [HasParent<"StageOp">]> {
  let summary = "a hidden state that tests may read once the stage is done (ingot_tap_v1)";
  let arguments = (ins Rt_TapKindAttr:$kind, Rt_Int:$layer, Rt_SlotType:$slot, Rt_Int:$width, Rt_Int:$stride);
  let assemblyFormat = "custom<TapWord>($kind) $layer $slot attr-dict";
}

def Rt_LogitsOp : Rt_Op<"logits", [HasParent<"ProgramOp">]> {
  let summary = "where the step leaves its logits, f32 [n_out][stride]";
  let description = [{
    `argmax_panels`: panels of 16 logits that the parts of the launch that fills the slot divide, where its kernel
    ends in `tile.argmax`; 0: it always stores the logits.
    Example: `rt.logits %l {stride = 49152 : i64, argmax_panels = 3072 : i64}`
  }];
  let arguments = (ins Rt_SlotType:$slot, Rt_Int:$stride, DefaultValuedAttr<Rt_Int, "0">:$argmax_panels);
  let assemblyFormat = "$slot attr-dict";
}

#endif
