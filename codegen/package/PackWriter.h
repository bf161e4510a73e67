//===- PackWriter.h - streams a model into a pack -------------------------------------------------------===//
//
// Reads each parameter in small pieces, converts it to its packed layout, hashes and writes it. Needs the
// memory of a few panels, whatever the size of the model. The format is runtime/abi/ingot_pack.h.
//
//===------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_CODEGEN_PACKAGE_PACKWRITER_H
#define INGOT_CODEGEN_PACKAGE_PACKWRITER_H

#include "codegen/package/PackSink.h"
#include "codegen/package/TensorSource.h"
#include "dialects/qfmt/Geometry.h"

#include <functional>
#include <string>
#include <vector>

namespace ingot::package {

/// Rows of one tensor of the model's files; for a vector its elements.
struct ParamPart {
  std::string tensor; ///< name in the file, for messages
  unsigned file = 0;
  uint64_t offset = 0;
  int64_t rows = 0;
};

/// How the rows of the parts become the rows of the parameter.
enum class Recipe { Concat, Interleave16 };

/// One parameter of the weight section.
struct ParamPlan {
  std::string name;
  qfmt::Scheme sourceScheme = qfmt::Scheme::F32, scheme = qfmt::Scheme::F32;
  qfmt::Layout layout = qfmt::Layout::Row;
  int64_t rows = 0, cols = 0;
  uint64_t offset = 0, bytes = 0;
  Recipe recipe = Recipe::Concat;
  float offsetAdd = 0; ///< added to every value; only where the scheme is f32
  std::vector<ParamPart> parts;
};

struct PackObject {
  std::string isa;
  llvm::StringRef bytes;
};

struct PackContents {
  std::string meta; ///< JSON
  std::vector<uint8_t> tokenizer;
  std::vector<PackObject> objects;
  std::vector<ParamPlan> params; ///< ascending offsets
  uint64_t weightBytes = 0;
};

/// The hash that binds generated code to the weights it reads (definition in ingot_pack.h).
uint64_t weightHash(llvm::ArrayRef<ParamPlan> params);

/// Called with the packed bytes so far and in all.
using PackProgress = std::function<void(uint64_t done, uint64_t total)>;

/// Writes the pack. Errors name the tensor, and the file where reading fails; a NaN or an infinity among the
/// weights is one. Returns the size and the header hash, which the trailer of an executable repeats.
struct PackResult {
  uint64_t bytes = 0;
  uint64_t headerHash = 0;
};
llvm::Expected<PackResult> writePack(const PackContents &contents, TensorSource &source, PackSink &sink,
                                     const PackProgress &progress);

/// Writes the linked kernels and the runtime followed by the pack and its trailer as one executable file.
llvm::Error writeExecutable(llvm::StringRef path, llvm::ArrayRef<llvm::StringRef> objects,
                            llvm::StringRef runtimeDir, const PackContents &contents, TensorSource &source,
                            const PackProgress &progress);

} // namespace ingot::package

#endif // INGOT_CODEGEN_PACKAGE_PACKWRITER_H
