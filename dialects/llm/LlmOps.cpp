//===- LlmOps.cpp - builders, verifiers and variant keys of llm operations -------------------------===//
//
// Every message starts with the label of the constraint in LlmOps.td.
//
//===----------------------------------------------------------------------------------------------------===//
#include "dialects/llm/Llm.h"

#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mlir;

// Enums inside operations are written as bare words.
template <typename AttrT, typename EnumT> static ParseResult parseWord(OpAsmParser &parser, AttrT &attr) {
  FailureOr<EnumT> value = FieldParser<EnumT>::parse(parser);
  if (failed(value))
    return failure();
  attr = AttrT::get(parser.getContext(), *value);
  return success();
}
static ParseResult parseKvDtypeWord(OpAsmParser &parser, ingot::llm::KvDtypeAttr &attr) {
  return parseWord<ingot::llm::KvDtypeAttr, ingot::llm::KvDtype>(parser, attr);
}
static void printKvDtypeWord(OpAsmPrinter &p, Operation *, ingot::llm::KvDtypeAttr attr) {
  p << stringifyKvDtype(attr.getValue());
}
static ParseResult parseGateKindWord(OpAsmParser &parser, ingot::llm::GateKindAttr &attr) {
  return parseWord<ingot::llm::GateKindAttr, ingot::llm::GateKind>(parser, attr);
}
static void printGateKindWord(OpAsmPrinter &p, Operation *, ingot::llm::GateKindAttr attr) {
  p << stringifyGateKind(attr.getValue());
}
static ParseResult parseRecipeWord(OpAsmParser &parser, ingot::llm::RecipeAttr &attr) {
  return parseWord<ingot::llm::RecipeAttr, ingot::llm::Recipe>(parser, attr);
}
static void printRecipeWord(OpAsmPrinter &p, Operation *, ingot::llm::RecipeAttr attr) {
  p << stringifyRecipe(attr.getValue());
}
static ParseResult parseSchemeWord(OpAsmParser &parser, ingot::qfmt::SchemeAttr &attr) {
  return parseWord<ingot::qfmt::SchemeAttr, ingot::qfmt::Scheme>(parser, attr);
}
static void printSchemeWord(OpAsmPrinter &p, Operation *, ingot::qfmt::SchemeAttr attr) {
  p << attr.schemeName();
}

#define GET_OP_CLASSES
#include "dialects/llm/LlmOps.cpp.inc"

