//===- VerifyReal.cpp - real models: likeliest tokens of prompts, a long prompt, hidden states ----------===//

#include "runtime/main/Reference.h"
#include "runtime/main/Safetensors.h"

#include <algorithm>
#include <cmath>

namespace ingot::main_ {
namespace {

using Json = nlohmann::json;

/// Bounds on logits. With f32 activations they are the reference's own. With quantized ones one wide bound
/// serves all models: llama.cpp's largest difference on any of the references (Gemma's; on SmolLM2 it is half
/// of that), so it finds wrong results, not small losses. Perplexity judges those.
struct RealBounds {
  double logit, longLogit, margin;
};

/// Likeliest tokens of the reference at some positions.
struct TopTokens {
  std::vector<int32_t> ids;
  std::vector<float> logits, logSumExp;
  size_t count = 0; ///< per position
  bool read(const ArrayFile &file, const std::string &prefix, std::string &error) {
    std::vector<int64_t> shape;
    if (!file.integers(prefix + "top_ids", ids, shape, error) || shape.size() != 2)
      return false;
    count = shape[1];
    return file.floats(prefix + "top_logits", logits, shape, error) &&
           file.floats(prefix + "logsumexp", logSumExp, shape, error);
  }
};

struct Difference {
  double largest = 0, squares = 0, logSumExp = 0;
  size_t values = 0;
  void add(const std::vector<float> &actual, const TopTokens &top, size_t row) {
    for (size_t i = 0; i < top.count; ++i) {
      size_t at = row * top.count + i;
      double d = static_cast<double>(actual[top.ids[at]]) - top.logits[at];
      largest = std::isnan(d) ? INFINITY : std::max(largest, std::fabs(d));
      squares += d * d;
      ++values;
    }
    double lse = sample::logSumExp(actual.data(), static_cast<uint32_t>(actual.size()));
    logSumExp = std::max(logSumExp, std::fabs(lse - top.logSumExp[row]));
  }
  double rms() const { return std::sqrt(squares / static_cast<double>(std::max<size_t>(values, 1))); }
};

struct Greedy {
  int wrong = 0, judged = 0;
  /// `logits[first + i]` chose token i.
  void add(const Evaluation &result, const std::vector<uint32_t> &positions, size_t length,
           const std::vector<int32_t> &tokens, const Json &margins, double margin) {
    for (size_t i = 0; i < tokens.size() && i < margins.size(); ++i) {
      if (margins[i].get<double>() <= margin)
        continue;
      auto at = std::lower_bound(positions.begin(), positions.end(), length - 1 + i);
      const std::vector<float> &logits = result.logits[at - positions.begin()];
      ++judged;
      wrong += std::max_element(logits.begin(), logits.end()) - logits.begin() != tokens[i];
    }
  }
};

/// Prompt and continuation as one sequence, and the positions whose logits are needed, ascending.
void unroll(const std::vector<int32_t> &ids, const std::vector<int32_t> &greedy,
            const std::vector<uint32_t> &extra, std::vector<int32_t> &all, std::vector<uint32_t> &positions) {
  all = ids;
  all.insert(all.end(), greedy.begin(), greedy.end() - 1);
  positions = extra;
  for (size_t i = 0; i < greedy.size(); ++i)
    positions.push_back(static_cast<uint32_t>(ids.size() - 1 + i));
  std::sort(positions.begin(), positions.end());
  positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
}

std::vector<uint32_t> toPositions(const Json &list) {
  std::vector<uint32_t> positions;
  for (const Json &p : list)
    positions.push_back(p.get<uint32_t>());
  return positions;
}

bool verifyPrompts(Session &session, const std::string &folder, const RealBounds &bounds, Checks &checks,
                   std::string &error) {
  Json prompts;
  ArrayFile arrays;
  if (!readJsonFile(folder + "/prompts.json", prompts, error) ||
      !arrays.open(folder + "/prompts.safetensors", error))
    return false;
  Difference all;
  Greedy greedyAll;
  for (const Json &prompt : prompts.at("prompts")) {
    std::string name = prompt.value("name", "");
    std::vector<int32_t> ids, greedy, sequence;
    if (!readIds(prompt.value("ids", Json()), ids) || !readIds(prompt.value("greedy", Json()), greedy)) {
      error = folder + "/prompts.json: prompt '" + name + "' has no ids";
      return false;
    }
    std::vector<uint32_t> wanted = toPositions(prompt.at("positions")), positions;
    unroll(ids, greedy, wanted, sequence, positions);
    Evaluation result;
    TopTokens top;
    if (!evaluateAt(session, sequence, positions, false, result, error) ||
        !top.read(arrays, name + ".", error))
      return false;
    Difference one;
    for (size_t row = 0; row < wanted.size(); ++row) {
      auto at = std::lower_bound(positions.begin(), positions.end(), wanted[row]);
      one.add(result.logits[at - positions.begin()], top, row);
      all.add(result.logits[at - positions.begin()], top, row);
    }
    checks.add("prompt " + name + ": top logits, largest difference", one.largest, bounds.logit);
    greedyAll.add(result, positions, ids.size(), greedy, prompt.at("greedy_margin"), bounds.margin);
  }
  checks.note("prompts: top logits, rms difference", all.rms());
  checks.note("prompts: logsumexp, largest difference", all.logSumExp);
  checks.add("prompts: greedy tokens that differ, of " + std::to_string(greedyAll.judged) + " clear ones",
             greedyAll.wrong, 0);
  return true;
}

bool verifyLong(Session &session, const std::string &folder, const RealBounds &bounds, Checks &checks,
                std::string &error) {
  Json json;
  ArrayFile arrays;
  if (!readJsonFile(folder + "/long.json", json, error) || !arrays.open(folder + "/long.safetensors", error))
    return false;
  std::vector<int32_t> ids, greedy, sequence;
  std::vector<int64_t> shape;
  if (!arrays.integers("ids", ids, shape, error) || !readIds(json.value("greedy", Json()), greedy))
    return false;
  if (ids.size() + greedy.size() > session.module().context) {
    checks.note("long prompt: left out, it does not fit the context", static_cast<double>(ids.size()));
    return true;
  }
  std::vector<uint32_t> wanted = toPositions(json.at("positions")), positions;
  unroll(ids, greedy, wanted, sequence, positions);
  Evaluation result;
  TopTokens top;
  if (!evaluateAt(session, sequence, positions, false, result, error) || !top.read(arrays, "", error))
    return false;
  Difference difference;
  for (size_t row = 0; row < wanted.size(); ++row) {
    auto at = std::lower_bound(positions.begin(), positions.end(), wanted[row]);
    difference.add(result.logits[at - positions.begin()], top, row);
  }
  checks.add("long prompt: top logits, largest difference", difference.largest, bounds.longLogit);
  checks.note("long prompt: top logits, rms difference", difference.rms());
  Greedy count;
  count.add(result, positions, ids.size(), greedy, json.at("greedy_margin"), bounds.margin);
  checks.add("long prompt: greedy tokens that differ, of " + std::to_string(count.judged) + " clear ones",
             count.wrong, 0);
  return true;
}

bool verifyHidden(Session &session, const std::string &folder, bool exact, Checks &checks,
                  std::string &error) {
  Json json, prompts;
  ArrayFile arrays;
  std::vector<float> expected;
  std::vector<int64_t> shape;
  if (!readJsonFile(folder + "/hidden.json", json, error) ||
      !readJsonFile(folder + "/prompts.json", prompts, error) ||
      !arrays.open(folder + "/hidden.safetensors", error) ||
      !arrays.floats("last_position", expected, shape, error))
    return false;
  std::vector<int32_t> ids;
  for (const Json &prompt : prompts.at("prompts"))
    if (prompt.value("name", "") == json.value("prompt", ""))
      readIds(prompt.value("ids", Json()), ids);
  Evaluation result;
  if (ids.empty() || shape.size() != 2) {
    error = folder + "/hidden.json: names no prompt of prompts.json";
    return false;
  }
  if (!evaluateAt(session, ids, {static_cast<uint32_t>(ids.size() - 1)}, true, result, error))
    return false;
  // Relative to the largest value of a layer over all positions: single channels are huge in these models.
  double worst = 0, bound = exact ? 1e-4 : 0.1;
  bool blamed = false;
  size_t width = shape[1];
  for (size_t row = 0; row < static_cast<size_t>(shape[0]); ++row) {
    std::string name = row == 0                                   ? "hidden.embed"
                       : row + 1 == static_cast<size_t>(shape[0]) ? "hidden.norm"
                                                                  : "hidden.layer." + std::to_string(row - 1);
    const std::vector<float> &actual = result.hidden[name];
    if (actual.size() != width) {
      error = "the model's plan has no " + name;
      return false;
    }
    double largest = json.at("layers").at(row).value("absmax", 0.0), difference = 0;
    for (size_t c = 0; c < width; ++c)
      difference =
          std::max(difference, std::fabs(static_cast<double>(actual[c]) - expected[row * width + c]));
    double relative = largest > 0 ? difference / largest : difference;
    worst = std::max(worst, relative);
    if (relative > bound && !blamed) {
      checks.blame(name + ": off by " + std::to_string(relative) + " of its largest value");
      blamed = true;
    }
  }
  checks.add("hidden states, largest relative difference", worst, bound);
  return true;
}

} // namespace

bool verifyReal(Session &session, const std::string &folder, bool exact, Checks &checks, std::string &error) {
  RealBounds bounds = exact ? RealBounds{1e-3, 5e-3, 1e-2} : RealBounds{1.8, 1.8, 0.9};
  return verifyHidden(session, folder, exact, checks, error) &&
         verifyPrompts(session, folder, bounds, checks, error) &&
         verifyLong(session, folder, bounds, checks, error);
}

} // namespace ingot::main_
