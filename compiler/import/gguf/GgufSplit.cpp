//===- GgufSplit.cpp - Models in several GGUF files -----------------------===//
#include "compiler/import/Fault.h"
#include "compiler/import/gguf/GgufFile.h"
#include "llvm/Support/FormatVariadic.h"
#include <tuple>

namespace ingot::import_ {

namespace {

constexpr int64_t kMaxParts = 9999;

/// An integer of the split.* group; absent is `fallback`.
llvm::Expected<int64_t> splitInt(const GgufFile &file, llvm::StringRef key, int64_t fallback) {
  auto v = file.getInt(key);
  if (!v)
    return v.takeError();
  return v->value_or(fallback);
}

/// PREFIX of PREFIX-00001-of-0000N.gguf.
std::optional<std::string> partPrefix(llvm::StringRef path, int64_t count) {
  std::string tail = llvm::formatv("-00001-of-{0:D5}.gguf", count).str();
  if (!path.consume_back(tail))
    return std::nullopt;
  return path.str();
}

/// Adds the faults of the other parts to that of the first one, so that all
/// files to be fetched again are known at once. The number of parts comes from
/// the name, as the first part could not be read.
llvm::Error addOtherFaults(llvm::Error first, llvm::StringRef path) {
  constexpr unsigned kMaxReports = 8;
  llvm::StringRef stem = path, digits;
  int64_t count = 0;
  if (!stem.consume_back(".gguf"))
    return first;
  std::tie(stem, digits) = stem.rsplit("-of-");
  if (digits.size() != 5 || digits.getAsInteger(10, count) || !stem.consume_back("-00001"))
    return first;
  unsigned reports = 1;
  for (int64_t i = 1; i < count && reports < kMaxReports; ++i) {
    auto part = GgufFile::open(llvm::formatv("{0}-{1:D5}-of-{2}.gguf", stem, i + 1, digits).str());
    if (part)
      continue;
    first = llvm::joinErrors(std::move(first), part.takeError());
    ++reports;
  }
  return first;
}

} // namespace

llvm::Expected<std::vector<std::unique_ptr<GgufFile>>> openGgufParts(llvm::StringRef path) {
  std::vector<std::unique_ptr<GgufFile>> parts;
  auto first = GgufFile::open(path);
  if (!first)
    return addOtherFaults(first.takeError(), path);
  auto count = splitInt(**first, "split.count", 1);
  if (!count)
    return count.takeError();
  auto number = splitInt(**first, "split.no", 0);
  if (!number)
    return number.takeError();
  if (*count < 0 || *count > kMaxParts)
    return fault(path, "split.count " + llvm::Twine(*count) + " is out of range");
  parts.push_back(std::move(*first));
  if (*count <= 1)
    return std::move(parts);
  if (*number != 0)
    return fault(path, "split.no is " + llvm::Twine(*number) + ": give the first part of a split model");
  auto total = splitInt(*parts[0], "split.tensors.count", -1);
  if (!total)
    return total.takeError();
  auto prefix = partPrefix(path, *count);
  if (!prefix)
    return fault(path,
                 llvm::formatv("the first of {0} parts must be named ...-00001-of-{0:D5}.gguf", *count));

  size_t tensors = parts[0]->tensors().size();
  for (int64_t i = 1; i < *count; ++i) {
    std::string name = llvm::formatv("{0}-{1:D5}-of-{2:D5}.gguf", *prefix, i + 1, *count).str();
    auto part = GgufFile::open(name);
    if (!part)
      return part.takeError();
    auto partNo = splitInt(**part, "split.no", -1);
    if (!partNo)
      return partNo.takeError();
    auto partCount = splitInt(**part, "split.count", -1);
    if (!partCount)
      return partCount.takeError();
    if (*partNo != i)
      return fault(name, "split.no is " + llvm::Twine(*partNo) + ", expected " + llvm::Twine(i));
    if (*partCount != *count)
      return fault(name, "split.count is " + llvm::Twine(*partCount) + ", the first part says " +
                             llvm::Twine(*count));
    tensors += (*part)->tensors().size();
    parts.push_back(std::move(*part));
  }
  if (*total >= 0 && static_cast<uint64_t>(*total) != tensors)
    return fault(path, "split.tensors.count is " + llvm::Twine(*total) + ", the parts hold " +
                           llvm::Twine(tensors) + " tensors");
  llvm::StringMap<char> names;
  for (auto &part : parts)
    for (const GgufTensor &tensor : part->tensors())
      if (!names.try_emplace(tensor.name).second)
        return fault(part->path(),
                     "duplicate tensor '" + printable(tensor.name) + "' (also in an earlier part)");
  return std::move(parts);
}

} // namespace ingot::import_
