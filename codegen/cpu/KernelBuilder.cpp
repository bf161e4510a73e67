//===- KernelBuilder.cpp - writes one CPU kernel as MLIR ------------------------------------------===//
#include "codegen/cpu/KernelBuilder.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "runtime/abi/ingot_abi.h"
#include "llvm/ADT/STLExtras.h"

#include <cstddef>
#include <numeric>

using namespace mlir;
using namespace ingot::cpu;

void ingot::cpu::loadKernelDialects(MLIRContext &context) {
  context.loadDialect<arith::ArithDialect, cf::ControlFlowDialect, LLVM::LLVMDialect, math::MathDialect,
                      scf::SCFDialect, vector::VectorDialect>();
}

static bool isFloat(Value v) { return isa<FloatType>(getElementTypeOrSelf(v.getType())); }

KernelBuilder::KernelBuilder(ModuleOp module, StringRef symbol, const target::Target &target)
    : b(module.getContext()), location(NameLoc::get(StringAttr::get(module.getContext(), symbol))),
      tgt(target) {
  loadKernelDialects(*module.getContext());
  b.setInsertionPointToEnd(module.getBody());
  auto type =
      LLVM::LLVMFunctionType::get(b.getI32Type(), {ptrType(), ptrType(), b.getI32Type(), b.getI32Type()});
  func = LLVM::LLVMFuncOp::create(b, location, symbol, type);
  func.setVisibility_(LLVM::Visibility::Hidden);
  func.setDsoLocal(true);
  entry = func.addEntryBlock(b);
  b.setInsertionPointToEnd(entry);
  stepPtr = entry->getArgument(0);
  argsPtr = entry->getArgument(1);
  partIndex = extU(entry->getArgument(2), i64());
  partCount = extU(entry->getArgument(3), i64());
}

LLVM::LLVMFuncOp KernelBuilder::finish() {
  LLVM::ReturnOp::create(b, location, ValueRange{c32(0)});
  finished = true;
  return func;
}

//===--- types and constants ---===//

Type KernelBuilder::ptrType() { return LLVM::LLVMPointerType::get(b.getContext()); }
Value KernelBuilder::c64(int64_t v) { return splatInt(i64(), v); }
Value KernelBuilder::c32(int64_t v) { return splatInt(i32(), v); }
Value KernelBuilder::cf(float v) { return splat(f32(), v); }

Value KernelBuilder::splat(Type type, double v) {
  Type element = getElementTypeOrSelf(type);
  TypedAttr attr = b.getFloatAttr(element, v);
  if (auto vt = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vt, Attribute(attr));
  return arith::ConstantOp::create(b, location, attr);
}

Value KernelBuilder::splatInt(Type type, int64_t v) {
  Type element = getElementTypeOrSelf(type);
  if (isa<FloatType>(element))
    return splat(type, double(v));
  TypedAttr attr = b.getIntegerAttr(
      element, APInt(element.getIntOrFloatBitWidth(), uint64_t(v), true, /*implicitTrunc=*/true));
  if (auto vt = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vt, Attribute(attr));
  return arith::ConstantOp::create(b, location, attr);
}

Value KernelBuilder::denseF32(ArrayRef<float> v) {
  return arith::ConstantOp::create(b, location, DenseElementsAttr::get(f32v(v.size()), v));
}
Value KernelBuilder::denseI32(ArrayRef<int32_t> v) {
  return arith::ConstantOp::create(b, location, DenseElementsAttr::get(vec(v.size(), i32()), v));
}
Value KernelBuilder::maskFirst(int64_t n, int64_t count) {
  SmallVector<bool> bits(n);
  for (int64_t i = 0; i < n; ++i)
    bits[i] = i < count;
  return arith::ConstantOp::create(b, location, DenseElementsAttr::get(vec(n, i1()), ArrayRef<bool>(bits)));
}
Value KernelBuilder::maskFirst(int64_t n, Value count) {
  SmallVector<int32_t> lane(n);
  std::iota(lane.begin(), lane.end(), 0);
  return cmp(Pred::slt, denseI32(lane), broadcast(trunc(count, i32()), n));
}

