//===- Artefact.h - what a command runs: a pack and the code of its variants ----------------------------===//
#ifndef INGOT_RUNTIME_MAIN_ARTEFACT_H
#define INGOT_RUNTIME_MAIN_ARTEFACT_H

#include "runtime/core/Model.h"
#include "runtime/main/Options.h"
#include "runtime/weights/Pack.h"

#include <memory>
#include <string>
#include <vector>

namespace ingot::main_ {

struct Artefact {
  std::shared_ptr<void> owner; ///< keeps code and memory alive; destroyed last
  std::unique_ptr<weights::Pack> pack;
  std::vector<core::VariantQuery> variants;
  bool inMemory = false; ///< the pack is in memory: its weights are used where they are
};

/// What tokenizing and rendering chats need; `meta` and `tokenizer` live as long as `owner`.
struct TextParts {
  std::shared_ptr<void> owner;
  std::string name; ///< for messages
  std::string meta;
  const uint8_t *tokenizer = nullptr;
  size_t tokenizerBytes = 0;
};

/// Gets at models: a binary has its own, `ingot` compiles or loads one.
class ArtefactLoader {
public:
  virtual ~ArtefactLoader() = default;
  /// Null and a message that names the file and what is wrong.
  virtual std::unique_ptr<Artefact> open(const LoadOptions &options, bool quiet, std::string &error) = 0;
  /// Tokenizer and template without weights and code.
  virtual bool openText(const LoadOptions &options, TextParts &out, std::string &error) = 0;
  /// The META text for `inspect` and `explain`, without the weights where those would have to be converted
  /// first.
  virtual bool describe(const Options &options, std::string &meta, std::string &error) = 0;
};

/// The running executable's own pack and linked-in variants.
std::unique_ptr<ArtefactLoader> createSelfLoader();

/// Views of an open pack.
TextParts textParts(const weights::Pack &pack, std::shared_ptr<void> owner);

} // namespace ingot::main_

#endif // INGOT_RUNTIME_MAIN_ARTEFACT_H
