//===- Artefact.cpp - what a command runs: a pack and the code of its variants --------------------------===//

#include "runtime/main/Artefact.h"

namespace ingot::main_ {
namespace {

class SelfLoader final : public ArtefactLoader {
public:
  std::unique_ptr<Artefact> open(const LoadOptions &options, bool quiet, std::string &error) override {
    if (options.kernels == "ref") {
      error = "--kernels=ref needs the model file: a compiled binary carries its own kernels alone. "
              "Use 'ingot ... MODEL --kernels=ref'.";
      return nullptr;
    }
    auto artefact = std::make_unique<Artefact>();
    artefact->pack = weights::Pack::openSelf(error);
    if (!artefact->pack)
      return nullptr;
    artefact->variants = core::linkedVariants();
    return artefact;
  }

  bool openText(const LoadOptions &, TextParts &out, std::string &error) override {
    std::shared_ptr<weights::Pack> pack = weights::Pack::openSelf(error);
    if (!pack)
      return false;
    out = textParts(*pack, pack);
    return true;
  }

  bool describe(const Options &, std::string &meta, std::string &error) override {
    std::unique_ptr<weights::Pack> pack = weights::Pack::openSelf(error);
    if (!pack)
      return false;
    meta = pack->meta();
    return true;
  }
};

} // namespace

std::unique_ptr<ArtefactLoader> createSelfLoader() { return std::make_unique<SelfLoader>(); }

TextParts textParts(const weights::Pack &pack, std::shared_ptr<void> owner) {
  TextParts parts;
  parts.owner = std::move(owner);
  parts.name = pack.name();
  parts.meta = std::string(pack.meta());
  parts.tokenizer = pack.tokenizer().data;
  parts.tokenizerBytes = pack.tokenizer().size;
  return parts;
}

} // namespace ingot::main_
