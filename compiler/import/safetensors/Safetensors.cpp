#include "compiler/import/safetensors/Safetensors.h"
#include "compiler/import/Fault.h"
#include "compiler/import/FileView.h"
#include "compiler/import/Json.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"
#include <algorithm>
#include <set>
#include <tuple>

namespace ingot::import_ {

namespace {

constexpr uint64_t kMaxHeaderBytes = 100000000; // the format's own limit

/// Bits of an element, 0 for an unknown dtype.
unsigned dtypeBits(llvm::StringRef dtype) {
  return llvm::StringSwitch<unsigned>(dtype)
      .Cases({"F64", "I64", "U64", "C64"}, 64)
      .Cases({"F32", "I32", "U32"}, 32)
      .Cases({"F16", "BF16", "I16", "U16"}, 16)
      .Cases({"BOOL", "I8", "U8", "F8_E5M2", "F8_E4M3", "F8_E8M0"}, 8)
      .Cases({"F6_E2M3", "F6_E3M2"}, 6)
      .Case("F4", 4)
      .Default(0);
}

llvm::Expected<SafeTensor> readEntry(llvm::StringRef path, const std::string &name, const JsonValue &entry,
                                     uint64_t dataSize) {
  std::string what = "header: tensor '" + printable(name) + "': ";
  auto bad = [&](const llvm::Twine &why) { return fault(path, what + why); };
  if (!entry.object())
    return bad("expected an object, found " + entry.kindName());
  SafeTensor tensor;
  tensor.name = name;
  const JsonValue *dtype = entry.get("dtype"), *shape = entry.get("shape"),
                  *offsets = entry.get("data_offsets");
  if (!dtype || !dtype->string())
    return bad("dtype is missing or no string");
  tensor.dtype = *dtype->string();
  unsigned bits = dtypeBits(tensor.dtype);
  if (!bits)
    return bad("unknown dtype '" + printable(tensor.dtype) + "'");
  if (!shape || !shape->array())
    return bad("shape is missing or no array");
  if (shape->array()->size() > 8)
    return bad("shape with more than 8 dimensions");
  uint64_t total = bits;
  bool overflow = false;
  for (const JsonValue &extent : *shape->array()) {
    auto v = extent.integer();
    if (!v || *v < 0)
      return bad("shape holds something that is no size of at most 2^63-1");
    tensor.shape.push_back(*v);
    bool over = false;
    total = llvm::SaturatingMultiply<uint64_t>(total, static_cast<uint64_t>(*v), &over);
    overflow |= over;
  }
  if (overflow || total % 8)
    return bad("the shape's size in bytes overflows or is no whole number");
  if (!offsets || !offsets->array() || offsets->array()->size() != 2)
    return bad("data_offsets is missing or no pair");
  auto begin = (*offsets->array())[0].integer(), end = (*offsets->array())[1].integer();
  if (!begin || !end || *begin < 0 || *end < *begin)
    return bad("data_offsets are no ascending pair of sizes (negative offset?)");
  if (static_cast<uint64_t>(*end) > dataSize)
    return bad("data_offsets end at " + llvm::Twine(*end) + ", past the end of the " + llvm::Twine(dataSize) +
               " data bytes");
  if (static_cast<uint64_t>(*end - *begin) != total / 8)
    return bad("data_offsets hold " + llvm::Twine(*end - *begin) + " bytes, shape and dtype need " +
               llvm::Twine(total / 8));
  tensor.offset = static_cast<uint64_t>(*begin);
  tensor.bytes = total / 8;
  return std::move(tensor);
}

} // namespace

llvm::Expected<SafetensorsFile> openSafetensors(llvm::StringRef path) {
  auto buffer = viewFile(path);
  if (!buffer)
    return buffer.takeError();
  llvm::StringRef data = (*buffer)->getBuffer();
  if (data.size() < 8)
    return fault(path,
                 "truncated: the file has " + llvm::Twine(data.size()) + " bytes, no room for a header");
  uint64_t headerSize = llvm::support::endian::read64le(data.data());
  if (headerSize > kMaxHeaderBytes || headerSize > data.size() - 8)
    return fault(path, "header length " + llvm::Twine(headerSize) +
                           " is past the end of the file or over the limit of " +
                           llvm::Twine(kMaxHeaderBytes));
  std::string where = (path + ": header").str();
  auto header = parseJson(where, data.substr(8, headerSize));
  if (!header)
    return header.takeError();
  if (!header->object())
    return fault(where, "expected a JSON object, found " + header->kindName());

  SafetensorsFile file;
  file.path = path.str();
  file.size = data.size();
  uint64_t dataStart = 8 + headerSize, dataSize = data.size() - dataStart;
  for (const auto &[name, entry] : *header->object()) {
    if (name == "__metadata__")
      continue;
    auto tensor = readEntry(path, name, entry, dataSize);
    if (!tensor)
      return tensor.takeError();
    file.tensors.push_back(std::move(*tensor));
  }
  std::sort(file.tensors.begin(), file.tensors.end(), [](const SafeTensor &a, const SafeTensor &b) {
    return std::tie(a.offset, a.bytes, a.name) < std::tie(b.offset, b.bytes, b.name);
  });
  uint64_t expected = 0;
  for (SafeTensor &tensor : file.tensors) {
    if (tensor.offset != expected)
      return fault(path, "tensor '" + printable(tensor.name) + "': its data starts at offset " +
                             llvm::Twine(tensor.offset) + ", which leaves a hole or overlaps (expected " +
                             llvm::Twine(expected) + ")");
    expected += tensor.bytes;
    tensor.offset += dataStart;
  }
  if (expected != dataSize)
    return fault(path, llvm::Twine(dataSize - expected) + " trailing bytes after the last tensor");
  return std::move(file);
}

llvm::Expected<std::vector<SafetensorsFile>> openSafetensorsDir(llvm::StringRef dir) {
  auto join = [&](llvm::StringRef name) {
    llvm::SmallString<256> path(dir);
    llvm::sys::path::append(path, name);
    return std::string(path.str());
  };
  std::vector<SafetensorsFile> files;
  std::string single = join("model.safetensors"), index = join("model.safetensors.index.json");
  if (llvm::sys::fs::exists(single)) {
    auto file = openSafetensors(single);
    if (!file)
      return file.takeError();
    files.push_back(std::move(*file));
    return std::move(files);
  }
  if (!llvm::sys::fs::exists(index))
    return fault(dir, "holds neither model.safetensors nor model.safetensors.index.json");

  auto json = parseJsonObjectFile(index);
  if (!json)
    return json.takeError();
  const JsonValue *map = json->get("weight_map");
  if (!map || !map->object() || map->object()->empty())
    return fault(index, "weight_map is missing, empty or no object");
  std::set<std::string> shards;
  for (const auto &[name, shard] : *map->object()) {
    const std::string *file = shard.string();
    if (!file)
      return fault(index,
                   "weight_map: tensor '" + printable(name) + "': the file name is " + shard.kindName());
    llvm::StringRef text(*file);
    if (text.empty() || text == "." || text == ".." ||
        text.find_first_of(llvm::StringRef("/\\\0", 3)) != llvm::StringRef::npos)
      return fault(index, "weight_map: tensor '" + printable(name) + "': path '" + printable(text) +
                              "' is outside the directory or no plain file name");
    shards.insert(*file);
  }
  llvm::StringMap<std::string> where;
  for (const std::string &shard : shards) {
    auto file = openSafetensors(join(shard));
    if (!file)
      return file.takeError();
    for (const SafeTensor &tensor : file->tensors)
      if (!where.try_emplace(tensor.name, shard).second)
        return fault(file->path, "duplicate tensor '" + printable(tensor.name) + "' (also in shard " +
                                     where[tensor.name] + ")");
    files.push_back(std::move(*file));
  }
  for (const auto &[name, shard] : *map->object()) {
    auto it = where.find(name);
    if (it == where.end() || it->second != *shard.string())
      return fault(index, "weight_map: tensor '" + printable(name) + "' is not in shard '" +
                              printable(*shard.string()) + "'");
  }
  return std::move(files);
}

} // namespace ingot::import_