namespace ingot::llm {

using qfmt::PackedType;
using qfmt::Scheme;

ParamOp lookupParam(SymbolTableCollection &tables, Operation *from, FlatSymbolRefAttr ref) {
  return tables.lookupNearestSymbolFrom<ParamOp>(from, ref);
}

ConfigOp findConfig(ModuleOp module) {
  for (ConfigOp config : module.getOps<ConfigOp>())
    return config;
  return {};
}

static bool finite(const APFloat &value) { return value.isFinite(); }
static bool positive(const APFloat &value) {
  return value.isFinite() && !value.isZero() && !value.isNegative();
}
static bool finiteNotNegative(const APFloat &value) {
  return value.isFinite() && (value.isZero() || !value.isNegative());
}

/// Looks a parameter up for a verifier; reports when there is none.
static ParamOp requireParam(Operation *op, SymbolTableCollection &tables, FlatSymbolRefAttr ref) {
  ParamOp param = lookupParam(tables, op, ref);
  if (!param)
    op->emitOpError("names ") << ref << ", which is no llm.param";
  return param;
}

static InFlightDiagnostic paramError(Operation *op, const char *label, ParamOp param) {
  InFlightDiagnostic diag = op->emitOpError() << label << ": ";
  diag.attachNote(param.getLoc()) << "parameter is here";
  return diag;
}

//===-- Module level -----------------------------------------------------------------------------------===//

LogicalResult ConfigOp::verify() {
  for (auto [name, value] : {std::pair<const char *, int64_t>{"vocab", getVocab()},
                             {"hidden", getHidden()},
                             {"layers", getLayers()},
                             {"max_context", getMaxContext()},
                             {"max_seqs", getMaxSeqs()},
                             {"page", getPage()}})
    if (value <= 0)
      return emitOpError("config_c1: ") << name << " must be positive, got " << value;
  if (findConfig((*this)->getParentOfType<ModuleOp>()) != *this)
    return emitOpError("config_c2: the module already has an llm.config");
  return success();
}

void ParamOp::build(OpBuilder &builder, OperationState &state, StringRef name, PackedType type,
                    Scheme sourceScheme, ExtAttr source, StringRef tensor) {
  MLIRContext *context = builder.getContext();
  int64_t extent = type.isVector() ? type.getCols() : type.getRows();
  build(builder, state, builder.getStringAttr(name), TypeAttr::get(type),
        qfmt::SchemeAttr::get(context, sourceScheme), builder.getArrayAttr({source}),
        DenseI64ArrayAttr::get(context, {extent}), RecipeAttr::get(context, Recipe::None),
        builder.getF32FloatAttr(0.0f), builder.getStrArrayAttr({tensor}));
}

SmallVector<ExtAttr> ParamOp::sourceList() { return llvm::to_vector(getSources().getAsRange<ExtAttr>()); }

LogicalResult ParamOp::verify() {
  PackedType type = packedType();
  ArrayRef<int64_t> extents = getSourceRows();
  SmallVector<ExtAttr> sources = sourceList();
  if (sources.empty() || sources.size() != extents.size())
    return emitOpError("param_c1: ") << sources.size() << " sources with " << extents.size() << " extents";
  int64_t total = 0;
  for (auto [source, extent] : llvm::zip_equal(sources, extents)) {
    if (extent <= 0 || __builtin_add_overflow(total, extent, &total))
      return emitOpError("param_c2: extents must be positive and add up without overflow");
    std::optional<int64_t> bytes = type.isVector() ? qfmt::fileBytes(sourceScheme(), 1, extent)
                                                   : qfmt::fileBytes(sourceScheme(), extent, type.getCols());
    if (!bytes || *bytes != source.getBytes()) {
      InFlightDiagnostic diag = emitOpError("param_c3: ")
                                << source << " holds " << source.getBytes() << " bytes, ";
      if (bytes)
        return diag << "the shape needs " << *bytes;
      return diag << "but " << qfmt::schemeName(sourceScheme()) << " does not fit the shape";
    }
  }
  int64_t expected = type.isVector() ? type.getCols() : type.getRows();
  if (total != expected)
    return emitOpError("param_c2: extents add up to ") << total << ", the type has " << expected;
  switch (getRecipe()) {
  case Recipe::None:
    if (sources.size() != 1)
      return emitOpError("param_c4: several sources need a recipe");
    break;
  case Recipe::Concat:
    if (sources.size() < 2)
      return emitOpError("param_c4: concat needs at least two sources");
    break;
  case Recipe::Interleave16:
    if (sources.size() != 2 || extents[0] != extents[1] || extents[0] % 16 != 0)
      return emitOpError(
          "param_c4: interleave16 needs two sources of equal extents that are multiples of 16");
    break;
  }
  if (type.getScheme() != sourceScheme() && type.getScheme() != Scheme::F32)
    return emitOpError("param_c5: a ") << qfmt::schemeName(sourceScheme()) << " source cannot become "
                                       << qfmt::schemeName(type.getScheme());
  if (type.isVector() && (type.getScheme() != Scheme::F32 || type.getLayout() != qfmt::Layout::Row))
    return emitOpError("param_c6: a vector must be f32 in row layout");
  if (!finite(getOffsetAdd()) || (!getOffsetAdd().isZero() && !type.isVector()))
    return emitOpError("param_c7: offset_add must be finite and is for vectors only");
  if (!getTensors().empty() && getTensors().size() != sources.size())
    return emitOpError("param_c8: ") << getTensors().size() << " tensor names for " << sources.size()
                                     << " sources";
  return success();
}

void StepOp::build(OpBuilder &builder, OperationState &state, StringRef name, int64_t vocab) {
  MLIRContext *context = builder.getContext();
  Type ids = RankedTensorType::get({ShapedType::kDynamic}, builder.getI32Type());
  Type batch = BatchType::get(context);
  state.addAttribute(SymbolTable::getSymbolAttrName(), builder.getStringAttr(name));
  state.addAttribute(getFunctionTypeAttrName(state.name),
                     TypeAttr::get(builder.getFunctionType({ids, batch}, {rowsType(context, vocab)})));
  Block &body = state.addRegion()->emplaceBlock();
  body.addArgument(ids, state.location);
  body.addArgument(batch, state.location);
}

ParseResult StepOp::parse(OpAsmParser &parser, OperationState &result) {
  auto buildType = [](Builder &builder, ArrayRef<Type> inputs, ArrayRef<Type> results,
                      function_interface_impl::VariadicFlag,
                      std::string &) { return builder.getFunctionType(inputs, results); };
  return function_interface_impl::parseFunctionOp(
      parser, result, /*allowVariadic=*/false, getFunctionTypeAttrName(result.name), buildType,
      getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void StepOp::print(OpAsmPrinter &p) {
  p << ' ';
  p.printSymbolName(getSymName());
  function_interface_impl::printFunctionSignature(p, *this, getArgumentTypes(), /*isVariadic=*/false,
                                                  getResultTypes());
  SmallVector<StringRef> elided{getFunctionTypeAttrName(), getArgAttrsAttrName(), getResAttrsAttrName()};
  if (getRows() == 0)
    elided.push_back(getRowsAttrName());
  function_interface_impl::printFunctionAttributes(p, *this, elided);
  p << ' ';
  p.printRegion(getBody(), /*printEntryBlockArgs=*/false, /*printBlockTerminators=*/true);
}

LogicalResult StepOp::verify() {
  FunctionType type = getFunctionType();
  if (type.getNumInputs() != 2 || !isIdsType(type.getInput(0)) || !isa<BatchType>(type.getInput(1)) ||
      type.getNumResults() != 1 || !isRowsType(type.getResult(0)))
    return emitOpError("step_c1: expected (tensor<?xi32>, !llm.batch) -> tensor<?xVxf32>, got ") << type;
  if (getRows() < 0)
    return emitOpError("step_c2: rows must not be negative, got ") << getRows();
  return success();
}

LogicalResult ReturnOp::verify() {
  Type expected = cast<StepOp>((*this)->getParentOp()).getResultTypes()[0];
  if (getLogits().getType() != expected)
    return emitOpError("return_c1: expected ") << expected << ", got " << getLogits().getType();
  return success();
}

//===-- Rows in and out --------------------------------------------------------------------------------===//

void EmbedOp::build(OpBuilder &builder, OperationState &state, Value ids, ParamOp table, float scale) {
  build(builder, state, rowsType(builder.getContext(), table.packedType().getCols()), ids,
        FlatSymbolRefAttr::get(table), builder.getF32FloatAttr(scale));
}

LogicalResult EmbedOp::verify() {
  if (!finite(getScale()) || getScale().isZero())
    return emitOpError("embed_c2: scale must be finite and not 0");
  return success();
}

LogicalResult EmbedOp::verifySymbolUses(SymbolTableCollection &tables) {
  ParamOp table = requireParam(*this, tables, getTableAttr());
  if (!table)
    return failure();
  if (table.packedType().isVector() || table.packedType().getCols() != widthOf(getResult()))
    return paramError(*this, "embed_c1", table)
           << "the result is " << widthOf(getResult()) << " wide, the table is " << table.packedType();
  return success();
}

SmallVector<std::string> EmbedOp::getSemanticsKeys() {
  SmallVector<std::string> keys;
  if (!getScale().isExactlyValue(1.0))
    keys.push_back("embed.scale");
  return keys;
}

static qfmt::ActAttr actOf(Value x) {
  if (auto act = dyn_cast<ActType>(x.getType()))
    return act.getAct();
  return qfmt::ActAttr::get(x.getContext());
}

qfmt::ActAttr LogitsOp::getAct() { return actOf(getX()); }

void LogitsOp::build(OpBuilder &builder, OperationState &state, Value x, ParamOp head, float softcap) {
  build(builder, state, rowsType(builder.getContext(), head.packedType().getRows()), x,
        FlatSymbolRefAttr::get(head), builder.getF32FloatAttr(softcap));
}

LogicalResult LogitsOp::verify() {
  if (!finiteNotNegative(getSoftcap()))
    return emitOpError("logits_c3: softcap must be finite and not negative");
  return success();
}

LogicalResult LogitsOp::verifySymbolUses(SymbolTableCollection &tables) {
  ParamOp head = requireParam(*this, tables, getHeadAttr());
  if (!head)
    return failure();
  PackedType type = head.packedType();
  if (type.getCols() != widthOf(getX()))
    return paramError(*this, "logits_c1", head)
           << "x is " << widthOf(getX()) << " wide, the head is " << type;
  if (type.getRows() != widthOf(getResult()))
    return paramError(*this, "logits_c2", head)
           << "the result is " << widthOf(getResult()) << " wide, the head is " << type;
  if (getAct().isQuantized() && type.isFloat())
    return paramError(*this, "logits_c4", head)
           << "quantized activations need a quantized weight, got " << type;
  return success();
}

SmallVector<std::string> LogitsOp::getSemanticsKeys() {
  SmallVector<std::string> keys{getAct().isQuantized() ? "act.i8" : "act.f32"};
  if (!getSoftcap().isZero())
    keys.push_back("softcap");
  return keys;
}

LogicalResult LayerEndOp::verify() {
  if (getLayer() < 0)
    return emitOpError("layer_end_c1: layer must not be negative");
  return success();
}

//===-- Layer operations -------------------------------------------------------------------------------===//

void LinearOp::build(OpBuilder &builder, OperationState &state, Value x, ParamOp w) {
  build(builder, state, x, w, ParamOp());
}

void LinearOp::build(OpBuilder &builder, OperationState &state, Value x, ParamOp w, ParamOp bias) {
  SmallVector<Attribute> epilogue;
  FlatSymbolRefAttr biasRef;
  if (bias) {
    epilogue.push_back(EpilogueAttr::get(builder.getContext(), EpilogueKind::Bias));
    biasRef = FlatSymbolRefAttr::get(bias);
  }
  build(builder, state, rowsType(builder.getContext(), w.packedType().getRows()), x, /*residual=*/Value(),
        FlatSymbolRefAttr::get(w), biasRef, builder.getArrayAttr(epilogue));
}

qfmt::ActAttr LinearOp::getAct() { return actOf(getX()); }

SmallVector<EpilogueAttr> LinearOp::epilogueList() {
  return llvm::to_vector(getEpilogue().getAsRange<EpilogueAttr>());
}

EpilogueAttr LinearOp::findEpilogue(EpilogueKind kind) {
  for (EpilogueAttr epilogue : epilogueList())
    if (epilogue.getKind() == kind)
      return epilogue;
  return {};
}

LogicalResult LinearOp::verify() {
  int previous = -1;
  for (EpilogueAttr epilogue : epilogueList()) {
    int kind = static_cast<int>(epilogue.getKind());
    if (kind <= previous)
      return emitOpError(
          "linear_c5: epilogues must be in the order bias, residual, gate, softcap, each once");
    previous = kind;
  }
  if (static_cast<bool>(findEpilogue(EpilogueKind::Bias)) != static_cast<bool>(getBiasAttr()))
    return emitOpError("linear_c5: bias must be given exactly when the epilogues name it");
  if (static_cast<bool>(findEpilogue(EpilogueKind::Residual)) != static_cast<bool>(getResidual()))
    return emitOpError("linear_c5: residual must be given exactly when the epilogues name it");
  if (getResidual() && getResidual().getType() != getResult().getType())
    return emitOpError("linear_c4: residual must have the result's type ")
           << getResult().getType() << ", got " << getResidual().getType();
  return success();
}

LogicalResult LinearOp::verifySymbolUses(SymbolTableCollection &tables) {
  ParamOp w = requireParam(*this, tables, getWAttr());
  if (!w)
    return failure();
  PackedType type = w.packedType();
  bool gate = static_cast<bool>(findEpilogue(EpilogueKind::Gate));
  if (type.getCols() != widthOf(getX()))
    return paramError(*this, "linear_c1", w) << "x is " << widthOf(getX()) << " wide, the weight is " << type;
  int64_t width = gate ? type.getRows() / 2 : type.getRows();
  if (widthOf(getResult()) != width)
    return paramError(*this, "linear_c2", w)
           << "the result must be " << width << " wide, got " << widthOf(getResult());
  if (gate && w.getRecipe() != Recipe::Interleave16)
    return paramError(*this, "linear_c6", w) << "gate needs a weight made by interleave16";
  if (getAct().isQuantized() && type.isFloat())
    return paramError(*this, "linear_c7", w) << "quantized activations need a quantized weight, got " << type;
  if (!getBiasAttr())
    return success();
  ParamOp bias = requireParam(*this, tables, getBiasAttr());
  if (!bias)
    return failure();
  if (!bias.packedType().isVector() || bias.packedType().getCols() != type.getRows())
    return paramError(*this, "linear_c3", bias)
           << "bias must be a vector of " << type.getRows() << " elements, got " << bias.packedType();
  if (gate && bias.getRecipe() != Recipe::Interleave16)
    return paramError(*this, "linear_c6", bias) << "gate needs a bias made by interleave16";
  return success();
}

SmallVector<std::string> LinearOp::getSemanticsKeys() {
  SmallVector<std::string> keys{getAct().isQuantized() ? "act.i8" : "act.f32"};
  for (EpilogueAttr epilogue : epilogueList()) {
    std::string key = stringifyEpilogueKind(epilogue.getKind()).str();
    if (epilogue.getKind() == EpilogueKind::Gate)
      key += "." + stringifyGateKind(epilogue.getGate()).str();
    keys.push_back(key);
  }
  llvm::sort(keys);
  return keys;
}

void RmsNormOp::build(OpBuilder &builder, OperationState &state, Value x, ParamOp gamma, float eps,
                      float weightOffset, int64_t groups) {
  build(builder, state, x.getType(), x, /*residual=*/Value(), FlatSymbolRefAttr::get(gamma),
        builder.getF32FloatAttr(eps), builder.getF32FloatAttr(weightOffset),
        builder.getI64IntegerAttr(groups));
}

LogicalResult RmsNormOp::verify() {
  if (!positive(getEps()))
    return emitOpError("rms_norm_c2: eps must be positive and finite");
  if (getResult().getType() != getX().getType() ||
      (getResidual() && getResidual().getType() != getX().getType()))
    return emitOpError("rms_norm_c3: residual and result must have the type of x, ") << getX().getType();
  if (!getWeightOffset().isZero() && !getWeightOffset().isExactlyValue(1.0))
    return emitOpError("rms_norm_c4: weight_offset must be 0 or 1");
  if (getGroups() <= 0)
    return emitOpError("rms_norm_c5: groups must be positive");
  return success();
}

LogicalResult RmsNormOp::verifySymbolUses(SymbolTableCollection &tables) {
  ParamOp gamma = requireParam(*this, tables, getGammaAttr());
  if (!gamma)
    return failure();
  int64_t groups = getGroups(), width = widthOf(getX());
  PackedType type = gamma.packedType();
  if (!type.isVector() || width % groups != 0 || type.getCols() != width / groups)
    return paramError(*this, "rms_norm_c1", gamma)
           << "gamma must be a vector of " << width << " / " << groups << " elements, got " << type;
  return success();
}

SmallVector<std::string> RmsNormOp::getSemanticsKeys() {
  SmallVector<std::string> keys;
  if (getGroups() != 1)
    keys.push_back("norm.groups");
  if (getResidual())
    keys.push_back("norm.residual");
  if (!getWeightOffset().isZero())
    keys.push_back("norm.weight_offset");
  return keys;
}

LogicalResult RopeOp::verify() {
  int64_t heads = getHeads(), width = 0;
  if (heads <= 0 || __builtin_mul_overflow(heads, getRope().getHeadDim(), &width) || width != widthOf(getX()))
    return emitOpError("rope_c1: ") << heads << " heads of " << getRope().getHeadDim()
                                    << " do not make a row of " << widthOf(getX());
  return success();
}

SmallVector<std::string> RopeOp::getSemanticsKeys() {
  SmallVector<std::string> keys{"rope." + stringifyRopeStyle(getRope().getStyle()).str()};
  if (getRope().getRotaryDim() != getRope().getHeadDim())
    keys.push_back("rope.partial");
  if (getRope().scaleValue() != 1.0)
    keys.push_back("rope.scale");
  llvm::sort(keys);
  return keys;
}

/// a * b == width, without overflow.
static bool productIs(int64_t a, int64_t b, int64_t width) {
  int64_t product;
  return !__builtin_mul_overflow(a, b, &product) && product == width;
}

LogicalResult KvAppendOp::verify() {
  KvType kv = getKv().getType();
  if (!productIs(kv.getHeads(), kv.getDim(), widthOf(getK())))
    return emitOpError("kv_append_c1: k is ") << widthOf(getK()) << " wide, the cache is " << kv;
  if (!productIs(kv.getHeads(), kv.getVDim(), widthOf(getV())))
    return emitOpError("kv_append_c2: v is ") << widthOf(getV()) << " wide, the cache is " << kv;
  return success();
}

void AttentionOp::build(OpBuilder &builder, OperationState &state, Value q, Value kv, Value batch,
                        int64_t qHeads, float scale, int64_t window, float softcap) {
  auto type = cast<KvType>(kv.getType());
  MLIRContext *context = builder.getContext();
  build(builder, state, rowsType(context, qHeads * type.getVDim()), q, kv, batch,
        builder.getI64IntegerAttr(qHeads), builder.getI64IntegerAttr(type.getHeads()),
        builder.getI64IntegerAttr(type.getDim()), builder.getF32FloatAttr(scale),
        MaskAttr::get(context, MaskKind::Causal, window), builder.getF32FloatAttr(softcap));
}

LogicalResult AttentionOp::verify() {
  KvType kv = getKv().getType();
  int64_t qHeads = getQHeads(), kvHeads = getKvHeads(), headDim = getHeadDim();
  if (qHeads <= 0 || kvHeads <= 0 || headDim <= 0)
    return emitOpError("attention_c7: q_heads, kv_heads and head_dim must be positive");
  if (!productIs(qHeads, headDim, widthOf(getQ())))
    return emitOpError("attention_c1: ")
           << qHeads << " heads of " << headDim << " do not make a row of " << widthOf(getQ());
  if (qHeads % kvHeads != 0)
    return emitOpError("attention_c2: ") << kvHeads << " kv heads do not divide " << qHeads << " query heads";
  if (kvHeads != kv.getHeads() || headDim != kv.getDim())
    return emitOpError("attention_c3: kv_heads ")
           << kvHeads << " and head_dim " << headDim << " differ from " << kv;
  if (!productIs(qHeads, kv.getVDim(), widthOf(getResult())))
    return emitOpError("attention_c4: the result must be q_heads * v_dim wide, got ") << widthOf(getResult());
  if (!positive(getScale()))
    return emitOpError("attention_c5: scale must be positive and finite");
  if (!finiteNotNegative(getSoftcap()))
    return emitOpError("attention_c6: softcap must be finite and not negative");
  return success();
}

SmallVector<std::string> AttentionOp::getSemanticsKeys() {
  SmallVector<std::string> keys;
  if (getQHeads() != getKvHeads())
    keys.push_back("gqa");
  keys.push_back("mask." + stringifyMaskKind(getMask().getKind()).str());
  if (getMask().getWindow() != 0)
    keys.push_back("mask.window");
  if (!getSoftcap().isZero())
    keys.push_back("softcap");
  KvType kv = getKv().getType();
  if (kv.getDim() != kv.getVDim())
    keys.push_back("v_dim");
  return keys;
}

void GateOp::build(OpBuilder &builder, OperationState &state, Value gate, Value up, GateKind kind) {
  build(builder, state, gate.getType(), GateKindAttr::get(builder.getContext(), kind), gate, up);
}

SmallVector<std::string> GateOp::getSemanticsKeys() { return {"gate." + stringifyGateKind(getKind()).str()}; }

LogicalResult ScaleOp::verify() {
  if (!finite(getFactor()))
    return emitOpError("scale_c1: factor must be finite");
  return success();
}

LogicalResult SoftcapOp::verify() {
  if (!positive(getCap()))
    return emitOpError("softcap_c1: cap must be positive and finite");
  return success();
}

//===-- Views and formats ------------------------------------------------------------------------------===//

void SliceOp::build(OpBuilder &builder, OperationState &state, Value x, int64_t offset, int64_t size) {
  build(builder, state, rowsType(builder.getContext(), size), x, builder.getI64IntegerAttr(offset),
        builder.getI64IntegerAttr(size));
}

LogicalResult SliceOp::verify() {
  int64_t offset = getOffset(), size = getSize(), end;
  if (offset < 0 || size <= 0 || __builtin_add_overflow(offset, size, &end) || end > widthOf(getX()))
    return emitOpError("slice_c1: columns ")
           << offset << " + " << size << " do not lie in a row of " << widthOf(getX());
  if (widthOf(getResult()) != size)
    return emitOpError("slice_c2: the result must be ") << size << " wide, got " << widthOf(getResult());
  return success();
}

void QuantizeOp::build(OpBuilder &builder, OperationState &state, Value x, qfmt::ActAttr act) {
  build(builder, state, ActType::get(builder.getContext(), widthOf(x), act), x, act);
}

LogicalResult QuantizeOp::verify() {
  if (!getAct().isQuantized())
    return emitOpError("quantize_c1: act must be a quantized format");
  ActType type = getResult().getType();
  if (type.getDim() != widthOf(getX()) || type.getAct() != getAct())
    return emitOpError("quantize_c2: expected !llm.act<")
           << widthOf(getX()) << ", " << getAct() << ">, got " << type;
  return success();
}

LogicalResult DequantOp::verifySymbolUses(SymbolTableCollection &tables) {
  ParamOp param = requireParam(*this, tables, getParamAttr());
  if (!param)
    return failure();
  auto shape = getResult().getType().getShape();
  if (shape[0] != param.packedType().getRows() || shape[1] != param.packedType().getCols())
    return paramError(*this, "dequant_c1", param) << "expected the shape of " << param.packedType();
  return success();
}

} // namespace ingot::llm
