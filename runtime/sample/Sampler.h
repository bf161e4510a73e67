//===- Sampler.h - from logits to a token ---------------------------------------------------------------===//
//
// Order of the steps (llama-server's): logit bias, penalties, top-k, top-p, min-p, temperature, draw. Ties
// are ordered by ascending id everywhere. Temperature 0 is greedy: the lowest id among the largest logits.
// Exactly one random number is drawn per sampled token, numbered by the token's index in its answer.
//
//===------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_RUNTIME_SAMPLE_SAMPLER_H
#define INGOT_RUNTIME_SAMPLE_SAMPLER_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ingot::sample {

struct SamplingParams {
  double temperature = 0.0;       ///< 0: greedy.
  int32_t topK = 0;               ///< 0 or less: off.
  double topP = 1.0;              ///< 1: off.
  double minP = 0.0;              ///< 0: off.
  double repetitionPenalty = 1.0; ///< Divides positive logits, multiplies negative ones. 1: off.
  double presencePenalty = 0.0;   ///< Subtracted once from each token in the window.
  double frequencyPenalty = 0.0;  ///< Subtracted per occurrence.
  int32_t penaltyWindow = 64;     ///< Last tokens, prompt included, that count; -1: all; 0: penalties off.
  std::vector<std::pair<int32_t, float>> logitBias;
  std::vector<int32_t> banned; ///< Ids that are never drawn.
  uint64_t seed = 0;
  int32_t logprobs = -1; ///< Alternatives to report; 0: the drawn token's alone; -1: none.
};

struct TokenLogprob {
  int32_t id = 0;
  float logprob = 0;
};

struct Drawn {
  int32_t id = -1;
  float logprob = 0;             ///< Of the model's own distribution: before bias, penalties and temperature.
  std::vector<TokenLogprob> top; ///< Descending; as many as asked for.
};

/// Largest number of alternatives that may be asked for.
constexpr int32_t MaxLogprobs = 128;

/// Checks ranges; the message names the parameter as the C API and the commands spell it.
bool checkParams(const SamplingParams &params, uint32_t vocab, std::string &error);

/// What a draw needs of the logits.
enum class Needs {
  Best,      ///< The largest one alone.
  BestOrAll, ///< The same, unless it belongs to a banned token.
  All
};
Needs needsOf(const SamplingParams &params);

/// Holds buffers of the vocabulary's size; one per thread that samples. No state that a result depends on.
class Sampler {
public:
  /// Draws from logits[0 .. vocab). `history` holds prompt and answer so far; `drawIndex` is the number of
  /// tokens drawn before for this request. False and a message where a logit is not finite or nothing can be
  /// drawn.
  bool draw(const float *logits, uint32_t vocab, const SamplingParams &params,
            const std::vector<int32_t> &history, uint64_t drawIndex, Drawn &out, std::string &error);
  /// The draw from the largest logit, for params that need no other; `index` is that of the first logit that
  /// is not finite where `value` is NaN.
  static bool drawBest(float value, int32_t index, uint64_t drawIndex, Drawn &out, std::string &error);

private:
  struct Candidate {
    float logit;
    int32_t id;
  };
  static bool above(const Candidate &a, const Candidate &b) {
    return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
  }
  const float *adjust(const float *logits, uint32_t vocab, const SamplingParams &params,
                      const std::vector<int32_t> &history);
  /// Index of the largest logit, lowest on ties; notes the blocks' maxima, which selectTop of the same needs.
  uint32_t look(const float *logits, uint32_t vocab, bool &finite);
  void selectTop(const float *logits, uint32_t vocab, size_t k);
  void orderPrefix(size_t k);
  void applyTopP(double topP);

  std::vector<float> adjusted;
  std::vector<float> tops, sortedTops;
  std::vector<Candidate> candidates;
  size_t ordered = 0; ///< Leading candidates that are in final order.
  std::vector<double> weights;
  std::vector<int32_t> windowIds;
};

/// Index of the largest finite value, lowest index on ties; -1 where any of the values is not finite.
int64_t argmaxFinite(const float *values, uint32_t n);

/// log(sum(exp(v))) in double precision.
double logSumExp(const float *values, uint32_t n);

} // namespace ingot::sample
#endif
