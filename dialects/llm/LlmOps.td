//===- LlmOps.td - operations of the llm dialect -----------------------------------------------*- tablegen -*-===//
//
// Constraint labels (linear_c1, ...) are those of the verifiers' messages and of test/lit/llm/invalid.mlir.
//
//===----------------------------------------------------------------------------------------------------===//
#ifndef INGOT_DIALECTS_LLM_OPS_TD
#define INGOT_DIALECTS_LLM_OPS_TD

include "dialects/llm/LlmBase.td"
include "dialects/llm/LlmInterfaces.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Llm_Op<string mnem, list<Trait> traits = []> : Op<Llm_Dialect, mnem, traits>;
class Llm_ElementwiseOp<string mnem, list<Trait> traits = []>
    : Llm_Op<mnem, traits # [Pure, SameOperandsAndResultType]>;
defvar Llm_Semantics = DeclareOpInterfaceMethods<SemanticsInterface>;
defvar Llm_SymbolUser = DeclareOpInterfaceMethods<SymbolUserOpInterface>;

//===-- Module level -----------------------------------------------------------------------------------===//

def Llm_ConfigOp : Llm_Op<"config", [HasParent<"::mlir::ModuleOp">]> {
  let summary = "what the whole model and its serving plan share; one per module";
  let description = [{
    ```mlir
    llm.config "SmolLM2" arch "llama" kv f16
      {hidden = 576 : i64, layers = 30 : i64, max_context = 2048 : i64, max_seqs = 16 : i64, vocab = 49152 : i64}
    ```
    `max_context`: positions served; `page`: tokens per KV page; `numerics`: exact unless it is said to be fast. config_c1: all sizes positive; config_c2: one per module.
  }];
  let arguments = (ins StrAttr:$name, StrAttr:$arch, Llm_I64Attr:$vocab, Llm_I64Attr:$hidden, Llm_I64Attr:$layers,
                       Llm_I64Attr:$max_context, DefaultValuedAttr<Llm_I64Attr, "1">:$max_seqs,
                       DefaultValuedAttr<Llm_KvDtypeAttr, "::ingot::llm::KvDtype::F16">:$kv_dtype,
                       DefaultValuedAttr<Llm_I64Attr, "16">:$page,
                       DefaultValuedAttr<Llm_NumericsAttr, "::ingot::llm::Numerics::Exact">:$numerics);
  let assemblyFormat = "$name `arch` $arch `kv` custom<KvDtypeWord>($kv_dtype) attr-dict";
  let hasVerifier = 1;
}

def Llm_ParamOp : Llm_Op<"param", [HasParent<"::mlir::ModuleOp">, Symbol]> {
  let summary = "a weight matrix or vector: bytes in a file and how they are packed";
  let description = [{
    ```mlir
    llm.param @blk.3.attn_q : !qfmt.packed<576x576, q4_1, row> from q4_1 [#llm.ext<0, 1713152, 207360>] rows [576]
    llm.param @blk.3.qkv : !qfmt.packed<960x576, q4_1, row> from q4_1
      [#llm.ext<0, 0, 207360>, #llm.ext<0, 207360, 69120>, #llm.ext<0, 276480, 69120>] rows [576, 192, 192] recipe concat
    ```
    `sources` are the byte ranges, all in `source_scheme`, each a whole matrix of `source_rows[i]` rows (for a vector:
    elements). The type's scheme is what the pack holds: the source's own or f32. `concat` places the sources one after
    another; `interleave16` alternates 16 rows of the first and 16 of the second. `offset_add` is added to every
    element (norm weights stored as w - 1). `tensors` are the sources' names in the files.

    param_c1: one extent per source, at least one. param_c2: extents add up to the type's rows (vector: columns).
    param_c3: every byte range has the size that its extent and scheme need. param_c4: the recipe fits the number of
    sources; interleave16 takes two with equal extents that are multiples of 16. param_c5: the scheme is the source's
    or f32. param_c6: a vector is f32 in row layout. param_c7: offset_add is finite and only for vectors.
    param_c8: as many tensor names as sources, or none.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<Qfmt_PackedType>:$type, Qfmt_SchemeAttr:$source_scheme,
                       Llm_ExtList:$sources, DenseI64ArrayAttr:$source_rows,
                       DefaultValuedAttr<Llm_RecipeAttr, "::ingot::llm::Recipe::None">:$recipe,
                       DefaultValuedAttr<F32Attr, "0.0f">:$offset_add,
                       DefaultValuedAttr<StrArrayAttr, "{}">:$tensors);
  let assemblyFormat = [{
    $sym_name `:` $type `from` custom<SchemeWord>($source_scheme) $sources `rows` $source_rows (`recipe` custom<RecipeWord>($recipe)^)?
    (`offset_add` $offset_add^)? (`tensors` $tensors^)? attr-dict
  }];
  let builders = [
    // One source: the tensor as the file has it.
    OpBuilder<(ins "::llvm::StringRef":$name, "::ingot::qfmt::PackedType":$type,
                   "::ingot::qfmt::Scheme":$sourceScheme, "::ingot::llm::ExtAttr":$source,
                   "::llvm::StringRef":$tensor)>
  ];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::ingot::qfmt::PackedType packedType() { return ::llvm::cast<::ingot::qfmt::PackedType>(getType()); }
    ::ingot::qfmt::Scheme sourceScheme() { return getSourceScheme().getValue(); }
    ::llvm::SmallVector<::ingot::llm::ExtAttr> sourceList();
  }];
}

