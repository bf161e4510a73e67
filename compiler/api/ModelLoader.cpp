//===- ModelLoader.cpp - models by path
//--------------------------------------------------------------------===//

#include "compiler/api/ModelLoader.h"

#include "codegen/package/PackSink.h"
#include "codegen/target/Targets.h"
#include "compiler/api/Jit.h"
#include "compiler/pipeline/Compiler.h"
#include "compiler/pipeline/Meta.h"
#include "runtime/device/cpu/CpuFeatures.h"

#include "llvm/Support/JSON.h"

#include <sys/stat.h>

using namespace llvm;

namespace ingot::api {

PathKind classifyPath(const std::string &path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0 || S_ISDIR(info.st_mode))
    return PathKind::Model;
  if (weights::Pack::hasTrailer(path))
    return PathKind::Binary;
  return StringRef(path).ends_with(".ipk") ? PathKind::Pack : PathKind::Model;
}

bool expandTargets(const std::string &text, std::vector<std::string> &out, std::string &error) {
  if (text == "all") {
    for (const target::Target &target : target::allTargets())
      out.push_back(target.name.str());
    return true;
  }
  if (text == "native") {
    std::vector<cpu::Variant> variants;
    for (const target::Target &target : target::allTargets())
      variants.push_back({target.name.str(), target.required.str()});
    int best = cpu::chooseVariant(variants, cpu::CpuFeatures::detect(/*requestAmx=*/true), "", error);
    if (best < 0)
      return false;
    out.push_back(variants[best].isa);
    return true;
  }
  for (StringRef rest = text; !rest.empty();) {
    auto [word, tail] = rest.split(',');
    rest = tail;
    const target::Target *found = nullptr;
    for (const target::Target &target : target::allTargets())
      if (target.name == word || target.cpu == word)
        found = &target;
    if (!found) {
      error = "--target: unknown target '" + word.str() + "'; known are native, all";
      for (const target::Target &target : target::allTargets())
        error += ", " + target.name.str();
      return false;
    }
    if (!is_contained(out, found->name.str()))
      out.push_back(found->name.str());
  }
  if (out.empty())
    error = "--target: no target given";
  return !out.empty();
}

namespace {

/// Code in this process, and the pack that it reads.
struct InMemory {
  pipeline::CompiledModel model;
  std::unique_ptr<Jit> jit;
};

std::string featuresOf(StringRef isa) {
  const target::Target *target = target::findTarget(isa == "ref" ? "avx2" : isa);
  return target ? target->required.str() : std::string();
}

std::string message(Error error) { return toString(std::move(error)); }

class ModelLoader final : public main_::ArtefactLoader {
public:
  explicit ModelLoader(ProgressFn onProgress) : onProgress(std::move(onProgress)) {}

  std::unique_ptr<main_::Artefact> open(const main_::LoadOptions &options, bool quiet,
                                        std::string &error) override {
    if (classifyPath(options.model) == PathKind::Pack)
      return openPack(options, error);
    std::string target = options.kernels == "ref" ? "ref" : options.isa.empty() ? "native" : options.isa;
    std::unique_ptr<pipeline::Compiler> compiler = createCompiler(options, target, quiet, error);
    if (!compiler)
      return nullptr;
    Expected<pipeline::CompiledModel> model = compiler->compileToMemory();
    if (!model) {
      error = message(model.takeError());
      return nullptr;
    }
    auto memory = std::make_shared<InMemory>();
    memory->model = std::move(*model);
    auto artefact = std::make_unique<main_::Artefact>();
    artefact->owner = memory;
    artefact->pack = weights::Pack::fromMemory(memory->model.pack->data(), memory->model.pack->size(),
                                               options.model, error);
    if (!artefact->pack || !main_::readMeta(*artefact, error))
      return nullptr;
    for (const pipeline::ObjectCode &code : memory->model.objects)
      if (!addVariant(*artefact, memory, code.isa, StringRef(code.bytes.data(), code.bytes.size()), error))
        return nullptr;
    return artefact;
  }

