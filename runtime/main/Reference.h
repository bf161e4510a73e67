//===- Reference.h - numbers to compare with ------------------------------------------------------------===//
//
// Two kinds: `golden.json` with `golden.safetensors` (tiny models, every logit and hidden state), and folders
// of real models (`model.json`, prompts with their likeliest tokens).
//
//===------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_RUNTIME_MAIN_REFERENCE_H
#define INGOT_RUNTIME_MAIN_REFERENCE_H

#include "runtime/main/Checks.h"
#include "runtime/main/Session.h"

namespace ingot::main_ {

/// Compares and fills `checks`. `exact`: the kernels compute in f32 (ref), so the bounds are those of f32;
/// else those of quantized activations. False and a message where the reference cannot be read or the model
/// cannot run it.
bool verifyGolden(Session &session, const std::string &jsonPath, bool exact, Checks &checks,
                  std::string &error);
bool verifyReal(Session &session, const std::string &folder, bool exact, Checks &checks, std::string &error);

/// Logits and hidden states of one sequence at some positions, in ascending order.
struct Evaluation {
  std::vector<std::vector<float>> logits;           ///< per position
  std::map<std::string, std::vector<float>> hidden; ///< rows of one array, position after position
};
bool evaluateAt(Session &session, const std::vector<int32_t> &ids, const std::vector<uint32_t> &positions,
                bool hidden, Evaluation &out, std::string &error);

/// "hidden.embed", "hidden.layer.N" or "hidden.norm".
std::string tapName(uint32_t kind, uint32_t layer);

/// log p(id) of one row of logits.
double logProbability(const std::vector<float> &logits, int32_t id);

bool readJsonFile(const std::string &path, nlohmann::json &out, std::string &error);
bool readIds(const nlohmann::json &value, std::vector<int32_t> &out);

} // namespace ingot::main_

#endif // INGOT_RUNTIME_MAIN_REFERENCE_H
