//===- Harness.cpp - builds kernels in the test process and calls them ----------------------------===//
#include "test/unit/kernels/Harness.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"

#include <sys/syscall.h>
#include <unistd.h>

using namespace ingot;
using namespace ingot::test;

bool ingot::test::hostRuns(const target::Target &target) {
  static const llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
  llvm::SmallVector<llvm::StringRef> need;
  target.required.split(need, ',');
  for (llvm::StringRef f : need)
    if (!host.lookup(f))
      return false;
  if (!target.hasAmx())
    return true;
  // The kernel hands out tile state on request only (ARCH_REQ_XCOMP_PERM of XTILEDATA).
  return syscall(SYS_arch_prctl, 0x1023, 18) == 0;
}

KernelSet::KernelSet(const target::Target &target)
    : tgt(target), context(mlir::MLIRContext::Threading::DISABLED),
      mod(mlir::ModuleOp::create(mlir::UnknownLoc::get(&context))) {
  cpu::loadKernelDialects(context);
}

KernelSet::~KernelSet() = default;

std::string KernelSet::assembly() {
  mlir::OwningOpRef<mlir::ModuleOp> copy = mod->clone();
  llvm::SmallVector<char, 0> text;
  cpu::EmitOptions options;
  options.assembly = true;
  if (mlir::failed(cpu::emitObject(*copy, tgt, text, options)))
    return "emission failed";
  return std::string(text.begin(), text.end());
}

std::string KernelSet::build(const cpu::EmitOptions &options) {
  std::string messages;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) {
    messages += d.str() + "\n";
    return mlir::success();
  });
  llvm::SmallVector<char, 0> bytes;
  if (mlir::failed(mlir::success(mod->verify().succeeded())))
    return "the module does not verify: " + messages;
  if (mlir::failed(cpu::emitObject(*mod, tgt, bytes, options)))
    return "emission failed: " + messages;
  objectSize = bytes.size();
  LLVMInitializeX86AsmParser();
  auto created = llvm::orc::LLJITBuilder().create();
  if (!created)
    return llvm::toString(created.takeError());
  jit = std::move(*created);
  auto buffer = std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(bytes), "kernels.o", false);
  if (llvm::Error e = jit->addObjectFile(std::move(buffer)))
    return llvm::toString(std::move(e));
  return "";
}

ingot_kernel_fn KernelSet::kernel(const std::string &name) {
  auto address = jit->lookup(name);
  if (!address) {
    llvm::errs() << llvm::toString(address.takeError()) << "\n";
    return nullptr;
  }
  return address->toPtr<ingot_kernel_fn>();
}
