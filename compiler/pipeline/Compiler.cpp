//===- Compiler.cpp - a model file in, native code and packed weights out -------------------------------===//

#include "compiler/pipeline/Compiler.h"

#include "codegen/package/PackWriter.h"
#include "codegen/target/Registry.h"
#include "codegen/target/Targets.h"
#include "compiler/arch/Build.h"
#include "compiler/pipeline/EmitVariant.h"
#include "compiler/pipeline/FileTensorSource.h"
#include "compiler/pipeline/Meta.h"
#include "compiler/pipeline/ParamPlans.h"
#include "compiler/pipeline/PassOrder.h"
#include "compiler/support/Support.h"
#include "compiler/transforms/rt/Passes.h"
#include "compiler/transforms/tile/Query.h"
#include "dialects/InitAllDialects.h"
#include "dialects/KvDtype.h"
#include "dialects/llm/Llm.h"
#include "dialects/rt/Rt.h"
#include "dialects/tile/Describe.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <sys/resource.h>

using namespace llvm;

namespace ingot::pipeline {

const char *compilerVersion() { return "ingot 0.1.0 (LLVM 22)"; }

CompiledModel::CompiledModel() = default;
CompiledModel::CompiledModel(CompiledModel &&) = default;
CompiledModel &CompiledModel::operator=(CompiledModel &&) = default;
CompiledModel::~CompiledModel() = default;
const uint8_t *CompiledModel::packData() const { return pack->data(); }
uint64_t CompiledModel::packBytes() const { return pack->size(); }

namespace {

/// Collects the errors of a context as text, "where: what" with notes below, and passes every diagnostic on.
class DiagnosticText {
public:
  DiagnosticText(mlir::MLIRContext *context, const CompileOptions &options)
      : handler(context, [this, &options](mlir::Diagnostic &diagnostic) {
          std::string one;
          append(one, diagnostic, "");
          for (mlir::Diagnostic &note : diagnostic.getNotes())
            append(one, note, "  note: ");
          bool isError = diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error;
          if (options.onDiagnostic)
            options.onDiagnostic(isError ? Severity::Error
                                 : diagnostic.getSeverity() == mlir::DiagnosticSeverity::Warning
                                     ? Severity::Warning
                                     : Severity::Remark,
                                 one);
          if (isError)
            text += (text.empty() ? "" : "\n") + one;
          return mlir::success();
        }) {}

  Error error(StringRef fallback) {
    return createStringError(inconvertibleErrorCode(), "%s",
                             text.empty() ? fallback.str().c_str() : text.c_str());
  }

private:
  static void append(std::string &out, mlir::Diagnostic &diagnostic, StringRef prefix) {
    if (!out.empty())
      out += "\n";
    raw_string_ostream stream(out);
    stream << prefix;
    mlir::Location location = diagnostic.getLocation();
    if (auto name = dyn_cast<mlir::NameLoc>(location))
      stream << name.getName().getValue() << ": ";
    else if (auto file = dyn_cast<mlir::FileLineColLoc>(location))
      stream << file.getFilename().getValue() << ":" << file.getLine() << ":" << file.getColumn() << ": ";
    else if (!isa<mlir::UnknownLoc>(location))
      stream << location << ": ";
    stream << diagnostic.str();
  }

  std::string text;
  mlir::ScopedDiagnosticHandler handler;
};

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Adds what each pass took to a list.
class PassTimes final : public mlir::PassInstrumentation {
public:
  PassTimes(std::vector<PassCost> &out, std::string phase, std::string isa)
      : out(out), phase(std::move(phase)), isa(std::move(isa)) {}
  void runBeforePass(mlir::Pass *, mlir::Operation *) override { begins.push_back(Clock::now()); }
  void runAfterPass(mlir::Pass *pass, mlir::Operation *) override {
    double seconds = secondsSince(begins.pop_back_val());
    // Adaptors that only hold passes have no argument.
    if (!pass->getArgument().empty())
      out.push_back({phase, isa, pass->getArgument().str(), seconds});
  }
  void runAfterPassFailed(mlir::Pass *, mlir::Operation *) override { begins.pop_back(); }

private:
  std::vector<PassCost> &out;
  std::string phase, isa;
  SmallVector<Clock::time_point> begins;
};

Error optionError(const Twine &what) { return createStringError(inconvertibleErrorCode(), what); }

/// Hands what is printed to a function, one dump of IR at a time.
class TextStream final : public raw_ostream {
public:
  explicit TextStream(const std::function<void(const std::string &)> &out) : out(out) { SetUnbuffered(); }
  ~TextStream() override { send(); }

private:
  void write_impl(const char *data, size_t size) override {
    held.append(data, size);
    written += size;
    if (held.size() > (1u << 16))
      send();
  }
  void send() {
    if (out && !held.empty())
      out(held);
    held.clear();
  }
  uint64_t current_pos() const override { return written; }

