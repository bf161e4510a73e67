//===- TensorSource.h - where the bytes of parameters come from -----------------------------------------===//
#ifndef INGOT_CODEGEN_PACKAGE_TENSORSOURCE_H
#define INGOT_CODEGEN_PACKAGE_TENSORSOURCE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>

namespace ingot::package {

/// Reads pieces of the model's files. The packer never holds more than a few panels of one tensor.
class TensorSource {
public:
  virtual ~TensorSource() = default;
  /// Fills `out` from byte `offset` of file number `file`; a short file is an error that names it.
  virtual llvm::Error read(unsigned file, uint64_t offset, llvm::MutableArrayRef<uint8_t> out) = 0;
  /// The file's name for messages.
  virtual std::string name(unsigned file) const = 0;
};

} // namespace ingot::package

#endif // INGOT_CODEGEN_PACKAGE_TENSORSOURCE_H
