//===- Progress.h - progress of long work on standard error ---------------------------------------------===//
#ifndef INGOT_COMPILER_DRIVER_PROGRESS_H
#define INGOT_COMPILER_DRIVER_PROGRESS_H

#include <chrono>
#include <cstdint>
#include <string>

namespace ingot::driver {

/// A bar with amounts and the time left on a terminal; a plain line at the start and the end of each piece of
/// work elsewhere.
class Progress {
public:
  Progress();
  void update(const char *what, const char *unit, uint64_t done, uint64_t total);

private:
  std::string current;
  bool terminal, finished = false;
  std::chrono::steady_clock::time_point begin, last;
};

} // namespace ingot::driver

#endif // INGOT_COMPILER_DRIVER_PROGRESS_H
