//===- VerifyReal.cpp - real models: likeliest tokens of prompts, a long prompt, hidden states ----------===//

#include "runtime/main/Reference.h"
#include "runtime/main/Safetensors.h"

#include <algorithm>
#include <cmath>

namespace ingot::main_ {
namespace {

using Json = nlohmann::json;

/// Bounds. With f32 activations they are the reference's own.
struct RealBounds {
  double logit, longLogit;     ///< largest difference
  double logProb, longLogProb; ///< rms difference of the same tokens' log-probabilities
  double margin;               ///< tokens chosen at larger margins must be the same
  double departures;           ///< how many of all tokens of the prompts may differ
  double hidden;               ///< of a vector's error to its length
};
constexpr RealBounds exactBounds{1e-3, 5e-3, 1e-3, 5e-3, 1e-2, 0, 1e-4};

/// With quantized activations: how far llama.cpp with its default attention is from the same reference
/// (`test/bench/quality --parts distance`, docs/numerics.md), so that no kernel is accepted that is further
/// away.
struct PeerDistance {
  const char *file; ///< sha256
  double largest, logProb, longLogProb, margin, departures, hidden;
};
constexpr PeerDistance peers[] = {
    {"b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53", 1.562, 0.1631, 0.1280, 0.465, 20,
     0.0320},
    {"a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818", 1.934, 0.1971, 0.1504, 0.299, 11,
     0.0361},
};

/// Two standard errors of the ratio of two rms errors over so many rows: equally good kernels may be that far
/// apart, since rounding errors are as good as random.
double ratioOverRows(size_t rows) { return 1 + 2 / std::sqrt(static_cast<double>(rows)); }

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
  double largest = 0, squares = 0, logProbSquares = 0, logSumExp = 0;
  size_t values = 0, rows = 0;
  void add(const std::vector<float> &actual, const TopTokens &top, size_t row) {
    double shift =
        sample::logSumExp(actual.data(), static_cast<uint32_t>(actual.size())) - top.logSumExp[row];
    logSumExp = std::max(logSumExp, std::fabs(shift));
    for (size_t i = 0; i < top.count; ++i) {
      size_t at = row * top.count + i;
      double d = static_cast<double>(actual[top.ids[at]]) - top.logits[at];
      largest = std::isnan(d) ? INFINITY : std::max(largest, std::fabs(d));
      squares += d * d;
      logProbSquares += (d - shift) * (d - shift);
      ++values;
    }
    ++rows;
  }
  double mean(double sum) const { return std::sqrt(sum / static_cast<double>(std::max<size_t>(values, 1))); }
  double rms() const { return mean(squares); }
  /// Without what all logits have in common, which no probability depends on.
  double logProbRms() const { return mean(logProbSquares); }
};

struct Greedy {
  int wrong = 0, judged = 0, departures = 0, all = 0;
  /// `logits[first + i]` chose token i.
  void add(const Evaluation &result, const std::vector<uint32_t> &positions, size_t length,
           const std::vector<int32_t> &tokens, const Json &margins, double margin) {
    for (size_t i = 0; i < tokens.size() && i < margins.size(); ++i) {
      auto at = std::lower_bound(positions.begin(), positions.end(), length - 1 + i);
      const std::vector<float> &logits = result.logits[at - positions.begin()];
      bool clear = margins[i].get<double>() > margin;
      bool differs = std::max_element(logits.begin(), logits.end()) - logits.begin() != tokens[i];
      ++all;
      departures += differs;
      judged += clear;
      wrong += clear && differs;
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
  checks.note("greedy tokens are clear above a margin of", bounds.margin);
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
  checks.add("prompts: log-probabilities, rms difference", all.logProbRms(),
             bounds.logProb * ratioOverRows(all.rows));
  checks.note("prompts: logsumexp, largest difference", all.logSumExp);
  checks.add("prompts: greedy tokens that differ, of " + std::to_string(greedyAll.judged) + " clear ones",
             greedyAll.wrong, 0);
  checks.add("prompts: greedy tokens that differ, of all " + std::to_string(greedyAll.all),
             greedyAll.departures, bounds.departures);
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
  checks.add("long prompt: log-probabilities, rms difference", difference.logProbRms(),
             bounds.longLogProb * ratioOverRows(difference.rows));
  Greedy count;
  count.add(result, positions, ids.size(), greedy, json.at("greedy_margin"), bounds.margin);
  checks.add("long prompt: greedy tokens that differ, of " + std::to_string(count.judged) + " clear ones",
             count.wrong, 0);
  return true;
}

/// The last position's vector after each layer. Its error is taken relative to its own length: the largest
/// value of a layer over all positions belongs to the first token's few huge channels.
bool verifyHidden(Session &session, const std::string &folder, double bound, Checks &checks,
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
  double worst = 0;
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
    double squares = 0, errors = 0;
    for (size_t c = 0; c < width; ++c) {
      double value = expected[row * width + c], difference = actual[c] - value;
      squares += value * value;
      errors += difference * difference;
    }
    double relative = std::isfinite(errors) ? std::sqrt(errors / std::max(squares, 1e-30)) : INFINITY;
    worst = std::max(worst, relative);
    if (relative > bound && !blamed) {
      checks.blame(name + ": off by " + std::to_string(relative) + " of its length");
      blamed = true;
    }
  }
  checks.add("hidden states, largest error relative to their length", worst, bound);
  return true;
}

} // namespace

bool verifyReal(Session &session, const std::string &folder, bool exact, Checks &checks, std::string &error) {
  RealBounds bounds = exactBounds;
  if (!exact) {
    Json model;
    if (!readJsonFile(folder + "/model.json", model, error))
      return false;
    bounds = {};
    for (const PeerDistance &peer : peers)
      if (model.value("file_sha256", "") == peer.file)
        bounds = {peer.largest, peer.largest,    peer.logProb, peer.longLogProb,
                  peer.margin,  peer.departures, peer.hidden};
    if (!bounds.logit) {
      error = folder +
              "/model.json: 'file_sha256' is of no model with known bounds for quantized activations; "
              "--kernels=ref has bounds for every model";
      return false;
    }
  }
  return verifyHidden(session, folder, bounds.hidden, checks, error) &&
         verifyPrompts(session, folder, bounds, checks, error) &&
         verifyLong(session, folder, bounds, checks, error);
}

} // namespace ingot::main_
