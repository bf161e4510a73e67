//===- CpuFeatures.h - what this CPU can execute --------------------------------------------------------===//
//
// Feature bits by CPUID, masked by what the operating system saves (XCR0) and, for AMX, by what the kernel
// grants the process. Names are LLVM's, but for "fast-bf16-dot": AVX512-BF16 dots at twice the flops of fma
// (all of AMD's), not at half of them (Intel's up to Emerald Rapids), which no feature bit tells.
//
//===------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_RUNTIME_DEVICE_CPU_CPUFEATURES_H
#define INGOT_RUNTIME_DEVICE_CPU_CPUFEATURES_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::cpu {

class CpuFeatures {
public:
  /// Probes the CPU it runs on. AMX counts as present only if arch_prctl grants it, which this asks for when
  /// `requestAmx` (the grant holds for the process and must precede its threads).
  static CpuFeatures detect(bool requestAmx);
  /// Exactly the named features: for tests and for `--isa` what-if questions.
  static CpuFeatures of(std::vector<std::string> names);

  bool has(std::string_view llvmName) const;
  /// The members of a comma-separated list (each with or without '+') that are absent or unknown, in order.
  std::vector<std::string> missing(std::string_view list) const;
  /// All present features, ascending.
  const std::vector<std::string> &all() const { return names; }

private:
  std::vector<std::string> names;
};

/// A variant that an artefact carries.
struct Variant {
  std::string isa;
  std::string features;
};

/// Index of the best variant that `cpu` can run (amxbf16, amx, avx512bf16 where its dots have the full rate,
/// vnni, avx512, avx2, ref; names outside the list rank last, in the order given). `forced` (empty: none)
/// names the only acceptable one. -1 and a message that says, per variant, what is missing.
int chooseVariant(const std::vector<Variant> &variants, const CpuFeatures &cpu, std::string_view forced,
                  std::string &error);

} // namespace ingot::cpu
#endif