  const std::function<void(const std::string &)> &out;
  std::string held;
  uint64_t written = 0;
};

} // namespace

std::vector<TargetInfo> knownTargets() {
  std::vector<TargetInfo> list;
  for (const target::Target &target : target::allTargets())
    list.push_back({target.name.str(), target.cpu.str(), target.required.str(), target.fastOnly});
  return list;
}

static Phase firstPhase(const CompileOptions &options) { return options.startFrom.value_or(Phase::Import); }

struct Compiler::Implementation {
  CompileOptions options;
  std::unique_ptr<import_::ModelSource> source;
  mlir::DialectRegistry dialects;
  std::unique_ptr<mlir::MLIRContext> context;
  std::unique_ptr<KernelRegistry> registry;

  /// After the shape phase, shared by the variants; or what was read to resume from.
  mlir::OwningOpRef<mlir::ModuleOp> common;
  struct Variant {
    std::string isa;
    mlir::OwningOpRef<mlir::ModuleOp> module;
  };
  std::vector<Variant> variants;
  std::vector<EmittedVariant> emitted;
  Clock::time_point began = Clock::now();
  CompileReport report;

  bool stops(Phase phase) const { return options.stopAfter && *options.stopAfter == phase; }
  Phase first() const { return firstPhase(options); }

  /// Adds the time since `begin` to the report.
  void timed(Phase phase, const std::string &isa, Clock::time_point begin) {
    report.phases.push_back({phaseName(phase), isa, secondsSince(begin)});
  }
  /// Warnings about slow kernels, the remark and the file of times. Called once all went well.
  Error finish();

