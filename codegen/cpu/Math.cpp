//===- Math.cpp - elementary functions inside kernels ---------------------------------------------------===//
#include "codegen/cpu/Math.h"
#include "codegen/cpu/spec/MathConstants.h"

#include "mlir/IR/TypeUtilities.h"

using namespace ingot;
using namespace ingot::cpu;

namespace {
/// Constants of x's shape.
struct Like {
  KernelBuilder &k;
  mlir::Type type;
  Value operator()(float v) const { return k.splat(type, double(v)); }
  mlir::Type ints() const {
    if (auto vt = llvm::dyn_cast<mlir::VectorType>(type))
      return mlir::VectorType::get(vt.getShape(), k.i32());
    return k.i32();
  }
};
} // namespace

Value cpu::emitExpNonPositive(KernelBuilder &k, Value x) {
  Like c{k, x.getType()};
  Value magic = c(spec::kRoundMagic);
  Value t = k.fma(x, c(spec::kLog2E), magic);
  Value n = k.sub(t, magic);
  Value r = k.fma(n, c(-spec::kLn2Hi), x);
  r = k.fma(n, c(-spec::kLn2Lo), r);
  Value q = k.fma(c(spec::kExpQ4), r, c(spec::kExpQ3));
  q = k.fma(q, r, c(spec::kExpQ2));
  q = k.fma(q, r, c(spec::kExpQ1));
  q = k.fma(q, r, c(spec::kExpQ0));
  Value p = k.add(k.fma(q, k.mul(r, r), r), c(1.0f));
  Value bits = k.add(k.bitcast(p, c.ints()), k.shl(k.bitcast(t, c.ints()), 23));
  Value low = k.cmp(KernelBuilder::FPred::OLT, x, c(spec::kExpLow));
  return k.select(low, c(0.0f), k.bitcast(bits, x.getType()));
}

Value cpu::emitExp(KernelBuilder &k, Value x) {
  Like c{k, x.getType()};
  Value high = c(spec::kExpHigh);
  return emitExpNonPositive(k, k.select(k.cmp(KernelBuilder::FPred::OGT, x, high), high, x));
}

Value cpu::emitSilu(KernelBuilder &k, Value x) {
  Like c{k, x.getType()};
  return k.div(x, k.add(c(1.0f), emitExp(k, k.neg(x))));
}

Value cpu::emitGeluTanh(KernelBuilder &k, Value x) {
  Like c{k, x.getType()};
  Value w = k.mul(x, k.fma(c(spec::kGeluTanhB), k.mul(x, x), c(spec::kGeluTanhA)));
  return k.div(x, k.add(c(1.0f), emitExp(k, w)));
}

Value cpu::emitGelu(KernelBuilder &k, Value x) {
  Like c{k, x.getType()};
  Value negative = k.cmp(KernelBuilder::FPred::OLT, x, c(0.0f));
  Value a = k.select(negative, k.neg(x), x);
  Value t = k.div(c(1.0f), k.fma(a, c(spec::kGeluHalfInvSqrt2), c(1.0f)));
  Value h = c(spec::kGeluH[8]);
  for (int i = 7; i >= 0; --i)
    h = k.fma(h, t, c(spec::kGeluH[i]));
  h = k.mul(k.mul(h, t), emitExp(k, k.mul(k.mul(x, x), c(-0.5f))));
  Value xh = k.mul(x, h);
  return k.select(negative, xh, k.sub(x, xh));
}

Value cpu::emitTanh(KernelBuilder &k, Value x) {
  Like c{k, x.getType()};
  return k.sub(c(1.0f), k.div(c(2.0f), k.add(emitExp(k, k.add(x, x)), c(1.0f))));
}

Value cpu::emitSoftcap(KernelBuilder &k, Value x, float cap) {
  Like c{k, x.getType()};
  return k.mul(c(cap), emitTanh(k, k.mul(x, c(1.0f / cap))));
}

Value cpu::emitGate(KernelBuilder &k, spec::GateKind kind, Value g, Value u) {
  switch (kind) {
  case spec::GateKind::Silu:
    return k.mul(emitSilu(k, g), u);
  case spec::GateKind::Gelu:
    return k.mul(emitGelu(k, g), u);
  case spec::GateKind::GeluTanh:
    return k.mul(emitGeluTanh(k, g), u);
  }
  llvm_unreachable("gate kind");
}
