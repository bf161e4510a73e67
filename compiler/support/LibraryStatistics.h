//===- LibraryStatistics.h - llvm::Statistic as the LLVM library has it ---------------------------===//
//
// Included before everything else in code that uses LLVM. The header of llvm::Statistic picks one of two
// classes by NDEBUG. Ingot keeps its assertions in every build, the installed libraries are built without:
// then mlir::Pass::Statistic, whose constructor is in the library, would have other members here than there.
//
//===----------------------------------------------------------------------------------------------------===//
#ifndef INGOT_COMPILER_SUPPORT_LIBRARYSTATISTICS_H
#define INGOT_COMPILER_SUPPORT_LIBRARYSTATISTICS_H

#if !defined(NDEBUG) && __has_include("llvm/ADT/Statistic.h")
#define NDEBUG
#include "llvm/ADT/Statistic.h"
#undef NDEBUG
#endif

#endif