def Llm_StepOp : Llm_Op<"step", [HasParent<"::mlir::ModuleOp">, IsolatedFromAbove, FunctionOpInterface,
                                 SingleBlock]> {
  let summary = "one step of the model over a ragged batch";
  let description = [{
    ```mlir
    llm.step @step(%ids: tensor<?xi32>, %batch: !llm.batch) -> tensor<?x49152xf32> {
      ...
      llm.return %logits : tensor<?x49152xf32>
    }
    ```
    `rows`: the row class it is compiled for (0: not specialised). The step appends each row's K and V to the layers'
    caches and yields the logits of the batch's output rows.
    step_c1: arguments are ids and batch, the result is rows of logits. step_c2: rows is not negative.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs,
                       DefaultValuedAttr<Llm_I64Attr, "0">:$rows);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "int64_t":$vocab)>];
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    ::mlir::Block &bodyBlock() { return getBody().front(); }
    ::mlir::Value ids() { return bodyBlock().getArgument(0); }
    ::mlir::Value batch() { return bodyBlock().getArgument(1); }
  }];
}

def Llm_ReturnOp : Llm_Op<"return", [Pure, Terminator, HasParent<"StepOp">, ReturnLike]> {
  let summary = "ends a step with its logits";
  let description = "return_c1: the operand has the step's result type.";
  let arguments = (ins Llm_Rows:$logits);
  let assemblyFormat = "$logits attr-dict `:` type($logits)";
  let hasVerifier = 1;
}

//===-- Rows in and out --------------------------------------------------------------------------------===//

def Llm_EmbedOp : Llm_Op<"embed", [Pure, Llm_SymbolUser, Llm_Semantics]> {
  let summary = "rows of the embedding table, times `scale`";
  let description = [{
    ```mlir
    %x = llm.embed %ids, @token_embd : tensor<?x576xf32>
    ```
    embed_c1: the table is a matrix as wide as the result. embed_c2: scale is finite and not 0.
  }];
  let arguments = (ins Llm_Ids:$ids, FlatSymbolRefAttr:$table, DefaultValuedAttr<F32Attr, "1.0f">:$scale);
  let results = (outs Llm_Rows:$result);
  let assemblyFormat = "$ids `,` $table attr-dict `:` type($result)";
  let builders = [OpBuilder<(ins "::mlir::Value":$ids, "ParamOp":$table, CArg<"float", "1.0f">:$scale)>];
  let hasVerifier = 1;
}

def Llm_SelectRowsOp : Llm_Op<"select_rows", [Pure, AllTypesMatch<["x", "result"]>]> {
  let summary = "the rows whose logits are wanted";
  let description = [{
    Row i of the result is row `out_rows[i]` of the batch; what follows has one row per wanted row, perhaps none.
    ```mlir
    %y = llm.select_rows %x, %batch : tensor<?x576xf32>
    ```
  }];
  let arguments = (ins Llm_Rows:$x, Llm_BatchType:$batch);
  let results = (outs Llm_Rows:$result);
  let assemblyFormat = "$x `,` $batch attr-dict `:` type($x)";
}

