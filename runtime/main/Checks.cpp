//===- Checks.cpp - measured numbers against their bounds -----------------------------------------------===//

#include "runtime/main/Checks.h"

#include "runtime/main/Options.h"

#include <algorithm>
#include <cstdio>

namespace ingot::main_ {

bool Checks::ok() const {
  return std::all_of(list.begin(), list.end(), [](const Check &check) { return check.ok(); });
}

int Checks::report(bool json, const std::string &title) const {
  if (json) {
    nlohmann::json checks = nlohmann::json::array();
    for (const Check &check : list) {
      nlohmann::json one{{"name", check.name}, {"value", check.value}, {"ok", check.ok()}};
      if (!check.informative)
        one["bound"] = check.bound;
      checks.push_back(std::move(one));
    }
    nlohmann::json report{{"reference", title}, {"ok", ok()}, {"checks", checks}, {"first_wrong", blames}};
    std::printf("%s\n", report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  } else {
    std::printf("%s\n", title.c_str());
    for (const Check &check : list) {
      if (check.informative)
        std::printf("        %-52s %12.6g\n", check.name.c_str(), check.value);
      else
        std::printf("  %-5s %-52s %12.6g  (at most %g)\n", check.ok() ? "ok" : "WRONG", check.name.c_str(),
                    check.value, check.bound);
    }
    for (const std::string &text : blames)
      std::printf("  first wrong: %s\n", text.c_str());
  }
  return ok() ? ExitOk : ExitOutOfBounds;
}

} // namespace ingot::main_
