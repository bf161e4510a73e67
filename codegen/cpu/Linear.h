//===- Linear.h - matrix times activations, and what follows it -----------------------------------===//
//
// y[row][n] = epilogue(dot(w[n], x[row])) with w in layout n16. The dot is the scheme's expression
// (dialects/qfmt/schemes/Schemes.h): quantized weights take int8 activations packed in blocks of `block`
// rows, float weights take f32 rows (the dot kind Bf16 rounds them to bf16, docs/numerics.md). Epilogues in
// this order, each optional: bias, gate (panels of 16 gate and 16 up columns alternate; the result is half as
// wide), softcap, residual. Every schedule gives the same bits. Instead of gate, softcap and residual there
// may be rope_kv (LinearHeads.h): the product is q, k and v side by side; q and k are (normalised and)
// rotated, q goes to y (as wide as q), k and v are rounded into the KV pages. Only rows of the step are then
// written. In place of gate and residual, the kernel of a head may have argmax (LinearArgmax.h): in a step
// with INGOT_STEP_ARGMAX it leaves the best column of its part, not y.
//
// Slots: x, residual?, y. Weights: w, bias?, gammas of q and k?. Parts share units of panels: a pair under a
// gate, what belongs together under rope_kv, else one.
//
// Memory contract: act blocks are computed whole unless the tail has a smaller tile, so y (and the residual)
// have rows up to the next multiple of `block`. Float weights read and write exactly the rows of the domain.
// Rows are written in whole panels: stride = width rounded up to 16 floats.
//
//===----------------------------------------------------------------------------------------------------===//
#ifndef INGOT_CODEGEN_CPU_LINEAR_H
#define INGOT_CODEGEN_CPU_LINEAR_H

#include "codegen/cpu/KernelBuilder.h"
#include "codegen/cpu/LinearArgmax.h"
#include "codegen/cpu/LinearHeads.h"
#include "codegen/cpu/Rows.h"
#include "codegen/cpu/spec/Math.h"
#include "dialects/qfmt/Geometry.h"

#include <optional>
#include <string>
#include <vector>

namespace ingot::cpu {

enum class DotKind { Fma, Vnni, Maddubs, Amx, Bf16, AmxBf16 };

struct LinearSchedule {
  DotKind dot = DotKind::Fma;
  int64_t lanes = 16;   ///< columns of one vector: 16, or 8 where a quantized dot runs on 256-bit registers
  int64_t panels = 1;   ///< panels in flight (float weights)
  int64_t rows = 1;     ///< rows of the register tile; divides the block for quantized weights
  int64_t unroll = 1;   ///< columns per iteration (float weights)
  int64_t prefetch = 0; ///< bytes ahead of the weight stream, 0: none
  int64_t chunk = 0;    ///< rows of activations that stay in cache while all panels pass

  /// Whether quantized weights are asked for into L1. Far ones would be gone again; near ones only keep the
  /// processor's own prefetching going and may end in L2.
  bool prefetchesL1() const { return prefetch > 1024 && prefetch <= 32768; }

  bool operator==(const LinearSchedule &o) const {
    return dot == o.dot && lanes == o.lanes && panels == o.panels && rows == o.rows && unroll == o.unroll &&
           prefetch == o.prefetch && chunk == o.chunk;
  }
};

struct LinearSpec {
  int64_t n = 0; ///< rows of w
  int64_t k = 0; ///< columns of w
  qfmt::Scheme scheme = qfmt::Scheme::F32;
  int64_t block = 0; ///< R of the activations; 0: f32 rows
  int64_t rows = 0;  ///< M class: at most that many rows; 0: known at run time
  RowDomain domain = RowDomain::Rows;
  bool bias = false;
  std::optional<spec::GateKind> gate;
  float softcap = 0; ///< 0: none
  bool residual = false;
  bool argmax = false; ///< a step may ask for the best column of each part alone
  /// All but the places of q, k, v and of the result, which follow from it.
  std::optional<RopeKvSpec> ropeKv;
  bool amxInSoftware = false; ///< tests: tile operations as loops on memory
  bool fast = false;          ///< --numerics=fast: dots of rounded activations may be chosen
  LinearSchedule schedule;

