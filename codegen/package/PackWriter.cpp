//===- PackWriter.cpp - streams a model into a pack -----------------------------------------------------===//

#include "codegen/package/PackWriter.h"

#include "codegen/package/Linker.h"
#include "codegen/package/ParamPacker.h"
#include "runtime/abi/ingot_pack.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <type_traits>
#include <unistd.h>

using namespace llvm;

namespace ingot::package {
namespace {

template <typename T> ArrayRef<uint8_t> asBytes(const T &value) {
  static_assert(std::is_trivially_copyable_v<T>);
  return {reinterpret_cast<const uint8_t *>(&value), sizeof(T)};
}

ArrayRef<uint8_t> textBytes(StringRef text) {
  return {reinterpret_cast<const uint8_t *>(text.data()), text.size()};
}

uint64_t hashOf(ArrayRef<uint8_t> bytes) { return XXH64(bytes.data(), bytes.size(), 0); }

/// The section table while it is being laid out: sections follow each other at their alignment.
class Layout {
public:
  explicit Layout(size_t count)
      : end(alignTo(sizeof(ingot_pack_header_v1), INGOT_PACK_SECTION_ALIGN) +
            count * sizeof(ingot_pack_section_v1)) {}

  void add(uint32_t kind, StringRef name, uint64_t bytes, uint64_t align = INGOT_PACK_SECTION_ALIGN) {
    ingot_pack_section_v1 section{};
    section.kind = kind;
    std::memcpy(section.name, name.data(), std::min<size_t>(name.size(), INGOT_PACK_NAME_BYTES - 1));
    section.offset = alignTo(end, align);
    section.bytes = bytes;
    end = section.offset + bytes;
    sections.push_back(section);
  }

