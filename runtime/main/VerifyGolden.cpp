//===- VerifyGolden.cpp - tiny models: every logit and hidden state -------------------------------------===//

#include "runtime/main/Reference.h"
#include "runtime/main/Safetensors.h"

#include <algorithm>
#include <cmath>
#include <unistd.h>

namespace ingot::main_ {
namespace {

using Json = nlohmann::json;

/// What a run may be off by. Logit bounds are absolute.
struct Bounds {
  double logitMax = 0, logitRms = 0, meanKl = 0; ///< 0: not judged
  double hidden = 0;                             ///< relative to the largest value of the array
  double margin = 0;                             ///< a smaller margin decides nothing
  double loglik = 0;
};

class GoldenVerifier {
public:
  GoldenVerifier(Session &session, const Json &golden, const ArrayFile &arrays, bool exact, Checks &checks)
      : session(session), golden(golden), arrays(arrays), checks(checks) {
    bool directory = golden.contains("accuracy");
    const Json &accuracy = directory ? golden.at("accuracy") : golden;
    double largest = accuracy.value("max_abs_logit", 1.0);
    if (exact) {
      bounds.logitMax = directory ? 1e-4 * largest : 1e-4;
      bounds.hidden = 1e-4;
      bounds.margin = directory ? 2e-4 * largest : 1e-3;
      bounds.loglik = 0.01;
    } else if (directory) {
      bounds.meanKl = 2 * accuracy.value("bf16_mean_kl", 0.0) + 1e-5;
      bounds.margin = 4 * accuracy.value("bf16_rel", 0.0) * largest;
    } else {
      bool mix = golden.value("note", "").find("mix") != std::string::npos ||
                 golden.value("architecture", "").find("gemma") != std::string::npos ||
                 golden.value("tensor_types", Json::object()).size() > 2;
      bounds.logitRms = (mix ? 0.035 : 0.03) * golden.value("logit_std", 1.0);
      bounds.logitMax = 0.25;
      bounds.margin = 0.25;
    }
  }

  bool run(std::string &error) {
    for (const char *prompt : {"prompt_a", "prompt_b"})
      if (!runPrompt(prompt, error))
        return false;
    return true;
  }

private:
  bool runPrompt(const std::string &name, std::string &error) {
    auto it = golden.find(name);
    std::vector<int32_t> ids, greedy;
    if (it == golden.end() || !it->is_object() || !readIds(it->value("ids", Json()), ids) ||
        !readIds(it->value("greedy", Json()), greedy) || ids.empty() || greedy.empty()) {
      error = "the reference has no ids and greedy tokens for " + name;
      return false;
    }
    std::vector<double> margins;
    for (const Json &margin : it->value("margin", Json::array()))
      margins.push_back(margin.is_number() ? margin.get<double>() : 0);
    if (margins.size() != greedy.size()) {
      error = "the reference has not one margin for each greedy token of " + name;
      return false;
    }
    // One pass over the prompt and its continuation gives the logits of both.
    std::vector<int32_t> all(ids);
    all.insert(all.end(), greedy.begin(), greedy.end() - 1);
    std::vector<uint32_t> positions(all.size());
    for (uint32_t i = 0; i < positions.size(); ++i)
      positions[i] = i;
    Evaluation result;
    if (!evaluateAt(session, all, positions, name == "prompt_a", result, error))
      return false;

    std::vector<uint32_t> wanted;
    if (it->contains("logit_positions")) {
      for (const Json &position : (*it).at("logit_positions"))
        wanted.push_back(position.get<uint32_t>());
    } else {
      wanted.assign(positions.begin(), positions.begin() + static_cast<ptrdiff_t>(ids.size()));
    }
    if (name == "prompt_a" && !compareHidden(result, ids.size(), error))
      return false;
    if (!compareLogits(name, result, wanted, error))
      return false;
    compareGreedy(name, result, ids.size(), greedy, margins);
    if (bounds.loglik > 0 && it->contains("loglik_sum")) {
      double sum = 0;
      for (size_t i = 0; i + 1 < ids.size(); ++i)
        sum += logProbability(result.logits[i], ids[i + 1]);
      checks.add(name + ": log-likelihood, difference", std::fabs(sum - (*it).at("loglik_sum").get<double>()),
                 bounds.loglik);
    }
    return true;
  }

