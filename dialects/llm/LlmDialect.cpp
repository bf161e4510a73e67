//===- LlmDialect.cpp - attributes and types of the llm dialect ------------------------------------===//
#include "dialects/llm/Llm.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;

#include "dialects/llm/LlmDialect.cpp.inc"
#include "dialects/llm/LlmEnums.cpp.inc"
#include "dialects/llm/LlmInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/llm/LlmAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/llm/LlmTypes.cpp.inc"

namespace ingot::llm {

void LlmDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/llm/LlmAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/llm/LlmTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/llm/LlmOps.cpp.inc"
      >();
}

bool isRowsType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() == 2 && tensor.isDynamicDim(0) && !tensor.isDynamicDim(1) &&
         tensor.getDimSize(1) > 0 && tensor.getElementType().isF32() && !tensor.getEncoding();
}

bool isIdsType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() == 1 && tensor.isDynamicDim(0) &&
         tensor.getElementType().isSignlessInteger(32);
}

RankedTensorType rowsType(MLIRContext *context, int64_t width) {
  return RankedTensorType::get({ShapedType::kDynamic, width}, Float32Type::get(context));
}

int64_t widthOf(Value value) {
  if (auto act = dyn_cast<ActType>(value.getType()))
    return act.getDim();
  return cast<RankedTensorType>(value.getType()).getDimSize(1);
}

//===-- #llm.ext, #llm.mask ----------------------------------------------------------------------------===//

LogicalResult ExtAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t file, int64_t offset,
                              int64_t bytes) {
  int64_t end;
  if (file < 0 || offset < 0 || bytes <= 0 || __builtin_add_overflow(offset, bytes, &end))
    return emitError() << "ext_c1: file and offset must not be negative, bytes positive, their sum in range";
  return success();
}

LogicalResult MaskAttr::verify(function_ref<InFlightDiagnostic()> emitError, MaskKind kind, int64_t window) {
  if (window < 0)
    return emitError() << "mask_c1: window must not be negative, got " << window;
  return success();
}

//===-- #llm.rope --------------------------------------------------------------------------------------===//

static ParseResult parseF64(AsmParser &parser, double &value) {
  APFloat parsed(APFloat::IEEEdouble());
  if (parser.parseFloat(APFloat::IEEEdouble(), parsed))
    return failure();
  value = parsed.convertToDouble();
  return success();
}

static ParseResult parseKeyEqual(AsmParser &parser, StringRef key) {
  return failure(parser.parseComma() || parser.parseKeyword(key) || parser.parseEqual());
}

Attribute RopeAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  MLIRContext *context = parser.getContext();
  int64_t headDim, rotaryDim;
  double scale;
  SmallVector<double> freqs;
  std::string name;
  if (parser.parseLess())
    return {};
  FailureOr<RopeStyle> style = FieldParser<RopeStyle>::parse(parser);
  if (failed(style) || parseKeyEqual(parser, "head_dim") || parser.parseInteger(headDim) ||
      parseKeyEqual(parser, "rotary_dim") || parser.parseInteger(rotaryDim) ||
      parseKeyEqual(parser, "scale") || parseF64(parser, scale) || parseKeyEqual(parser, "inv_freq") ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     [&] { return parseF64(parser, freqs.emplace_back()); }) ||
      parseKeyEqual(parser, "name") || parser.parseString(&name) || parser.parseGreater())
    return {};
  return parser.getChecked<RopeAttr>(loc, context, *style, headDim, rotaryDim,
                                     FloatAttr::get(Float64Type::get(context), scale),
                                     DenseF64ArrayAttr::get(context, freqs), StringAttr::get(context, name));
}

void RopeAttr::print(AsmPrinter &p) const {
  p << "<" << stringifyRopeStyle(getStyle()) << ", head_dim = " << getHeadDim()
    << ", rotary_dim = " << getRotaryDim() << ", scale = ";
  p.printFloat(getScale().getValue());
  p << ", inv_freq = [";
  llvm::interleaveComma(frequencies(), p, [&](double f) { p.printFloat(APFloat(f)); });
  p << "], name = ";
  p.printString(getName());
  p << ">";
}

