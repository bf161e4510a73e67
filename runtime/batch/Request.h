//===- Request.h - what is asked for, and what comes back -----------------------------------------------===//
#ifndef INGOT_RUNTIME_BATCH_REQUEST_H
#define INGOT_RUNTIME_BATCH_REQUEST_H

#include "runtime/sample/Sampler.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::batch {

/// Turns the tokens of one answer into text; never emits half a UTF-8 sequence.
class TextStream {
public:
  virtual ~TextStream() = default;
  virtual std::string push(int32_t id) = 0;
  virtual std::string flush() = 0;
};

/// Makes a stream for a new request; an empty function where the model has no tokenizer (answers have no text
/// then).
using TextStreamFactory = std::function<std::unique_ptr<TextStream>()>;

struct RequestOptions {
  sample::SamplingParams sampling;
  int64_t maxTokens = -1; ///< -1: as many as context and KV pool hold.
  std::vector<int32_t> stopIds;
  std::vector<std::string> stopStrings;
  bool ignoreEos = false; ///< The model's end tokens are never drawn.
};

enum class Finish {
  StopId,     ///< An end token or a stop id was drawn; it is the last of `tokens` and not in the text.
  StopString, ///< The text ends before the stop string.
  Length,     ///< maxTokens or the context is reached.
  Cancelled,
  Error
};

/// One drawn token. `text` is what became certain with it, possibly empty; views live during the call.
struct TokenEvent {
  uint64_t request = 0;
  int32_t id = 0;
  std::string_view text;
  const sample::Drawn *drawn = nullptr;
  bool last = false;
};

/// Milliseconds.
struct Timings {
  double queued = 0;     ///< Submission to the first step.
  double prompt = 0;     ///< First step to the first token.
  double generation = 0; ///< First token to the last.
};

struct Answer {
  uint64_t request = 0;
  Finish finish = Finish::Error;
  std::vector<int32_t> tokens;
  std::string text;
  std::vector<sample::Drawn> logprobs; ///< One per token where logprobs were asked for.
  std::string stopString;              ///< The one that matched.
  std::string error;                   ///< Why, for Finish::Error.
  uint32_t promptTokens = 0;
  uint32_t preemptions = 0;
  Timings timings;
};

/// Both are called on the stepping thread with no lock held; they may submit and cancel.
struct Callbacks {
  std::function<bool(const TokenEvent &)> token; ///< Returning false cancels the request.
  std::function<void(const Answer &)> done;
};

} // namespace ingot::batch
#endif
