//===- Artefact.h - what a command runs: a pack and the code of its variants
//------------------------------===//
#ifndef INGOT_RUNTIME_MAIN_ARTEFACT_H
#define INGOT_RUNTIME_MAIN_ARTEFACT_H

#include "runtime/abi/ingot_abi.h"
#include "runtime/main/Options.h"
#include "runtime/weights/Meta.h"
#include "runtime/weights/Pack.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ingot::main_ {

/// Code of one variant. `query` may load it first; null and a message where that fails.
struct VariantCode {
  std::string isa;
  std::function<const ingot_module_v1 *(std::string &error)> query;
  std::string features; ///< comma-separated CPU features that the code needs
};

struct Artefact {
  std::shared_ptr<void> owner; ///< keeps code and memory alive; destroyed last
  std::unique_ptr<weights::Pack> pack;
  weights::ModelMeta meta;
  std::vector<VariantCode> variants;
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

/// Reads META of an open pack.
bool readMeta(Artefact &artefact, std::string &error);

} // namespace ingot::main_

#endif // INGOT_RUNTIME_MAIN_ARTEFACT_H
