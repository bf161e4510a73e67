//===- ObjectEmitter.cpp - kernels to the bytes of one relocatable object -------------------------===//
#include "codegen/cpu/ObjectEmitter.h"
#include "codegen/cpu/ToLLVM.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Analysis/LazyCallGraph.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassInstrumentation.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"

#include <chrono>

using namespace mlir;

using Clock = std::chrono::steady_clock;

/// Seconds since `from`, which becomes now.
static double lap(Clock::time_point &from) {
  Clock::time_point now = Clock::now();
  return std::chrono::duration<double>(now - std::exchange(from, now)).count();
}

namespace {

/// Sums the time of optimizer passes by the function that they run on.
class OptimizerTimes {
public:
  OptimizerTimes(llvm::PassInstrumentationCallbacks &callbacks, llvm::StringMap<double> &out) : out(out) {
    callbacks.registerBeforeNonSkippedPassCallback([this](StringRef, const llvm::Any &ir) { enter(ir); });
    callbacks.registerAfterPassCallback(
        [this](StringRef, const llvm::Any &, const llvm::PreservedAnalyses &) { leave(); });
    callbacks.registerAfterPassInvalidatedCallback(
        [this](StringRef, const llvm::PreservedAnalyses &) { leave(); });
  }

private:
  static StringRef functionOf(const llvm::Any &ir) {
    if (const auto *f = llvm::any_cast<const llvm::Function *>(&ir))
      return (*f)->getName();
    if (const auto *scc = llvm::any_cast<const llvm::LazyCallGraph::SCC *>(&ir))
      return (*scc)->size() == 1 ? (*(*scc)->begin()).getFunction().getName() : StringRef();
    return {};
  }
  /// Passes nest; the outermost that is about one function counts.
  void enter(const llvm::Any &ir) {
    std::string name = depth ? std::string() : functionOf(ir).str();
    if (depth || !name.empty())
      ++depth;
    if (depth == 1) {
      current = name;
      begin = Clock::now();
    }
  }
  void leave() {
    if (depth && --depth == 0)
      out[current] += lap(begin);
  }

  llvm::StringMap<double> &out;
  std::string current;
  Clock::time_point begin;
  size_t depth = 0; ///< of passes that run inside it, itself included
};

/// Runs last on each function, so the time since the function before it is this one's.
class GeneratedMark final : public llvm::FunctionPass {
public:
  static char id;
  explicit GeneratedMark(llvm::StringMap<double> &out)
      : llvm::FunctionPass(id), out(out), begin(Clock::now()) {}
  bool runOnFunction(llvm::Function &f) override {
    out[f.getName()] += lap(begin);
    return false;
  }
  void getAnalysisUsage(llvm::AnalysisUsage &usage) const override { usage.setPreservesAll(); }

private:
  llvm::StringMap<double> &out;
  Clock::time_point begin;
};
char GeneratedMark::id;

} // namespace

static constexpr const char *kTriple = "x86_64-unknown-linux-gnu";

static std::unique_ptr<llvm::TargetMachine> createMachine(const ingot::target::Target &target,
                                                          std::string &error) {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  llvm::Triple triple(kTriple);
  const llvm::Target *t = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!t)
    return nullptr;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  options.FunctionSections = true;
  options.DataSections = true;
  options.MCOptions.AsmVerbose = true; // assembly text names spills and reloads
  return std::unique_ptr<llvm::TargetMachine>(
      t->createTargetMachine(triple, target.llvmCpu, target.features, options, llvm::Reloc::PIC_,
                             llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
}

/// Attributes that every function needs. "no-builtins" keeps LLVM from turning loops into memset and memcpy
/// calls.
static void setAttributes(llvm::Module &module, const ingot::target::Target &target) {
  for (llvm::Function &f : module) {
    if (f.isDeclaration())
      continue;
    f.addFnAttr("target-cpu", target.llvmCpu);
    if (!target.features.empty())
      f.addFnAttr("target-features", target.features);
    f.addFnAttr("prefer-vector-width", std::to_string(target.vectorBits));
    f.addFnAttr("no-builtins");
    f.addFnAttr("frame-pointer", "none");
    f.addFnAttr(llvm::Attribute::NoUnwind);
  }
}

static void optimize(llvm::Module &module, llvm::TargetMachine &machine, ingot::cpu::EmitTimes *times) {
  llvm::LoopAnalysisManager lam;
  llvm::FunctionAnalysisManager fam;
  llvm::CGSCCAnalysisManager cam;
  llvm::ModuleAnalysisManager mam;
  llvm::PipelineTuningOptions tuning;
  // Kernels arrive vectorized; the vectorizers would only cost time and could reorder nothing by contract.
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  llvm::PassInstrumentationCallbacks callbacks;
  std::optional<OptimizerTimes> timer;
  if (times)
    timer.emplace(callbacks, times->optimizeOf);
  llvm::PassBuilder passes(&machine, tuning, std::nullopt, &callbacks);
  passes.registerModuleAnalyses(mam);
  passes.registerCGSCCAnalyses(cam);
  passes.registerFunctionAnalyses(fam);
  passes.registerLoopAnalyses(lam);
  passes.crossRegisterProxies(lam, fam, cam, mam);
  passes.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, mam);
}

