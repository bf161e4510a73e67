//===- ParamPacker.h - one parameter from its file form to its packed form ------------------------------===//
#ifndef INGOT_CODEGEN_PACKAGE_PARAMPACKER_H
#define INGOT_CODEGEN_PACKAGE_PARAMPACKER_H

#include "codegen/package/PackWriter.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace ingot::package {

/// Emits the packed bytes of `param` in order, in pieces. Errors name the tensor; a value that is no finite
/// number is one.
llvm::Error packParam(const ParamPlan &param, TensorSource &source,
                      llvm::function_ref<llvm::Error(llvm::ArrayRef<uint8_t>)> emit);

} // namespace ingot::package

#endif // INGOT_CODEGEN_PACKAGE_PARAMPACKER_H
