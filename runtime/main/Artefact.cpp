//===- Artefact.cpp - what a command runs: a pack and the code of its variants
//----------------------------===//

#include "runtime/main/Artefact.h"

// Whichever variants were linked in; the others are null.
extern "C" {
__attribute__((weak)) const ingot_module_v1 *ingot_module_query_avx2(uint32_t);
__attribute__((weak)) const ingot_module_v1 *ingot_module_query_avx512(uint32_t);
__attribute__((weak)) const ingot_module_v1 *ingot_module_query_vnni(uint32_t);
__attribute__((weak)) const ingot_module_v1 *ingot_module_query_amx(uint32_t);
__attribute__((weak)) const ingot_module_v1 *ingot_module_query_ref(uint32_t);
}

namespace ingot::main_ {
namespace {

struct LinkedVariant {
  const char *isa;
  ingot_module_query_fn query;
};

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
    if (!artefact->pack || !readMeta(*artefact, error))
      return nullptr;
    const LinkedVariant linked[] = {{"avx2", ingot_module_query_avx2},
                                    {"avx512", ingot_module_query_avx512},
                                    {"vnni", ingot_module_query_vnni},
                                    {"amx", ingot_module_query_amx},
                                    {"ref", ingot_module_query_ref}};
    for (const LinkedVariant &variant : linked) {
      if (!variant.query)
        continue;
      // The query function only returns an address: it runs on any CPU.
      const ingot_module_v1 *module = variant.query(INGOT_ABI_VERSION);
      if (!module)
        continue;
      artefact->variants.push_back(
          {variant.isa, [module](std::string &) { return module; }, module->features});
    }
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

bool readMeta(Artefact &artefact, std::string &error) {
  return weights::parseMeta(artefact.pack->meta(), artefact.pack->name(), artefact.meta, error);
}

} // namespace ingot::main_