//===--- arithmetic ---===//

#define BINARY(NAME, INT, FLOAT)                                                                             \
  Value KernelBuilder::NAME(Value x, Value y) {                                                              \
    assert(x.getType() == y.getType() && "operand types differ");                                            \
    if (isFloat(x))                                                                                          \
      return arith::FLOAT::create(b, location, x, y);                                                        \
    return arith::INT::create(b, location, x, y);                                                            \
  }
BINARY(add, AddIOp, AddFOp)
BINARY(sub, SubIOp, SubFOp)
BINARY(mul, MulIOp, MulFOp)
BINARY(div, DivUIOp, DivFOp)
#undef BINARY

Value KernelBuilder::rem(Value x, Value y) { return arith::RemUIOp::create(b, location, x, y); }
Value KernelBuilder::and_(Value x, Value y) { return arith::AndIOp::create(b, location, x, y); }
Value KernelBuilder::or_(Value x, Value y) { return arith::OrIOp::create(b, location, x, y); }
Value KernelBuilder::xor_(Value x, Value y) { return arith::XOrIOp::create(b, location, x, y); }
Value KernelBuilder::shl(Value x, int64_t n) {
  return arith::ShLIOp::create(b, location, x, splatInt(x.getType(), n));
}
Value KernelBuilder::shrU(Value x, int64_t n) {
  return arith::ShRUIOp::create(b, location, x, splatInt(x.getType(), n));
}
Value KernelBuilder::shrS(Value x, int64_t n) {
  return arith::ShRSIOp::create(b, location, x, splatInt(x.getType(), n));
}
Value KernelBuilder::neg(Value x) {
  if (isFloat(x))
    return arith::NegFOp::create(b, location, x);
  return sub(splatInt(x.getType(), 0), x);
}
Value KernelBuilder::abs(Value x) {
  if (isFloat(x))
    return math::AbsFOp::create(b, location, x);
  return math::AbsIOp::create(b, location, x);
}
Value KernelBuilder::fma(Value x, Value y, Value z) { return math::FmaOp::create(b, location, x, y, z); }
Value KernelBuilder::sqrt(Value x) { return math::SqrtOp::create(b, location, x); }
Value KernelBuilder::roundEven(Value x) { return math::RoundEvenOp::create(b, location, x); }
Value KernelBuilder::cmp(Pred p, Value x, Value y) { return arith::CmpIOp::create(b, location, p, x, y); }
Value KernelBuilder::cmp(FPred p, Value x, Value y) { return arith::CmpFOp::create(b, location, p, x, y); }
Value KernelBuilder::select(Value c, Value x, Value y) {
  return arith::SelectOp::create(b, location, c, x, y);
}
Value KernelBuilder::maxF(Value x, Value y) { return select(cmp(FPred::OGT, x, y), x, y); }
Value KernelBuilder::minF(Value x, Value y) { return select(cmp(FPred::OLT, x, y), x, y); }
Value KernelBuilder::minS(Value x, Value y) { return arith::MinSIOp::create(b, location, x, y); }
Value KernelBuilder::maxS(Value x, Value y) { return arith::MaxSIOp::create(b, location, x, y); }

//===--- conversions ---===//