def Llm_LogitsOp : Llm_Op<"logits", [Pure, Llm_SymbolUser, Llm_Semantics]> {
  let summary = "scores of the whole vocabulary";
  let description = [{
    A linear into the vocabulary, then softcap * tanh(y / softcap) where softcap is not 0.
    ```mlir
    %l = llm.logits %x, @output : tensor<?x576xf32> -> tensor<?x49152xf32>
    ```
    logits_c1: the head is as wide as x. logits_c2: the result has the head's rows as width. logits_c3: softcap is
    finite and not negative. logits_c4: quantized activations need a quantized weight.
  }];
  let arguments = (ins Llm_RowsOrAct:$x, FlatSymbolRefAttr:$head, DefaultValuedAttr<F32Attr, "0.0f">:$softcap);
  let results = (outs Llm_Rows:$result);
  let assemblyFormat = "$x `,` $head attr-dict `:` type($x) `->` type($result)";
  let builders = [OpBuilder<(ins "::mlir::Value":$x, "ParamOp":$head, CArg<"float", "0.0f">:$softcap)>];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Format of the activations: that of x's type, f32 for plain rows.
    ::ingot::qfmt::ActAttr getAct();
  }];
}

def Llm_LayerEndOp : Llm_ElementwiseOp<"layer_end"> {
  let summary = "identity: the residual stream at a layer's end";
  let description = [{
    Marks where a layer's output can be compared with a reference.
    ```mlir
    %y = llm.layer_end %h {layer = 3 : i64} : tensor<?x576xf32>
    ```
    layer_end_c1: layer is not negative.
  }];
  let arguments = (ins Llm_Rows:$x, Llm_I64Attr:$layer);
  let results = (outs Llm_Rows:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
  let hasVerifier = 1;
}

//===-- Layer operations -------------------------------------------------------------------------------===//

def Llm_LinearOp : Llm_Op<"linear", [Pure, Llm_SymbolUser, Llm_Semantics]> {
  let summary = "y = x * w^T, then the epilogues in order";
  let description = [{
    ```mlir
    %q = llm.linear %n, @blk.3.q : tensor<?x576xf32> -> tensor<?x576xf32>
    %h = llm.linear %a, @blk.3.o residual(%x : tensor<?x576xf32>) {epilogue = [#llm.epilogue<residual>]}
           : tensor<?x576xf32> -> tensor<?x576xf32>
    %s = llm.linear %m8, @blk.3.gate_up {epilogue = [#llm.epilogue<gate = silu>]}
           : !llm.act<576, <i8, group = 32, block = 1>> -> tensor<?x1536xf32>
    ```
    The list names what follows the dot product, in this order: bias, residual, gate, softcap; each at most once.
    linear_c1: w is as wide as x. linear_c2: the result has w's rows as width, half of them with gate. linear_c3: bias
    is a vector with one element per row of w. linear_c4: residual has the result's type. linear_c5: the list is in
    order, without repetition, and names bias and residual exactly when they are given. linear_c6: gate needs a weight
    (and bias) made by interleave16. linear_c7: quantized activations need a quantized weight.
  }];
  let arguments = (ins Llm_RowsOrAct:$x, Optional<Llm_Rows>:$residual, FlatSymbolRefAttr:$w,
                       OptionalAttr<FlatSymbolRefAttr>:$bias,
                       DefaultValuedAttr<Llm_EpilogueList, "{}">:$epilogue);
  let results = (outs Llm_Rows:$result);
  let assemblyFormat = [{
    $x `,` $w (`bias` $bias^)? (`residual` `(` $residual^ `:` type($residual) `)`)? attr-dict
    `:` type($x) `->` type($result)
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Value":$x, "ParamOp":$w)>,
    // `bias` may be null.
    OpBuilder<(ins "::mlir::Value":$x, "ParamOp":$w, "ParamOp":$bias)>
  ];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Format of the activations: that of x's type, f32 for plain rows.
    ::ingot::qfmt::ActAttr getAct();
    ::llvm::SmallVector<::ingot::llm::EpilogueAttr> epilogueList();
    /// The epilogue of that kind, or null.
    ::ingot::llm::EpilogueAttr findEpilogue(::ingot::llm::EpilogueKind kind);
  }];
}

