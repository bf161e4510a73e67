//===- Jit.cpp - object bytes -> callable code ----------------------------------------------------------===//

#include "compiler/api/Jit.h"

#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"

using namespace llvm;

namespace ingot::api {

Jit::Jit(std::unique_ptr<orc::LLJIT> jit) : jit(std::move(jit)) {}
Jit::~Jit() = default;

Expected<std::unique_ptr<Jit>> Jit::create() {
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  Expected<std::unique_ptr<orc::LLJIT>> jit = orc::LLJITBuilder().create();
  if (!jit)
    return jit.takeError();
  return std::unique_ptr<Jit>(new Jit(std::move(*jit)));
}

Error Jit::add(StringRef isa, StringRef object) {
  // Every variant is a library of its own, so that equal names of two variants do not meet.
  Expected<orc::JITDylib &> library = jit->createJITDylib(isa.str());
  if (!library)
    return library.takeError();
  // Long vector loops may call memcpy and memset; nothing else is looked up outside the object.
  auto process =
      orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(jit->getDataLayout().getGlobalPrefix());
  if (!process)
    return process.takeError();
  library->addGenerator(std::move(*process));
  return jit->addObjectFile(*library, MemoryBuffer::getMemBufferCopy(object, isa));
}

Expected<orc::ExecutorAddr> Jit::find(StringRef object, StringRef name) {
  orc::JITDylib *library = jit->getJITDylibByName(object);
  if (!library)
    return createStringError(inconvertibleErrorCode(), "no code for %s", object.str().c_str());
  return jit->lookup(*library, name);
}

Expected<ingot_module_query_fn> Jit::query(StringRef isa) {
  Expected<orc::ExecutorAddr> address = find(isa, ("ingot_module_query_" + isa).str());
  if (!address)
    return address.takeError();
  return address->toPtr<ingot_module_query_fn>();
}

Expected<ingot_kernel_fn> Jit::kernel(StringRef object, StringRef name) {
  Expected<orc::ExecutorAddr> address = find(object, name);
  if (!address)
    return address.takeError();
  return address->toPtr<ingot_kernel_fn>();
}

} // namespace ingot::api
