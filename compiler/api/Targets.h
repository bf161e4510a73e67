//===- Targets.h - the CPU variants that a caller asks for ----------------------------------------------===//
#ifndef INGOT_COMPILER_API_TARGETS_H
#define INGOT_COMPILER_API_TARGETS_H

#include "runtime/device/cpu/CpuFeatures.h"

#include <string>
#include <vector>

namespace ingot::api {

/// Expands "native", "all", "ref" or a list ("vnni,avx2", also by the names of --target's table). An
/// ingot_status and a message that names what is unknown.
int32_t expandTargets(const std::string &text, bool fast, std::vector<std::string> &out, std::string &error);

/// What the code of a variant needs of the CPU. The reference is compiled for what every supported machine
/// has.
cpu::Variant variantOf(const std::string &isa);

/// The one of `isas` that runs here: `forced` or, where that is empty, the best. -1 and a message where none
/// does.
int chooseVariant(const std::vector<std::string> &isas, const std::string &forced, std::string &error);

} // namespace ingot::api

#endif // INGOT_COMPILER_API_TARGETS_H
