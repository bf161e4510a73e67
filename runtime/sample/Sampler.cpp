//===- Sampler.cpp --------------------------------------------------------------------------------------===//
#include "runtime/sample/Sampler.h"
#include "runtime/sample/Rng.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstddef>
#include <emmintrin.h>
#include <functional>
#include <limits>

namespace ingot::sample {

/// Logits are looked at in blocks, whose maxima say where a search must look again.
static constexpr uint32_t Block = 256;

/// Largest value of a range; `finite` is cleared where one is NaN or infinite.
static float blockMax(const float *v, uint32_t n, bool &finite) {
  __m128 best[4], bad[4];
  for (int k = 0; k < 4; ++k) {
    best[k] = _mm_set1_ps(-std::numeric_limits<float>::infinity());
    bad[k] = _mm_setzero_ps();
  }
  uint32_t i = 0;
  for (; i + 16 <= n; i += 16)
    for (int k = 0; k < 4; ++k) {
      __m128 x = _mm_loadu_ps(v + i + 4 * k);
      best[k] = _mm_max_ps(best[k], x);
      // x - x is 0 for finite x and NaN otherwise, and NaN stays in a sum.
      bad[k] = _mm_add_ps(bad[k], _mm_sub_ps(x, x));
    }
  float lanes[4], faults[4];
  _mm_storeu_ps(lanes, _mm_max_ps(_mm_max_ps(best[0], best[1]), _mm_max_ps(best[2], best[3])));
  _mm_storeu_ps(faults, _mm_add_ps(_mm_add_ps(bad[0], bad[1]), _mm_add_ps(bad[2], bad[3])));
  float result = std::max(std::max(lanes[0], lanes[1]), std::max(lanes[2], lanes[3]));
  bool ok = faults[0] == 0 && faults[1] == 0 && faults[2] == 0 && faults[3] == 0;
  for (; i < n; ++i) {
    result = std::max(result, v[i]);
    ok = ok && std::isfinite(v[i]);
  }
  finite = finite && ok;
  return result;
}

/// Index of the largest value, lowest index on ties; meaningless where one is NaN. `tops`, where given, has
/// room for the blocks' maxima.
static uint32_t scan(const float *values, uint32_t n, float *tops, bool &finite) {
  float best = -std::numeric_limits<float>::infinity();
  uint32_t at = 0;
  finite = n > 0;
  for (uint32_t from = 0; from < n; from += Block) {
    float m = blockMax(values + from, std::min(Block, n - from), finite);
    if (tops)
      tops[from / Block] = m;
    if (m > best || from == 0) {
      best = m;
      at = from;
    }
  }
  while (at + 1 < n && values[at] != best)
    ++at;
  return at;
}

int64_t argmaxFinite(const float *values, uint32_t n) {
  bool finite;
  uint32_t at = scan(values, n, nullptr, finite);
  return finite ? int64_t(at) : -1;
}

double logSumExp(const float *values, uint32_t n) {
  double top = -std::numeric_limits<double>::infinity();
  for (uint32_t i = 0; i < n; ++i)
    top = std::max(top, double(values[i]));
  double sum = 0;
  for (uint32_t i = 0; i < n; ++i)
    sum += std::exp(double(values[i]) - top);
  return top + std::log(sum);
}

bool checkParams(const SamplingParams &p, uint32_t vocab, std::string &error) {
  auto fail = [&](const char *what) {
    error = what;
    return false;
  };
  if (!(p.temperature >= 0) || !std::isfinite(p.temperature))
    return fail("temperature must be a number from 0");
  if (!(p.topP > 0 && p.topP <= 1))
    return fail("top_p must lie in (0, 1]");
  if (!(p.minP >= 0 && p.minP <= 1))
    return fail("min_p must lie in [0, 1]");
  if (!(p.repetitionPenalty > 0) || !std::isfinite(p.repetitionPenalty))
    return fail("repetition_penalty must be a number above 0");
  if (!std::isfinite(p.presencePenalty))
    return fail("presence_penalty must be a number");
  if (!std::isfinite(p.frequencyPenalty))
    return fail("frequency_penalty must be a number");
  if (p.penaltyWindow < -1)
    return fail("penalty_window must be -1 or more");
  if (p.logprobs < -1 || p.logprobs > MaxLogprobs)
    return fail("logprobs must lie in -1..128");
  for (const auto &[id, bias] : p.logitBias) {
    if (id < 0 || uint32_t(id) >= vocab) {
      error =
          "logit_bias names token " + std::to_string(id) + ", the vocabulary has " + std::to_string(vocab);
      return false;
    }
    if (std::isnan(bias) || bias == std::numeric_limits<float>::infinity())
      return fail("logit_bias must be a number or -infinity");
  }
  return true;
}

static bool hasPenalties(const SamplingParams &p) {
  return p.penaltyWindow != 0 &&
         (p.repetitionPenalty != 1.0 || p.presencePenalty != 0.0 || p.frequencyPenalty != 0.0);
}

Needs needsOf(const SamplingParams &p) {
  if (p.temperature != 0 || p.logprobs >= 0 || hasPenalties(p) || !p.logitBias.empty())
    return Needs::All;
  return p.banned.empty() ? Needs::Best : Needs::BestOrAll;
}

const float *Sampler::adjust(const float *logits, uint32_t vocab, const SamplingParams &p,
                             const std::vector<int32_t> &history) {
  bool penalties = hasPenalties(p);
  if (!penalties && p.logitBias.empty() && p.banned.empty())
    return logits;
  adjusted.assign(logits, logits + vocab);
  for (const auto &[id, bias] : p.logitBias)
    adjusted[id] = std::min(adjusted[id] + bias, FLT_MAX);
  if (penalties) {
    size_t n = history.size();
    if (p.penaltyWindow > 0)
      n = std::min(n, size_t(p.penaltyWindow));
    windowIds.assign(history.end() - std::ptrdiff_t(n), history.end());
    std::sort(windowIds.begin(), windowIds.end());
    for (size_t i = 0; i < windowIds.size();) {
      size_t j = i;
      while (j < windowIds.size() && windowIds[j] == windowIds[i])
        ++j;
      if (windowIds[i] >= 0 && uint32_t(windowIds[i]) < vocab) {
        float &l = adjusted[windowIds[i]];
        double scaled = l > 0 ? double(l) / p.repetitionPenalty : double(l) * p.repetitionPenalty;
        l = float(std::min(scaled - double(j - i) * p.frequencyPenalty - p.presencePenalty, double(FLT_MAX)));
      }
      i = j;
    }
  }
  for (int32_t id : p.banned)
    if (id >= 0 && uint32_t(id) < vocab)
      adjusted[id] = -std::numeric_limits<float>::infinity();
  return adjusted.data();
}

uint32_t Sampler::look(const float *logits, uint32_t vocab, bool &finite) {
  tops.resize((vocab + Block - 1) / Block);
  return scan(logits, vocab, tops.data(), finite);
}

void Sampler::selectTop(const float *logits, uint32_t vocab, size_t k) {
  candidates.clear();
  ordered = 0;
  if (k >= vocab) {
    for (uint32_t i = 0; i < vocab; ++i)
      candidates.push_back({logits[i], int32_t(i)});
    return;
  }
  // The best k blocks hold k values from the smallest of their maxima on.
  float floor = -std::numeric_limits<float>::infinity();
  if (k <= tops.size()) {
    sortedTops = tops;
    std::nth_element(sortedTops.begin(), sortedTops.begin() + std::ptrdiff_t(k) - 1, sortedTops.end(),
                     std::greater<float>());
    floor = sortedTops[k - 1];
  }
  // A buffer of 2k that is cut to its best k when full; later ones that equal the last of these have higher
  // ids.
  size_t room = std::max<size_t>(2 * k, k + 64);
  bool cut = false;
  for (uint32_t from = 0; from < vocab; from += Block) {
    if (tops[from / Block] < floor)
      continue;
    for (uint32_t i = from; i < std::min(from + Block, vocab); ++i) {
      if (cut ? !(logits[i] > floor) : logits[i] < floor)
        continue;
      candidates.push_back({logits[i], int32_t(i)});
      if (candidates.size() == room) {
        std::nth_element(candidates.begin(), candidates.begin() + std::ptrdiff_t(k) - 1, candidates.end(),
                         above);
        candidates.resize(k);
        floor = candidates[k - 1].logit;
        cut = true;
      }
    }
  }
  size_t n = std::min(k, candidates.size());
  std::partial_sort(candidates.begin(), candidates.begin() + std::ptrdiff_t(n), candidates.end(), above);
  candidates.resize(n);
  ordered = n;
}

void Sampler::orderPrefix(size_t k) {
  k = std::min(k, candidates.size());
  if (k <= ordered)
    return;
  auto first = candidates.begin() + std::ptrdiff_t(ordered), middle = candidates.begin() + std::ptrdiff_t(k);
  if (middle != candidates.end())
    std::nth_element(first, middle, candidates.end(), above);
  std::sort(first, middle, above);
  ordered = k;
}

void Sampler::applyTopP(double topP) {
  double top = -std::numeric_limits<double>::infinity();
  for (const Candidate &c : candidates)
    top = std::max(top, double(c.logit));
  double sum = 0;
  for (const Candidate &c : candidates)
    sum += std::exp(double(c.logit) - top);
  double seen = 0;
  size_t kept = 0, step = 64;
  while (kept < candidates.size()) {
    orderPrefix(kept + step);
    for (; kept < ordered; ++kept) {
      seen += std::exp(double(candidates[kept].logit) - top);
      if (seen >= topP * sum) {
        candidates.resize(kept + 1);
        ordered = kept + 1;
        return;
      }
    }
    step *= 4;
  }
}

static bool notFinite(uint64_t token, uint64_t drawIndex, std::string &error) {
  error = "the model gave a logit that is not a finite number (token " + std::to_string(token) +
          ", answer token " + std::to_string(drawIndex) + ")";
  return false;
}

bool Sampler::drawBest(float value, int32_t index, uint64_t drawIndex, Drawn &out, std::string &error) {
  out = Drawn();
  if (std::isnan(value))
    return notFinite(uint64_t(index), drawIndex, error);
  out.id = index;
  return true;
}

bool Sampler::draw(const float *logits, uint32_t vocab, const SamplingParams &p,
                   const std::vector<int32_t> &history, uint64_t drawIndex, Drawn &out, std::string &error) {
  out = Drawn();
  bool finite;
  uint32_t best = look(logits, vocab, finite);
  if (!finite) {
    uint32_t at = 0;
    while (at < vocab && std::isfinite(logits[at]))
      ++at;
    return notFinite(at, drawIndex, error);
  }
  const float *l = adjust(logits, vocab, p, history);
  if (l != logits) // excluded tokens are not finite
    best = look(l, vocab, finite);
  if (p.temperature == 0) {
    out.id = int32_t(best);
  } else {
    // Top-k of the whole vocabulary is none: the same order, so the same draw.
    const bool topK = p.topK > 0 && p.topK < int64_t(vocab);
    selectTop(l, vocab, topK ? size_t(p.topK) : vocab);
    if (p.topP < 1)
      applyTopP(p.topP);
    double top = -std::numeric_limits<double>::infinity();
    for (const Candidate &c : candidates)
      top = std::max(top, double(c.logit));
    // Weights in the candidates' order: sorted where something was cut, by id otherwise, so the draw does not
    // depend on how a selection algorithm left them.
    if (ordered < candidates.size() && (p.topP < 1 || topK))
      orderPrefix(candidates.size());
    double floor = p.minP > 0 ? top + std::log(p.minP) : -std::numeric_limits<double>::infinity();
    weights.resize(candidates.size());
    double sum = 0;
    for (size_t i = 0; i < candidates.size(); ++i) {
      double x = candidates[i].logit;
      weights[i] = x >= floor ? std::exp((x - top) / p.temperature) : 0.0;
      sum += weights[i];
    }
    double target = randomUniform(p.seed, drawIndex) * sum;
    size_t chosen = candidates.size();
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (weights[i] <= 0)
        continue;
      chosen = i;
      target -= weights[i];
      if (target < 0)
        break;
    }
    if (chosen < candidates.size())
      out.id = candidates[chosen].id;
  }
  if (out.id < 0 || l[out.id] == -std::numeric_limits<float>::infinity()) {
    out.id = -1;
    error = "every token is excluded by logit_bias";
    return false;
  }
  if (p.logprobs >= 0) {
    double norm = logSumExp(logits, vocab);
    out.logprob = float(double(logits[out.id]) - norm);
    if (p.logprobs > 0) {
      if (l != logits)
        look(logits, vocab, finite);
      selectTop(logits, vocab, size_t(p.logprobs));
      orderPrefix(candidates.size());
      for (const Candidate &c : candidates)
        out.top.push_back({c.id, float(double(c.logit) - norm)});
    }
  }
  return true;
}

} // namespace ingot::sample
