//===- Pack.cpp -----------------------------------------------------------------------------------------===//
#include "runtime/weights/Pack.h"
#include "runtime/weights/Hash.h"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <new>
#include <unistd.h>

namespace ingot::weights {

static_assert(sizeof(ingot_pack_header_v1) == 96, "format");
static_assert(sizeof(ingot_pack_section_v1) == 64, "format");
static_assert(sizeof(ingot_pack_params_v1) == 16, "format");
static_assert(sizeof(ingot_pack_param_v1) == 64, "format");
static_assert(sizeof(ingot_pack_trailer_v1) == 64, "format");

// Sections that are held in memory: far above any model, far below what would hurt.
static constexpr uint64_t MaxHeldBytes = UINT64_C(1) << 30;
static constexpr uint64_t MaxParams = 1 << 20;

void Pack::FreeDeleter::operator()(uint8_t *p) const { std::free(p); }

const char *sectionKindName(uint32_t kind) {
  switch (kind) {
  case INGOT_PACK_META:
    return "META";
  case INGOT_PACK_TOKENIZER:
    return "TOKENIZER";
  case INGOT_PACK_PARAMS:
    return "PARAMS";
  case INGOT_PACK_WEIGHTS:
    return "WEIGHTS";
  case INGOT_PACK_OBJECT:
    return "OBJECT";
  default:
    return "unknown";
  }
}

static std::string describe(const SectionInfo &s) {
  std::string text = std::string("section ") + sectionKindName(s.kind);
  if (!s.name.empty())
    text += " '" + s.name + "'";
  return text;
}

std::unique_ptr<Pack> Pack::open(const std::string &path, std::string &error) {
  std::unique_ptr<Source> source = openFile(path, error);
  return source ? read(std::move(source), error) : nullptr;
}

std::unique_ptr<Pack> Pack::openSelf(std::string &error) {
  constexpr const char *self = "/proc/self/exe";
  // The link opens the running program even where its file was moved or replaced; messages name the file.
  char path[PATH_MAX];
  ssize_t n = ::readlink(self, path, sizeof(path));
  std::unique_ptr<Source> source =
      openFile(self, error, n > 0 ? std::string(path, size_t(n)) : std::string());
  return source ? read(std::move(source), error) : nullptr;
}

std::unique_ptr<Pack> Pack::fromMemory(const uint8_t *data, uint64_t size, std::string name,
                                       std::string &error) {
  return read(weights::fromMemory(data, size, std::move(name)), error);
}

bool Pack::hasTrailer(const std::string &path) {
  std::string ignored;
  std::unique_ptr<Source> source = openFile(path, ignored);
  uint8_t magic[8];
  return source && source->size() >= sizeof(ingot_pack_trailer_v1) &&
         source->read(source->size() - sizeof(ingot_pack_trailer_v1), magic, 8, ignored) &&
         std::memcmp(magic, INGOT_PACK_TRAILER_MAGIC, 8) == 0;
}

std::unique_ptr<Pack> Pack::read(std::unique_ptr<Source> source, std::string &error) {
  const std::string name = source->name();
  const uint64_t size = source->size();
  uint8_t magic[8] = {};
  if (size < sizeof(ingot_pack_header_v1)) {
    error = name + ": " + std::to_string(size) + " bytes are too few for a weight pack";
    return nullptr;
  }
  if (!source->read(0, magic, 8, error))
    return nullptr;
  if (std::memcmp(magic, INGOT_PACK_MAGIC, 8) == 0)
    return readAt(std::move(source), 0, size, nullptr, error);

  ingot_pack_trailer_v1 trailer;
  if (!source->read(size - sizeof(trailer), &trailer, sizeof(trailer), error))
    return nullptr;
  if (std::memcmp(trailer.magic, INGOT_PACK_TRAILER_MAGIC, 8) != 0) {
    error = name + ": neither a weight pack nor an executable that ends with one";
    return nullptr;
  }
  if (trailer.trailer_hash != hashBytes(&trailer, offsetof(ingot_pack_trailer_v1, trailer_hash))) {
    error = name + ": the trailer at offset " + std::to_string(size - sizeof(trailer)) + " is damaged";
    return nullptr;
  }
  if (trailer.version != INGOT_PACK_VERSION || trailer.trailer_bytes != sizeof(trailer)) {
    error = name + ": trailer version " + std::to_string(trailer.version) + " is not supported";
    return nullptr;
  }
  if (trailer.pack_offset % INGOT_PACK_ALIGN != 0 || trailer.pack_offset > size ||
      trailer.pack_bytes != size - sizeof(trailer) - std::min(trailer.pack_offset, size - sizeof(trailer)) ||
      trailer.pack_bytes < sizeof(ingot_pack_header_v1)) {
    error = name + ": the trailer's pack range (offset " + std::to_string(trailer.pack_offset) + ", " +
            std::to_string(trailer.pack_bytes) + " bytes) does not fit the file of " + std::to_string(size) +
            " bytes; the file is cut or has been changed";
    return nullptr;
  }
  return readAt(std::move(source), trailer.pack_offset, trailer.pack_bytes, &trailer.header_hash, error);
}

std::unique_ptr<Pack> Pack::readAt(std::unique_ptr<Source> source, uint64_t base, uint64_t bytes,
                                   const uint64_t *wantedHash, std::string &error) {
  std::unique_ptr<Pack> pack(new Pack());
  pack->source = std::move(source);
  pack->base = base;
  ingot_pack_header_v1 &h = pack->head;
  const std::string &name = pack->name();
  if (!pack->source->read(base, &h, sizeof(h), error))
    return nullptr;
  if (std::memcmp(h.magic, INGOT_PACK_MAGIC, 8) != 0) {
    error = name + ": no pack header at offset " + std::to_string(base);
    return nullptr;
  }
  if (h.version != INGOT_PACK_VERSION) {
    error = name + ": pack version " + std::to_string(h.version) + ", this program reads version " +
            std::to_string(INGOT_PACK_VERSION);
    return nullptr;
  }
  if (h.header_hash != hashBytes(&h, offsetof(ingot_pack_header_v1, header_hash)) ||
      (wantedHash && *wantedHash != h.header_hash)) {
    error = name + ": the pack header is damaged (hash mismatch)";
    return nullptr;
  }
  if (h.header_bytes != sizeof(h) || h.entry_bytes != sizeof(ingot_pack_section_v1)) {
    error = name + ": the pack header has sizes that this version does not know";
    return nullptr;
  }
  if (h.pack_bytes != bytes) {
    error = name + ": the pack header says " + std::to_string(h.pack_bytes) + " bytes, the file has " +
            std::to_string(bytes);
    return nullptr;
  }
  if (!pack->readTable(bytes, error) || !pack->checkTable(error) || !pack->readSections(error))
    return nullptr;
  return pack;
}

bool Pack::readTable(uint64_t bytes, std::string &error) {
  if (head.n_sections == 0 || head.n_sections > INGOT_PACK_MAX_SECTIONS) {
    error = name() + ": section count " + std::to_string(head.n_sections) + " is outside 1.." +
            std::to_string(INGOT_PACK_MAX_SECTIONS);
    return false;
  }
  uint64_t tableBytes = uint64_t(head.n_sections) * sizeof(ingot_pack_section_v1);
  if (head.table_offset < sizeof(head) || head.table_offset % INGOT_PACK_SECTION_ALIGN != 0 ||
      head.table_offset > bytes || tableBytes > bytes - head.table_offset) {
    error = name() + ": the section table at offset " + std::to_string(head.table_offset) +
            " does not lie inside the pack";
    return false;
  }
  std::vector<ingot_pack_section_v1> raw(head.n_sections);
  if (!source->read(base + head.table_offset, raw.data(), tableBytes, error))
    return false;
  if (hashBytes(raw.data(), tableBytes) != head.table_hash) {
    error = name() + ": the section table is damaged (hash mismatch)";
    return false;
  }
  for (size_t i = 0; i < raw.size(); ++i) {
    const ingot_pack_section_v1 &r = raw[i];
    size_t length = ::strnlen(r.name, INGOT_PACK_NAME_BYTES);
    bool clean = length < INGOT_PACK_NAME_BYTES;
    for (size_t c = 0; clean && c < length; ++c)
      clean = r.name[c] > ' ' && r.name[c] < 127;
    if (!clean) {
      error = name() + ": section " + std::to_string(i) + ": bad name";
      return false;
    }
    table.push_back({r.kind, std::string(r.name, length), r.offset, r.bytes, r.hash});
  }
  return true;
}

bool Pack::checkTable(std::string &error) {
  uint64_t end = head.table_offset + uint64_t(head.n_sections) * sizeof(ingot_pack_section_v1);
  unsigned count[INGOT_PACK_OBJECT + 1] = {};
  for (const SectionInfo &s : table) {
    auto fail = [&](const std::string &what) {
      error = name() + ": " + describe(s) + " (offset " + std::to_string(s.offset) + ", " +
              std::to_string(s.bytes) + " bytes): " + what;
      return false;
    };
    if (s.kind < INGOT_PACK_META || s.kind > INGOT_PACK_OBJECT)
      return fail("unknown kind " + std::to_string(s.kind));
    uint64_t align = INGOT_PACK_SECTION_ALIGN;
    if (s.kind == INGOT_PACK_WEIGHTS)
      align = head.flags & INGOT_PACK_HUGE ? INGOT_PACK_ALIGN_HUGE : INGOT_PACK_ALIGN;
    if (s.offset % align != 0)
      return fail("not aligned to " + std::to_string(align));
    if (s.offset < end)
      return fail("overlaps what precedes it");
    if (s.offset > head.pack_bytes || s.bytes > head.pack_bytes - s.offset)
      return fail("ends outside the pack");
    end = s.offset + s.bytes;
    if (s.kind == INGOT_PACK_OBJECT) {
      if (s.name.empty())
        return fail("an object without the name of its variant");
    } else if (!s.name.empty()) {
      return fail("this kind has no name");
    }
    ++count[s.kind];
    if (s.kind != INGOT_PACK_OBJECT ? count[s.kind] > 1 : find(s.kind, s.name) != &s)
      return fail("occurs twice");
    if (s.kind != INGOT_PACK_WEIGHTS && s.bytes > MaxHeldBytes)
      return fail("larger than " + std::to_string(MaxHeldBytes) + " bytes");
    if (s.kind == INGOT_PACK_WEIGHTS && s.bytes != head.weight_bytes)
      return fail("the header says " + std::to_string(head.weight_bytes) + " weight bytes");
  }
  for (uint32_t kind : {INGOT_PACK_META, INGOT_PACK_PARAMS, INGOT_PACK_WEIGHTS})
    if (count[kind] == 0) {
      error = name() + ": section " + sectionKindName(kind) + " is missing";
      return false;
    }
  if (end != head.pack_bytes) {
    error =
        name() + ": the pack has " + std::to_string(head.pack_bytes - end) + " bytes after its last section";
    return false;
  }
  return true;
}

const SectionInfo *Pack::find(uint32_t kind, std::string_view wanted) const {
  for (const SectionInfo &s : table)
    if (s.kind == kind && s.name == wanted)
      return &s;
  return nullptr;
}

bool Pack::readChecked(const SectionInfo &s, uint8_t *dst, std::string &error) const {
  if (!source->read(base + s.offset, dst, s.bytes, error)) {
    error += " (" + describe(s) + ")";
    return false;
  }
  if (hashBytes(dst, s.bytes) != s.hash) {
    error = name() + ": " + describe(s) + " at offset " + std::to_string(s.offset) +
            " is damaged (hash mismatch)";
    return false;
  }
  return true;
}

bool Pack::readSections(std::string &error) {
  const SectionInfo &meta = *find(INGOT_PACK_META);
  metaBytes.resize(meta.bytes);
  if (!readChecked(meta, reinterpret_cast<uint8_t *>(metaBytes.data()), error))
    return false;
  if (const SectionInfo *tok = find(INGOT_PACK_TOKENIZER)) {
    // 64-aligned: the tokenizer uses the tables where they lie.
    uint64_t rounded = (tok->bytes + 63) / 64 * 64 + 64;
    tokenizerBytes.reset(static_cast<uint8_t *>(std::aligned_alloc(64, rounded)));
    if (!tokenizerBytes) {
      error = name() + ": no memory for the tokenizer (" + std::to_string(tok->bytes) + " bytes)";
      return false;
    }
    tokenizerSize = tok->bytes;
    if (!readChecked(*tok, tokenizerBytes.get(), error))
      return false;
  }
  return readParams(*find(INGOT_PACK_PARAMS), error);
}

bool Pack::readParams(const SectionInfo &section, std::string &error) {
  paramBytes.resize(section.bytes);
  if (!readChecked(section, reinterpret_cast<uint8_t *>(paramBytes.data()), error))
    return false;
  ingot_pack_params_v1 list;
  auto fail = [&](const std::string &what) {
    error = name() + ": section PARAMS: " + what;
    return false;
  };
  if (section.bytes < sizeof(list))
    return fail("too short");
  std::memcpy(&list, paramBytes.data(), sizeof(list));
  if (list.entry_bytes != sizeof(ingot_pack_param_v1) || list.count > MaxParams ||
      list.count * uint64_t(sizeof(ingot_pack_param_v1)) > section.bytes - sizeof(list))
    return fail("its count " + std::to_string(list.count) + " does not fit its size");

  uint64_t stringsAt = sizeof(list) + list.count * uint64_t(sizeof(ingot_pack_param_v1));
  auto text = [&](uint32_t at, std::string_view &out) {
    if (at < stringsAt || at >= section.bytes)
      return false;
    const char *begin = paramBytes.data() + at;
    const void *zero = std::memchr(begin, 0, section.bytes - at);
    if (!zero)
      return false;
    out = std::string_view(begin, size_t(static_cast<const char *>(zero) - begin));
    return true;
  };
  Hasher hasher;
  uint64_t end = 0;
  paramList.reserve(list.count);
  for (uint32_t i = 0; i < list.count; ++i) {
    ingot_pack_param_v1 raw;
    std::memcpy(&raw, paramBytes.data() + sizeof(list) + i * sizeof(raw), sizeof(raw));
    Param p;
    if (!text(raw.name, p.name) || !text(raw.scheme, p.scheme) || !text(raw.layout, p.layout))
      return fail("param " + std::to_string(i) + ": bad string offset");
    p.rows = raw.rows, p.cols = raw.cols, p.offset = raw.offset, p.bytes = raw.bytes, p.hash = raw.hash;
    if (p.offset % INGOT_PACK_SECTION_ALIGN != 0 || p.offset < end || p.offset > head.weight_bytes ||
        p.bytes > head.weight_bytes - p.offset)
      return fail("param '" + std::string(p.name) + "': range (offset " + std::to_string(p.offset) + ", " +
                  std::to_string(p.bytes) + " bytes) is not inside the weight section or overlaps");
    end = p.offset + p.bytes;
    for (std::string_view s : {p.name, p.scheme, p.layout})
      hasher.add(s.data(), s.size() + 1);
    for (uint64_t v : {p.rows, p.cols, p.offset, p.bytes})
      hasher.addWord(v);
    paramList.push_back(p);
  }
  if (hasher.digest() != head.weight_hash)
    return fail("the hash over all params differs from the header's weight hash");
  return true;
}

bool Pack::readObject(std::string_view isa, std::vector<uint8_t> &out, std::string &error) const {
  const SectionInfo *s = find(INGOT_PACK_OBJECT, isa);
  if (!s) {
    error = name() + ": no object for variant '" + std::string(isa) + "'";
    return false;
  }
  out.resize(s->bytes);
  return readChecked(*s, out.data(), error);
}

bool Pack::loadWeights(LoadMode mode, unsigned threads, WeightMemory &out, std::string &error) const {
  const SectionInfo &s = *find(INGOT_PACK_WEIGHTS);
  return out.load(*source, base + s.offset, s.bytes, mode, threads, error);
}

bool Pack::verifyWeights(const WeightMemory &weights, std::string &error) const {
  const SectionInfo &s = *find(INGOT_PACK_WEIGHTS);
  for (const Param &p : paramList)
    if (hashBytes(weights.data() + p.offset, p.bytes) != p.hash) {
      error = name() + ": tensor '" + std::string(p.name) + "' (" + std::string(p.scheme) + ", offset " +
              std::to_string(base + s.offset + p.offset) + " of the file, " + std::to_string(p.bytes) +
              " bytes) is damaged: hash mismatch";
      return false;
    }
  if (hashBytes(weights.data(), weights.size()) != s.hash) {
    error = name() + ": section WEIGHTS is damaged between its tensors (hash mismatch)";
    return false;
  }
  return true;
}

} // namespace ingot::weights
