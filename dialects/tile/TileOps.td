//===- TileOps.td - ops of the tile dialect --------------------------------------------------------===//
#ifndef INGOT_DIALECTS_TILE_TILEOPS_TD
#define INGOT_DIALECTS_TILE_TILEOPS_TD

include "dialects/tile/TileAttrs.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// I64Attr whose accessor is signed.
def Tile_Int : TypedSignlessIntegerAttrBase<I64, "int64_t", "64-bit integer">;

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<Tile_Dialect, mnemonic, traits>;

//===--- the kernel and its launch ----------------------------------------------------------------------===//

def Tile_KernelOp : Tile_Op<"kernel", [IsolatedFromAbove, Symbol, SingleBlock, NoTerminator,
                                       HasParent<"::mlir::ModuleOp">]> {
  let summary = "one kernel: operands in ABI order, one tile.grid with the body";
  let description = [{
    Arguments: input slots, then output slots, then weights. `rows` is the M class the code is made for (1, 2,
    4, 8), or 0 where the number of rows is known at run time only. `domain` says whether a row is a row of the
    step (n_rows) or of its outputs (n_out). `isa` and `schedule` are absent until tile-select; `reason` and
    `refused` record its choice for `explain`. The body is one `tile.grid`.

    How the families look (`%x` inputs, `%y` outputs, `%w` weights):
    ```mlir
    tile.kernel @k_embed embed outs(%y: !tile.rows<576>) weights(%w: !qfmt.packed<49152x576, q8_0, n16>)
        attributes {rows = 1 : i64, domain = #tile.domain<rows>} {
      tile.grid rows {
        %0 = tile.embed %w {scale = 1.0 : f32} : !qfmt.packed<49152x576, q8_0, n16> -> !tile.frag<576>
        tile.store %0, %y : !tile.frag<576>, !tile.rows<576>
      }
    }
    // norm: both outputs are optional, at least one; an added %r gives r + norm(x)
    tile.kernel @k_norm norm ins(%x: !tile.rows<576>) outs(%y: !tile.act<576, #qfmt.act<...>>) weights(%g: ...) {
      tile.grid rows {
        %0 = tile.load %x : !tile.rows<576> -> !tile.frag<576>
        %1 = tile.rms_norm %0, %g {eps = 1.0e-5 : f32} : ...
        %2 = tile.quantize %1 : !tile.frag<576> -> !tile.frag<576, #qfmt.act<...>>
        tile.store %2, %y : ...
      }
    }
    // linear: dot, then in this order the epilogues bias, gate, softcap, residual (each optional); or, after
    // dot and bias, rope_kv: the product is q, k and v side by side, q and k are (normalised by tile.rms_norm with a
    // group per head and) rotated, k and v go to the cache; gammas are weights behind w and the bias;
    // or, after dot, bias and softcap, argmax
    tile.kernel @k_linear_rope_kv linear ins(%x: !tile.act<...>) outs(%y: !tile.rows<576>)
        weights(%w: !qfmt.packed<960x576, q4_1, n16>) {
      tile.grid panels 60 {
        %0 = tile.dot undecided %x, %w : !tile.act<576, ...>, !qfmt.packed<...> -> !tile.frag<960>
        %q = tile.columns %0 {offset = 0} : !tile.frag<960> -> !tile.frag<576>
        %qr = tile.rope %q {style = ..., heads = 9, head_dim = 64, rotary_dim = 64, table = 0} : ...
        tile.store %qr, %y : ...
        %k = tile.columns %0 {offset = 576} : !tile.frag<960> -> !tile.frag<192>
        %kr = tile.rope %k {style = ..., heads = 3, head_dim = 64, rotary_dim = 64, table = 0} : ...
        %v = tile.columns %0 {offset = 768} : !tile.frag<960> -> !tile.frag<192>
        tile.kv_store %kr, %v {kv = #tile.kv<heads = 3, dim = 64, v_dim = 64, dtype = "f16">} : ...
      }
    }
    tile.kernel @k_linear linear ins(%x: !tile.act<...>, %r: !tile.rows<576>) outs(%y: !tile.rows<576>)
        weights(%w: !qfmt.packed<576x1536, q4_1, n16>) {
      tile.grid panels 36 {
        %0 = tile.dot undecided %x, %w : !tile.act<1536, ...>, !qfmt.packed<...> -> !tile.frag<576>
        %1 = tile.load %r : !tile.rows<576> -> !tile.frag<576>
        %2 = tile.add %0, %1 : !tile.frag<576>
        tile.store %2, %y : ...
      }
    }
    // rope_kv: q, k, v are columns of one slot or slots of their own
    tile.kernel @k_rope_kv rope_kv ins(%x: !tile.rows<960>) outs(%y: !tile.rows<576>) {
      tile.grid row_heads 12 {
        %q = tile.load %x {offset = 0} : !tile.rows<960> -> !tile.frag<576>
        %k = tile.load %x {offset = 576} : !tile.rows<960> -> !tile.frag<192>
        %v = tile.load %x {offset = 768} : !tile.rows<960> -> !tile.frag<192>
        %qr = tile.rope %q {style = ..., heads = 9, head_dim = 64, rotary_dim = 64, table = 0} : ...
        %kr = tile.rope %k {style = ..., heads = 3, head_dim = 64, rotary_dim = 64, table = 0} : ...
        tile.store %qr, %y : ...
        tile.kv_store %kr, %v {kv = #tile.kv<heads = 3, dim = 64, v_dim = 64, dtype = "f16">} : ...
      }
    }
    // attention; attn_split ends with a store of the state into !tile.partials, attn_merge starts from it
    tile.kernel @k_attention attention ins(%q: !tile.rows<576>) outs(%y: !tile.rows<576>) {
      tile.grid items 3 {
        %0 = tile.load %q : ...
        %s = tile.kv_block %0 {kv = #tile.kv<...>, q_heads = 9, block = 64, segment = 512} : !tile.frag<576> -> !tile.state<64> {
        ^bb0(%h: !tile.frag<64>):
          %1 = tile.score %h {scale = 0.125 : f32} : !tile.frag<64> -> !tile.frag<64>
          %2 = tile.mask %1 {window = 0} : !tile.frag<64>
          %3 = tile.online_softmax %2 : !tile.frag<64>
          %4 = tile.pv %3 : !tile.frag<64> -> !tile.state<64>
        }
        %o = tile.normalize %s : !tile.state<64> -> !tile.frag<576>
        tile.store %o, %y : ...
      }
    }
    // gate, add, select, softcap, scale: loads, one op, a store
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<StrAttr>:$sym_visibility, Tile_FamilyAttr:$family,
                       Tile_Int:$num_ins, Tile_Int:$num_outs, Tile_Int:$rows, Tile_DomainAttr:$domain,
                       OptionalAttr<StrAttr>:$isa, OptionalAttr<Tile_ScheduleAttr>:$schedule,
                       OptionalAttr<StrAttr>:$reason, OptionalAttr<StrArrayAttr>:$refused);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    using Args = ::mlir::MutableArrayRef<::mlir::BlockArgument>;
    /// Input slots, output slots and weights, each in ABI order.
    Args getInputs() { return getBodyRegion().getArguments().take_front(getNumIns()); }
    Args getOutputs() { return getBodyRegion().getArguments().slice(getNumIns(), getNumOuts()); }
    Args getSlots() { return getBodyRegion().getArguments().take_front(getNumIns() + getNumOuts()); }
    Args getWeights() { return getBodyRegion().getArguments().drop_front(getNumIns() + getNumOuts()); }
    ::mlir::Region &getBodyRegion() { return getBody(); }
    /// The one grid of the body.
    GridOp getGrid();
    /// Index of `arg` among the slots, or among the weights.
    unsigned slotIndex(::mlir::Value arg) {
      return ::llvm::cast<::mlir::BlockArgument>(arg).getArgNumber();
    }
    unsigned weightIndex(::mlir::Value arg) {
      return ::llvm::cast<::mlir::BlockArgument>(arg).getArgNumber() - getNumIns() - getNumOuts();
    }
    /// The KV cache that the body reads or writes; null if none.
    KvAttr getKv();
    /// Whether the body writes the KV cache.
    bool writesKv();
    /// Whether output `out` may be the same memory as input `in`: the body reads an element of that input
    /// last when it stores the same element of the output (residual, add, gate, softcap, scale).
    bool mayAlias(unsigned in, unsigned out);
  }];
}

def Tile_GridOp : Tile_Op<"grid", [SingleBlock, NoTerminator, HasParent<"KernelOp">]> {
  let summary = "what the parts of a launch divide among them; part p of n takes [count*p/n, count*(p+1)/n)";
  let description = [{
    `count` is the number of panels or heads; for rows it is absent, the rows come from the step.
    Example: `tile.grid panels 60 { ... }`
  }];
  let arguments = (ins Tile_UnitAttr:$unit, DefaultValuedAttr<Tile_Int, "0">:$count);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Tile_LaunchOp : Tile_Op<"launch", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "run a kernel on tensors of the step";
  let description = [{
    Operands are the kernel's input slots in order; results its output slots in order, then, for a kernel that
    writes KV, the `!llm.kv` value. `kv` is the cache that the kernel reads. A column slice of a wider tensor is no
    operand: the kernel takes the whole tensor and loads at an offset. `replicated`: every worker computes all of
    it into memory of its own. `tap` (embed, layer, norm): the first result is a hidden state that tests may read.
    Example:
    ```mlir
    %q, %kv = tile.launch @k_rope_kv(%qkv) params = [] layer = 3 : (tensor<?x960xf32>) -> (tensor<?x576xf32>, !llm.kv<...>)
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyType>:$ins, Optional<AnyType>:$kv,
                       DefaultValuedAttr<TypedArrayAttrBase<FlatSymbolRefAttr, "params">, "{}">:$params,
                       DefaultValuedAttr<Tile_Int, "-1">:$kv_layer, DefaultValuedAttr<Tile_Int, "0">:$layer,
                       UnitAttr:$replicated, OptionalAttr<StrAttr>:$tap);
  let results = (outs Variadic<AnyType>:$outs);
  let assemblyFormat = [{
    $kernel `(` $ins `)` (`kv` `(` $kv^ `)`)? `params` `=` $params (`replicated` $replicated^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Tile_RopeTableOp : Tile_Op<"rope_table", [HasParent<"::mlir::ModuleOp">]> {
  let summary = "table of rotary angles, number `index` of the module: angle of pair i at position p is p * inv_freq[i]";
  let arguments = (ins Tile_Int:$index, DenseF64ArrayAttr:$inv_freq, F64Attr:$scale, StrAttr:$name);
  let assemblyFormat = "$index $name attr-dict";
}

//===--- steps of a body ----------------------------------------------------------------------------------===//

def Tile_AnySlot : Type<CPred<"::llvm::isa<RowsType, ActType, PartialsType>($_self)">, "slot">;
def Tile_Rows : Type<CPred<"::llvm::isa<::ingot::tile::RowsType>($_self)">, "f32 rows", "::ingot::tile::RowsType">;
def Tile_Frag : Type<CPred<"::llvm::isa<::ingot::tile::FragType>($_self)">, "fragment", "::ingot::tile::FragType">;
def Tile_State : Type<CPred<"::llvm::isa<::ingot::tile::StateType>($_self)">, "attention state", "::ingot::tile::StateType">;
def Tile_Partials : Type<CPred<"::llvm::isa<::ingot::tile::PartialsType>($_self)">, "partials", "::ingot::tile::PartialsType">;
def Tile_Packed : Type<CPred<"::llvm::isa<::ingot::qfmt::PackedType>($_self)">, "packed parameter", "::ingot::qfmt::PackedType">;

def Tile_LoadOp : Tile_Op<"load"> {
  let summary = "columns offset .. offset + width - 1 of each row; `selected`: row i is row out_rows[i] of the slot";
  let arguments = (ins Tile_Rows:$src, DefaultValuedAttr<Tile_Int, "0">:$offset, UnitAttr:$selected);
  let results = (outs Tile_Frag:$out);
  let assemblyFormat = "$src attr-dict `:` qualified(type($src)) `->` qualified(type($out))";
  let hasVerifier = 1;
}
def Tile_ColumnsOp : Tile_Op<"columns"> {
  let summary = "columns offset .. offset + width - 1 of a fragment";
  let arguments = (ins Tile_Frag:$x, Tile_Int:$offset);
  let results = (outs Tile_Frag:$out);
  let assemblyFormat = "$x attr-dict `:` qualified(type($x)) `->` qualified(type($out))";
  let hasVerifier = 1;
}
def Tile_StoreOp : Tile_Op<"store"> {
  let summary = "write a fragment (f32 to rows, quantized to act) or a segment's state (to partials) into an output";
  let arguments = (ins AnyType:$value, AnyType:$dst);
  let assemblyFormat = "$value `,` $dst attr-dict `:` qualified(type($value)) `,` qualified(type($dst))";
  let hasVerifier = 1;
}
def Tile_EmbedOp : Tile_Op<"embed"> {
  let summary = "row `token` of the table, dequantized, times scale";
  let arguments = (ins Tile_Packed:$table, F32Attr:$scale);
  let results = (outs Tile_Frag:$out);
  let assemblyFormat = "$table attr-dict `:` qualified(type($table)) `->` qualified(type($out))";
  let hasVerifier = 1;
}
def Tile_DotOp : Tile_Op<"dot"> {
  let summary = "x times the rows of w, as the scheme's expression says (numerics 2 and 3); x is act or f32 rows";
  let arguments = (ins Tile_DotKindAttr:$kind, AnyType:$x, Tile_Packed:$w);
  let results = (outs Tile_Frag:$out);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}
def Tile_BiasOp : Tile_Op<"bias"> {
  let summary = "x + b, b a row vector";
  let arguments = (ins Tile_Frag:$x, Tile_Packed:$b);
  let results = (outs Tile_Frag:$out);
  let assemblyFormat = "$x `,` $b attr-dict `:` qualified(type($x)) `,` qualified(type($b)) `->` qualified(type($out))";
  let hasVerifier = 1;
}
def Tile_RmsNormOp : Tile_Op<"rms_norm"> {
  let summary = "(x / sqrt(mean(x^2) + eps)) * gamma, over each of `groups` equal pieces of the row (gamma has one piece)";
  let arguments = (ins Tile_Frag:$x, Tile_Packed:$gamma, F32Attr:$eps, DefaultValuedAttr<Tile_Int, "1">:$groups);
  let results = (outs Tile_Frag:$out);
  let assemblyFormat = "$x `,` $gamma attr-dict `:` qualified(type($x)) `,` qualified(type($gamma)) `->` qualified(type($out))";
  let hasVerifier = 1;
}
def Tile_QuantizeOp : Tile_Op<"quantize"> {
  let summary = "f32 to int8 with one scale per 32 values (numerics 1)";
  let arguments = (ins Tile_Frag:$x);
  let results = (outs Tile_Frag:$out);
  let assemblyFormat = "$x attr-dict `:` qualified(type($x)) `->` qualified(type($out))";
  let hasVerifier = 1;
}
class Tile_UnaryOp<string mnemonic, list<Trait> traits = []>
    : Tile_Op<mnemonic, !listconcat([AllTypesMatch<["x", "out"]>], traits)>;

def Tile_AddOp : Tile_Op<"add", [AllTypesMatch<["a", "b", "out"]>]> {
  let summary = "a + b, one rounding";
  let arguments = (ins Tile_Frag:$a, Tile_Frag:$b);
  let results = (outs Tile_Frag:$out);
  let assemblyFormat = "$a `,` $b attr-dict `:` qualified(type($out))";
}
def Tile_GateOp : Tile_Op<"gate", [AllTypesMatch<["g", "u", "out"]>]> {
  let summary = "act(g) * u";
  let arguments = (ins Tile_GateKindAttr:$kind, Tile_Frag:$g, Tile_Frag:$u);
  let results = (outs Tile_Frag:$out);
  let assemblyFormat = "custom<GateWord>($kind) $g `,` $u attr-dict `:` qualified(type($out))";
}
def Tile_GateInterleavedOp : Tile_Op<"gate_interleaved"> {
  let summary = "act(g) * u where x holds 16 columns of g, 16 of u, and so on; the result is half as wide";
  let arguments = (ins Tile_GateKindAttr:$kind, Tile_Frag:$x);
  let results = (outs Tile_Frag:$out);
  let assemblyFormat = "custom<GateWord>($kind) $x attr-dict `:` qualified(type($x)) `->` qualified(type($out))";
  let hasVerifier = 1;
}
def Tile_SoftcapOp : Tile_UnaryOp<"softcap"> {
  let summary = "cap * tanh(x / cap)";
  let arguments = (ins Tile_Frag:$x, F32Attr:$cap);
  let results = (outs Tile_Frag:$out);
  let assemblyFormat = "$x attr-dict `:` qualified(type($out))";
  let hasVerifier = 1;
}
def Tile_ScaleOp : Tile_UnaryOp<"scale"> {
  let summary = "x * factor";
  let arguments = (ins Tile_Frag:$x, F32Attr:$factor);
  let results = (outs Tile_Frag:$out);
  let assemblyFormat = "$x attr-dict `:` qualified(type($out))";
}
def Tile_ArgmaxOp : Tile_UnaryOp<"argmax"> {
  let summary = "x; in a step that asks for the best logits alone, each part's best column in place of x";
  let description = [{
    The last step of a head. A step without INGOT_STEP_ARGMAX stores x as if this op were not there. With it,
    every part leaves per row the largest of its columns and the lowest index that has it (ingot_argmax_v1, which
    also says how the result lies in the output), and stores no column. Columns that only pad the last panel are
    never looked at. The op is used by the one tile.store of a linear kernel over the rows of the step's outputs.
    ```mlir
    %0 = tile.dot vnni %x, %w : !tile.act<576, ...>, !qfmt.packed<49152x576, q8_0, n16> -> !tile.frag<49152>
    tile.store %0, %y : !tile.frag<49152>, !tile.rows<49152>
    // becomes, by tile-form-kernels
    %0 = tile.dot vnni %x, %w : !tile.act<576, ...>, !qfmt.packed<49152x576, q8_0, n16> -> !tile.frag<49152>
    %1 = tile.argmax %0 : !tile.frag<49152>
    tile.store %1, %y : !tile.frag<49152>, !tile.rows<49152>
    ```
  }];
  let arguments = (ins Tile_Frag:$x);
  let results = (outs Tile_Frag:$out);
  let assemblyFormat = "$x attr-dict `:` qualified(type($out))";
  let hasVerifier = 1;
}
def Tile_RopeOp : Tile_UnaryOp<"rope"> {
  let summary = "rotate the first rotary_dim values of each head by the row's position, table `table` of the step";
  let arguments = (ins Tile_Frag:$x, Tile_RopeStyleAttr:$style, Tile_Int:$heads, Tile_Int:$head_dim,
                       Tile_Int:$rotary_dim, Tile_Int:$table);
  let results = (outs Tile_Frag:$out);
  let assemblyFormat = "$x attr-dict `:` qualified(type($out))";
  let hasVerifier = 1;
}
def Tile_KvStoreOp : Tile_Op<"kv_store"> {
  let summary = "write k and v of each row into the row's place in the paged cache, rounded to its dtype";
  let arguments = (ins Tile_Frag:$k, Tile_Frag:$v, Tile_KvAttr:$kv);
  let assemblyFormat = "$k `,` $v attr-dict `:` qualified(type($k)) `,` qualified(type($v))";
  let hasVerifier = 1;
}

//===--- attention ------------------------------------------------------------------------------------------===//

def Tile_KvBlockOp : Tile_Op<"kv_block", [SingleBlock, NoTerminator, HasParent<"GridOp">]> {
  let summary = "for every query head, over blocks of `block` keys inside segments of `segment` positions: score, mask, softmax, values";
  let description = [{
    The region has the query head (`!tile.frag<head_dim>`) as its argument and holds `tile.score`, optionally
    `tile.softcap`, `tile.mask`, `tile.online_softmax` and `tile.pv`, in this order. The result is the state
    at the end of each segment; `tile.normalize` merges them in ascending order, a store keeps them apart.
  }];
  let arguments = (ins Tile_Frag:$q, Tile_KvAttr:$kv, Tile_Int:$q_heads, Tile_Int:$block, Tile_Int:$segment);
  let results = (outs Tile_State:$out);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}
def Tile_ScoreOp : Tile_Op<"score"> {
  let summary = "(scale * q) . k for each key of the block";
  let arguments = (ins Tile_Frag:$q, F32Attr:$scale);
  let results = (outs Tile_Frag:$out);
  let assemblyFormat = "$q attr-dict `:` qualified(type($q)) `->` qualified(type($out))";
}
def Tile_MaskOp : Tile_UnaryOp<"mask"> {
  let summary = "keys after the row's position, or `window` and more before it (window 0: no limit), become -inf";
  let arguments = (ins Tile_Frag:$x, Tile_Int:$window);
  let results = (outs Tile_Frag:$out);
  let assemblyFormat = "$x attr-dict `:` qualified(type($out))";
}
def Tile_OnlineSoftmaxOp : Tile_UnaryOp<"online_softmax"> {
  let summary = "update (m, l), rescale O, give exp(s - m)";
  let arguments = (ins Tile_Frag:$x);
  let results = (outs Tile_Frag:$out);
  let assemblyFormat = "$x attr-dict `:` qualified(type($out))";
}
def Tile_PvOp : Tile_Op<"pv"> {
  let summary = "O += p . v";
  let arguments = (ins Tile_Frag:$p);
  let results = (outs Tile_State:$out);
  let assemblyFormat = "$p attr-dict `:` qualified(type($p)) `->` qualified(type($out))";
}
def Tile_LoadPartialsOp : Tile_Op<"load_partials"> {
  let summary = "the states of a row's segments, ascending";
  let arguments = (ins Tile_Partials:$src, Tile_Int:$segment, Tile_Int:$window);
  let results = (outs Tile_State:$out);
  let assemblyFormat = "$src attr-dict `:` qualified(type($src)) `->` qualified(type($out))";
  let hasVerifier = 1;
}
def Tile_NormalizeOp : Tile_Op<"normalize"> {
  let summary = "merge the segments' states in ascending order and divide by the sum; heads follow each other";
  let arguments = (ins Tile_State:$x);
  let results = (outs Tile_Frag:$out);
  let assemblyFormat = "$x attr-dict `:` qualified(type($x)) `->` qualified(type($out))";
  let hasVerifier = 1;
}

#endif
