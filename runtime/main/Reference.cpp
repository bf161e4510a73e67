//===- Reference.cpp - what both kinds of references share ----------------------------------------------===//

#include "runtime/main/Reference.h"

#include "runtime/batch/Evaluate.h"

namespace ingot::main_ {

std::string tapName(uint32_t kind, uint32_t layer) {
  if (kind == INGOT_TAP_EMBED)
    return "hidden.embed";
  return kind == INGOT_TAP_NORM ? "hidden.norm" : "hidden.layer." + std::to_string(layer);
}

bool evaluateAt(Session &session, const std::vector<int32_t> &ids, const std::vector<uint32_t> &positions,
                bool hidden, Evaluation &out, std::string &error) {
  batch::EvaluateOptions options;
  options.chunk = static_cast<uint32_t>(session.options().chunk);
  uint32_t vocab = session.module().vocab;
  options.logits = [&](uint32_t, const float *logits) { out.logits.emplace_back(logits, logits + vocab); };
  if (hidden)
    options.hidden = [&](uint32_t kind, uint32_t layer, uint32_t, const float *data, uint32_t width) {
      std::vector<float> &rows = out.hidden[tapName(kind, layer)];
      rows.insert(rows.end(), data, data + width);
    };
  return batch::evaluate(session.executor(), ids, positions, /*all=*/false, options, error);
}

double logProbability(const std::vector<float> &logits, int32_t id) {
  return static_cast<double>(logits[id]) -
         sample::logSumExp(logits.data(), static_cast<uint32_t>(logits.size()));
}

bool readJsonFile(const std::string &path, nlohmann::json &out, std::string &error) {
  std::string text;
  if (!readFile(path, text, error))
    return false;
  out = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!out.is_discarded())
    return true;
  error = path + ": no JSON";
  return false;
}

bool readIds(const nlohmann::json &value, std::vector<int32_t> &out) {
  if (!value.is_array())
    return false;
  for (const nlohmann::json &id : value) {
    if (!id.is_number_integer() || id.get<int64_t>() < 0 || id.get<int64_t>() > INT32_MAX)
      return false;
    out.push_back(id.get<int32_t>());
  }
  return true;
}

} // namespace ingot::main_
