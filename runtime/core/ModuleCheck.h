//===- ModuleCheck.h - does a module keep the ABI's rules -----------------------------------------------===//
#ifndef INGOT_RUNTIME_CORE_MODULECHECK_H
#define INGOT_RUNTIME_CORE_MODULECHECK_H

#include "runtime/abi/ingot_abi.h"

#include <string>

namespace ingot::core {

/// Checks versions, sizes and every index and offset of a module's tables, so that binding and running it
/// need no further checks. The message names the table and the entry.
bool checkModule(const ingot_module_v1 *module, std::string &error);

} // namespace ingot::core
#endif