static LogicalResult checkSize(ModuleOp module, size_t cap) {
  WalkResult r = module.walk([&](LLVM::LLVMFuncOp f) {
    size_t n = 0;
    f.walk([&](Operation *) { ++n; });
    if (n <= cap)
      return WalkResult::advance();
    f.emitError() << "kernel '" << f.getName() << "' has " << n << " operations, the cap is " << cap;
    return WalkResult::interrupt();
  });
  return failure(r.wasInterrupted());
}

static LogicalResult checkUndefined(ModuleOp module, llvm::ArrayRef<char> bytes) {
  auto object = llvm::object::ObjectFile::createELFObjectFile(
      llvm::MemoryBufferRef(llvm::StringRef(bytes.data(), bytes.size()), "kernels"));
  if (!object)
    return module.emitError() << "emitted object is unreadable: " << llvm::toString(object.takeError());
  for (const llvm::object::SymbolRef &s : (*object)->symbols()) {
    auto flags = s.getFlags();
    auto name = s.getName();
    if (!flags || !name) {
      llvm::consumeError(flags ? llvm::Error::success() : flags.takeError());
      llvm::consumeError(name ? llvm::Error::success() : name.takeError());
      return module.emitError() << "emitted object has an unreadable symbol";
    }
    if ((*flags & llvm::object::SymbolRef::SF_Undefined) && !name->empty())
      return module.emitError() << "generated code calls '" << *name << "' by name";
  }
  return success();
}

LogicalResult ingot::cpu::emitObject(ModuleOp module, const target::Target &target,
                                     llvm::SmallVectorImpl<char> &out, const EmitOptions &options) {
  Clock::time_point begin = Clock::now();
  if (failed(checkSize(module, options.maxKernelOps)) || failed(lowerToLLVM(module)))
    return failure();
  registerBuiltinDialectTranslation(*module.getContext());
  registerLLVMDialectTranslation(*module.getContext());
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> ir = translateModuleToLLVMIR(module, context, "ingot");
  if (!ir)
    return module.emitError() << "no LLVM IR for this module";
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(target, error);
  if (!machine)
    return module.emitError() << "LLVM has no target " << kTriple << ": " << error;
  ir->setDataLayout(machine->createDataLayout());
  ir->setTargetTriple(llvm::Triple(kTriple));
  setAttributes(*ir, target);
  std::string broken;
  llvm::raw_string_ostream brokenStream(broken);
  if (llvm::verifyModule(*ir, &brokenStream))
    return module.emitError() << "invalid LLVM IR: " << broken;
  EmitTimes *times = options.times;
  if (times)
    times->lower += lap(begin);
  optimize(*ir, *machine, times);
  if (times)
    times->optimize += lap(begin);
  if (options.llvmIr) {
    llvm::raw_svector_ostream os(out);
    ir->print(os, nullptr);
    return success();
  }
  llvm::SmallVector<char, 0> bytes;
  {
    llvm::raw_svector_ostream os(bytes);
    llvm::legacy::PassManager pm;
    auto kind = options.assembly ? llvm::CodeGenFileType::AssemblyFile : llvm::CodeGenFileType::ObjectFile;
    if (machine->addPassesToEmitFile(pm, os, nullptr, kind))
      return module.emitError() << "LLVM cannot write an object for " << target.name;
    if (times)
      pm.add(new GeneratedMark(times->generateOf));
    pm.run(*ir);
  }
  if (times)
    times->generate += lap(begin);
  if (!options.assembly && failed(checkUndefined(module, bytes)))
    return failure();
  out.append(bytes.begin(), bytes.end());
  return success();
}

llvm::StringMap<uint64_t> ingot::cpu::codeBytes(llvm::ArrayRef<char> bytes) {
  llvm::StringMap<uint64_t> result;
  auto object = llvm::object::ObjectFile::createELFObjectFile(
      llvm::MemoryBufferRef(llvm::StringRef(bytes.data(), bytes.size()), "kernels"));
  if (!object) {
    llvm::consumeError(object.takeError());
    return result;
  }
  // Each function has a section of its own.
  for (const llvm::object::SectionRef &section : (*object)->sections()) {
    llvm::Expected<StringRef> name = section.getName();
    if (!name)
      llvm::consumeError(name.takeError());
    else if (name->consume_front(".text.") && section.isText())
      result[*name] = section.getSize();
  }
  return result;
}