Type KernelBuilder::sameShape(Value like, Type element) {
  if (auto vt = dyn_cast<VectorType>(like.getType()))
    return VectorType::get(vt.getShape(), element);
  return element;
}
Value KernelBuilder::bitcast(Value x, Type to) {
  if (x.getType() == to)
    return x;
  return LLVM::BitcastOp::create(b, location, to, x);
}
Value KernelBuilder::extU(Value x, Type to) { return arith::ExtUIOp::create(b, location, to, x); }
Value KernelBuilder::extS(Value x, Type to) { return arith::ExtSIOp::create(b, location, to, x); }
Value KernelBuilder::trunc(Value x, Type to) {
  if (isFloat(x))
    return arith::TruncFOp::create(b, location, to, x);
  return arith::TruncIOp::create(b, location, to, x);
}
Value KernelBuilder::extF(Value x, Type to) { return arith::ExtFOp::create(b, location, to, x); }
Value KernelBuilder::sToF(Value x, Type to) { return arith::SIToFPOp::create(b, location, to, x); }
Value KernelBuilder::uToF(Value x, Type to) { return arith::UIToFPOp::create(b, location, to, x); }
Value KernelBuilder::fToS(Value x, Type to) { return arith::FPToSIOp::create(b, location, to, x); }

Value KernelBuilder::toF32(Value x) {
  Type element = getElementTypeOrSelf(x.getType());
  if (element.isF32())
    return x;
  if (element.isF16())
    return extF(x, sameShape(x, f32()));
  if (element.isInteger(8))
    return sToF(extS(x, sameShape(x, i32())), sameShape(x, f32()));
  assert(element.isBF16() && "stored type");
  Value bits = extU(bitcast(x, sameShape(x, i16())), sameShape(x, i32()));
  return bitcast(shl(bits, 16), sameShape(x, f32()));
}

Value KernelBuilder::fromF32(Value x, Type element) {
  if (element.isF32())
    return x;
  if (element.isF16())
    return trunc(x, sameShape(x, f16()));
  assert(element.isBF16() && "stored type");
  // Integer rounding: the same bits with and without AVX512-BF16 (whose instruction flushes subnormals).
  Type it = sameShape(x, i32());
  Value bits = bitcast(x, it);
  Value odd = and_(shrU(bits, 16), splatInt(it, 1));
  Value rounded = add(add(bits, splatInt(it, 0x7FFF)), odd);
  Value quiet = or_(bits, splatInt(it, 0x400000));
  Value isNan = cmp(FPred::UNO, x, x);
  Value top = shrU(select(isNan, quiet, rounded), 16);
  return bitcast(trunc(top, sameShape(x, i16())), sameShape(x, bf16()));
}

//===--- vectors ---===//

Value KernelBuilder::broadcast(Value s, int64_t n) {
  return vector::BroadcastOp::create(b, location, vec(n, s.getType()), s);
}
Value KernelBuilder::extract(Value v, int64_t lane) {
  return vector::ExtractOp::create(b, location, v, lane);
}
Value KernelBuilder::insert(Value s, Value v, int64_t lane) {
  return vector::InsertOp::create(b, location, s, v, lane);
}
Value KernelBuilder::shuffle(Value x, Value y, ArrayRef<int64_t> lanes) {
  return vector::ShuffleOp::create(b, location, x, y, lanes);
}
Value KernelBuilder::slice(Value v, int64_t first, int64_t count) {
  SmallVector<int64_t> lanes(count);
  std::iota(lanes.begin(), lanes.end(), first);
  return shuffle(v, v, lanes);
}
Value KernelBuilder::concat(Value x, Value y) {
  int64_t n = cast<VectorType>(x.getType()).getNumElements() + cast<VectorType>(y.getType()).getNumElements();
  SmallVector<int64_t> lanes(n);
  std::iota(lanes.begin(), lanes.end(), 0);
  return shuffle(x, y, lanes);
}
Value KernelBuilder::treeSum16(Value v) {
  for (int64_t half : {8, 4, 2, 1})
    v = add(slice(v, 0, half), slice(v, half, half));
  return extract(v, 0);
}
Value KernelBuilder::treeMax16(Value v) {
  for (int64_t half : {8, 4, 2, 1})
    v = maxF(slice(v, 0, half), slice(v, half, half));
  return extract(v, 0);
}

//===--- memory ---===//

Value KernelBuilder::gep(Value ptr, Value off) {
  return LLVM::GEPOp::create(b, location, ptrType(), i8(), ptr, ArrayRef<LLVM::GEPArg>{off});
}
Value KernelBuilder::gep(Value ptr, int64_t off) { return off == 0 ? ptr : gep(ptr, c64(off)); }

