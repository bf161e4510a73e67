//===- FileView.h - A read-only view of a file ------------------*- C++ -*-===//
//
// Maps a regular file into memory; only the pages that are looked at are read.
// Devices, pipes and directories are refused, as their size means nothing.
//
//===----------------------------------------------------------------------===//
#ifndef INGOT_COMPILER_IMPORT_FILEVIEW_H
#define INGOT_COMPILER_IMPORT_FILEVIEW_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>

namespace ingot::import_ {

/// Opens `path`, which must be a regular file of at most `maxBytes` bytes.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> viewFile(llvm::StringRef path,
                                                             uint64_t maxBytes = UINT64_MAX);

} // namespace ingot::import_

#endif // INGOT_COMPILER_IMPORT_FILEVIEW_H
