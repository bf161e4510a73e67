//===- Harness.h - builds kernels in the test process and calls them ------------------------------===//
//
// A KernelSet holds one object for one target: emit into module(), then build(); kernel(name) is callable.
// Steps and arguments are made by hand. Tests skip a target that this machine lacks (hostRuns).
//
//===----------------------------------------------------------------------------------------------------===//
#ifndef INGOT_TEST_UNIT_KERNELS_HARNESS_H
#define INGOT_TEST_UNIT_KERNELS_HARNESS_H

#include "codegen/cpu/KernelBuilder.h"
#include "codegen/cpu/ObjectEmitter.h"
#include "codegen/target/Targets.h"
#include "runtime/abi/ingot_abi.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace ingot::test {

/// Whether this machine executes code of that target.
bool hostRuns(const target::Target &target);

/// Memory of kernels: 64-byte aligned, filled with a byte pattern that shows reads of what was never written.
template <class T> class Buffer {
public:
  explicit Buffer(size_t n, int fill = 0xFF) : count(n), bytes((n * sizeof(T) + 127) / 64 * 64) {
    p = static_cast<T *>(std::aligned_alloc(64, bytes));
    std::memset(static_cast<void *>(p), fill, bytes);
  }
  Buffer(Buffer &&o) : p(o.p), count(o.count), bytes(o.bytes) { o.p = nullptr; }
  Buffer(const Buffer &) = delete;
  ~Buffer() { std::free(p); }
  T *data() { return p; }
  const T *data() const { return p; }
  size_t size() const { return count; }
  T &operator[](size_t i) { return p[i]; }
  const T &operator[](size_t i) const { return p[i]; }
  T *begin() { return p; }
  T *end() { return p + count; }

private:
  T *p;
  size_t count, bytes;
};

class KernelSet {
public:
  explicit KernelSet(const target::Target &target);
  ~KernelSet();
  mlir::ModuleOp module() { return *mod; }
  const target::Target &target() const { return tgt; }
  /// Emits and loads the object. Returns an error text, empty on success.
  std::string build(const cpu::EmitOptions &options = {});
  ingot_kernel_fn kernel(const std::string &name);
  /// Assembly of what is in the module now (before build()).
  std::string assembly();
  size_t objectBytes() const { return objectSize; }

private:
  const target::Target &tgt;
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> mod;
  std::unique_ptr<llvm::orc::LLJIT> jit;
  size_t objectSize = 0;
};

/// A step of `rows` token rows; tests fill what their kernel reads.
inline ingot_step_v1 makeStep(uint32_t rows, uint32_t out = 0) {
  ingot_step_v1 s;
  std::memset(&s, 0, sizeof s);
  s.struct_size = sizeof s;
  s.n_rows = rows;
  s.n_seqs = 1;
  s.n_out = out;
  return s;
}

inline ingot_args_v1 makeArgs() {
  ingot_args_v1 a;
  std::memset(&a, 0, sizeof a);
  a.struct_size = sizeof a;
  return a;
}

/// Runs all parts one after the other; the result must not depend on `parts`.
inline int32_t runParts(ingot_kernel_fn fn, const ingot_step_v1 &step, const ingot_args_v1 &args,
                        uint32_t parts) {
  for (uint32_t p = 0; p < parts; ++p)
    if (int32_t rc = fn(&step, &args, p, parts))
      return rc;
  return 0;
}

/// Small deterministic generator.
class Random {
public:
  explicit Random(uint64_t seed) : s(seed * 0x9E3779B97F4A7C15ull + 1) {}
  uint32_t bits() {
    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    return uint32_t(s >> 32);
  }
  uint32_t below(uint32_t n) { return bits() % n; }
  float uniform(float lo, float hi) { return lo + (hi - lo) * float(bits() >> 8) * (1.0f / 16777216.0f); }
  float normal() {
    float t = 0;
    for (int i = 0; i < 12; ++i)
      t += uniform(0, 1);
    return t - 6;
  }

private:
  uint64_t s;
};

/// Index of the first difference in bits, or -1. A NaN equals any NaN.
template <class T> ptrdiff_t firstDifference(const T *a, const T *b, size_t n) {
  for (size_t i = 0; i < n; ++i)
    if (std::memcmp(a + i, b + i, sizeof(T)) != 0 && !(a[i] != a[i] && b[i] != b[i]))
      return ptrdiff_t(i);
  return -1;
}

} // namespace ingot::test

#endif