static int64_t alignOr(int64_t align, Type type) {
  if (align)
    return align;
  Type element = getElementTypeOrSelf(type);
  if (isa<LLVM::LLVMPointerType>(element))
    return 8;
  return std::max<int64_t>(1, element.getIntOrFloatBitWidth() / 8);
}

Value KernelBuilder::load(Type type, Value ptr, int64_t align) {
  return LLVM::LoadOp::create(b, location, type, ptr, unsigned(alignOr(align, type)));
}
Value KernelBuilder::loadAt(Type type, Value ptr, int64_t off, int64_t align) {
  return load(type, gep(ptr, off), align);
}
Value KernelBuilder::loadAt(Type type, Value ptr, Value off, int64_t align) {
  return load(type, gep(ptr, off), align);
}
Value KernelBuilder::loadBroadcast(Type element, Value ptr, int64_t off, int64_t n) {
  return broadcast(loadAt(element, ptr, off), n);
}
void KernelBuilder::store(Value v, Value ptr, int64_t align) {
  LLVM::StoreOp::create(b, location, v, ptr, unsigned(alignOr(align, v.getType())));
}
void KernelBuilder::storeAt(Value v, Value ptr, int64_t off, int64_t align) {
  store(v, gep(ptr, off), align);
}
void KernelBuilder::storeAt(Value v, Value ptr, Value off, int64_t align) { store(v, gep(ptr, off), align); }

Value KernelBuilder::maskedLoad(VectorType type, Value ptr, Value mask, int64_t align) {
  Value zero = isa<FloatType>(type.getElementType()) ? splat(type, 0) : splatInt(type, 0);
  return LLVM::MaskedLoadOp::create(b, location, type, ptr, mask, zero, unsigned(alignOr(align, type)));
}
void KernelBuilder::maskedStore(Value v, Value ptr, Value mask, int64_t align) {
  LLVM::MaskedStoreOp::create(b, location, v, ptr, mask, unsigned(alignOr(align, v.getType())));
}
void KernelBuilder::prefetch(Value ptr, int locality) {
  LLVM::Prefetch::create(b, location, ptr, 0, uint32_t(locality), 1);
}
Value KernelBuilder::stack(int64_t bytes) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(entry);
  return LLVM::AllocaOp::create(b, location, ptrType(), i8(), c64(bytes), 64);
}

//===--- control ---===//

KernelBuilder::Values KernelBuilder::forLoop(Value lb, Value ub, Value step, ValueRange inits,
                                             llvm::function_ref<Values(Value, ValueRange)> body) {
  OpBuilder::InsertionGuard guard(b);
  auto loop = scf::ForOp::create(b, location, lb, ub, step, inits);
  Block *block = loop.getBody();
  if (inits.empty())
    b.setInsertionPoint(block->getTerminator());
  else
    b.setInsertionPointToEnd(block);
  Values next = body(loop.getInductionVar(), loop.getRegionIterArgs());
  assert(next.size() == inits.size() && "carried values");
  if (!inits.empty())
    scf::YieldOp::create(b, location, next);
  return Values(loop.getResults());
}
KernelBuilder::Values KernelBuilder::forLoop(int64_t lb, int64_t ub, int64_t step, ValueRange inits,
                                             llvm::function_ref<Values(Value, ValueRange)> body) {
  return forLoop(c64(lb), c64(ub), c64(step), inits, body);
}
void KernelBuilder::forLoop(Value lb, Value ub, int64_t step, llvm::function_ref<void(Value)> body) {
  forLoop(lb, ub, c64(step), ValueRange{}, [&](Value i, ValueRange) {
    body(i);
    return Values{};
  });
}
void KernelBuilder::forLoop(int64_t lb, int64_t ub, int64_t step, llvm::function_ref<void(Value)> body) {
  forLoop(c64(lb), c64(ub), step, body);
}

