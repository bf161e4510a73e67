#include "compiler/import/gguf/GgufFile.h"
#include "compiler/import/Fault.h"
#include "llvm/Support/Endian.h"
#include <cstring>

using namespace llvm::support;

namespace ingot::import_ {

namespace {

constexpr GgmlType kTypes[] = {
#define GGML_TYPE(id, name, scheme, elems, bytes) {id, #name, scheme, elems, bytes},
#include "compiler/import/gguf/GgmlTypes.def"
};

llvm::StringRef typeName(GgufType type) {
  static constexpr llvm::StringLiteral names[] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                                  "bool", "string", "array", "u64", "i64", "f64"};
  return names[static_cast<uint32_t>(type)];
}

/// The integer at `p`; nullopt if `type` is no integer or does not fit int64_t.
std::optional<int64_t> readInt(GgufType type, const char *p) {
  switch (type) {
  case GgufType::U8:
    return static_cast<uint8_t>(*p);
  case GgufType::I8:
    return static_cast<int8_t>(*p);
  case GgufType::U16:
    return endian::read16le(p);
  case GgufType::I16:
    return static_cast<int16_t>(endian::read16le(p));
  case GgufType::U32:
    return endian::read32le(p);
  case GgufType::I32:
    return static_cast<int32_t>(endian::read32le(p));
  case GgufType::U64: {
    uint64_t v = endian::read64le(p);
    return v <= static_cast<uint64_t>(INT64_MAX) ? std::optional<int64_t>(static_cast<int64_t>(v))
                                                 : std::nullopt;
  }
  case GgufType::I64:
    return static_cast<int64_t>(endian::read64le(p));
  default:
    return std::nullopt;
  }
}

std::optional<double> readFloat(GgufType type, const char *p) {
  if (type == GgufType::F32) {
    uint32_t bits = endian::read32le(p);
    float v;
    std::memcpy(&v, &bits, sizeof v);
    return v;
  }
  if (type == GgufType::F64) {
    uint64_t bits = endian::read64le(p);
    double v;
    std::memcpy(&v, &bits, sizeof v);
    return v;
  }
  if (auto v = readInt(type, p))
    return static_cast<double>(*v);
  return std::nullopt;
}

unsigned fixedBytes(GgufType type) {
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
  default:
    return 8;
  }
}

} // namespace

const GgmlType *findGgmlType(uint32_t id) {
  for (const GgmlType &type : kTypes)
    if (type.id == id)
      return &type;
  return nullptr;
}

const GgufValue *GgufFile::find(llvm::StringRef key) const {
  auto it = index_.find(key);
  return it == index_.end() ? nullptr : &metadata_[it->second];
}

llvm::Error GgufFile::wrongType(const GgufValue &value, llvm::StringRef wanted) const {
  std::string found = typeName(value.type).str();
  if (value.type == GgufType::Array)
    found += " of " + std::to_string(value.count) + " " + typeName(value.element).str();
  return fault(path_, "metadata key '" + printable(value.key) + "' should be " + wanted + ", it is of type " +
                          found + " or out of range");
}

llvm::Expected<std::optional<int64_t>> GgufFile::getInt(llvm::StringRef key) const {
  const GgufValue *value = find(key);
  if (!value)
    return std::nullopt;
  if (auto v = readInt(value->type, at(value->offset)))
    return v;
  return wrongType(*value, "an integer");
}

llvm::Expected<std::optional<double>> GgufFile::getFloat(llvm::StringRef key) const {
  const GgufValue *value = find(key);
  if (!value)
    return std::nullopt;
  if (auto v = readFloat(value->type, at(value->offset)))
    return v;
  return wrongType(*value, "a number");
}

llvm::Expected<std::optional<bool>> GgufFile::getBool(llvm::StringRef key) const {
  const GgufValue *value = find(key);
  if (!value)
    return std::nullopt;
  if (value->type != GgufType::Bool)
    return wrongType(*value, "a bool");
  return std::optional<bool>(*at(value->offset) != 0);
}

llvm::Expected<std::optional<llvm::StringRef>> GgufFile::getString(llvm::StringRef key) const {
  const GgufValue *value = find(key);
  if (!value)
    return std::nullopt;
  if (value->type != GgufType::String)
    return wrongType(*value, "a string");
  return std::optional<llvm::StringRef>(
      llvm::StringRef(at(value->offset + 8), endian::read64le(at(value->offset))));
}

llvm::Expected<std::optional<std::vector<int64_t>>> GgufFile::getInts(llvm::StringRef key) const {
  const GgufValue *value = find(key);
  if (!value)
    return std::nullopt;
  std::vector<int64_t> out;
  if (value->type == GgufType::Array) {
    if (value->count && !readInt(value->element, at(value->offset)))
      return wrongType(*value, "an array of integers");
    for (uint64_t i = 0; i < value->count; ++i) {
      auto v = readInt(value->element, at(value->offset + i * fixedBytes(value->element)));
      if (!v)
        return wrongType(*value, "an array of integers");
      out.push_back(*v);
    }
    return std::optional(std::move(out));
  }
  return wrongType(*value, "an array of integers");
}

llvm::Expected<std::optional<std::vector<bool>>> GgufFile::getBools(llvm::StringRef key) const {
  const GgufValue *value = find(key);
  if (!value)
    return std::nullopt;
  if (value->type != GgufType::Array || value->element != GgufType::Bool)
    return wrongType(*value, "an array of bools");
  std::vector<bool> out(value->count);
  for (uint64_t i = 0; i < value->count; ++i)
    out[i] = *at(value->offset + i) != 0;
  return std::optional(std::move(out));
}

llvm::Expected<std::optional<std::vector<float>>> GgufFile::getFloats(llvm::StringRef key) const {
  const GgufValue *value = find(key);
  if (!value)
    return std::nullopt;
  if (value->type != GgufType::Array || value->element != GgufType::F32)
    return wrongType(*value, "an array of f32");
  std::vector<float> out(value->count);
  for (uint64_t i = 0; i < value->count; ++i)
    out[i] = static_cast<float>(*readFloat(GgufType::F32, at(value->offset + 4 * i)));
  return std::optional(std::move(out));
}

llvm::Expected<std::optional<std::vector<std::string_view>>> GgufFile::getStrings(llvm::StringRef key) const {
  const GgufValue *value = find(key);
  if (!value)
    return std::nullopt;
  if (value->type != GgufType::Array || value->element != GgufType::String)
    return wrongType(*value, "an array of strings");
  std::vector<std::string_view> out;
  out.reserve(value->count); // each string has at least 8 bytes in the file
  uint64_t offset = value->offset;
  for (uint64_t i = 0; i < value->count; ++i) {
    uint64_t length = endian::read64le(at(offset));
    out.emplace_back(at(offset + 8), length);
    offset += 8 + length;
  }
  return std::optional(std::move(out));
}

} // namespace ingot::import_
