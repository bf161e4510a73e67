//===- StopMatcher.h - stop strings in streamed text ----------------------------------------------------===//
//
// Text arrives in pieces; what may be the beginning of a stop string is held back until it is known. The
// earliest match ends the text and is not part of it.
//
//===------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_RUNTIME_SAMPLE_STOPMATCHER_H
#define INGOT_RUNTIME_SAMPLE_STOPMATCHER_H

#include <string>
#include <string_view>
#include <vector>

namespace ingot::sample {

class StopMatcher {
public:
  /// Empty strings are ignored.
  explicit StopMatcher(std::vector<std::string> stops);

  /// Adds a piece and returns the text that is now certain.
  std::string push(std::string_view piece);
  /// The text held back, at the end of an answer that no stop string ended.
  std::string flush();

  bool stopped() const { return matched >= 0; }
  /// The stop string that ended the text; only where stopped().
  const std::string &match() const { return stops[size_t(matched)]; }

private:
  std::vector<std::string> stops;
  std::string held;
  int matched = -1;
};

} // namespace ingot::sample
#endif