  int64_t panels() const { return (n + 15) / 16; }
  int64_t unitPanels() const { return gate ? 2 : ropeKv ? HeadUnits(*ropeKv).panels : 1; }
  int64_t units() const { return panels() / unitPanels(); }
  int64_t width() const { return gate ? n / 2 : ropeKv ? ropeKv->qHeads * ropeKv->headDim : n; }
  int64_t outStrideBytes() const { return roundUp(width(), 16) * 4; }
  int64_t inStrideBytes() const { return roundUp(k, 16) * 4; }
};

/// The schedule that this target runs fastest, from measurements (test/bench/kernel_bench.cpp).
LinearSchedule chooseLinearSchedule(const LinearSpec &spec, const target::Target &target);

/// All schedules worth asking for on that target, legal or not; the cost decides among the legal ones.
llvm::SmallVector<LinearSchedule, 2> linearSchedules(const LinearSpec &spec, const target::Target &target);
/// What `ingot tune` may time: those schedules and all combinations of the values that other machines could
/// want, legal or not, each once.
std::vector<LinearSchedule> allLinearSchedules(const LinearSpec &spec, const target::Target &target);
/// Estimates: vector operations of the unrolled body, nanoseconds of one launch on one core (512 rows where
/// they are known at run time only).
int64_t linearOps(const LinearSpec &spec);
double linearCost(const LinearSpec &spec, const target::Target &target);
/// Most parts that are worth a call each: none below a microsecond of the estimate or a few units.
int64_t linearMaxParts(const LinearSpec &spec, const target::Target &target);

/// Empty when emitLinear can do it on that target, else the reason.
std::string refuseLinear(const LinearSpec &spec, const target::Target &target);

/// Scratch bytes of a worker, for any number of rows.
int64_t linearScratchBytes(const LinearSpec &spec);

void emitLinear(KernelBuilder &k, const LinearSpec &spec);

//===--- shared by the files of this family ---===//

/// Results of one tile: values[p][r] = `lanes` columns of panel p in flight, row r.
using TileResults = llvm::SmallVector<llvm::SmallVector<Value, 12>, 4>;

/// Writes one tile: panels `unit`.. of the weights for rows row0 .. row0 + tileRows - 1. `half` (i64, 0 or 1)
/// picks the 8-lane half of the panel where lanes = 8.
class LinearEpilogue {
public:
  LinearEpilogue(KernelBuilder &k, const LinearSpec &spec);
  /// `results` holds the panels of `units` consecutive units (two panels each under a gate).
  void store(const TileResults &results, Value unit, Value row0, Value half);
  Value weights() const { return w; }
  /// Where there is rope_kv; a unit's panels then need not follow each other, nor be computed together.
  LinearHeads *heads() { return ropeKv ? &*ropeKv : nullptr; }

private:
  KernelBuilder &k;
  const LinearSpec &spec;
  Value w, biasPtr, residualPtr, out;
  std::optional<LinearHeads> ropeKv;
  std::optional<LinearArgmax> argmax;
};

/// This part's units, first and behind the last.
std::pair<Value, Value> shareUnits(KernelBuilder &k, const LinearSpec &spec);

void emitLinearQuant(KernelBuilder &k, const LinearSpec &spec);
void emitLinearFloat(KernelBuilder &k, const LinearSpec &spec);
void emitLinearAmx(KernelBuilder &k, const LinearSpec &spec);
int64_t linearAmxScratchBytes(const LinearSpec &spec);
int64_t linearFloatScratchBytes(const LinearSpec &spec);
/// Whether the chunk class of float weights widens blocks of them in scratch. Measured on two EPYC cores:
/// that gains where rows of activations collide in L1, and loses 5 % of a prompt where they do not.
bool floatInBlocks(const LinearSpec &spec, const target::Target &target);

/// Offset that codes carry and that the activation sums take back (8, 16, 32, 128), 0 for none.
int64_t codeOffset(qfmt::Scheme scheme);
/// Bits of a code: 4, 5, 6, 8.
int codeBits(qfmt::Scheme scheme);

} // namespace ingot::cpu

#endif