  std::vector<ingot_pack_section_v1> sections;
  uint64_t end;
};

/// The PARAMS section; `hashes` are those of the packed bytes, zero while the size alone is wanted.
std::vector<uint8_t> buildParams(ArrayRef<ParamPlan> params, ArrayRef<uint64_t> hashes) {
  uint64_t fixed = sizeof(ingot_pack_params_v1) + params.size() * sizeof(ingot_pack_param_v1);
  std::vector<uint8_t> section(fixed);
  auto addString = [&](StringRef text) -> uint32_t {
    uint32_t at = section.size();
    section.insert(section.end(), text.begin(), text.end());
    section.push_back(0);
    return at;
  };
  ingot_pack_params_v1 head{};
  head.count = params.size();
  head.entry_bytes = sizeof(ingot_pack_param_v1);
  std::memcpy(section.data(), &head, sizeof(head));
  for (auto [i, param] : enumerate(params)) {
    ingot_pack_param_v1 entry{};
    entry.name = addString(param.name);
    entry.scheme = addString(qfmt::schemeName(param.scheme));
    entry.layout = addString(qfmt::layoutName(param.layout));
    entry.rows = param.rows;
    entry.cols = param.cols;
    entry.offset = param.offset;
    entry.bytes = param.bytes;
    entry.hash = hashes.empty() ? 0 : hashes[i];
    std::memcpy(section.data() + sizeof(head) + i * sizeof(entry), &entry, sizeof(entry));
  }
  return section;
}

} // namespace

uint64_t weightHash(ArrayRef<ParamPlan> params) {
  std::string text;
  auto word = [&](uint64_t value) { text.append(reinterpret_cast<const char *>(&value), sizeof(value)); };
  for (const ParamPlan &param : params) {
    text.append(param.name).push_back('\0');
    text.append(qfmt::schemeName(param.scheme)).push_back('\0');
    text.append(qfmt::layoutName(param.layout)).push_back('\0');
    word(param.rows);
    word(param.cols);
    word(param.offset);
    word(param.bytes);
  }
  return hashOf(textBytes(text));
}

Expected<PackResult> writePack(const PackContents &contents, TensorSource &source, PackSink &sink,
                               const PackProgress &progress) {
  std::vector<uint8_t> params = buildParams(contents.params, {});
  bool hasTokenizer = !contents.tokenizer.empty();
  Layout layout(3 + hasTokenizer + contents.objects.size());
  layout.add(INGOT_PACK_META, "", contents.meta.size());
  if (hasTokenizer)
    layout.add(INGOT_PACK_TOKENIZER, "", contents.tokenizer.size());
  for (const PackObject &object : contents.objects)
    layout.add(INGOT_PACK_OBJECT, object.isa, object.bytes.size());
  layout.add(INGOT_PACK_PARAMS, "", params.size());
  layout.add(INGOT_PACK_WEIGHTS, "", contents.weightBytes, INGOT_PACK_ALIGN);

  if (Error error = sink.begin(layout.end))
    return std::move(error);

  size_t next = 0;
  auto put = [&](ArrayRef<uint8_t> bytes) -> Error {
    ingot_pack_section_v1 &section = layout.sections[next++];
    section.hash = hashOf(bytes);
    return sink.write(section.offset, bytes);
  };
  if (Error error = put(textBytes(contents.meta)))
    return std::move(error);
  if (hasTokenizer)
    if (Error error = put(contents.tokenizer))
      return std::move(error);
  for (const PackObject &object : contents.objects)
    if (Error error = put(textBytes(object.bytes)))
      return std::move(error);

  // The weights come before their table, which holds their hashes. Gaps between parameters are zero and
  // hashed.
  ingot_pack_section_v1 &weights = layout.sections.back();
  XXH64_state_t state;
  XXH64_reset(&state, 0);
  std::vector<uint64_t> hashes;
  static const uint8_t zeros[4096] = {};
  uint64_t at = 0;
  auto hashGap = [&](uint64_t to) {
    for (; at < to; at += std::min<uint64_t>(to - at, sizeof(zeros)))
      XXH64_update(&state, zeros, std::min<uint64_t>(to - at, sizeof(zeros)));
  };
  for (const ParamPlan &param : contents.params) {
    hashGap(param.offset);
    XXH64_state_t own;
    XXH64_reset(&own, 0);
    uint64_t begin = at;
    Error error = packParam(param, source, [&](ArrayRef<uint8_t> bytes) -> Error {
      XXH64_update(&state, bytes.data(), bytes.size());
      XXH64_update(&own, bytes.data(), bytes.size());
      if (Error failure = sink.write(weights.offset + at, bytes))
        return failure;
      at += bytes.size();
      if (progress)
        progress(at, contents.weightBytes);
      return Error::success();
    });
    if (error)
      return std::move(error);
    if (at - begin != param.bytes)
      return createStringError(inconvertibleErrorCode(),
                               "tensor '%s': packed to %llu bytes, planned were %llu", param.name.c_str(),
                               (unsigned long long)(at - begin), (unsigned long long)param.bytes);
    hashes.push_back(XXH64_digest(&own));
  }
  hashGap(contents.weightBytes);
  weights.hash = XXH64_digest(&state);

  if (Error error = put(buildParams(contents.params, hashes)))
    return std::move(error);

  ingot_pack_header_v1 header{};
  std::memcpy(header.magic, INGOT_PACK_MAGIC, sizeof(header.magic));
  header.version = INGOT_PACK_VERSION;
  header.header_bytes = sizeof(header);
  header.pack_bytes = layout.end;
  header.table_offset = alignTo(sizeof(header), INGOT_PACK_SECTION_ALIGN);
  header.n_sections = layout.sections.size();
  header.entry_bytes = sizeof(ingot_pack_section_v1);
  ArrayRef<uint8_t> table(reinterpret_cast<const uint8_t *>(layout.sections.data()),
                          layout.sections.size() * sizeof(ingot_pack_section_v1));
  header.table_hash = hashOf(table);
  header.weight_hash = weightHash(contents.params);
  header.weight_bytes = contents.weightBytes;
  header.header_hash = XXH64(&header, offsetof(ingot_pack_header_v1, header_hash), 0);
  if (Error error = sink.write(header.table_offset, table))
    return std::move(error);
  if (Error error = sink.write(0, asBytes(header)))
    return std::move(error);
  return PackResult{layout.end, header.header_hash};
}

/// The linked image. A linker writes files by name, so for a moment there is one beside `path`.
static Expected<std::unique_ptr<MemoryBuffer>> linkBeside(StringRef path, ArrayRef<StringRef> objects,
                                                          StringRef runtimeDir) {
  SmallString<256> name;
  int fd;
  if (std::error_code code = sys::fs::createUniqueFile(path + ".%%%%%%%%.part", fd, name))
    return createStringError(code, "cannot write " + path + ": " + code.message());
  FileRemover remover(name);
  // The linker maps what it writes: on a full disk that is a signal. So room is asked for before.
  uint64_t most = 1 << 20, size = 0;
  for (StringRef object : objects)
    most += object.size();
  if (!sys::fs::file_size(runtimeDir + "/ingot_rt.o", size))
    most += size;
  int room = ::posix_fallocate(fd, 0, static_cast<off_t>(most));
  bool freed = ::ftruncate(fd, 0) == 0;
  ::close(fd);
  if (room == ENOSPC || room == EFBIG || room == EDQUOT)
    return createStringError(std::error_code(room, std::generic_category()),
                             "cannot write " + path + ": " + std::strerror(room));
  if (!freed)
    return createStringError(std::error_code(errno, std::generic_category()), "cannot write " + path);
  if (Error error = linkExecutable(objects, runtimeDir, name))
    return std::move(error);
  ErrorOr<std::unique_ptr<MemoryBuffer>> image =
      MemoryBuffer::getFile(name, /*IsText=*/false, /*RequiresNullTerminator=*/false, /*IsVolatile=*/true);
  if (!image)
    return createStringError(image.getError(),
                             "cannot read " + Twine(name) + ": " + image.getError().message());
  return std::move(*image);
}

Error writeExecutable(StringRef path, ArrayRef<StringRef> objects, StringRef runtimeDir,
                      const PackContents &contents, TensorSource &source, const PackProgress &progress) {
  Expected<std::unique_ptr<FileSink>> sink = FileSink::create(path);
  if (!sink)
    return sink.takeError();
  Expected<std::unique_ptr<MemoryBuffer>> image = linkBeside(path, objects, runtimeDir);
  if (!image)
    return image.takeError();
  if (Error error = (*sink)->writeAbsolute(0, textBytes((*image)->getBuffer())))
    return error;
  uint64_t base = alignTo((*image)->getBufferSize(), INGOT_PACK_ALIGN);
  (*sink)->setBase(base);
  Expected<PackResult> pack = writePack(contents, source, **sink, progress);
  if (!pack)
    return pack.takeError();

  ingot_pack_trailer_v1 trailer{};
  std::memcpy(trailer.magic, INGOT_PACK_TRAILER_MAGIC, sizeof(trailer.magic));
  trailer.version = INGOT_PACK_VERSION;
  trailer.trailer_bytes = sizeof(trailer);
  trailer.pack_offset = base;
  trailer.pack_bytes = pack->bytes;
  trailer.header_hash = pack->headerHash;
  trailer.trailer_hash = XXH64(&trailer, offsetof(ingot_pack_trailer_v1, trailer_hash), 0);
  if (Error error = (*sink)->writeAbsolute(base + pack->bytes, asBytes(trailer)))
    return error;
  return (*sink)->commit(/*executable=*/true);
}

} // namespace ingot::package