void KernelBuilder::ifThen(Value cond, llvm::function_ref<void()> then) {
  OpBuilder::InsertionGuard guard(b);
  auto op = scf::IfOp::create(b, location, cond, /*withElseRegion=*/false);
  b.setInsertionPointToStart(op.thenBlock());
  then();
}

KernelBuilder::Values KernelBuilder::ifElse(Value cond, llvm::function_ref<Values()> then,
                                            llvm::function_ref<Values()> otherwise) {
  // The result types are known once the first region is written: write it apart, then move it.
  OpBuilder::InsertionGuard guard(b);
  Region thenRegion, elseRegion;
  auto fill = [&](Region &region, llvm::function_ref<Values()> body) {
    Block *block = new Block;
    region.push_back(block);
    b.setInsertionPointToEnd(block);
    Values results = body();
    scf::YieldOp::create(b, location, results);
    return llvm::to_vector(llvm::map_range(results, [](Value v) { return v.getType(); }));
  };
  OpBuilder::InsertPoint here = b.saveInsertionPoint();
  SmallVector<Type> types = fill(thenRegion, then);
  SmallVector<Type> elseTypes = fill(elseRegion, otherwise);
  assert(types == elseTypes && "results of both regions");
  (void)elseTypes;
  b.restoreInsertionPoint(here);
  auto op = scf::IfOp::create(b, location, types, cond);
  op.getThenRegion().takeBody(thenRegion);
  op.getElseRegion().takeBody(elseRegion);
  return Values(op.getResults());
}

Value KernelBuilder::intrinsic(StringRef name, Type result, ValueRange args) {
  if (!result) {
    LLVM::CallIntrinsicOp::create(b, location, b.getStringAttr(name), args);
    return {};
  }
  return LLVM::CallIntrinsicOp::create(b, location, result, b.getStringAttr(name), args).getResult(0);
}

//===--- the launch ---===//

Value KernelBuilder::stepU32(int64_t offset) { return extU(loadAt(i32(), stepPtr, offset), i64()); }
Value KernelBuilder::stepPointer(int64_t offset) { return loadAt(ptrType(), stepPtr, offset); }
Value KernelBuilder::nRows() { return stepU32(offsetof(ingot_step_v1, n_rows)); }
Value KernelBuilder::nSeqs() { return stepU32(offsetof(ingot_step_v1, n_seqs)); }
Value KernelBuilder::nOut() { return stepU32(offsetof(ingot_step_v1, n_out)); }
Value KernelBuilder::slot(unsigned i) {
  assert(i < INGOT_MAX_SLOTS && "slot");
  return loadAt(ptrType(), argsPtr, int64_t(offsetof(ingot_args_v1, slot) + 8 * i));
}
Value KernelBuilder::weight(unsigned i) {
  assert(i < INGOT_MAX_WEIGHTS && "weight");
  return loadAt(ptrType(), argsPtr, int64_t(offsetof(ingot_args_v1, weight) + 8 * i));
}
Value KernelBuilder::kv() { return loadAt(ptrType(), argsPtr, int64_t(offsetof(ingot_args_v1, kv))); }
Value KernelBuilder::kvStride() {
  return loadAt(i64(), argsPtr, int64_t(offsetof(ingot_args_v1, kv_stride)));
}
Value KernelBuilder::kvPage(Value cache, Value stride, Value index, int64_t pageBytes) {
  Value group = div(index, c64(INGOT_KV_GROUP)), place = rem(index, c64(INGOT_KV_GROUP));
  return gep(cache, add(mul(group, stride), mul(place, pageBytes)));
}
Value KernelBuilder::scratch() {
  return loadAt(ptrType(), argsPtr, int64_t(offsetof(ingot_args_v1, scratch)));
}

std::pair<Value, Value> KernelBuilder::share(Value n) {
  Value lo = div(mul(n, partIndex), partCount);
  Value hi = div(mul(n, add(partIndex, 1)), partCount);
  return {lo, hi};
}