  /// The reference holds the last four positions of the prompt.
  bool compareHidden(const Evaluation &result, size_t length, std::string &error) {
    uint32_t layers = session.module().layers;
    bool blamed = false;
    double worst = 0;
    for (uint32_t i = 0; i <= layers; ++i) {
      std::string name = i == 0 ? "hidden.embed" : "hidden.layer." + std::to_string(i - 1);
      if (!arrays.has(name))
        continue;
      std::vector<float> expected;
      std::vector<int64_t> shape;
      if (!arrays.floats(name, expected, shape, error))
        return false;
      auto found = result.hidden.find(name);
      if (found == result.hidden.end() || shape.size() != 2 || expected.empty()) {
        error = "the model's plan has no " + name;
        return false;
      }
      size_t width = shape[1], first = length - shape[0];
      double largest = 0, difference = 0;
      for (size_t r = 0; r < static_cast<size_t>(shape[0]); ++r)
        for (size_t c = 0; c < width; ++c) {
          double e = expected[r * width + c], a = found->second[(first + r) * width + c];
          largest = std::max(largest, std::fabs(e));
          difference = std::isnan(a) ? INFINITY : std::max(difference, std::fabs(a - e));
        }
      double relative = largest > 0 ? difference / largest : difference;
      worst = std::max(worst, relative);
      double bound = bounds.hidden > 0 ? bounds.hidden : 0.1;
      if (relative > bound && !blamed) {
        checks.blame(name + ": off by " + std::to_string(relative) + " of its largest value");
        blamed = true;
      }
    }
    if (bounds.hidden > 0)
      checks.add("hidden states, largest relative difference", worst, bounds.hidden);
    else
      checks.note("hidden states, largest relative difference", worst);
    return true;
  }

  bool compareLogits(const std::string &name, const Evaluation &result, const std::vector<uint32_t> &wanted,
                     std::string &error) {
    std::vector<float> expected;
    std::vector<int64_t> shape;
    if (!arrays.floats(name + ".logits", expected, shape, error))
      return false;
    size_t vocab = session.module().vocab;
    if (shape.size() != 2 || static_cast<size_t>(shape[0]) != wanted.size() ||
        static_cast<size_t>(shape[1]) != vocab) {
      error = name + ".logits has not the shape [" + std::to_string(wanted.size()) + ", " +
              std::to_string(vocab) + "]";
      return false;
    }
    double largest = 0, squares = 0, kl = 0;
    for (size_t row = 0; row < wanted.size(); ++row) {
      const std::vector<float> &actual = result.logits[wanted[row]];
      const float *reference = expected.data() + row * vocab;
      double zr = sample::logSumExp(reference, vocab), za = sample::logSumExp(actual.data(), vocab);
      for (size_t v = 0; v < vocab; ++v) {
        double difference = static_cast<double>(actual[v]) - reference[v];
        largest = std::isnan(difference) ? INFINITY : std::max(largest, std::fabs(difference));
        squares += difference * difference;
        kl += std::exp(reference[v] - zr) * ((reference[v] - zr) - (actual[v] - za));
      }
    }
    double rms = std::sqrt(squares / static_cast<double>(wanted.size() * vocab));
    kl /= static_cast<double>(wanted.size());
    if (bounds.logitMax > 0)
      checks.add(name + ": logits, largest difference", largest, bounds.logitMax);
    else
      checks.note(name + ": logits, largest difference", largest);
    if (bounds.logitRms > 0)
      checks.add(name + ": logits, rms difference", rms, bounds.logitRms);
    // The bound on the divergence is stated for prompt B.
    if (bounds.meanKl > 0 && name == "prompt_b")
      checks.add(name + ": mean KL divergence", kl, bounds.meanKl);
    else
      checks.note(name + ": mean KL divergence", kl);
    return true;
  }

