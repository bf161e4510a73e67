//===- OutputPath.h - may a file be written there, told before the long work ----------------------------===//
//
// Files are written beside their place and renamed onto it. A rename would replace a device, a pipe or a
// symbolic link by a plain file, and the model that is being read by the program made from it; both are
// refused or resolved here.
//
//===------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_RUNTIME_WEIGHTS_OUTPUTPATH_H
#define INGOT_RUNTIME_WEIGHTS_OUTPUTPATH_H

#include <string>
#include <vector>

namespace ingot::weights {

/// Finds the place that `path` names, with symbolic links followed, and stores it in `resolved`. False with a
/// message if nothing can be written there: a folder, something that is no regular file, one of `inputs`, or
/// a name in a folder that is not there or cannot be written to.
bool resolveOutput(const std::string &path, const std::vector<std::string> &inputs, std::string &resolved,
                   std::string &error);

} // namespace ingot::weights

#endif // INGOT_RUNTIME_WEIGHTS_OUTPUTPATH_H