def Llm_RmsNormOp : Llm_Op<"rms_norm", [Pure, AllTypesMatch<["x", "result"]>, Llm_SymbolUser, Llm_Semantics]> {
  let summary = "x / rms(x) * (gamma + weight_offset), optionally added to a residual";
  let description = [{
    Each row is split into `groups` equal parts that are normed apart with the same gamma (norms of single heads).
    ```mlir
    %n = llm.rms_norm %x, @blk.3.attn_norm {eps = 1.0e-05 : f32} : tensor<?x576xf32>
    %h = llm.rms_norm %y, @blk.3.post_norm residual(%x : tensor<?x576xf32>) {eps = 1.0e-06 : f32} : tensor<?x576xf32>
    ```
    rms_norm_c1: gamma is a vector of width / groups elements. rms_norm_c2: eps is positive and finite.
    rms_norm_c3: residual has the type of x. rms_norm_c4: weight_offset is 0 or 1. rms_norm_c5: groups is positive.
  }];
  let arguments = (ins Llm_Rows:$x, Optional<Llm_Rows>:$residual, FlatSymbolRefAttr:$gamma, F32Attr:$eps,
                       DefaultValuedAttr<F32Attr, "0.0f">:$weight_offset,
                       DefaultValuedAttr<Llm_I64Attr, "1">:$groups);
  let results = (outs Llm_Rows:$result);
  let assemblyFormat = [{
    $x `,` $gamma (`residual` `(` $residual^ `:` type($residual) `)`)? attr-dict `:` type($result)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$x, "ParamOp":$gamma, "float":$eps,
                                 CArg<"float", "0.0f">:$weightOffset, CArg<"int64_t", "1">:$groups)>];
  let hasVerifier = 1;
}

def Llm_RopeOp : Llm_Op<"rope", [Pure, Llm_Semantics, AllTypesMatch<["x", "result"]>]> {
  let summary = "rotary position embedding of every head of a row";
  let description = [{
    ```mlir
    %r = llm.rope %q, %batch {heads = 9 : i64, rope = #llm.rope<half, ...>} : tensor<?x576xf32>
    ```
    rope_c1: the row is `heads` heads of the rope's head_dim.
  }];
  let arguments = (ins Llm_Rows:$x, Llm_BatchType:$batch, Llm_RopeAttr:$rope, Llm_I64Attr:$heads);
  let results = (outs Llm_Rows:$result);
  let assemblyFormat = "$x `,` $batch attr-dict `:` type($x)";
  let hasVerifier = 1;
}

def Llm_KvAppendOp : Llm_Op<"kv_append", [MemoryEffects<[MemWrite]>]> {
  let summary = "stores this step's K and V rows in a layer's cache";
  let description = [{
    Values are rounded to the cache's type, to nearest even. The result stands for the cache with the rows in it.
    ```mlir
    %c = llm.kv_append %k, %v, %batch : tensor<?x192xf32>, tensor<?x192xf32>
           -> !llm.kv<layer = 3, heads = 3, dim = 64, v_dim = 64, dtype = f16>
    ```
    kv_append_c1: k is heads * dim wide. kv_append_c2: v is heads * v_dim wide.
  }];
  let arguments = (ins Llm_Rows:$k, Llm_Rows:$v, Llm_BatchType:$batch);
  let results = (outs Llm_KvType:$kv);
  let assemblyFormat = "$k `,` $v `,` $batch attr-dict `:` type($k) `,` type($v) `->` qualified(type($kv))";
  let hasVerifier = 1;
}

def Llm_AttentionOp : Llm_Op<"attention", [MemoryEffects<[MemRead]>, Llm_Semantics]> {
  let summary = "softmax(q k^T * scale) v over the keys that the mask lets a row see";
  let description = [{
    Query head h reads KV head h / (q_heads / kv_heads). With softcap c the score is c * tanh(score / c).
    ```mlir
    %a = llm.attention %q, %c, %batch
           {head_dim = 64 : i64, kv_heads = 3 : i64, mask = #llm.mask<causal, window = 0>, q_heads = 9 : i64,
            scale = 1.250000e-01 : f32}
           : tensor<?x576xf32>, !llm.kv<layer = 3, heads = 3, dim = 64, v_dim = 64, dtype = f16> -> tensor<?x576xf32>
    ```
    attention_c1: q is q_heads * head_dim wide. attention_c2: kv_heads divides q_heads. attention_c3: kv_heads and
    head_dim are the cache's. attention_c4: the result is q_heads * v_dim wide. attention_c5: scale is positive and
    finite. attention_c6: softcap is finite and not negative. attention_c7: head counts and head_dim are positive.
  }];
  let arguments = (ins Llm_Rows:$q, Llm_KvType:$kv, Llm_BatchType:$batch, Llm_I64Attr:$q_heads, Llm_I64Attr:$kv_heads,
                       Llm_I64Attr:$head_dim, F32Attr:$scale, Llm_MaskAttr:$mask,
                       DefaultValuedAttr<F32Attr, "0.0f">:$softcap);
  let results = (outs Llm_Rows:$result);
  let assemblyFormat = "$q `,` $kv `,` $batch attr-dict `:` type($q) `,` qualified(type($kv)) `->` type($result)";
  let builders = [OpBuilder<(ins "::mlir::Value":$q, "::mlir::Value":$kv, "::mlir::Value":$batch, "int64_t":$qHeads,
                                 "float":$scale, "int64_t":$window, CArg<"float", "0.0f">:$softcap)>];
  let hasVerifier = 1;
}

