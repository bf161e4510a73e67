//===- Sequence.h - a request inside the engine (private) -----------------------------------------------===//
#ifndef INGOT_RUNTIME_BATCH_SEQUENCE_H
#define INGOT_RUNTIME_BATCH_SEQUENCE_H

#include "runtime/batch/Engine.h"
#include "runtime/sample/StopMatcher.h"

#include <chrono>

namespace ingot::batch {

using Clock = std::chrono::steady_clock;

struct Engine::Sequence {
  Sequence(RequestOptions o, Callbacks c)
      : options(std::move(o)), callbacks(std::move(c)), needs(sample::needsOf(options.sampling)),
        stops(options.stopStrings) {}

  uint64_t id = 0;
  RequestOptions options;
  Callbacks callbacks;
  sample::Needs needs;
  std::vector<int32_t> tokens; ///< Prompt, then answer.
  uint32_t promptTokens = 0;
  uint64_t limit = 0;    ///< Tokens of the answer at most.
  uint64_t computed = 0; ///< Leading tokens whose keys and values are in the cache.
  uint32_t rows = 0;     ///< Of the step being built.
  std::vector<kv::Page> pages;
  std::unique_ptr<TextStream> text;
  sample::StopMatcher stops;
  std::string answer;
  std::vector<sample::Drawn> logprobs;
  uint32_t preemptions = 0;

  bool ended = false;
  Finish how = Finish::Error;
  std::string error;

  Clock::time_point submitted = Clock::now(), started, first, last;

  uint64_t drawn() const { return tokens.size() - promptTokens; }
  std::vector<int32_t> pageIndices() const {
    std::vector<int32_t> result;
    for (const kv::Page &p : pages)
      result.push_back(p.index);
    return result;
  }
};

} // namespace ingot::batch
#endif
