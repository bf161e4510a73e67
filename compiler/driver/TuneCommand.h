//===- TuneCommand.h - ingot tune -----------------------------------------------------------------------===//
#ifndef INGOT_COMPILER_DRIVER_TUNECOMMAND_H
#define INGOT_COMPILER_DRIVER_TUNECOMMAND_H

#include "compiler/driver/Progress.h"
#include "runtime/main/Options.h"

namespace ingot::driver {

/// Times the schedules of a model's kernels and writes the profile after each class of rows; an exit status.
int tune(const main_::Options &options, Progress &progress);

} // namespace ingot::driver

#endif // INGOT_COMPILER_DRIVER_TUNECOMMAND_H
