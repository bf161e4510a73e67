//===- Workbench.cpp - a model whose kernels can be exchanged -------------------------------------------===//

#include "compiler/tune/Workbench.h"

#include "compiler/api/CApiSupport.h"
#include "compiler/api/Jit.h"

#include <algorithm>

using namespace llvm;

namespace ingot::tune {
namespace {

struct Code {
  pipeline::CompiledModel model;
  std::unique_ptr<api::Jit> jit;
  ~Code() {
    std::unique_lock<std::mutex> lock = api::lockCompiler();
    jit.reset();
  }
};

} // namespace

Workbench::~Workbench() = default;

std::unique_ptr<Workbench> Workbench::open(const std::string &model, const ingot_compile_options &given,
                                           const main_::LoadOptions &load, std::string &error) {
  std::unique_ptr<Workbench> bench(new Workbench());
  auto code = std::make_shared<Code>();
  auto artefact = std::make_unique<main_::Artefact>();
  {
    std::unique_lock<std::mutex> lock = api::lockCompiler();
    pipeline::CompileOptions options;
    std::string none;
    if (api::readOptions(model.c_str(), &given, options, error) != INGOT_OK ||
        api::openCompiler(model.c_str(), "", std::move(options), bench->compiler, none, error) != INGOT_OK)
      return nullptr;
    auto fail = [&](Error failure) {
      error = toString(std::move(failure));
      return nullptr;
    };
    Expected<pipeline::CompiledModel> compiled = bench->compiler->compileToMemory();
    if (!compiled)
      return fail(compiled.takeError());
    code->model = std::move(*compiled);
    Expected<std::unique_ptr<api::Jit>> jit = api::Jit::create();
    if (!jit)
      return fail(jit.takeError());
    code->jit = std::move(*jit);
    for (const pipeline::ObjectCode &object : code->model.objects) {
      if (Error failure = code->jit->add(object.isa, StringRef(object.bytes.data(), object.bytes.size())))
        return fail(std::move(failure));
      Expected<ingot_module_query_fn> query = code->jit->query(object.isa);
      if (!query)
        return fail(query.takeError());
      artefact->variants.push_back({object.isa, *query});
    }
  }
  bench->tunable = bench->compiler->tunable();
  bench->jit = code->jit.get();
  artefact->owner = bench->code = code;
  artefact->inMemory = true;
  artefact->pack =
      weights::Pack::fromMemory(code->model.packData(), code->model.packBytes(), load.model, error);
  if (!artefact->pack)
    return nullptr;
  bench->running = main_::Session::create(std::move(artefact), load, 1, error);
  return bench->running ? std::move(bench) : nullptr;
}

bool Workbench::build(std::vector<pipeline::Rescheduled> list, const std::function<void(size_t)> &progress,
                      std::vector<ingot_kernel_fn> &functions, std::string &error) {
  std::unique_lock<std::mutex> lock = api::lockCompiler();
  auto fail = [&](Error failure) {
    error = toString(std::move(failure));
    return false;
  };
  Expected<std::vector<pipeline::KernelObject>> objects = compiler->emitSchedules(list, progress);
  if (!objects)
    return fail(objects.takeError());
  functions.clear();
  uint64_t scratch = 0;
  for (const pipeline::KernelObject &object : *objects) {
    scratch = std::max(scratch, object.scratchBytes);
    std::string name = "schedules-" + std::to_string(built++);
    if (Error failure = jit->add(name, StringRef(object.bytes.data(), object.bytes.size())))
      return fail(std::move(failure));
    for (const std::string &symbol : object.symbols) {
      Expected<ingot_kernel_fn> function = jit->kernel(name, symbol);
      if (!function)
        return fail(function.takeError());
      functions.push_back(*function);
    }
  }
  return running->executor().reserveScratch(scratch, error);
}

} // namespace ingot::tune
