//===- CApiJit.cpp - code in this process ---------------------------------------------------------------===//

#include "compiler/api/CApiSupport.h"
#include "compiler/api/Jit.h"
#include "compiler/api/Targets.h"
#include "runtime/weights/Pack.h"

using namespace ingot;
using namespace ingot::api;
using namespace llvm;

struct ingot_jit {
  pipeline::CompiledModel model; ///< objects, and the pack where it is in memory
  std::string path;              ///< of the pack where it is a file
  std::unique_ptr<Jit> code;
  std::vector<ingot_rt_variant> variants; ///< one per object, names in `model.objects`

  ~ingot_jit() {
    // Handlers of the code belong to the process.
    std::unique_lock<std::mutex> lock = lockCompiler();
    code.reset();
  }
};

/// Makes the objects callable.
static int32_t loadObjects(ingot_jit &jit, std::string &error) {
  Expected<std::unique_ptr<Jit>> code = Jit::create();
  if (!code)
    return failed(code.takeError(), error);
  jit.code = std::move(*code);
  for (const pipeline::ObjectCode &object : jit.model.objects) {
    if (Error failure = jit.code->add(object.isa, StringRef(object.bytes.data(), object.bytes.size())))
      return failed(std::move(failure), error);
    Expected<ingot_module_query_fn> query = jit.code->query(object.isa);
    if (!query)
      return failed(query.takeError(), error);
    jit.variants.push_back({object.isa.c_str(), *query});
  }
  return INGOT_OK;
}

static int32_t compile(const char *model, const ingot_compile_options *given, ingot_jit &jit,
                       std::string &error) {
  pipeline::CompileOptions options;
  if (int32_t status = readOptions(model, given, options, error))
    return status;
  if (options.stopAfter || options.startFrom || !options.irFile.empty()) {
    error = "stop_after, start_from and ir_file do not apply to code in memory";
    return INGOT_INVALID;
  }
  std::unique_lock<std::mutex> lock = lockCompiler();
  std::unique_ptr<pipeline::Compiler> compiler;
  std::string none;
  if (int32_t status = openCompiler(model, "", std::move(options), compiler, none, error))
    return status;
  Expected<pipeline::CompiledModel> compiled = compiler->compileToMemory();
  if (!compiled)
    return failed(compiled.takeError(), error);
  jit.model = std::move(*compiled);
  return loadObjects(jit, error);
}

static int32_t load(const char *path, const char *isa, ingot_jit &jit, std::string &error) {
  std::unique_ptr<weights::Pack> pack = weights::Pack::open(path, error);
  if (!pack)
    return INGOT_FAILED;
  std::vector<std::string> isas;
  for (const weights::SectionInfo &section : pack->sections())
    if (section.kind == INGOT_PACK_OBJECT)
      isas.push_back(section.name);
  if (isas.empty()) {
    error = std::string(path) + ": carries no objects; a compiled executable runs its own code only";
    return INGOT_FAILED;
  }
  int chosen = chooseVariant(isas, isa ? isa : "", error);
  if (chosen < 0)
    return INGOT_UNSUPPORTED;
  pipeline::ObjectCode object;
  object.isa = isas[static_cast<size_t>(chosen)];
  std::vector<uint8_t> bytes;
  if (!pack->readObject(object.isa, bytes, error))
    return INGOT_FAILED;
  object.bytes.assign(bytes.begin(), bytes.end());
  jit.model.objects.push_back(std::move(object));
  jit.path = path;
  std::unique_lock<std::mutex> lock = lockCompiler();
  return loadObjects(jit, error);
}

/// Fills `*out` with what `fill` makes, or with NULL.
template <typename Fill> static int32_t create(ingot_jit **out, std::string &error, Fill fill) {
  if (!out) {
    error = "jit must not be NULL";
    return INGOT_INVALID;
  }
  *out = nullptr;
  auto made = std::make_unique<ingot_jit>();
  int32_t status = fill(*made);
  if (status == INGOT_OK)
    *out = made.release();
  return status;
}

extern "C" {

int32_t ingot_jit_compile(const char *model, const ingot_compile_options *options, ingot_jit **jit,
                          char *message, size_t message_size) {
  return answer(message, message_size, [&](std::string &error) {
    return create(jit, error, [&](ingot_jit &made) { return compile(model, options, made, error); });
  });
}

int32_t ingot_jit_load(const char *pack, const char *isa, ingot_jit **jit, char *message,
                       size_t message_size) {
  return answer(message, message_size, [&](std::string &error) -> int32_t {
    if (!pack || !*pack) {
      error = "pack must name a file";
      return INGOT_INVALID;
    }
    return create(jit, error, [&](ingot_jit &made) { return load(pack, isa, made, error); });
  });
}

void ingot_jit_destroy(ingot_jit *jit) { delete jit; }

int32_t ingot_jit_get_info(const ingot_jit *jit, ingot_jit_info *info) {
  if (!jit)
    return INGOT_INVALID;
  ingot_jit_info full = {};
  full.struct_size = sizeof(full);
  full.n_variants = static_cast<uint32_t>(jit->variants.size());
  full.variants = jit->variants.data();
  if (jit->model.pack) {
    full.pack = jit->model.packData();
    full.pack_bytes = jit->model.packBytes();
  } else {
    full.pack_path = jit->path.c_str();
  }
  return core::giveStruct(full, info) ? INGOT_OK : INGOT_INVALID;
}

int32_t ingot_jit_object(const ingot_jit *jit, uint32_t index, const void **bytes, uint64_t *size) {
  if (!jit || !bytes || !size)
    return INGOT_INVALID;
  if (index >= jit->model.objects.size())
    return INGOT_NOT_FOUND;
  *bytes = jit->model.objects[index].bytes.data();
  *size = jit->model.objects[index].bytes.size();
  return INGOT_OK;
}

int32_t ingot_jit_open_model(const ingot_jit *jit, const ingot_rt_model_options *given,
                             ingot_rt_model **model, char *message, size_t message_size) {
  ingot_rt_model_options options;
  ingot_rt_model_options_init(&options);
  if (!jit || !core::takeStruct(given, options)) {
    core::writeMessage("jit is NULL or options have a bad struct_size", message, message_size);
    if (model)
      *model = nullptr;
    return INGOT_RT_INVALID;
  }
  options.variants = jit->variants.data();
  options.n_variants = static_cast<uint32_t>(jit->variants.size());
  if (!jit->model.pack)
    return ingot_rt_model_open(jit->path.c_str(), &options, model, message, message_size);
  options.map_weights = 1;
  return ingot_rt_model_open_memory(jit->model.packData(), jit->model.packBytes(), &options, model, message,
                                    message_size);
}

} // extern "C"
