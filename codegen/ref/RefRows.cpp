//===- RefRows.cpp - row-wise steps: embedding, norm, rope, gates, stores -------------------------------===//

#include "codegen/ref/RefContext.h"

#include "codegen/cpu/Math.h"
#include "runtime/abi/ingot_abi.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cstddef>

using namespace mlir;

namespace ingot::ref {
namespace {

int64_t widthOf(Value frag) { return cast<tile::FragType>(frag.getType()).getWidth(); }

/// out[i] = f(i) for each element of the fragment `out`.
void fill(RefContext &context, Value out, llvm::function_ref<Value(Value)> f) {
  Value memory = context.newFragment(out);
  context.k.forLoop(0, widthOf(out), 1, [&](Value i) { context.storeF(f(i), memory, i); });
}

Value activation(KernelBuilder &k, tile::GateKind kind, Value x) {
  switch (kind) {
  case tile::GateKind::Silu:
    return cpu::emitSilu(k, x);
  case tile::GateKind::Gelu:
    return cpu::emitGelu(k, x);
  case tile::GateKind::GeluTanh:
    return cpu::emitGeluTanh(k, x);
  }
  llvm_unreachable("all gate kinds are listed");
}

void emitRmsNorm(RefContext &context, tile::RmsNormOp op) {
  KernelBuilder &k = context.k;
  Value x = context.fragment(op.getX()), gamma = context.weightPointer(op.getGamma());
  Value out = context.newFragment(op.getOut());
  int64_t size = widthOf(op.getX()) / op.getGroups();
  k.forLoop(0, op.getGroups(), 1, [&](Value group) {
    Value base = k.mul(group, size);
    // A sum of up to tens of thousands of squares: kept in f64, so that the order of addition does not show.
    Type f64 = k.builder().getF64Type();
    KernelBuilder::Values sum = k.forLoop(0, size, 1, ValueRange{k.splat(f64, 0)},
                                          [&](Value i, ValueRange carried) -> KernelBuilder::Values {
                                            Value v = k.extF(context.loadF(x, k.add(base, i)), f64);
                                            return {k.add(carried[0], k.mul(v, v))};
                                          });
    Value mean = k.trunc(k.div(sum[0], k.splat(f64, static_cast<double>(size))), k.f32());
    Value scale = k.div(k.cf(1), k.sqrt(k.add(mean, k.cf(op.getEps().convertToFloat()))));
    k.forLoop(0, size, 1, [&](Value i) {
      Value at = k.add(base, i);
      context.storeF(k.mul(k.mul(context.loadF(x, at), scale), context.loadF(gamma, i)), out, at);
    });
  });
}

void emitRope(RefContext &context, tile::RopeOp op, Value row) {
  KernelBuilder &k = context.k;
  Value x = context.fragment(op.getX()), out = context.newFragment(op.getOut());
  int64_t headDim = op.getHeadDim(), pairs = op.getRotaryDim() / 2;
  bool half = op.getStyle() == tile::RopeStyle::Half;
  Value position = context.stepInt(offsetof(ingot_step_v1, positions), row);
  Value tables = k.stepPointer(offsetof(ingot_step_v1, rope));
  Value table = k.load(k.ptrType(), k.gep(tables, 8 * op.getTable()));
  Value angles = context.element(table, k.mul(position, 2 * pairs));
  k.forLoop(0, op.getHeads(), 1, [&](Value head) {
    Value base = k.mul(head, headDim);
    k.forLoop(0, pairs, 1, [&](Value i) {
      Value cosine = context.loadF(angles, k.mul(i, 2)), sine = context.loadF(angles, k.add(k.mul(i, 2), 1));
      Value first = k.add(base, half ? i : k.mul(i, 2));
      Value second = k.add(first, half ? pairs : 1);
      Value a = context.loadF(x, first), b = context.loadF(x, second);
      context.storeF(k.sub(k.mul(a, cosine), k.mul(b, sine)), out, first);
      context.storeF(k.add(k.mul(a, sine), k.mul(b, cosine)), out, second);
    });
    k.forLoop(k.c64(2 * pairs), k.c64(headDim), 1, [&](Value i) {
      Value at = k.add(base, i);
      context.storeF(context.loadF(x, at), out, at);
    });
  });
}

void emitKvStore(RefContext &context, tile::KvStoreOp op, Value row) {
  KernelBuilder &k = context.k;
  KvShape shape(op.getKv());
  Type element = shape.elementType(k, op.getKv());
  Value position = context.stepInt(offsetof(ingot_step_v1, positions), row);
  Value sequence = context.stepInt(offsetof(ingot_step_v1, row_seq), row);
  Value stride = k.stepU32(offsetof(ingot_step_v1, block_stride));
  Value entry = k.add(k.mul(sequence, stride), k.shrU(position, 4));
  Value page = context.stepInt(offsetof(ingot_step_v1, block_table), entry);
  Value base = k.kvPage(k.kv(), k.kvStride(), page, shape.pageBytes);
  Value inPage = k.and_(position, k.c64(15));
  Value keys = context.fragment(op.getK()), values = context.fragment(op.getV());
  k.forLoop(0, shape.heads, 1, [&](Value head) {
    Value memory = k.gep(base, k.mul(head, shape.headBytes));
    k.forLoop(0, shape.dim, 1, [&](Value d) {
      Value v = k.fromF32(context.loadF(keys, k.add(k.mul(head, shape.dim), d)), element);
      k.store(v, k.gep(memory, k.mul(k.add(k.mul(d, 16), inPage), shape.elementBytes)));
    });
    Value valueMemory = k.gep(memory, shape.vOffset);
    k.forLoop(0, shape.vDim, 1, [&](Value d) {
      Value v = k.fromF32(context.loadF(values, k.add(k.mul(head, shape.vDim), d)), element);
      k.store(v, k.gep(valueMemory, k.mul(k.add(k.mul(inPage, shape.vDim), d), shape.elementBytes)));
    });
  });
}

} // namespace

LogicalResult emitRowOp(RefContext &context, Operation &op, Value row) {
  KernelBuilder &k = context.k;
  auto load = [&](Value frag, Value i) { return context.loadF(context.fragment(frag), i); };
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](tile::LoadOp load) {
        Value from = load.getSelected() ? context.stepInt(offsetof(ingot_step_v1, out_rows), row) : row;
        int64_t stride = cast<tile::RowsType>(load.getSrc().getType()).getStride();
        Value base = context.element(context.slotPointer(load.getSrc()), k.mul(from, stride));
        context.fragments[load.getOut()] = k.gep(base, 4 * load.getOffset());
        return success();
      })
      .Case([&](tile::StoreOp store) -> LogicalResult {
        auto type = dyn_cast<tile::RowsType>(store.getDst().getType());
        if (!type)
          return store.emitOpError("has no plain lowering: the reference computes in f32 rows");
        Value to = context.element(context.slotPointer(store.getDst()), k.mul(row, type.getStride()));
        k.forLoop(0, type.getWidth(), 1, [&](Value i) { context.storeF(load(store.getValue(), i), to, i); });
        return success();
      })
      .Case([&](tile::EmbedOp embed) {
        Value token = context.stepInt(offsetof(ingot_step_v1, tokens), row);
        Value from =
            context.element(context.weightPointer(embed.getTable()), k.mul(token, widthOf(embed.getOut())));
        fill(context, embed.getOut(),
             [&](Value i) { return k.mul(context.loadF(from, i), k.cf(embed.getScale().convertToFloat())); });
        return success();
      })
      .Case([&](tile::BiasOp bias) {
        Value b = context.weightPointer(bias.getB());
        fill(context, bias.getOut(),
             [&](Value i) { return k.add(load(bias.getX(), i), context.loadF(b, i)); });
        return success();
      })
      .Case([&](tile::RmsNormOp norm) {
        emitRmsNorm(context, norm);
        return success();
      })
      .Case([&](tile::AddOp add) {
        fill(context, add.getOut(), [&](Value i) { return k.add(load(add.getA(), i), load(add.getB(), i)); });
        return success();
      })
      .Case([&](tile::GateOp gate) {
        fill(context, gate.getOut(), [&](Value i) {
          return k.mul(activation(k, gate.getKind(), load(gate.getG(), i)), load(gate.getU(), i));
        });
        return success();
      })
      .Case([&](tile::SoftcapOp cap) {
        fill(context, cap.getOut(), [&](Value i) {
          Value c = k.cf(cap.getCap().convertToFloat());
          return k.mul(c, cpu::emitTanh(k, k.div(load(cap.getX(), i), c)));
        });
        return success();
      })
      .Case([&](tile::ScaleOp scale) {
        fill(context, scale.getOut(),
             [&](Value i) { return k.mul(load(scale.getX(), i), k.cf(scale.getFactor().convertToFloat())); });
        return success();
      })
      .Case([&](tile::RopeOp rope) {
        emitRope(context, rope, row);
        return success();
      })
      .Case([&](tile::KvStoreOp store) {
        emitKvStore(context, store, row);
        return success();
      })
      .Default([](Operation *other) { return other->emitOpError("has no plain lowering"); });
}

} // namespace ingot::ref
