//===- GgufParser.cpp - Header, metadata and tensor index -----------------===//
//
// One pass over the mapped file. Reader is the only code that looks at bytes;
// it compares every length with what is left, so no offset ever wraps.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/Fault.h"
#include "compiler/import/FileView.h"
#include "compiler/import/gguf/GgufFile.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

namespace ingot::import_ {

namespace {

constexpr unsigned kMaxDims = 4;
constexpr unsigned kMaxArrayNesting = 16;
constexpr uint64_t kMaxNameBytes = 65535;
// The smallest possible entry: key length, value type, one byte of value; and
// for a tensor: name length, number of dimensions, type, offset.
constexpr uint64_t kMinPairBytes = 8 + 4 + 1;
constexpr uint64_t kMinTensorBytes = 8 + 4 + 4 + 8;

/// Size of a fixed-size element, 0 for strings and arrays.
unsigned elementBytes(GgufType type) {
  switch (type) {
  case GgufType::U8:
  case GgufType::I8:
  case GgufType::Bool:
    return 1;
  case GgufType::U16:
  case GgufType::I16:
    return 2;
  case GgufType::U32:
  case GgufType::I32:
  case GgufType::F32:
    return 4;
  case GgufType::U64:
  case GgufType::I64:
  case GgufType::F64:
    return 8;
  case GgufType::String:
  case GgufType::Array:
    return 0;
  }
  return 0;
}

bool isUtf8(llvm::StringRef text) {
  auto *begin = reinterpret_cast<const llvm::UTF8 *>(text.data());
  return llvm::isLegalUTF8String(&begin, begin + text.size());
}

} // namespace

class GgufParser {
public:
  explicit GgufParser(GgufFile &file) : file(file), data(file.buffer_->getBuffer()) {}

  llvm::Error run() {
    if (llvm::Error error = header())
      return error;
    for (uint64_t i = 0; i < pairCount; ++i)
      if (llvm::Error error = pair())
        return error;
    if (llvm::Error error = alignment())
      return error;
    for (uint64_t i = 0; i < tensorCount; ++i)
      if (llvm::Error error = tensor())
        return error;
    return ranges();
  }

private:
  uint64_t left() const { return data.size() - pos; }
  llvm::Error bad(const llvm::Twine &what) { return fault(file.path_, what); }
  llvm::Error truncated(const llvm::Twine &what) {
    return bad(what + ": truncated, the file ends at byte " + llvm::Twine(data.size()));
  }
  bool u32(uint32_t &v) {
    if (left() < 4)
      return false;
    v = llvm::support::endian::read32le(data.data() + pos);
    pos += 4;
    return true;
  }
  bool u64(uint64_t &v) {
    if (left() < 8)
      return false;
    v = llvm::support::endian::read64le(data.data() + pos);
    pos += 8;
    return true;
  }

  llvm::Error header() {
    if (data.empty())
      return bad("the file is empty");
    if (data.size() < 4)
      return truncated("magic");
    if (!data.starts_with("GGUF"))
      return bad("not a GGUF file (magic is '" + printable(data.take_front(4)) + "')");
    pos = 4;
    if (!u32(file.version_))
      return truncated("version");
    if (file.version_ == 0x02000000 || file.version_ == 0x03000000)
      return bad("big-endian GGUF is not supported (version field " + llvm::Twine(file.version_) + ")");
    if (file.version_ != 2 && file.version_ != 3)
      return bad("GGUF version " + llvm::Twine(file.version_) + " is not supported (2 and 3 are)");
    if (!u64(tensorCount))
      return truncated("tensor count");
    if (!u64(pairCount))
      return truncated("metadata count");
    if (tensorCount > left() / kMinTensorBytes)
      return bad("tensor count " + llvm::Twine(tensorCount) + " exceeds what the file can hold");
    if (pairCount > left() / kMinPairBytes)
      return bad("metadata count " + llvm::Twine(pairCount) + " exceeds what the file can hold");
    return llvm::Error::success();
  }

