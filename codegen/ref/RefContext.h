//===- RefContext.h - state of one reference kernel while it is emitted ---------------------------------===//
#ifndef INGOT_CODEGEN_REF_REFCONTEXT_H
#define INGOT_CODEGEN_REF_REFCONTEXT_H

#include "codegen/cpu/KernelBuilder.h"
#include "dialects/KvDtype.h"
#include "dialects/tile/Describe.h"

#include "llvm/ADT/DenseMap.h"

namespace ingot::ref {

using cpu::KernelBuilder;
using mlir::Value;

class RefContext {
public:
  RefContext(tile::KernelOp kernel, KernelBuilder &k, int64_t maxPositions)
      : kernel(kernel), k(k), maxPositions(maxPositions) {}

  tile::KernelOp kernel;
  KernelBuilder &k;
  /// Memory of the fragments of the row in work: `width` f32 each.
  llvm::DenseMap<Value, Value> fragments;
  /// Positions that a sequence may have, for the room of the scores.
  int64_t maxPositions;
  /// Bytes of scratch handed out.
  int64_t scratchBytes = 0;

  /// `bytes` of scratch, 64-aligned, for the whole call.
  Value scratch(int64_t bytes) {
    Value ptr = k.gep(k.scratch(), scratchBytes);
    scratchBytes += (bytes + 63) / 64 * 64;
    return ptr;
  }
  Value fragment(Value frag) { return fragments.lookup(frag); }
  /// Gives `frag` memory of its own.
  Value newFragment(Value frag) {
    Value ptr = scratch(llvm::cast<tile::FragType>(frag.getType()).getWidth() * 4);
    fragments[frag] = ptr;
    return ptr;
  }
  Value slotPointer(Value arg) { return k.slot(kernel.slotIndex(arg)); }
  Value weightPointer(Value arg) { return k.weight(kernel.weightIndex(arg)); }
  /// Number of rows of the kernel's domain, i64.
  Value rowCount() { return kernel.getDomain() == tile::Domain::Out ? k.nOut() : k.nRows(); }

  /// Address of f32 element `index` (i64).
  Value element(Value ptr, Value index) { return k.gep(ptr, k.mul(index, 4)); }
  Value loadF(Value ptr, Value index) { return k.load(k.f32(), element(ptr, index)); }
  void storeF(Value v, Value ptr, Value index) { k.store(v, element(ptr, index)); }
  /// A 32-bit integer of an array of the step, as i64.
  Value stepInt(int64_t fieldOffset, Value index) {
    Value ptr = k.stepPointer(fieldOffset);
    return k.extS(k.load(k.i32(), k.gep(ptr, k.mul(index, 4))), k.i64());
  }
};

/// Where a row's position lies in the paged cache.
struct KvShape {
  explicit KvShape(tile::KvAttr kv)
      : elementBytes(kv.getDtype() == "f32" ? 4 : 2), dim(kv.getDim()), vDim(kv.getVDim()),
        heads(kv.getHeads()), vOffset(dim * 16 * elementBytes),
        pageBytes(kvPageBytes(kv.getDtype(), heads, dim, vDim)), headBytes(pageBytes / heads) {}
  mlir::Type elementType(KernelBuilder &k, tile::KvAttr kv) const {
    return kv.getDtype() == "f32" ? k.f32() : kv.getDtype() == "f16" ? k.f16() : k.bf16();
  }
  int64_t elementBytes, dim, vDim, heads, vOffset, pageBytes, headBytes;
};

/// One step of a row-wise body; the row index is `row` (i64, in the kernel's domain).
mlir::LogicalResult emitRowOp(RefContext &context, mlir::Operation &op, Value row);
mlir::LogicalResult emitLinear(RefContext &context);
mlir::LogicalResult emitAttention(RefContext &context);

} // namespace ingot::ref

#endif // INGOT_CODEGEN_REF_REFCONTEXT_H
