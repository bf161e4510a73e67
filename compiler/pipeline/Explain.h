//===- Explain.h - kernels and programs of a variant, as META tells them --------------------------------===//
#ifndef INGOT_COMPILER_PIPELINE_EXPLAIN_H
#define INGOT_COMPILER_PIPELINE_EXPLAIN_H

#include "compiler/pipeline/Meta.h"

#include "llvm/Support/JSON.h"

namespace ingot::pipeline {

/// One entry of META's `explain`: each program with its stages, each kernel with its choice and the work of a
/// launch (operations, bytes of weights, activations and KV), from which `explain` derives critical paths and
/// `explain --measure` rates. docs/program.md lists the members.
llvm::json::Object explainVariant(const VariantModule &variant);

} // namespace ingot::pipeline

#endif // INGOT_COMPILER_PIPELINE_EXPLAIN_H