  llvm::Error pair() {
    uint64_t length;
    if (!u64(length))
      return truncated("length of metadata key " + llvm::Twine(file.metadata_.size()));
    if (length > left() || length > kMaxNameBytes)
      return bad("length " + llvm::Twine(length) + " of metadata key " + llvm::Twine(file.metadata_.size()) +
                 " exceeds the file or the limit");
    llvm::StringRef key = data.substr(pos, length);
    pos += length;
    if (!isUtf8(key))
      return bad("metadata key '" + printable(key) + "' is not UTF-8");
    GgufValue value;
    value.key = key.str();
    uint32_t type;
    if (!u32(type))
      return truncated("type of metadata key '" + printable(key) + "'");
    if (type > static_cast<uint32_t>(GgufType::F64))
      return bad("metadata key '" + printable(key) + "': unknown value type " + llvm::Twine(type));
    value.type = static_cast<GgufType>(type);
    value.element = value.type;
    value.offset = pos;
    if (llvm::Error error = skip(key, value.type, 0, &value))
      return error;
    if (!file.index_.try_emplace(key, file.metadata_.size()).second)
      return bad("duplicate metadata key '" + printable(key) + "'");
    file.metadata_.push_back(std::move(value));
    return llvm::Error::success();
  }

  /// Checks the value at `pos` and moves past it. For a top-level array the
  /// description is stored in `value`.
  llvm::Error skip(llvm::StringRef key, GgufType type, unsigned depth, GgufValue *value = nullptr) {
    auto name = [&] { return "metadata key '" + printable(key) + "'"; };
    if (unsigned bytes = elementBytes(type)) {
      if (left() < bytes)
        return truncated(name());
      pos += bytes;
      return llvm::Error::success();
    }
    uint64_t length;
    if (type == GgufType::String) {
      if (!u64(length))
        return truncated(name());
      if (length > left())
        return bad(name() + ": string length " + llvm::Twine(length) + " is past the end of the file");
      pos += length;
      return llvm::Error::success();
    }
    if (depth >= kMaxArrayNesting)
      return bad(name() + ": arrays nested deeper than " + llvm::Twine(kMaxArrayNesting));
    uint32_t elementType;
    if (!u32(elementType) || !u64(length))
      return truncated(name() + ": array header");
    if (elementType > static_cast<uint32_t>(GgufType::F64))
      return bad(name() + ": array of unknown element type " + llvm::Twine(elementType));
    auto element = static_cast<GgufType>(elementType);
    unsigned fixed = elementBytes(element);
    uint64_t smallest = fixed ? fixed : element == GgufType::String ? 8 : 12;
    if (length > left() / smallest)
      return bad(name() + ": array length " + llvm::Twine(length) + " is past the end of the file");
    if (value) {
      value->element = element;
      value->count = length;
      value->offset = pos;
    }
    if (fixed) {
      pos += length * fixed;
      return llvm::Error::success();
    }
    for (uint64_t i = 0; i < length; ++i)
      if (llvm::Error error = skip(key, element, depth + 1))
        return error;
    return llvm::Error::success();
  }

  llvm::Error alignment() {
    const GgufValue *value = file.find("general.alignment");
    if (!value)
      return llvm::Error::success();
    if (value->type != GgufType::U32)
      return bad("general.alignment is not of type u32");
    uint32_t alignment = llvm::support::endian::read32le(data.data() + value->offset);
    if (alignment < 8 || !llvm::isPowerOf2_32(alignment))
      return bad("general.alignment " + llvm::Twine(alignment) + " is not a power of two of at least 8");
    file.alignment_ = alignment;
    return llvm::Error::success();
  }