  /// Reference tokens are fed, so one small margin does not end the comparison.
  void compareGreedy(const std::string &name, const Evaluation &result, size_t length,
                     const std::vector<int32_t> &greedy, const std::vector<double> &margins) {
    int wrong = 0, judged = 0;
    for (size_t i = 0; i < greedy.size(); ++i) {
      if (margins[i] <= bounds.margin)
        continue;
      ++judged;
      const std::vector<float> &logits = result.logits[length - 1 + i];
      wrong += std::max_element(logits.begin(), logits.end()) - logits.begin() != greedy[i];
    }
    checks.add(name + ": greedy tokens that differ, of " + std::to_string(judged) + " clear ones", wrong, 0);
  }

  Session &session;
  const Json &golden;
  const ArrayFile &arrays;
  Checks &checks;
  Bounds bounds;
};

/// The continuations of batch.json, all sequences at once through the batching engine.
bool verifyBatch(Session &session, const std::string &path, double margin, Checks &checks,
                 std::string &error) {
  Json batch;
  if (!readJsonFile(path, batch, error))
    return false;
  std::unique_ptr<batch::Engine> engine = session.createEngine(/*endTokens=*/false);
  const Json &sequences = batch.at("sequences");
  std::vector<batch::Answer> answers(sequences.size());
  for (size_t i = 0; i < sequences.size(); ++i) {
    std::vector<int32_t> ids;
    if (!readIds(sequences[i].value("ids", Json()), ids)) {
      error = path + ": sequence " + std::to_string(i) + " has no ids";
      return false;
    }
    batch::RequestOptions request;
    request.maxTokens = static_cast<int64_t>(sequences[i].at("greedy").size());
    batch::Callbacks callbacks;
    callbacks.done = [&answers, i](const batch::Answer &answer) { answers[i] = answer; };
    uint64_t id;
    if (engine->submit(std::move(ids), request, std::move(callbacks), id, error) != batch::SubmitStatus::Ok)
      return false;
  }
  engine->runUntilIdle();
  int wrong = 0;
  for (size_t i = 0; i < sequences.size(); ++i) {
    if (answers[i].finish == batch::Finish::Error) {
      error = path + ": sequence " + std::to_string(i) + ": " + answers[i].error;
      return false;
    }
    // After a small margin the continuations may part for good.
    for (size_t t = 0; t < sequences[i].at("greedy").size(); ++t) {
      if (sequences.at(i).at("margin").at(t).get<double>() <= margin)
        break;
      if (t >= answers[i].tokens.size() ||
          answers[i].tokens[t] != sequences.at(i).at("greedy").at(t).get<int32_t>()) {
        ++wrong;
        break;
      }
    }
  }
  checks.add("batch: sequences that differ, of " + std::to_string(sequences.size()), wrong, 0);
  return true;
}

} // namespace

bool verifyGolden(Session &session, const std::string &jsonPath, bool exact, Checks &checks,
                  std::string &error) {
  Json golden;
  if (!readJsonFile(jsonPath, golden, error))
    return false;
  if (!golden.is_object()) {
    error = jsonPath + ": no JSON object";
    return false;
  }
  std::string stem = jsonPath.substr(0, jsonPath.size() - 5);
  ArrayFile arrays;
  if (!arrays.open(stem + ".safetensors", error))
    return false;
  if (!GoldenVerifier(session, golden, arrays, exact, checks).run(error)) {
    error = jsonPath + ": " + error;
    return false;
  }
  std::string folder = jsonPath.substr(0, jsonPath.find_last_of('/') + 1);
  std::string batch = folder + "batch.json";
  if (golden.contains("accuracy") && access(batch.c_str(), R_OK) == 0) {
    const Json &accuracy = golden.at("accuracy");
    double largest = accuracy.value("max_abs_logit", 1.0);
    double margin = exact ? 2e-4 * largest : 4 * accuracy.value("bf16_rel", 0.0) * largest;
    return verifyBatch(session, batch, margin, checks, error);
  }
  return true;
}

} // namespace ingot::main_
