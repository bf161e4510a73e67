//===- KernelBuilder.h - writes one CPU kernel as MLIR --------------------------------------------===//
//
// A thin layer over arith, vector, math, scf and llvm ops. A kernel is one llvm.func with the signature of
// ingot_kernel_fn (runtime/abi/ingot_abi.h); it works on pointers and byte offsets. Integers that count or
// address are i64. A "virtual vector" of 16 f32 is vector<16xf32> on every target; LLVM splits it on AVX2.
//
// Invariants that keep bits equal on all targets: no fast-math flags, no vector.fma (it becomes fmuladd,
// which LLVM may or may not fuse): fma() is math.fma, all other operations round once each. max/min are
// compare and select, which is what the x86 instructions do.
//
//===----------------------------------------------------------------------------------------------------===//
#ifndef INGOT_CODEGEN_CPU_KERNELBUILDER_H
#define INGOT_CODEGEN_CPU_KERNELBUILDER_H

#include "codegen/target/Targets.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <utility>

namespace ingot::cpu {

using mlir::Type;
using mlir::Value;
using mlir::ValueRange;

/// Loads the dialects that kernels are written in.
void loadKernelDialects(mlir::MLIRContext &context);

class KernelBuilder {
public:
  using Values = llvm::SmallVector<Value>;
  using Pred = mlir::arith::CmpIPredicate;
  using FPred = mlir::arith::CmpFPredicate;

  /// Opens `symbol` at the end of `module`. Instructions go into it until finish().
  KernelBuilder(mlir::ModuleOp module, llvm::StringRef symbol, const target::Target &target);
  ~KernelBuilder() { assert(finished && "kernel without finish()"); }
  KernelBuilder(const KernelBuilder &) = delete;

  /// Closes the kernel with `return 0`.
  mlir::LLVM::LLVMFuncOp finish();

  mlir::OpBuilder &builder() { return b; }
  mlir::Location loc() const { return location; }
  const target::Target &target() const { return tgt; }
  mlir::LLVM::LLVMFuncOp function() { return func; }

  //===--- types and constants ---===//
  Type i1() { return b.getI1Type(); }
  Type i8() { return b.getI8Type(); }
  Type i16() { return b.getI16Type(); }
  Type i32() { return b.getI32Type(); }
  Type i64() { return b.getI64Type(); }
  Type f16() { return b.getF16Type(); }
  Type bf16() { return b.getBF16Type(); }
  Type f32() { return b.getF32Type(); }
  Type ptrType();
  mlir::VectorType vec(int64_t n, Type element) { return mlir::VectorType::get({n}, element); }
  mlir::VectorType f32v(int64_t n = 16) { return vec(n, f32()); }
  Value c64(int64_t v);
  Value c32(int64_t v);
  Value cf(float v);
  /// A constant of any integer, float or vector type, every element equal to `v`.
  Value splat(Type type, double v);
  Value splatInt(Type type, int64_t v);
  /// Vector constants by element.
  Value denseF32(llvm::ArrayRef<float> v);
  Value denseI32(llvm::ArrayRef<int32_t> v);
  /// vector<n x i1>, lanes 0 .. count-1 set.
  Value maskFirst(int64_t n, int64_t count);
  /// Same with a count known at run time (i64).
  Value maskFirst(int64_t n, Value count);

  //===--- arithmetic: integers or floats, scalars or vectors, both operands of one type ---===//
  Value add(Value x, Value y);
  Value sub(Value x, Value y);
  Value mul(Value x, Value y);
  Value div(Value x, Value y); ///< floats: IEEE; integers: unsigned
  Value rem(Value x, Value y); ///< unsigned
  Value add(Value x, int64_t y) { return add(x, splatInt(x.getType(), y)); }
  Value mul(Value x, int64_t y) { return mul(x, splatInt(x.getType(), y)); }
  Value and_(Value x, Value y);
  Value or_(Value x, Value y);
  Value xor_(Value x, Value y);
  Value shl(Value x, int64_t bits);
  Value shrU(Value x, int64_t bits);
  Value shrS(Value x, int64_t bits);
  Value neg(Value x); ///< floats flip the sign bit, integers 0 - x
  Value abs(Value x); ///< floats clear the sign bit
  Value fma(Value x, Value y, Value z);
  Value sqrt(Value x);
  Value roundEven(Value x);
  Value cmp(Pred p, Value x, Value y);
  Value cmp(FPred p, Value x, Value y);
  Value select(Value cond, Value x, Value y);
  Value maxF(Value x, Value y); ///< x > y ? x : y
  Value minF(Value x, Value y); ///< x < y ? x : y
  Value minS(Value x, Value y);
  Value maxS(Value x, Value y);

