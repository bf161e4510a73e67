//===- ProfileText.h - profiles as tables and as JSON ---------------------------------------------------===//
#ifndef INGOT_RUNTIME_MAIN_PROFILETEXT_H
#define INGOT_RUNTIME_MAIN_PROFILETEXT_H

#include "runtime/main/Profile.h"

namespace ingot::main_ {

/// One kind of step on one number of threads.
struct MeasuredTest {
  std::string test, isa;
  int64_t prompt = 0, batch = 1, depth = 0; ///< prompt 0: one row of each of `batch` sequences
  int64_t mClass = 0;
  cpu::MachineLimits limits;
  Profile profile;
  int64_t tokens() const { return prompt ? prompt : batch; }
};

void printProfile(const MeasuredTest &measured);
/// The same; seconds, bytes and operations of one step. docs/program.md lists the members.
nlohmann::ordered_json profileJson(const MeasuredTest &measured);

} // namespace ingot::main_

#endif // INGOT_RUNTIME_MAIN_PROFILETEXT_H
