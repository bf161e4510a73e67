//===- Pack.h - reader of weight packs (.ipk) -----------------------------------------------------------===//
//
// Opens a pack, alone or at the end of an executable, and checks everything that ingot_pack.h lists before
// any of it is used. Every message names the file and the section. Meta, tokenizer and params are held in
// memory; objects and weights are read on request.
//
//===------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_RUNTIME_WEIGHTS_PACK_H
#define INGOT_RUNTIME_WEIGHTS_PACK_H

#include "runtime/abi/ingot_pack.h"
#include "runtime/weights/Source.h"
#include "runtime/weights/WeightMemory.h"

#include <string_view>
#include <vector>

namespace ingot::weights {

struct ByteView {
  const uint8_t *data = nullptr;
  uint64_t size = 0;
};

/// One packed tensor; the views live as long as the pack.
struct Param {
  std::string_view name, scheme, layout;
  uint64_t rows = 0, cols = 0, offset = 0, bytes = 0, hash = 0;
};

struct SectionInfo {
  uint32_t kind = 0;
  std::string name;
  uint64_t offset = 0, bytes = 0, hash = 0;
};

class Pack {
public:
  /// A `.ipk` file, or an executable that ends with a trailer. Null and a message on any fault.
  static std::unique_ptr<Pack> open(const std::string &path, std::string &error);
  /// The pack at the end of the running executable.
  static std::unique_ptr<Pack> openSelf(std::string &error);
  /// A pack in memory that outlives the result; `name` is used in messages.
  static std::unique_ptr<Pack> fromMemory(const uint8_t *data, uint64_t size, std::string name,
                                          std::string &error);

  /// True where the file ends with a valid-looking trailer magic; false also where it cannot be read.
  static bool hasTrailer(const std::string &path);

  const std::string &name() const { return source->name(); }
  const ingot_pack_header_v1 &header() const { return head; }
  const std::vector<SectionInfo> &sections() const { return table; }
  std::string_view meta() const { return {metaBytes.data(), metaBytes.size()}; }
  /// Empty where the pack has no tokenizer. 64-aligned.
  ByteView tokenizer() const { return {tokenizerBytes.get(), tokenizerSize}; }
  const std::vector<Param> &params() const { return paramList; }

  /// Reads the object of one variant and checks its hash; false and a message where it is absent or damaged.
  bool readObject(std::string_view isa, std::vector<uint8_t> &out, std::string &error) const;

  /// Brings the weights into memory, with `threads` readers (0: one).
  bool loadWeights(LoadMode mode, unsigned threads, WeightMemory &out, std::string &error) const;

  /// Hashes every param and then the section; the message names the first damaged tensor.
  bool verifyWeights(const WeightMemory &weights, std::string &error) const;

private:
  Pack() = default;
  static std::unique_ptr<Pack> read(std::unique_ptr<Source> source, std::string &error);
  static std::unique_ptr<Pack> readAt(std::unique_ptr<Source> source, uint64_t base, uint64_t bytes,
                                      const uint64_t *wantedHash, std::string &error);
  bool readTable(uint64_t bytes, std::string &error);
  bool checkTable(std::string &error);
  bool readSections(std::string &error);
  bool readParams(const SectionInfo &section, std::string &error);
  bool readChecked(const SectionInfo &section, uint8_t *dst, std::string &error) const;
  const SectionInfo *find(uint32_t kind, std::string_view name = {}) const;

  struct FreeDeleter {
    void operator()(uint8_t *p) const;
  };

  std::unique_ptr<Source> source;
  uint64_t base = 0;
  ingot_pack_header_v1 head = {};
  std::vector<SectionInfo> table;
  std::vector<char> metaBytes;
  std::unique_ptr<uint8_t, FreeDeleter> tokenizerBytes;
  uint64_t tokenizerSize = 0;
  std::vector<char> paramBytes;
  std::vector<Param> paramList;
};

/// "META", "TOKENIZER", ... for messages.
const char *sectionKindName(uint32_t kind);

} // namespace ingot::weights
#endif
