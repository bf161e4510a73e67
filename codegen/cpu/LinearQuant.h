//===- LinearQuant.h - reading packed weights and activations inside kernels (private to the family) -===//
#ifndef INGOT_CODEGEN_CPU_LINEARQUANT_H
#define INGOT_CODEGEN_CPU_LINEARQUANT_H

#include "codegen/cpu/Linear.h"
#include "codegen/cpu/spec/Quantize.h"

#include <functional>

namespace ingot::cpu {

/// 32 columns of one panel. `scale(part)` and `min()` emit the f32 vectors of the scheme's expression (part 1
/// is the second half of the columns in q6_k; the minimum of K-quants comes negated).
struct SubBlock {
  Value index;   ///< i64, in 0 .. K/32 - 1
  Value payload; ///< address
  std::function<Value(int64_t part, Value half)> scale;
  std::function<Value(Value half)> min;
};

/// Emits reads of one n16 panel. `half` (i64, 0 or 1, or null) picks lanes 8 half .. 8 half + 7.
class QuantWeights {
public:
  QuantWeights(KernelBuilder &k, const LinearSpec &spec);
  /// Loop(s) over the sub-blocks in ascending order with carried values.
  KernelBuilder::Values
  forSubBlocks(Value panel, KernelBuilder::Values carried,
               llvm::function_ref<KernelBuilder::Values(const SubBlock &, ValueRange)> body);
  /// Codes of columns 4 v .. 4 v + 3 (v = 0..7): vector<4*lanes x i8>, unsigned, byte 4 n + t = column 4 v +
  /// t.
  Value codes(Value payload, int64_t v, Value half);

  KernelBuilder &k;
  const LinearSpec &spec;
  const qfmt::SchemeGeometry &geometry;
  qfmt::PanelSize size;
  int bits;
  int64_t lanes;

private:
  bool super;
  Value halfs(Value side, int64_t offset, Value half);
  Value byteScale(Value side, Value offset, Value half, bool isSigned);
};

/// The activation slot, and the start values of the integer sums in scratch ([block][K/32 * parts][R] i32).
struct QuantActs {
  QuantActs(KernelBuilder &k, const LinearSpec &spec, bool needStarts);
  /// Fills the start values of `count` row blocks from block `first` on.
  void prepare(KernelBuilder &k, Value first, Value count);

  const LinearSpec &spec;
  spec::ActLayout layout;
  Value base, starts;
  int64_t block, parts, startBytes;
};

} // namespace ingot::cpu

#endif