def Llm_GateOp : Llm_ElementwiseOp<"gate", [Llm_Semantics]> {
  let summary = "kind(gate) * up";
  let description = [{
    ```mlir
    %s = llm.gate silu %g, %u : tensor<?x1536xf32>
    ```
  }];
  let arguments = (ins Llm_GateKindAttr:$kind, Llm_Rows:$gate, Llm_Rows:$up);
  let results = (outs Llm_Rows:$result);
  let assemblyFormat = "custom<GateKindWord>($kind) $gate `,` $up attr-dict `:` type($result)";
  let builders = [OpBuilder<(ins "::mlir::Value":$gate, "::mlir::Value":$up, "GateKind":$kind)>];
}

def Llm_AddOp : Llm_ElementwiseOp<"add"> {
  let summary = "lhs + rhs; lhs is the residual stream where there is one";
  let description = [{
    ```mlir
    %h = llm.add %x, %o : tensor<?x576xf32>
    ```
  }];
  let arguments = (ins Llm_Rows:$lhs, Llm_Rows:$rhs);
  let results = (outs Llm_Rows:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
}

def Llm_ScaleOp : Llm_ElementwiseOp<"scale"> {
  let summary = "x * factor";
  let description = [{
    ```mlir
    %y = llm.scale %x {factor = 2.400000e+01 : f32} : tensor<?x576xf32>
    ```
    scale_c1: factor is finite.
  }];
  let arguments = (ins Llm_Rows:$x, F32Attr:$factor);
  let results = (outs Llm_Rows:$result);
  let assemblyFormat = "$x attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Llm_SoftcapOp : Llm_ElementwiseOp<"softcap"> {
  let summary = "cap * tanh(x / cap)";
  let description = [{
    ```mlir
    %y = llm.softcap %x {cap = 3.000000e+01 : f32} : tensor<?x576xf32>
    ```
    softcap_c1: cap is positive and finite.
  }];
  let arguments = (ins Llm_Rows:$x, F32Attr:$cap);
  let results = (outs Llm_Rows:$result);
  let assemblyFormat = "$x attr-dict `:` type($result)";
  let hasVerifier = 1;
}

//===-- Views and formats ------------------------------------------------------------------------------===//

def Llm_SliceOp : Llm_Op<"slice", [Pure]> {
  let summary = "columns offset .. offset + size of every row";
  let description = [{
    A view: q, k and v of a fused projection. No copy is made where the consumer can read with a column offset.
    ```mlir
    %k = llm.slice %qkv {offset = 576 : i64, size = 192 : i64} : tensor<?x960xf32> -> tensor<?x192xf32>
    ```
    slice_c1: the columns lie inside x. slice_c2: the result is `size` wide.
  }];
  let arguments = (ins Llm_Rows:$x, Llm_I64Attr:$offset, Llm_I64Attr:$size);
  let results = (outs Llm_Rows:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let builders = [OpBuilder<(ins "::mlir::Value":$x, "int64_t":$offset, "int64_t":$size)>];
  let hasVerifier = 1;
}

def Llm_QuantizeOp : Llm_Op<"quantize", [Pure]> {
  let summary = "rows as signed bytes with one scale per group";
  let description = [{
    One result serves every consumer of the row.
    ```mlir
    %q = llm.quantize %n {act = #qfmt.act<i8, group = 32, block = 1>} : tensor<?x576xf32>
           -> !llm.act<576, <i8, group = 32, block = 1>>
    ```
    quantize_c1: act is a quantized format. quantize_c2: the result is x's width in that format.
  }];
  let arguments = (ins Llm_Rows:$x, Qfmt_ActAttr:$act);
  let results = (outs Llm_ActType:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` qualified(type($result))";
  let builders = [OpBuilder<(ins "::mlir::Value":$x, "::ingot::qfmt::ActAttr":$act)>];
  let hasVerifier = 1;
}

def Llm_DequantOp : Llm_Op<"dequant", [Pure, Llm_SymbolUser]> {
  let summary = "a parameter's values as f32; only for the reference lowering";
  let description = [{
    ```mlir
    %w = llm.dequant @blk.3.q : tensor<576x576xf32>
    ```
    dequant_c1: the result has the parameter's shape.
  }];
  let arguments = (ins FlatSymbolRefAttr:$param);
  let results = (outs 2DTensorOf<[F32]>:$result);
  let assemblyFormat = "$param attr-dict `:` type($result)";
}

#endif
