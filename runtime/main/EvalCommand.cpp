//===- EvalCommand.cpp - perplexity of a text, multiple choice ------------------------------------------===//
//
// Perplexity is what llama-perplexity computes: the text as one string, consecutive chunks of --ctx tokens,
// each on its own (BOS in place of the first token where the model has one), scored over the second half of
// each chunk.
//
//===------------------------------------------------------------------------------------------------------===//

#include "runtime/main/Commands.h"
#include "runtime/main/Reference.h"

#include "runtime/batch/Evaluate.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

namespace ingot::main_ {
namespace {

using Json = nlohmann::json;

/// A text's log-probabilities, token by token.
struct Scored {
  std::vector<double> logProbs; ///< of the tokens that were scored, in order
  Json running = Json::array(); ///< perplexity so far, chunk by chunk
  size_t window = 0, chunks = 0;

  double mean() const {
    return std::accumulate(logProbs.begin(), logProbs.end(), 0.0) / double(logProbs.size());
  }
  double perplexity() const { return std::exp(-mean()); }
};

/// Standard error of the mean of `values`.
double standardError(const std::vector<double> &values) {
  double n = double(values.size()), sum = 0, squares = 0;
  for (double v : values) {
    sum += v;
    squares += v * v;
  }
  double variance = std::max(0.0, squares / n - sum / n * (sum / n));
  return std::sqrt(variance / std::max(1.0, n - 1));
}

/// False and a message on failure.
bool score(Session &session, const Options &options, Scored &out, std::string &error) {
  std::string text;
  if (!readFile(options.eval.perplexity, text, error))
    return false;
  // llama-perplexity drops one newline at the end of a file.
  if (!text.empty() && text.back() == '\n')
    text.pop_back();
  const token::Tokenizer *tokenizer = session.text().tokenizer(error);
  if (!tokenizer)
    return false;
  std::vector<int32_t> ids = tokenizer->encode(text, /*addSpecial=*/true, /*parseSpecial=*/false);
  size_t window = static_cast<size_t>(options.eval.context);
  if (window > session.module().context) {
    error = "--ctx " + std::to_string(window) + ": the model was compiled for " +
            std::to_string(session.module().context) + " positions";
    return false;
  }
  size_t chunks = ids.size() / window;
  if (options.eval.chunks > 0)
    chunks = std::min(chunks, static_cast<size_t>(options.eval.chunks));
  if (chunks == 0) {
    error = options.eval.perplexity + ": " + std::to_string(ids.size()) +
            " tokens are less than one chunk of " + std::to_string(window);
    return false;
  }
  out.window = window;
  out.chunks = chunks;
  for (size_t chunk = 0; chunk < chunks; ++chunk) {
    std::vector<int32_t> tokens(ids.begin() + static_cast<ptrdiff_t>(chunk * window),
                                ids.begin() + static_cast<ptrdiff_t>((chunk + 1) * window));
    if (tokenizer->addBos() && tokenizer->bos() >= 0)
      tokens[0] = tokenizer->bos();
    std::vector<uint32_t> positions;
    for (size_t p = window / 2; p + 1 < window; ++p)
      positions.push_back(static_cast<uint32_t>(p));
    batch::EvaluateOptions evaluate;
    evaluate.chunk = static_cast<uint32_t>(session.options().chunk);
    evaluate.logits = [&](uint32_t position, const float *logits) {
      out.logProbs.push_back(static_cast<double>(logits[tokens[position + 1]]) -
                             sample::logSumExp(logits, session.module().vocab));
    };
    if (!batch::evaluate(session.executor(), tokens, positions, /*all=*/false, evaluate, error))
      return false;
    out.running.push_back(out.perplexity());
    if (!options.quiet)
      std::fprintf(stderr, "[%zu]%.4f ", chunk + 1, out.perplexity());
  }
  if (!options.quiet)
    std::fprintf(stderr, "\n");
  return true;
}

/// `exact` is null, or the same text by the same model under --numerics=exact: then the loss is told too.
void printPerplexity(const Scored &scored, const Scored *exact, bool json) {
  double result = scored.perplexity(), spread = result * standardError(scored.logProbs);
  double loss = 0, lossError = 0;
  if (exact) {
    std::vector<double> differences;
    for (size_t i = 0; i < scored.logProbs.size(); ++i)
      differences.push_back(exact->logProbs[i] - scored.logProbs[i]);
    loss = exact->mean() - scored.mean();
    lossError = standardError(differences);
  }
  if (json) {
    Json object = {{"perplexity", result},    {"standard_error", spread}, {"tokens", scored.logProbs.size()},
                   {"chunks", scored.chunks}, {"ctx", scored.window},     {"running", scored.running}};
    if (exact)
      object["fast"] = {
          {"exact_perplexity", exact->perplexity()}, {"loss", loss}, {"loss_standard_error", lossError}};
    std::printf("%s\n", object.dump().c_str());
    return;
  }
  std::printf("perplexity %.4f +/- %.4f over %zu tokens (%zu chunks of %zu)\n", result, spread,
              scored.logProbs.size(), scored.chunks, scored.window);
  if (exact)
    std::printf("--numerics=fast loses %.6f +/- %.6f nats a token (exact: perplexity %.4f)\n", loss,
                lossError, exact->perplexity());
}

/// Items as ids (`context_ids`, `ending_ids`), or as texts (`context`, `endings`).
bool itemIds(Session &session, const Json &item, std::vector<int32_t> &context,
             std::vector<std::vector<int32_t>> &endings, std::string &error) {
  if (item.contains("context_ids") && item.contains("ending_ids")) {
    bool ok = readIds(item["context_ids"], context) && item["ending_ids"].is_array();
    for (size_t i = 0; ok && i < item["ending_ids"].size(); ++i) {
      endings.emplace_back();
      ok = readIds(item["ending_ids"][i], endings.back()) && !endings.back().empty();
    }
    if (ok && !context.empty())
      return true;
    error = "context_ids and ending_ids must be arrays of token ids";
    return false;
  }
  if (!item.contains("context") || !item["context"].is_string() || !item.contains("endings") ||
      !item["endings"].is_array()) {
    error = "an item has a context and endings, as texts or as ids";
    return false;
  }
  const token::Tokenizer *tokenizer = session.text().tokenizer(error);
  if (!tokenizer)
    return false;
  std::string text = item["context"].get<std::string>();
  context = tokenizer->encode(text, true, false);
  if (context.empty()) {
    error = "the context has no tokens";
    return false;
  }
  for (const Json &ending : item["endings"]) {
    std::string joined = text + " " + (ending.is_string() ? ending.get<std::string>() : ending.dump());
    std::vector<int32_t> whole = tokenizer->encode(joined, true, false);
    // The ending is what follows the context in the tokens of both.
    size_t shared = 0;
    while (shared < context.size() && shared < whole.size() && context[shared] == whole[shared])
      ++shared;
    if (shared < context.size() || whole.size() == shared) {
      error = "the tokens of the context change with the ending '" + joined + "'; give ids";
      return false;
    }
    endings.emplace_back(whole.begin() + static_cast<ptrdiff_t>(shared), whole.end());
  }
  return true;
}

int choices(Session &session, const Options &options) {
  Json file;
  std::string error;
  if (!readJsonFile(options.eval.choices, file, error))
    return fail(error);
  const Json &items = file.is_object() && file.contains("items") ? file["items"] : file;
  if (!items.is_array() || items.empty())
    return fail(options.eval.choices + ": expected an array of items");
  int right = 0;
  Json results = Json::array();
  for (size_t i = 0; i < items.size(); ++i) {
    std::vector<int32_t> context;
    std::vector<std::vector<int32_t>> endings;
    if (!itemIds(session, items[i], context, endings, error))
      return fail(options.eval.choices + ": item " + std::to_string(i) + ": " + error);
    auto answer = items[i].find("answer");
    int64_t wanted = answer != items[i].end() && answer->is_number_integer() ? answer->get<int64_t>() : -1;
    if (wanted < 0 || wanted >= static_cast<int64_t>(endings.size()))
      return fail(options.eval.choices + ": item " + std::to_string(i) +
                  ": 'answer' must be the number of an ending, from 0");
    std::vector<double> sums;
    for (const std::vector<int32_t> &ending : endings) {
      std::vector<int32_t> all(context);
      all.insert(all.end(), ending.begin(), ending.end());
      std::vector<uint32_t> positions;
      for (size_t p = context.size() - 1; p + 1 < all.size(); ++p)
        positions.push_back(static_cast<uint32_t>(p));
      Evaluation result;
      if (!evaluateAt(session, all, positions, false, result, error))
        return fail(options.eval.choices + ": item " + std::to_string(i) + ": " + error);
      double sum = 0;
      for (size_t p = 0; p < positions.size(); ++p)
        sum += logProbability(result.logits[p], all[positions[p] + 1]);
      sums.push_back(sum);
    }
    int64_t chosen = std::max_element(sums.begin(), sums.end()) - sums.begin();
    right += chosen == wanted;
    results.push_back({{"chosen", chosen}, {"sum_logprob", sums}});
  }
  if (options.json)
    std::printf("%s\n",
                Json{{"correct", right}, {"items", items.size()}, {"results", results}}.dump().c_str());
  else
    std::printf("correct %d of %zu\n", right, items.size());
  return ExitOk;
}

} // namespace

/// A session for the command, null and a message on failure.
static std::unique_ptr<Session> openSession(const Options &options, ArtefactLoader &loader,
                                            const char *numerics, std::string &error) {
  LoadOptions load = options.load;
  load.numerics = numerics;
  if (!options.eval.perplexity.empty())
    load.context = options.eval.context;
  std::unique_ptr<Artefact> artefact = loader.open(load, options.quiet, error);
  return artefact ? Session::create(std::move(artefact), load, 1, error) : nullptr;
}

int commandEval(const Options &options, ArtefactLoader &loader) {
  if (options.eval.perplexity.empty() == options.eval.choices.empty()) {
    std::fprintf(stderr, "error: give --perplexity FILE or --choices FILE\n");
    return ExitUsage;
  }
  std::string error;
  std::unique_ptr<Session> session = openSession(options, loader, options.load.numerics.c_str(), error);
  if (!session)
    return fail(error);
  if (options.eval.perplexity.empty())
    return choices(*session, options);
  Scored scored, exact;
  if (!score(*session, options, scored, error))
    return fail(error);
  const bool compare = options.load.numerics == "fast";
  if (compare) {
    session.reset(); // one model in memory at a time
    session = openSession(options, loader, "exact", error);
    if (!session || !score(*session, options, exact, error))
      return fail(error);
  }
  printPerplexity(scored, compare ? &exact : nullptr, options.json);
  return ExitOk;
}

} // namespace ingot::main_
