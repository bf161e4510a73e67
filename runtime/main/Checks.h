//===- Checks.h - measured numbers against their bounds -------------------------------------------------===//
#ifndef INGOT_RUNTIME_MAIN_CHECKS_H
#define INGOT_RUNTIME_MAIN_CHECKS_H

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace ingot::main_ {

/// One number and what it may be at most. Not-a-number is out of any bound.
struct Check {
  std::string name;
  double value = 0, bound = 0;
  bool informative = false; ///< printed, not judged
  bool ok() const { return informative || value <= bound; }
};

class Checks {
public:
  void add(std::string name, double value, double bound) {
    list.push_back({std::move(name), value, bound, false});
  }
  void note(std::string name, double value) { list.push_back({std::move(name), value, 0, true}); }
  /// A line that names what is wrong first, e.g. the first layer.
  void blame(std::string text) { blames.push_back(std::move(text)); }
  bool ok() const;
  /// Prints a table, or JSON; returns the exit status.
  int report(bool json, const std::string &title) const;

private:
  std::vector<Check> list;
  std::vector<std::string> blames;
};

} // namespace ingot::main_

#endif // INGOT_RUNTIME_MAIN_CHECKS_H
