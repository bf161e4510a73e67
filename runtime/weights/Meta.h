//===- Meta.h - the META section as the runtime reads it ------------------------------------------------===//
//
// Typed view of the JSON that ingot_pack.h documents. Unknown members are ignored; a known one of the wrong
// type is an error that names it.
//
//===------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_RUNTIME_WEIGHTS_META_H
#define INGOT_RUNTIME_WEIGHTS_META_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::weights {

/// Sampling defaults that the model's author published; absent ones are the runtime's.
struct GenerationConfig {
  std::vector<int32_t> eosIds;
  int32_t bosId = -1;
  std::optional<double> temperature, topP, minP, repetitionPenalty;
  std::optional<int64_t> topK;
};

/// Bytes, as the compiler planned them.
struct MemoryPlan {
  uint64_t weightBytes = 0, kvTokenBytes = 0, kvPageBytes = 0, arenaBytes = 0, privateBytes = 0,
           scratchBytes = 0, tokenizerBytes = 0, maxSeqs = 0, chunk = 0;
};

struct ModelMeta {
  std::string name, arch, source, build;
  uint64_t vocab = 0, hidden = 0, layers = 0, context = 0;
  GenerationConfig generation;
  std::optional<std::string> chatTemplate;
  std::string bosToken, eosToken;
  MemoryPlan plan;
  std::vector<std::string> isas;
};

/// `where` names the file in messages.
bool parseMeta(std::string_view json, const std::string &where, ModelMeta &out, std::string &error);

} // namespace ingot::weights
#endif
