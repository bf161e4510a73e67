//===- TestPaths.h - Where references lie -----------------------*- C++ -*-===//
#ifndef INGOT_TEST_UNIT_IMPORT_TESTPATHS_H
#define INGOT_TEST_UNIT_IMPORT_TESTPATHS_H

#include <cstdlib>
#include <string>

namespace ingot::test {

/// The folder with the full set of references (it may not exist).
inline std::string sharedDir() {
  const char *env = std::getenv("INGOT_SHARED");
  return env && *env ? env : INGOT_SHARED_DEFAULT;
}

/// The compact part that the repository carries.
inline std::string compactDir() { return std::string(INGOT_SOURCE_DIR) + "/test/golden"; }

} // namespace ingot::test

#endif // INGOT_TEST_UNIT_IMPORT_TESTPATHS_H
