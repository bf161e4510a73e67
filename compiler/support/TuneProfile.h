//===- TuneProfile.h - schedules that were measured, as a text file --------------------------------===//
//
// `ingot tune` writes it, `--tune=FILE` has tile-select obey it. The first line names the format and the
// generation of the kernels; each further line is one kernel in three parts:
//
//   ingot-tune 1 kernels 1
//   linear isa=vnni rows=1 n=960 k=576 scheme=q4_1 act=1 | dot=vnni vector=64 panels=1 rows=1 unroll=1
//     prefetch=8192 chunk=0 | threads=1 default=5210 chosen=5020
//
// (on one line): the prototype, its schedule, and for people what it was measured with: threads, nanoseconds
// of a launch as the cost model chooses and with this schedule. Lines that are empty or begin with # are
// skipped. Nothing in it names a machine, a path or a time of day.
//
//===----------------------------------------------------------------------------------------------------===//
#ifndef INGOT_COMPILER_SUPPORT_TUNEPROFILE_H
#define INGOT_COMPILER_SUPPORT_TUNEPROFILE_H

#include "compiler/support/KernelRegistry.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace ingot {

/// The prototype as the profile spells it: equal texts mean equal queries.
std::string tuneKey(const KernelQuery &query);

/// The schedule as the profile spells it. Two candidates of one query with equal texts are one.
std::string tuneSchedule(const KernelCandidate &candidate);

struct TuneEntry {
  std::string key;      ///< tuneKey
  std::string isa;      ///< of it
  std::string schedule; ///< tuneSchedule
  int64_t threads = 1;
  int64_t defaultNs = 0, chosenNs = 0;
};

class TuneProfile {
public:
  TuneProfile() = default;
  explicit TuneProfile(int64_t generation) : made(generation) {}

  /// Errors are "NAME:LINE: what is wrong".
  static llvm::Expected<TuneProfile> parse(llvm::StringRef text, llvm::StringRef name);
  /// Reads a regular file of at most 16 MB.
  static llvm::Expected<TuneProfile> read(llvm::StringRef path);

  /// Of the kernels that were measured, see KernelRegistry::generation.
  int64_t generation() const { return made; }
  const std::vector<TuneEntry> &entries() const { return list; }
  /// The entry of a prototype, or null.
  const TuneEntry *find(llvm::StringRef key) const;
  /// The key must be new.
  void add(TuneEntry entry);

  std::string print() const;
  /// 16 hex digits over generation, prototypes and schedules, whatever their order: what decides a compile.
  std::string hash() const;

private:
  int64_t made = 0;
  std::vector<TuneEntry> list;
  llvm::StringMap<size_t> byKey;
};

} // namespace ingot

#endif
