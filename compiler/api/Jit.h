//===- Jit.h - object bytes -> callable code ------------------------------------------------------------===//
//
// Loads the very bytes that a standalone executable is linked from into this process.
//
//===------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_COMPILER_API_JIT_H
#define INGOT_COMPILER_API_JIT_H

#include "runtime/abi/ingot_abi.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>

namespace llvm::orc {
class LLJIT;
class ExecutorAddr;
} // namespace llvm::orc

namespace ingot::api {

/// Code of the variants of one model. Lives as long as anything that calls it.
class Jit {
public:
  static llvm::Expected<std::unique_ptr<Jit>> create();
  ~Jit();

  /// Loads one variant's object; its code is not touched before `query` is called.
  llvm::Error add(llvm::StringRef isa, llvm::StringRef object);
  /// The variant's query function.
  llvm::Expected<ingot_module_query_fn> query(llvm::StringRef isa);
  /// A kernel of the object that was added under that name.
  llvm::Expected<ingot_kernel_fn> kernel(llvm::StringRef object, llvm::StringRef name);

private:
  explicit Jit(std::unique_ptr<llvm::orc::LLJIT> jit);
  llvm::Expected<llvm::orc::ExecutorAddr> find(llvm::StringRef object, llvm::StringRef name);
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

} // namespace ingot::api

#endif // INGOT_COMPILER_API_JIT_H
