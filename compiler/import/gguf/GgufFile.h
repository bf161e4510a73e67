//===- GgufFile.h - Reader of one GGUF file ---------------------*- C++ -*-===//
//
// Reads the header, the metadata and the tensor index of a GGUF file of
// version 2 or 3 (little-endian). The file is mapped; tensor data is never
// touched. Everything is checked before use: counts against the bytes that are
// left, products and sums against overflow, tensor ranges against the file and
// against each other.
//
// Invariants after open(): keys and tensor names are unique; each tensor's
// [offset, offset + bytes) lies inside the file, is aligned and overlaps no
// other; each metadata value lies inside the mapping.
//
//===----------------------------------------------------------------------===//
#ifndef INGOT_COMPILER_IMPORT_GGUF_GGUFFILE_H
#define INGOT_COMPILER_IMPORT_GGUF_GGUFFILE_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::import_ {

/// Geometry of a tensor type.
struct GgmlType {
  uint32_t id;
  llvm::StringRef name;   // "Q4_K"
  llvm::StringRef scheme; // "q4_k"
  uint32_t blockElems;
  uint32_t blockBytes;
};

/// The type with that id; null for ids that are unknown or were removed.
const GgmlType *findGgmlType(uint32_t id);

/// Types of metadata values, as numbered by the format.
enum class GgufType : uint32_t {
  U8 = 0,
  I8 = 1,
  U16 = 2,
  I16 = 3,
  U32 = 4,
  I32 = 5,
  F32 = 6,
  Bool = 7,
  String = 8,
  Array = 9,
  U64 = 10,
  I64 = 11,
  F64 = 12
};

/// A metadata value: where it lies in the file. For an array `element` and
/// `count` are set and `offset` is that of the first element.
struct GgufValue {
  std::string key;
  GgufType type;
  GgufType element;
  uint64_t count = 0;
  uint64_t offset = 0;
};

struct GgufTensor {
  std::string name;
  const GgmlType *type;
  llvm::SmallVector<int64_t, 4> shape; // slowest dimension first
  uint64_t offset;                     // from the start of the file
  uint64_t bytes;
};

class GgufFile {
public:
  static llvm::Expected<std::unique_ptr<GgufFile>> open(llvm::StringRef path);

  llvm::StringRef path() const { return path_; }
  uint64_t size() const { return buffer_->getBufferSize(); }
  uint32_t version() const { return version_; }
  uint32_t alignment() const { return alignment_; }
  const std::vector<GgufTensor> &tensors() const { return tensors_; }
  const std::vector<GgufValue> &metadata() const { return metadata_; }

  /// The value of `key`, null if absent.
  const GgufValue *find(llvm::StringRef key) const;

  /// Typed access. Absent keys give nullopt; a value of another type (or an
  /// integer that does not fit) is an error that names the key. Integers accept
  /// every integer type, floats also integers.
  llvm::Expected<std::optional<int64_t>> getInt(llvm::StringRef key) const;
  llvm::Expected<std::optional<double>> getFloat(llvm::StringRef key) const;
  llvm::Expected<std::optional<bool>> getBool(llvm::StringRef key) const;
  llvm::Expected<std::optional<llvm::StringRef>> getString(llvm::StringRef key) const;
  llvm::Expected<std::optional<std::vector<int64_t>>> getInts(llvm::StringRef key) const;
  llvm::Expected<std::optional<std::vector<bool>>> getBools(llvm::StringRef key) const;
  llvm::Expected<std::optional<std::vector<float>>> getFloats(llvm::StringRef key) const;
  /// Views into the mapping; valid as long as this object.
  llvm::Expected<std::optional<std::vector<std::string_view>>> getStrings(llvm::StringRef key) const;

private:
  friend class GgufParser;
  GgufFile() = default;
  llvm::Error wrongType(const GgufValue &value, llvm::StringRef wanted) const;
  const char *at(uint64_t offset) const { return buffer_->getBufferStart() + offset; }

  std::string path_;
  std::unique_ptr<llvm::MemoryBuffer> buffer_;
  uint32_t version_ = 0;
  uint32_t alignment_ = 32;
  std::vector<GgufValue> metadata_;
  llvm::StringMap<size_t> index_;
  std::vector<GgufTensor> tensors_;
};

/// Opens a model that may be split: `path` is the only file or the first part
/// (PREFIX-00001-of-0000N.gguf). Returns all parts in order, checked against
/// each other: part numbers, part count, total number of tensors, unique names.
llvm::Expected<std::vector<std::unique_ptr<GgufFile>>> openGgufParts(llvm::StringRef path);

} // namespace ingot::import_

#endif // INGOT_COMPILER_IMPORT_GGUF_GGUFFILE_H
