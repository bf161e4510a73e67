//===- ModelLoader.h - models by path: compiled in this process, or loaded from a pack ------------------===//
#ifndef INGOT_COMPILER_DRIVER_MODELLOADER_H
#define INGOT_COMPILER_DRIVER_MODELLOADER_H

#include "compiler/api/ingot.h"
#include "compiler/driver/Progress.h"
#include "runtime/main/Artefact.h"

#include <memory>
#include <string>

namespace ingot::driver {

/// A loader for the commands of `ingot` over the C API of the compiler.
std::unique_ptr<main_::ArtefactLoader> createModelLoader(Progress &progress);

/// The C API's options with what the command line says about the model; strings are the command line's.
ingot_compile_options compileOptions(const main_::LoadOptions &load, const std::string &target, bool quiet,
                                     Progress &progress);

/// A message of any length.
struct Message {
  char text[1 << 14] = "";
};

} // namespace ingot::driver

#endif // INGOT_COMPILER_DRIVER_MODELLOADER_H
