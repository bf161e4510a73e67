//===- ModelLoader.h - models by path: compiled in memory, loaded from a pack, or their own program
//--------===//
#ifndef INGOT_COMPILER_API_MODELLOADER_H
#define INGOT_COMPILER_API_MODELLOADER_H

#include "runtime/main/Artefact.h"

#include <functional>
#include <memory>
#include <string>

namespace ingot::api {

/// A loader for the commands of `ingot`: a model file or directory is compiled in memory, a pack's code is
/// loaded from its objects. `onProgress` gets a line of text and the done and total amounts of long work.
using ProgressFn = std::function<void(const char *what, const char *unit, uint64_t done, uint64_t total)>;
std::unique_ptr<main_::ArtefactLoader> createModelLoader(ProgressFn onProgress);

/// What a path is.
enum class PathKind { Model, Pack, Binary };
PathKind classifyPath(const std::string &path);

/// Expands "native", "all" or a list ("vnni,avx2", also by the names of --target's table). False and a
/// message that names what is unknown.
bool expandTargets(const std::string &text, std::vector<std::string> &out, std::string &error);

} // namespace ingot::api

#endif // INGOT_COMPILER_API_MODELLOADER_H