LogicalResult RopeAttr::verify(function_ref<InFlightDiagnostic()> emitError, RopeStyle style, int64_t headDim,
                               int64_t rotaryDim, FloatAttr scale, DenseF64ArrayAttr invFreq,
                               StringAttr name) {
  if (headDim <= 0 || rotaryDim <= 0 || rotaryDim > headDim || rotaryDim % 2 != 0)
    return emitError() << "rope_attr_c1: rotary_dim must be even and lie in 2..head_dim, got " << rotaryDim
                       << " of " << headDim;
  if (invFreq.size() != rotaryDim / 2)
    return emitError() << "rope_attr_c2: " << rotaryDim / 2 << " inverse frequencies expected, got "
                       << invFreq.size();
  if (!scale.getType().isF64() || !std::isfinite(scale.getValueAsDouble()))
    return emitError() << "rope_attr_c3: scale must be a finite f64";
  for (double f : invFreq.asArrayRef())
    if (!std::isfinite(f) || f < 0)
      return emitError() << "rope_attr_c4: inverse frequencies must be finite and not negative";
  return success();
}

//===-- #llm.epilogue ----------------------------------------------------------------------------------===//

Attribute EpilogueAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess())
    return {};
  FailureOr<EpilogueKind> kind = FieldParser<EpilogueKind>::parse(parser);
  if (failed(kind))
    return {};
  GateKind gate = GateKind::Silu;
  APFloat cap(0.0f);
  if (*kind == EpilogueKind::Gate) {
    if (parser.parseEqual())
      return {};
    FailureOr<GateKind> parsed = FieldParser<GateKind>::parse(parser);
    if (failed(parsed))
      return {};
    gate = *parsed;
  } else if (*kind == EpilogueKind::Softcap) {
    if (parser.parseEqual() || parser.parseFloat(APFloat::IEEEsingle(), cap))
      return {};
  }
  if (parser.parseGreater())
    return {};
  MLIRContext *context = parser.getContext();
  return parser.getChecked<EpilogueAttr>(loc, context, *kind, gate,
                                         FloatAttr::get(Float32Type::get(context), cap));
}

void EpilogueAttr::print(AsmPrinter &p) const {
  p << "<" << stringifyEpilogueKind(getKind());
  if (getKind() == EpilogueKind::Gate)
    p << " = " << stringifyGateKind(getGate());
  if (getKind() == EpilogueKind::Softcap) {
    p << " = ";
    p.printFloat(getCap().getValue());
  }
  p << ">";
}

LogicalResult EpilogueAttr::verify(function_ref<InFlightDiagnostic()> emitError, EpilogueKind kind,
                                   GateKind gate, FloatAttr cap) {
  if (!cap.getType().isF32())
    return emitError() << "epilogue_c1: the cap must be f32";
  float value = cap.getValue().convertToFloat();
  if (kind == EpilogueKind::Softcap && !(std::isfinite(value) && value > 0))
    return emitError() << "epilogue_c2: softcap must be positive and finite";
  return success();
}

//===-- Types ------------------------------------------------------------------------------------------===//

LogicalResult KvType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t layer, int64_t heads,
                             int64_t dim, int64_t vDim, KvDtype dtype) {
  if (layer < 0 || heads <= 0 || dim <= 0 || vDim <= 0)
    return emitError() << "kv_c1: layer must not be negative, heads, dim and v_dim must be positive";
  return success();
}

LogicalResult ActType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t dim, qfmt::ActAttr act) {
  if (dim <= 0)
    return emitError() << "act_type_c1: the width must be positive, got " << dim;
  if (!act.isQuantized())
    return emitError() << "act_type_c2: f32 activations are plain tensors";
  return success();
}

} // namespace ingot::llm
