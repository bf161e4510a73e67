//===- Evaluate.h - logits and hidden states of given tokens --------------------------------------------===//
//
// What `verify` and `eval` measure with: the same programs and kernels as generation, one sequence, no
// sampling.
//
//===------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_RUNTIME_BATCH_EVALUATE_H
#define INGOT_RUNTIME_BATCH_EVALUATE_H

#include "runtime/core/Executor.h"

namespace ingot::batch {

struct EvaluateOptions {
  uint32_t chunk = 512; ///< Most rows in a step.
  /// Logits after ids[0 .. position]: module.vocab floats that live during the call.
  std::function<void(uint32_t position, const float *logits)> logits;
  /// Hidden state of a wanted position: kind as INGOT_TAP_*, `width` floats. Absent: no taps are read.
  std::function<void(uint32_t kind, uint32_t layer, uint32_t position, const float *data, uint32_t width)>
      hidden;
};

/// Computes `ids` from position 0 and reports the wanted positions (ascending, each below ids.size()), or all
/// where `all`. Uses the executor's cache from page 1 on: no engine may be active on it. False and a message
/// where the ids do not fit the vocabulary, the context or the cache, or a kernel fails.
bool evaluate(core::Executor &executor, const std::vector<int32_t> &ids, const std::vector<uint32_t> &wanted,
              bool all, const EvaluateOptions &options, std::string &error);

} // namespace ingot::batch
#endif