  bool openText(const main_::LoadOptions &options, main_::TextParts &out, std::string &error) override {
    if (classifyPath(options.model) == PathKind::Pack) {
      std::shared_ptr<weights::Pack> pack = weights::Pack::open(options.model, error);
      if (!pack)
        return false;
      out = main_::textParts(*pack, pack);
      return true;
    }
    import_::OpenOptions open;
    open.configFile = options.configFile;
    Expected<std::unique_ptr<import_::ModelSource>> source = import_::openModel(options.model, open);
    if (!source) {
      error = message(source.takeError());
      return false;
    }
    std::shared_ptr<import_::ModelSource> shared = std::move(*source);
    out.name = options.model;
    out.meta = pipeline::buildTextMeta(*shared);
    out.tokenizer = shared->tokenizer().empty() ? nullptr : shared->tokenizer().data();
    out.tokenizerBytes = shared->tokenizer().size();
    out.owner = std::move(shared);
    return true;
  }

  bool describe(const main_::Options &options, std::string &meta, std::string &error) override {
    if (classifyPath(options.load.model) == PathKind::Pack) {
      std::unique_ptr<weights::Pack> pack = weights::Pack::open(options.load.model, error);
      if (pack)
        meta = pack->meta();
      return pack != nullptr;
    }
    std::unique_ptr<pipeline::Compiler> compiler =
        createCompiler(options.load, options.compile.target, options.quiet, error);
    if (!compiler)
      return false;
    Expected<std::string> text = compiler->describe();
    if (!text) {
      error = message(text.takeError());
      return false;
    }
    meta = std::move(*text);
    return true;
  }

private:
  std::unique_ptr<pipeline::Compiler>
  createCompiler(const main_::LoadOptions &load, const std::string &target, bool quiet, std::string &error) {
    pipeline::CompileOptions options;
    if (target == "ref")
      options.targets = {"ref"};
    else if (!expandTargets(target, options.targets, error))
      return nullptr;
    options.context = load.context;
    options.kvDtype = load.kvDtype;
    options.maxSeqs = load.maxSeqs;
    options.configFile = load.configFile;
    if (onProgress && !quiet)
      options.onProgress = [this](const pipeline::Progress &p) {
        onProgress(p.what, p.unit, p.done, p.total);
      };
    Expected<std::unique_ptr<pipeline::Compiler>> compiler =
        pipeline::Compiler::create(load.model, std::move(options));
    if (compiler)
      return std::move(*compiler);
    error = message(compiler.takeError());
    return nullptr;
  }

  std::unique_ptr<main_::Artefact> openPack(const main_::LoadOptions &options, std::string &error) {
    if (options.kernels == "ref") {
      error = "--kernels=ref needs the model file: a pack carries its own kernels alone";
      return nullptr;
    }
    auto memory = std::make_shared<InMemory>();
    auto artefact = std::make_unique<main_::Artefact>();
    artefact->owner = memory;
    artefact->pack = weights::Pack::open(options.model, error);
    if (!artefact->pack || !main_::readMeta(*artefact, error))
      return nullptr;
    for (const weights::SectionInfo &section : artefact->pack->sections()) {
      if (section.kind != INGOT_PACK_OBJECT)
        continue;
      std::vector<uint8_t> bytes;
      if (!artefact->pack->readObject(section.name, bytes, error) ||
          !addVariant(*artefact, memory, section.name,
                      StringRef(reinterpret_cast<const char *>(bytes.data()), bytes.size()), error))
        return nullptr;
    }
    return artefact;
  }

  bool addVariant(main_::Artefact &artefact, const std::shared_ptr<InMemory> &memory, const std::string &isa,
                  StringRef object, std::string &error) {
    if (!memory->jit) {
      Expected<std::unique_ptr<Jit>> jit = Jit::create();
      if (!jit) {
        error = message(jit.takeError());
        return false;
      }
      memory->jit = std::move(*jit);
    }
    if (Error failure = memory->jit->add(isa, object)) {
      error = message(std::move(failure));
      return false;
    }
    auto query = [jit = memory->jit.get(), isa](std::string &problem) -> const ingot_module_v1 * {
      Expected<ingot_module_query_fn> function = jit->query(isa);
      if (function)
        return (*function)(INGOT_ABI_VERSION);
      problem = message(function.takeError());
      return nullptr;
    };
    artefact.variants.push_back({isa, std::move(query), featuresOf(isa)});
    return true;
  }

  ProgressFn onProgress;
};

} // namespace

std::unique_ptr<main_::ArtefactLoader> createModelLoader(ProgressFn onProgress) {
  return std::make_unique<ModelLoader>(std::move(onProgress));
}

} // namespace ingot::api
