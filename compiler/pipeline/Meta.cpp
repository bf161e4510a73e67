//===- Meta.cpp - the description that an artefact carries ----------------------------------------------===//

#include "compiler/pipeline/Meta.h"
#include "compiler/pipeline/Explain.h"

#include "dialects/llm/Llm.h"
#include "dialects/rt/Rt.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
namespace json = llvm::json;

namespace ingot::pipeline {
namespace {

/// JSON strings are UTF-8; names in model files need not be.
json::Value text(StringRef value) { return json::isUTF8(value) ? value.str() : json::fixUTF8(value); }

json::Object generation(const import_::GenerationConfig &config) {
  json::Object object;
  object["eos_ids"] = json::Array(config.eos);
  object["bos_id"] = config.bos.value_or(-1);
  auto put = [&](StringRef key, std::optional<double> value) {
    if (value)
      object[key] = *value;
  };
  put("temperature", config.temperature);
  put("top_p", config.topP);
  put("min_p", config.minP);
  put("repetition_penalty", config.repetitionPenalty);
  if (config.topK)
    object["top_k"] = *config.topK;
  return object;
}

/// The largest of the variants' needs: one plan holds for whichever is chosen.
json::Object memoryPlan(const import_::ModelSource &source, const CompileOptions &options,
                        ArrayRef<VariantModule> variants) {
  int64_t weights = 0, page = 0, arena = 0, priv = 0, scratch = 0, maxSeqs = 0;
  for (const VariantModule &variant : variants) {
    int64_t pageHere = 0;
    mlir::ModuleOp module = variant.module;
    for (auto layer : module.getOps<rt::KvLayerOp>())
      pageHere += layer.getPageBytes();
    page = std::max(page, pageHere);
    for (auto facts : module.getOps<rt::ModuleOp>()) {
      weights = std::max(weights, facts.getWeightBytes());
      maxSeqs = std::max(maxSeqs, facts.getMaxSeqs());
    }
    for (auto program : module.getOps<rt::ProgramOp>()) {
      arena = std::max(arena, program.getArenaBytes());
      priv = std::max(priv, program.getPrivateBytes());
    }
    scratch = std::max<int64_t>(scratch, variant.scratchBytes);
  }
  return json::Object{{"weight_bytes", weights},
                      {"kv_page_bytes", page},
                      {"kv_token_bytes", page / 16},
                      {"arena_bytes", arena},
                      {"private_bytes", priv},
                      {"scratch_bytes", scratch},
                      {"max_seqs", maxSeqs},
                      {"chunk", options.chunk},
                      {"tokenizer_bytes", static_cast<int64_t>(source.tokenizer().size())}};
}

json::Array tensors(const import_::ModelSource &source) {
  json::Array list;
  for (const import_::TensorInfo &tensor : source.tensors())
    list.push_back(json::Object{{"name", text(tensor.name)},
                                {"scheme", tensor.scheme},
                                {"shape", json::Array(tensor.shape)},
                                {"bytes", static_cast<int64_t>(tensor.bytes)}});
  return list;
}

/// What the text of the model needs; the start of every description.
json::Object textPart(const import_::ModelSource &source) {
  json::Object meta{{"name", text(source.displayName())},
                    {"arch", text(source.architecture())},
                    {"source", text(sys::path::filename(source.path()))},
                    {"generation", generation(source.generation())}};
  if (source.chatTemplate())
    meta["chat_template"] = text(*source.chatTemplate());
  if (!source.chatTemplateError().empty())
    meta["chat_template_error"] = text(source.chatTemplateError());
  if (!source.tokenizerError().empty())
    meta["tokenizer_error"] = text(source.tokenizerError());
  return meta;
}

std::string dump(json::Object object) {
  std::string result;
  raw_string_ostream stream(result);
  stream << json::Value(std::move(object));
  return result;
}

} // namespace

std::string buildTextMeta(const import_::ModelSource &source) { return dump(textPart(source)); }

std::string buildMeta(const import_::ModelSource &source, const CompileOptions &options,
                      ArrayRef<VariantModule> variants, const std::string &compilerVersion) {
  mlir::ModuleOp first = variants.front().module;
  auto config = *first.getOps<llm::ConfigOp>().begin();
  json::Object meta = textPart(source);
  meta["build"] = compilerVersion + " " + options.describe();
  meta["vocab"] = config.getVocab();
  meta["hidden"] = config.getHidden();
  meta["layers"] = config.getLayers();
  meta["context"] = config.getMaxContext();
  meta["kv_dtype"] = llm::stringifyKvDtype(config.getKvDtype()).str();
  meta["numerics"] = options.isRef() ? "reference (f32)" : llm::stringifyNumerics(config.getNumerics()).str();
  meta["plan"] = memoryPlan(source, options, variants);
  meta["tensors"] = tensors(source);
  json::Array isas, explain;
  for (const VariantModule &variant : variants) {
    isas.push_back(variant.isa);
    explain.push_back(explainVariant(variant));
  }
  meta["isas"] = std::move(isas);
  meta["explain"] = std::move(explain);

  return dump(std::move(meta));
}

} // namespace ingot::pipeline