  llvm::Error tensor() {
    uint64_t length;
    if (!u64(length))
      return truncated("name length of tensor " + llvm::Twine(file.tensors_.size()));
    if (length > kMaxNameBytes)
      return bad("name of tensor " + llvm::Twine(file.tensors_.size()) + " has length " +
                 llvm::Twine(length));
    if (length > left())
      return truncated("name of tensor " + llvm::Twine(file.tensors_.size()));
    GgufTensor tensor;
    tensor.name = data.substr(pos, length).str();
    pos += length;
    std::string name = "tensor '" + printable(tensor.name) + "'";
    if (!isUtf8(tensor.name))
      return bad(name + ": the name is not UTF-8");
    uint32_t dims;
    if (!u32(dims))
      return truncated(name);
    if (dims == 0 || dims > kMaxDims)
      return bad(name + " has " + llvm::Twine(dims) + " dimensions (1 to 4 are allowed)");
    uint64_t elements = 1;
    for (uint32_t i = 0; i < dims; ++i) {
      uint64_t extent;
      if (!u64(extent))
        return truncated(name);
      bool overflow = false;
      elements = llvm::SaturatingMultiply(elements, extent, &overflow);
      if (extent == 0 || extent > static_cast<uint64_t>(INT64_MAX) || overflow ||
          elements > static_cast<uint64_t>(INT64_MAX))
        return bad(name + ": dimension " + llvm::Twine(extent) + " is zero or too large");
      tensor.shape.push_back(static_cast<int64_t>(extent));
    }
    // The file lists the fastest dimension first.
    std::reverse(tensor.shape.begin(), tensor.shape.end());
    uint32_t type;
    if (!u32(type) || !u64(tensor.offset))
      return truncated(name);
    tensor.type = findGgmlType(type);
    if (!tensor.type)
      return bad(name + ": unknown or removed tensor type " + llvm::Twine(type));
    uint64_t rowElems = static_cast<uint64_t>(tensor.shape.back());
    if (rowElems % tensor.type->blockElems)
      return bad(name + ": rows of " + llvm::Twine(rowElems) + " elements are no multiple of the " +
                 llvm::Twine(tensor.type->blockElems) + " of a " + tensor.type->name + " block");
    uint64_t blocks = elements / tensor.type->blockElems;
    bool overflow = false;
    tensor.bytes = llvm::SaturatingMultiply<uint64_t>(blocks, tensor.type->blockBytes, &overflow);
    if (overflow)
      return bad(name + ": its size overflows");
    if (tensor.offset % file.alignment_)
      return bad(name + ": offset " + llvm::Twine(tensor.offset) + " is no multiple of the alignment " +
                 llvm::Twine(file.alignment_));
    file.tensors_.push_back(std::move(tensor));
    return llvm::Error::success();
  }

  /// Makes offsets absolute and checks that each tensor lies in the file and
  /// that none overlaps another.
  llvm::Error ranges() {
    // pos < 2^63 and alignment <= 2^31, so this cannot wrap.
    uint64_t start = llvm::alignTo(pos, file.alignment_);
    llvm::StringMap<char> names;
    for (GgufTensor &tensor : file.tensors_) {
      std::string name = "tensor '" + printable(tensor.name) + "'";
      if (!names.try_emplace(tensor.name).second)
        return bad("duplicate " + name);
      if (start > data.size() || tensor.offset > data.size() - start ||
          tensor.bytes > data.size() - start - tensor.offset)
        return bad(name + ": offset " + llvm::Twine(tensor.offset) + " and size " +
                   llvm::Twine(tensor.bytes) +
                   " are past the end of the file (truncated?): the data section has " +
                   llvm::Twine(start > data.size() ? 0 : data.size() - start) + " bytes");
      tensor.offset += start;
    }
    std::vector<const GgufTensor *> order;
    for (const GgufTensor &tensor : file.tensors_)
      order.push_back(&tensor);
    std::sort(order.begin(), order.end(),
              [](const GgufTensor *a, const GgufTensor *b) { return a->offset < b->offset; });
    for (size_t i = 1; i < order.size(); ++i)
      if (order[i - 1]->offset + order[i - 1]->bytes > order[i]->offset)
        return bad("tensor '" + printable(order[i]->name) + "' overlaps tensor '" +
                   printable(order[i - 1]->name) + "' (offset " + llvm::Twine(order[i]->offset) + ")");
    return llvm::Error::success();
  }

  GgufFile &file;
  llvm::StringRef data;
  uint64_t pos = 0;
  uint64_t tensorCount = 0;
  uint64_t pairCount = 0;
};

llvm::Expected<std::unique_ptr<GgufFile>> GgufFile::open(llvm::StringRef path) {
  auto buffer = viewFile(path);
  if (!buffer)
    return buffer.takeError();
  std::unique_ptr<GgufFile> file(new GgufFile());
  file->path_ = path.str();
  file->buffer_ = std::move(*buffer);
  if (llvm::Error error = GgufParser(*file).run())
    return std::move(error);
  return std::move(file);
}

} // namespace ingot::import_
