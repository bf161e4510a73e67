//===- Fault.h - Errors about input files -----------------------*- C++ -*-===//
//
// Every parser of this folder reports a broken file as an llvm::Error whose
// text reads `FILE: what 'name': why`. There is one kind of error only: the
// caller prints it and stops, so no error codes are kept.
//
//===----------------------------------------------------------------------===//
#ifndef INGOT_COMPILER_IMPORT_FAULT_H
#define INGOT_COMPILER_IMPORT_FAULT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include <string>

namespace ingot::import_ {

/// An error about `file`; `what` continues the sentence after the colon.
inline llvm::Error fault(llvm::StringRef file, const llvm::Twine &what) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), file + ": " + what);
}

/// `text` made fit for a message: control and non-ASCII bytes are escaped and
/// long names are cut, since names come from files that nobody has checked.
std::string printable(llvm::StringRef text, size_t limit = 120);

} // namespace ingot::import_

#endif // INGOT_COMPILER_IMPORT_FAULT_H
