//===- StopMatcher.cpp ----------------------------------------------------------------------------------===//
#include "runtime/sample/StopMatcher.h"

#include <algorithm>
#include <utility>

namespace ingot::sample {

StopMatcher::StopMatcher(std::vector<std::string> all) : stops(std::move(all)) {
  stops.erase(std::remove_if(stops.begin(), stops.end(), [](const std::string &s) { return s.empty(); }),
              stops.end());
}

std::string StopMatcher::push(std::string_view piece) {
  if (stopped())
    return {};
  if (stops.empty())
    return std::string(piece);
  held += piece;
  size_t at = std::string::npos;
  for (size_t i = 0; i < stops.size(); ++i) {
    size_t found = held.find(stops[i]);
    // At one position the longer string wins, so that the result does not depend on their order.
    if (found == std::string::npos || found > at ||
        (found == at && stops[i].size() <= stops[size_t(matched)].size()))
      continue;
    at = found;
    matched = int(i);
  }
  if (stopped()) {
    std::string text = held.substr(0, at);
    held.clear();
    return text;
  }
  // The longest suffix that begins a stop string waits.
  size_t keep = 0;
  for (const std::string &s : stops)
    for (size_t n = std::min(s.size() - 1, held.size()); n > keep; --n)
      if (held.compare(held.size() - n, n, s, 0, n) == 0) {
        keep = n;
        break;
      }
  std::string text = held.substr(0, held.size() - keep);
  held.erase(0, held.size() - keep);
  return text;
}

std::string StopMatcher::flush() { return stopped() ? std::string() : std::exchange(held, {}); }

} // namespace ingot::sample