  //===--- conversions ---===//
  Value bitcast(Value x, Type to);
  Value extU(Value x, Type to);
  Value extS(Value x, Type to);
  Value trunc(Value x, Type to); ///< integers: drop bits; floats: round to nearest even
  Value extF(Value x, Type to);
  Value sToF(Value x, Type to);
  Value uToF(Value x, Type to);
  Value fToS(Value x, Type to); ///< toward zero; the value must fit
  /// f32 value(s) of stored f32, f16 or bf16 values or of int8 codes (a scalar or a vector).
  Value toF32(Value stored);
  /// Rounds f32 value(s) to nearest even into f32, f16 or bf16 (quiet NaN stays NaN).
  Value fromF32(Value x, Type element);

  //===--- vectors ---===//
  Value broadcast(Value scalar, int64_t n);
  Value extract(Value v, int64_t lane);
  Value insert(Value scalar, Value v, int64_t lane);
  Value shuffle(Value x, Value y, llvm::ArrayRef<int64_t> lanes);
  /// `count` lanes from `first`.
  Value slice(Value v, int64_t first, int64_t count);
  Value concat(Value x, Value y);
  /// Sum of 16 lanes by the fixed tree: i + (i+8), then +4, +2, +1. Result: f32.
  Value treeSum16(Value v);
  /// Maximum of 16 lanes (order does not matter for numbers).
  Value treeMax16(Value v);

  //===--- memory: byte addresses ---===//
  Value gep(Value ptr, Value byteOffset);
  Value gep(Value ptr, int64_t byteOffset);
  /// `align` 0: natural alignment of a scalar; vectors: that of the element.
  Value load(Type type, Value ptr, int64_t align = 0);
  Value loadAt(Type type, Value ptr, int64_t byteOffset, int64_t align = 0);
  Value loadAt(Type type, Value ptr, Value byteOffset, int64_t align = 0);
  Value loadBroadcast(Type element, Value ptr, int64_t byteOffset, int64_t n = 16);
  void store(Value v, Value ptr, int64_t align = 0);
  void storeAt(Value v, Value ptr, int64_t byteOffset, int64_t align = 0);
  void storeAt(Value v, Value ptr, Value byteOffset, int64_t align = 0);
  /// Lanes without a mask bit are zero and not read (or not written).
  Value maskedLoad(mlir::VectorType type, Value ptr, Value mask, int64_t align = 0);
  void maskedStore(Value v, Value ptr, Value mask, int64_t align = 0);
  /// locality 3 = all caches, 2 = L2 and beyond, 1 = L3.
  void prefetch(Value ptr, int locality);
  /// Stack space of the whole call, 64-aligned.
  Value stack(int64_t bytes);

  //===--- control ---===//
  /// for (i = lb; i < ub; i += step), i64, signed. The body maps (i, carried values) to the next carried
  /// values.
  Values forLoop(Value lb, Value ub, Value step, ValueRange inits,
                 llvm::function_ref<Values(Value, ValueRange)> body);
  Values forLoop(int64_t lb, int64_t ub, int64_t step, ValueRange inits,
                 llvm::function_ref<Values(Value, ValueRange)> body);
  void forLoop(Value lb, Value ub, int64_t step, llvm::function_ref<void(Value)> body);
  void forLoop(int64_t lb, int64_t ub, int64_t step, llvm::function_ref<void(Value)> body);
  void ifThen(Value cond, llvm::function_ref<void()> then);
  /// Both regions return the same number and types of values.
  Values ifElse(Value cond, llvm::function_ref<Values()> then, llvm::function_ref<Values()> otherwise);
  /// Calls an LLVM intrinsic; no result where `result` is null.
  Value intrinsic(llvm::StringRef name, Type result, ValueRange args);

  //===--- the launch ---===//
  Value part() const { return partIndex; }  ///< i64
  Value parts() const { return partCount; } ///< i64
  Value step() const { return stepPtr; }
  Value args() const { return argsPtr; }
  Value nRows(); ///< step->n_rows, i64
  Value nSeqs(); ///< i64
  Value nOut();  ///< i64
  /// A u32 field of ingot_step_v1 as i64, or a pointer field, by offsetof.
  Value stepU32(int64_t offset);
  Value stepPointer(int64_t offset);
  Value slot(unsigned i);
  Value weight(unsigned i);
  Value kv();
  Value kvStride(); ///< bytes from a group of the KV layer's pages to the next, i64
  /// Address of page `index` (i64) of the layer at `cache`.
  Value kvPage(Value cache, Value stride, Value index, int64_t pageBytes);
  Value scratch();
  /// This part's share [n*part/parts, n*(part+1)/parts) of n items (i64).
  std::pair<Value, Value> share(Value n);

private:
  mlir::OpBuilder b;
  mlir::Location location;
  const target::Target &tgt;
  mlir::LLVM::LLVMFuncOp func;
  mlir::Block *entry = nullptr;
  Value stepPtr, argsPtr, partIndex, partCount;
  bool finished = false;

  Type sameShape(Value like, Type element);
};

} // namespace ingot::cpu

#endif