  Error runPhases(mlir::ModuleOp module, Phase from, Phase to, const std::string &isa);
  mlir::LogicalResult checkRead();
  Error loadModule();
  Error buildVariants(Phase last);
  Error emit();
  std::string fastRemark();
  std::string meta();
  package::PackContents contents();
  Error printStop(StringRef output);
  Error writeArtefact(StringRef output);
};

Error checkOptions(const CompileOptions &options) {
  for (const std::string &name : options.targets) {
    if (name == "ref" && options.targets.size() > 1)
      return optionError("--target: ref stands alone");
    if (name != "ref" && !target::findTarget(name))
      return optionError("--target: unknown target '" + name + "'");
  }
  if (options.targets.empty())
    return optionError("--target: none given");
  if (!kvDtypeCode(options.kvDtype))
    return optionError("--kv: '" + options.kvDtype + "' is none of " + kKvDtypes);
  if (options.numerics != "exact" && options.numerics != "fast")
    return optionError("--numerics: '" + options.numerics + "' is none of exact, fast");
  if (options.numerics == "fast" && options.isRef())
    return optionError("--numerics: the reference is exact");
  if (options.context && (*options.context < 1 || *options.context > (1 << 24)))
    return optionError("--ctx: must be between 1 and 16777216");
  if (options.maxSeqs < 1 || options.maxSeqs > 4096)
    return optionError("--max-seqs: must be between 1 and 4096");
  if (options.chunk < 16 || options.chunk > 4096)
    return optionError("--chunk: must be between 16 and 4096");
  bool resumed = options.startFrom && *options.startFrom != Phase::Import;
  if (options.startFrom && !resumed && !options.irFile.empty())
    return optionError("--start-from=import reads the model; --ir is for the phases after it");
  if (resumed != !options.irFile.empty())
    return optionError(
        "--start-from and --ir go together: the text of the phase before is read from that file");
  if (resumed && *options.startFrom > Phase::Target)
    return optionError("--start-from: the latest phase to start from is target");
  if (options.stopAfter && *options.stopAfter >= Phase::Target)
    return optionError(
        "--stop-after: the latest phase that has a text is program; use --emit for what follows");
  if (!options.tuneFile.empty() && options.isRef())
    return optionError("--tune: the reference has no schedules");
  if (!options.tuneFile.empty() && resumed && firstPhase(options) > Phase::Kernel)
    return optionError("--tune: schedules are chosen in the kernel phase, which --start-from leaves out");
  if (!(options.kernelSeconds > 0))
    return optionError("--kernel-seconds: must be above 0");
  if (options.stopAfter && *options.stopAfter < firstPhase(options))
    return optionError("--stop-after: that phase comes before --start-from");
  bool perVariant = (options.stopAfter && *options.stopAfter >= Phase::Kernel) ||
                    (resumed && firstPhase(options) > Phase::Kernel);
  if (perVariant && options.targets.size() != 1)
    return optionError("--target: name one target; from the kernel phase on each has a text of its own");
  if (options.emit == Emit::Object && !options.stopAfter && options.targets.size() != 1)
    return optionError("--emit=obj: name one target");
  return Error::success();
}

Error Compiler::Implementation::runPhases(mlir::ModuleOp module, Phase from, Phase to,
                                          const std::string &isa) {
  TextStream dumps(options.onIr);
  // The phases before the kernels are the same for all variants.
  const std::string named = from < Phase::Kernel ? "" : isa;
  for (int number = static_cast<int>(from); number <= static_cast<int>(to); ++number) {
    auto phase = static_cast<Phase>(number);
    Clock::time_point begin = Clock::now();
    mlir::PassManager manager(context.get());
    addPhase(manager, phase, options, *registry, isa);
    if (!options.printIrAfter.empty()) {
      auto wanted = [names = options.printIrAfter](mlir::Pass *pass, mlir::Operation *) {
        return is_contained(names, "all") || is_contained(names, pass->getArgument());
      };
      manager.enableIRPrinting([](mlir::Pass *, mlir::Operation *) { return false; }, wanted,
                               /*printModuleScope=*/true,
                               /*printAfterOnlyOnChange=*/false, /*printAfterOnlyOnFailure=*/false, dumps);
    }
    manager.addInstrumentation(std::make_unique<PassTimes>(report.passes, phaseName(phase), named));
    DiagnosticText diagnostics(context.get(), options);
    if (mlir::failed(manager.run(module)))
      return diagnostics.error("compiling failed without a message");
    timed(phase, named, begin);
  }
  return Error::success();
}

/// Text that was read, perhaps edited or of another model, against the files and the phase that goes on from
/// it.
mlir::LogicalResult Compiler::Implementation::checkRead() {
  if (first() == Phase::Target) {
    mlir::PassManager manager(context.get());
    manager.addPass(transforms::createRtVerifyAbiPass());
    if (mlir::failed(manager.run(*common)))
      return mlir::failure();
    auto facts = *common->getOps<rt::ModuleOp>().begin();
    if (facts.getIsa() != options.targets.front())
      return facts.emitOpError() << "is made for " << facts.getIsa() << ", the target is "
                                 << options.targets.front();
  }
  // Right numbers need the right bytes: what a param reads must be the tensor that it names.
  for (auto param : common->getOps<llm::ParamOp>())
    for (auto [i, extent] : llvm::enumerate(param.sourceList())) {
      if (i >= param.getTensors().size())
        continue;
      StringRef name = cast<mlir::StringAttr>(param.getTensors()[i]).getValue();
      const import_::TensorInfo *tensor = source->find(name);
      if (!tensor)
        return param.emitOpError() << "reads tensor '" << name << "', which " << source->path()
                                   << " does not have";
      uint64_t begin = extent.getOffset(), bytes = extent.getBytes();
      if (static_cast<uint64_t>(extent.getFile()) != tensor->file || begin < tensor->offset ||
          bytes > tensor->bytes || begin - tensor->offset > tensor->bytes - bytes ||
          tensor->scheme != StringRef(qfmt::schemeName(param.sourceScheme())))
        return param.emitOpError() << "does not read tensor '" << name << "' as it lies in "
                                   << source->path();
    }
  return mlir::success();
}

Error Compiler::Implementation::loadModule() {
  DiagnosticText diagnostics(context.get(), options);
  if (!options.irFile.empty()) {
    sys::fs::file_status status;
    if (std::error_code code = sys::fs::status(options.irFile, status))
      return optionError("cannot read " + options.irFile + ": " + code.message());
    // A device may have no end.
    if (sys::fs::is_directory(status) || status.type() == sys::fs::file_type::character_file)
      return optionError("cannot read " + options.irFile + ": it is not a regular file");
    common = mlir::parseSourceFile<mlir::ModuleOp>(options.irFile, context.get());
    if (!common)
      return diagnostics.error(options.irFile + ": cannot be parsed");
    return mlir::succeeded(checkRead()) ? Error::success()
                                        : diagnostics.error(options.irFile + ": does not fit this compile");
  }
  arch::BuildOptions build;
  build.context = options.context.value_or(0);
  build.maxSeqs = options.maxSeqs;
  build.kvDtype = options.kvDtype == "f32"    ? arch::KvDtype::F32
                  : options.kvDtype == "bf16" ? arch::KvDtype::BF16
                  : options.kvDtype == "int8" ? arch::KvDtype::Int8
                                              : arch::KvDtype::F16;
  std::string text;
  common = arch::buildModel(context.get(), *source, build, text);
  if (common)
    return Error::success();
  return text.empty() ? diagnostics.error(source->path().str() + ": cannot be imported") : optionError(text);
}

/// Runs up to `last` (at most Program): shared phases once, the rest per variant.
Error Compiler::Implementation::buildVariants(Phase last) {
  Clock::time_point begin = Clock::now();
  if (Error error = loadModule())
    return error;
  timed(Phase::Import, "", begin);
  const std::string &any = options.targets.front();
  Phase from = std::max(first(), Phase::Model);
  if (from <= Phase::Shape)
    if (Error error = runPhases(*common, from, std::min(last, Phase::Shape), any))
      return error;
  if (last < Phase::Kernel)
    return Error::success();
  for (const std::string &isa : options.targets) {
    Variant variant{isa, common->clone()};
    from = std::max(first(), Phase::Kernel);
    if (from <= last)
      if (Error error = runPhases(*variant.module, from, last, isa))
        return error;
    variants.push_back(std::move(variant));
  }
  return Error::success();
}

Error Compiler::Implementation::emit() {
  if (Error error = buildVariants(Phase::Program))
    return error;
  std::vector<std::pair<std::string, mlir::ModuleOp>> modules;
  for (Variant &variant : variants)
    modules.emplace_back(variant.isa, *variant.module);
  Expected<std::vector<EmittedVariant>> result = emitVariants(modules, options);
  if (!result)
    return result.takeError();
  emitted = std::move(*result);
  for (const EmittedVariant &variant : emitted) {
    report.phases.push_back({phaseName(Phase::Target), variant.code.isa, variant.cost.seconds});
    report.variants.push_back(variant.cost);
  }
  return Error::success();
}

/// What fast numerics made of each variant.
std::string Compiler::Implementation::fastRemark() {
  std::string text;
  for (Variant &variant : variants) {
    size_t rounding = 0, all = 0;
    for (tile::KernelOp kernel : variant.module->getOps<tile::KernelOp>())
      kernel.walk([&](tile::DotOp dot) {
        ++all;
        rounding += tile::roundsActivations(dot.getKind());
      });
    text += (text.empty() ? "" : ", ") + variant.isa + ": " + std::to_string(rounding) + " of " +
            std::to_string(all) + " matrix kernels round activations to bf16";
  }
  return "fast numerics: " + text + "; 'ingot eval --perplexity FILE --numerics=fast' prints the loss";
}

Error Compiler::Implementation::finish() {
  if (options.onDiagnostic) {
    for (const std::string &line : report.above(options.kernelSeconds))
      options.onDiagnostic(Severity::Warning, line);
    if (options.verbose && !report.variants.empty())
      options.onDiagnostic(Severity::Remark, report.slowest());
  }
  if (options.timingsFile.empty())
    return Error::success();
  report.compiler = compilerVersion();
  report.model = source->path().str();
  report.options = options.describe();
  report.seconds = secondsSince(began);
  struct rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  report.peakBytes = static_cast<uint64_t>(usage.ru_maxrss) * 1024;
  return support::writeFileAtomically(options.timingsFile, report.json());
}

std::string Compiler::Implementation::meta() {
  std::vector<VariantModule> list;
  for (size_t i = 0; i < variants.size(); ++i) {
    VariantModule variant{variants[i].isa, *variants[i].module, 0, 0, {}};
    if (i < emitted.size()) {
      variant.objectBytes = emitted[i].code.bytes.size();
      variant.scratchBytes = emitted[i].scratchBytes;
      for (const KernelCost &kernel : emitted[i].cost.kernels)
        variant.codeBytes[kernel.name] = kernel.codeBytes;
    }
    list.push_back(std::move(variant));
  }
  return buildMeta(*source, options, list, compilerVersion());
}

package::PackContents Compiler::Implementation::contents() {
  package::PackContents contents;
  contents.meta = meta();
  contents.tokenizer = source->tokenizer();
  contents.params = collectParamPlans(*variants.front().module);
  for (const package::ParamPlan &param : contents.params)
    contents.weightBytes = std::max(contents.weightBytes, param.offset + param.bytes);
  return contents;
}

Error Compiler::Implementation::printStop(StringRef output) {
  if (Error error = buildVariants(*options.stopAfter))
    return error;
  mlir::ModuleOp module = variants.empty() ? *common : *variants.front().module;
  std::string text;
  raw_string_ostream stream(text);
  mlir::OpPrintingFlags flags;
  flags.enableDebugInfo(/*enable=*/true, /*prettyForm=*/false);
  module.print(stream, flags);
  stream << "\n";
  if (output.empty()) {
    if (options.onText)
      options.onText(text);
    return Error::success();
  }
  return support::writeFileAtomically(output, text);
}

Compiler::Compiler(std::unique_ptr<Implementation> implementation) : self(std::move(implementation)) {}
Compiler::~Compiler() = default;
const import_::ModelSource &Compiler::source() const { return *self->source; }
const CompileOptions &Compiler::options() const { return self->options; }
void Compiler::setTimingsFile(std::string path) { self->options.timingsFile = std::move(path); }

Expected<std::unique_ptr<Compiler>> Compiler::create(StringRef modelPath, CompileOptions options) {
  auto self = std::make_unique<Implementation>();
  self->options = std::move(options);
  if (Error error = checkOptions(self->options))
    return std::move(error);
  if (!self->options.tuneFile.empty()) {
    Expected<TuneProfile> profile = TuneProfile::read(self->options.tuneFile);
    if (!profile)
      return optionError("--tune: " + toString(profile.takeError()));
    self->options.tune = std::make_shared<TuneProfile>(std::move(*profile));
  }
  import_::OpenOptions open;
  open.configFile = self->options.configFile;
  Expected<std::unique_ptr<import_::ModelSource>> source = import_::openModel(modelPath, open);
  if (!source)
    return source.takeError();
  self->source = std::move(*source);
  registerAllIngotDialects(self->dialects);
  // Variants are emitted in forked processes, which threads of the context would not survive.
  self->context = std::make_unique<mlir::MLIRContext>(self->dialects, mlir::MLIRContext::Threading::DISABLED);
  self->context->loadAllAvailableDialects();
  self->registry = target::createKernelRegistry();
  return std::unique_ptr<Compiler>(new Compiler(std::move(self)));
}

Error Compiler::compileToFile(StringRef output) {
  if (Error error = self->options.stopAfter ? self->printStop(output) : self->writeArtefact(output))
    return error;
  return self->finish();
}

Error Compiler::Implementation::writeArtefact(StringRef output) {
  if (Error error = emit())
    return error;
  if (options.numerics == "fast" && options.onDiagnostic)
    options.onDiagnostic(Severity::Remark, fastRemark());
  if (options.emit == Emit::Object) {
    const ObjectCode &code = emitted.front().code;
    return support::writeFileAtomically(output, StringRef(code.bytes.data(), code.bytes.size()));
  }
  Expected<std::unique_ptr<FileTensorSource>> tensors = FileTensorSource::open(source->files());
  if (!tensors)
    return tensors.takeError();
  Clock::time_point begin = Clock::now();
  package::PackContents contents = this->contents();
  auto progress = [&](uint64_t done, uint64_t total) {
    if (options.onProgress)
      options.onProgress({"packing weights", "bytes", done, total});
  };
  if (options.emit == Emit::Executable) {
    std::vector<StringRef> objects;
    for (const EmittedVariant &variant : emitted)
      objects.emplace_back(variant.code.bytes.data(), variant.code.bytes.size());
    if (Error error =
            package::writeExecutable(output, objects, options.runtimeDir, contents, **tensors, progress))
      return error;
    timed(Phase::Package, "", begin);
    return Error::success();
  }
  for (const EmittedVariant &variant : emitted)
    contents.objects.push_back(
        {variant.code.isa, StringRef(variant.code.bytes.data(), variant.code.bytes.size())});
  Expected<std::unique_ptr<package::FileSink>> sink = package::FileSink::create(output);
  if (!sink)
    return sink.takeError();
  Expected<package::PackResult> result = package::writePack(contents, **tensors, **sink, progress);
  if (!result)
    return result.takeError();
  if (Error error = (*sink)->commit(/*executable=*/false))
    return error;
  timed(Phase::Package, "", begin);
  return Error::success();
}

Expected<CompiledModel> Compiler::compileToMemory() {
  if (Error error = self->emit())
    return std::move(error);
  Expected<std::unique_ptr<FileTensorSource>> tensors = FileTensorSource::open(self->source->files());
  if (!tensors)
    return tensors.takeError();
  CompiledModel model;
  Clock::time_point begin = Clock::now();
  model.pack = std::make_unique<package::MemorySink>();
  Expected<package::PackResult> result =
      package::writePack(self->contents(), **tensors, *model.pack, [&](uint64_t done, uint64_t total) {
        if (self->options.onProgress)
          self->options.onProgress({"packing weights", "bytes", done, total});
      });
  if (!result)
    return result.takeError();
  for (EmittedVariant &variant : self->emitted)
    model.objects.push_back(std::move(variant.code));
  self->timed(Phase::Package, "", begin);
  if (Error error = self->finish())
    return std::move(error);
  return std::move(model);
}

std::vector<TunableKernel> Compiler::tunable() const {
  assert(self->variants.size() == 1 && "compiled for one target");
  auto &[isa, module] = self->variants.front();
  std::vector<TunableKernel> list;
  for (auto kernel : module->getOps<tile::KernelOp>()) {
    KernelQuery query = tile::queryOf(kernel, isa);
    query.fast = self->options.numerics == "fast";
    TunableKernel one{kernel.getSymName().str(), tuneKey(query), tile::scheduleOf(kernel), {}};
    query.allSchedules = true;
    KernelAnswer answer = self->registry->find(query);
    const std::string &layout = answer.candidates.front().layout;
    for (KernelCandidate &candidate : answer.candidates)
      if (tuneSchedule(candidate) != tuneSchedule(one.own) && candidate.layout == layout)
        one.others.push_back(std::move(candidate));
    if (!one.others.empty())
      list.push_back(std::move(one));
  }
  return list;
}

Expected<std::vector<KernelObject>> Compiler::emitSchedules(ArrayRef<Rescheduled> list,
                                                            const std::function<void(size_t)> &progress) {
  auto &[isa, module] = self->variants.front();
  DiagnosticText diagnostics(self->context.get(), self->options);
  constexpr size_t together = 8; // kernels of one process
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> parts;
  for (auto [i, one] : enumerate(list)) {
    if (i % together == 0)
      parts.push_back(mlir::ModuleOp::create(module->getLoc()));
    auto kernel = module->lookupSymbol<tile::KernelOp>(one.kernel);
    assert(kernel && "a kernel of the module");
    mlir::OpBuilder builder = mlir::OpBuilder::atBlockEnd(parts.back()->getBody());
    auto copy = cast<tile::KernelOp>(builder.clone(*kernel));
    copy.setSymName(one.symbol);
    if (mlir::failed(tile::applySchedule(copy, one.schedule, isa)))
      return diagnostics.error("a schedule does not fit its kernel");
  }
  std::vector<std::pair<std::string, mlir::ModuleOp>> modules;
  for (mlir::OwningOpRef<mlir::ModuleOp> &part : parts)
    modules.emplace_back(isa, *part);
  CompileOptions options = self->options;
  options.onProgress = [&](const Progress &p) { progress(std::min(p.done * together, list.size())); };
  Expected<std::vector<EmittedVariant>> code = emitVariants(modules, options);
  if (!code)
    return code.takeError();
  std::vector<KernelObject> objects;
  for (auto [i, one] : enumerate(*code)) {
    objects.push_back({{}, std::move(one.code.bytes), one.scratchBytes});
    for (const Rescheduled &kernel : list.slice(i * together).take_front(together))
      objects.back().symbols.push_back(kernel.symbol);
  }
  return std::move(objects);
}

int64_t Compiler::kernelGeneration() const { return self->registry->generation(); }

Expected<std::string> Compiler::describe() {
  if (Error error = self->buildVariants(Phase::Program))
    return std::move(error);
  if (Error error = self->finish())
    return std::move(error);
  return self->meta();
}

} // namespace ingot::pipeline
