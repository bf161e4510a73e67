//===- KernelRegistry.h - what tile-select asks the code generators --------------------------------===//
//
// Abstract and free of MLIR: a code generator answers for each kernel prototype whether it can emit it for a
// target, with which schedule, and which weight layout that code reads. The pipeline hands an implementation
// to tile-select. Answers depend on the query alone, so that compiles are deterministic.
//
//===----------------------------------------------------------------------------------------------------===//
#ifndef INGOT_COMPILER_SUPPORT_KERNELREGISTRY_H
#define INGOT_COMPILER_SUPPORT_KERNELREGISTRY_H

#include <cstdint>
#include <string>
#include <vector>

namespace ingot {

/// One kernel prototype. Fields that a family does not have keep their defaults.
struct KernelQuery {
  std::string family; ///< embed norm quantize linear rope_kv attention attn_split attn_merge gate add select
                      ///< softcap scale
  std::string isa;    ///< a target of Targets.def, or ref
  int64_t rows = 0;   ///< M class; 0: the number of rows is known at run time
  bool outDomain = false;
  int64_t n = 0;         ///< linear, embed: rows of the weight; others: columns of the result
  int64_t k = 0;         ///< linear, embed: columns of the weight; others: columns of the first input
  std::string scheme;    ///< of the weight matrix
  int64_t actBlock = -1; ///< rows of one activation block read (linear) or written; -1: f32 rows
  /// linear: bias, gate_silu, gate_gelu, gate_gelu_tanh, softcap, residual, argmax, in this order; or
  /// rope_kv, then rope_half or rope_interleaved of q and of k. Others: semantic keys that change the code:
  /// groups, residual, rope_half, rope_interleaved, qk_norm, window, softcap, f32_out, act_out.
  std::vector<std::string> keys;
  int64_t qHeads = 0, kvHeads = 0, headDim = 0, vDim = 0, rotaryDim = 0;
  std::string kvDtype; ///< f32, f16, bf16, int8 or empty
  bool fast = false;   ///< --numerics=fast: results may differ between targets and from `spec`
  /// Asks for every schedule worth timing, after those that a compile chooses among; not part of the
  /// prototype.
  bool allSchedules = false;
};

/// One way to emit a prototype. The fields from `vector` on are those of #tile.schedule.
struct KernelCandidate {
  std::string dot;    ///< fma, vnni, maddubs, amx, bf16; empty where the family has no dot
  std::string layout; ///< layout of the weight matrix: row or n16; empty where there is none
  int64_t vector = 64, panels = 1, rows = 1, unroll = 1, prefetch = 0, chunk = 0, ops = 1;
  double cost = 0;    ///< estimated nanoseconds of one launch on one core; the smallest wins, ties by order
  std::string reason; ///< why this one, for `explain`
};

struct KernelAnswer {
  std::vector<KernelCandidate> candidates;
  /// "<row>: why not", one per registry row of the family that cannot serve the query.
  std::vector<std::string> refused;
  /// What the user could change where there is no candidate, e.g. "--isa=avx512 or --scheme=f32".
  std::string hint;
};

/// Where rope and the KV append stand in the epilogue of the projection.
struct RopeInLinear {
  std::string units = "all"; ///< all; pairs: only where no unit of work is a whole head; none
  std::string reason;        ///< why others are launches of their own, for `explain`
};

class KernelRegistry {
public:
  virtual ~KernelRegistry() = default;
  virtual KernelAnswer find(const KernelQuery &query) const = 0;
  /// Number of the kernels' code: measurements of other generations (TuneProfile.h) say nothing about it.
  virtual int64_t generation() const = 0;
  /// Names of the targets that `find` knows.
  virtual std::vector<std::string> targets() const = 0;
  /// Rows of one int8 activation block of the run-time-rows class on `isa` (M classes use their own rows).
  virtual int64_t gemmBlock(const std::string &isa) const = 0;
  /// Which projections of q, k and v rotate and append by themselves on `isa`, and why not all.
  virtual RopeInLinear ropeInLinear(const std::string &isa) const = 0;
  /// Whether the kernels of heads can leave the best column of each part in place of the logits.
  virtual bool argmaxHead(const std::string &isa) const = 0;
};

} // namespace ingot

#endif
