//===- Progress.cpp - progress of long work on standard error -------------------------------------------===//

#include "compiler/driver/Progress.h"

#include <cstdio>
#include <unistd.h>

namespace ingot::driver {

using Clock = std::chrono::steady_clock;

Progress::Progress() : terminal(isatty(STDERR_FILENO)) {}

static std::string amount(uint64_t value, const std::string &unit) {
  char text[48];
  if (unit == "bytes")
    std::snprintf(text, sizeof(text), "%.1f MB", static_cast<double>(value) / 1e6);
  else
    std::snprintf(text, sizeof(text), "%llu %s", static_cast<unsigned long long>(value), unit.c_str());
  return text;
}

void Progress::update(const char *what, const char *unit, uint64_t done, uint64_t total) {
  Clock::time_point now = Clock::now();
  if (current != what) {
    current = what;
    begin = last = now;
    finished = false;
    if (!terminal)
      std::fprintf(stderr, "%s: %s\n", what, amount(total, unit).c_str());
  }
  if (finished)
    return;
  double seconds = std::chrono::duration<double>(now - begin).count();
  if (total && done >= total) {
    finished = true;
    std::fprintf(stderr, terminal ? "\r%s: %s, %.1f s%30s\n" : "%s: %s done, %.1f s%s\n", what,
                 amount(total, unit).c_str(), seconds, "");
    return;
  }
  if (!terminal || (now - last < std::chrono::milliseconds(100) && done != 0))
    return;
  last = now;
  constexpr int width = 24;
  int filled = total ? static_cast<int>(width * done / total) : 0;
  std::string bar(filled, '#');
  bar.resize(width, '.');
  std::fprintf(stderr, "\r%s [%s] %s of %s", what, bar.c_str(),
               (unit == std::string("bytes") ? amount(done, unit) : std::to_string(done)).c_str(),
               amount(total, unit).c_str());
  if (done && total)
    std::fprintf(stderr, ", %.0f s left ",
                 seconds * static_cast<double>(total - done) / static_cast<double>(done));
  std::fflush(stderr);
}

} // namespace ingot::driver
