//===- Linker.h - kernels + runtime -> standalone executable --------------------------------------------===//
//
// Links with lld as a library. Needs no toolchain on the user's machine: the start files and the runtime lie
// in one folder beside `ingot`, the C, C++ and mathematics libraries are the ones that this process itself
// runs on.
//
//===------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_CODEGEN_PACKAGE_LINKER_H
#define INGOT_CODEGEN_PACKAGE_LINKER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace ingot::package {

/// Links `objects` (bytes of relocatable x86-64 ELF files, one per CPU variant) with the runtime found in
/// `runtimeDir` (ingot_rt.o and the C start files) into a position-independent executable at `output`.
/// The bytes of the result depend on the inputs alone.
llvm::Error linkExecutable(llvm::ArrayRef<llvm::StringRef> objects, llvm::StringRef runtimeDir,
                           llvm::StringRef output);

} // namespace ingot::package

#endif // INGOT_CODEGEN_PACKAGE_LINKER_H
