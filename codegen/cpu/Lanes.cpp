//===- Lanes.cpp - loads and stores of up to 16 elements ------------------------------------------------===//
#include "codegen/cpu/Lanes.h"

using namespace ingot;
using namespace ingot::cpu;

static int64_t bytesOf(Type t) { return t.getIntOrFloatBitWidth() / 8; }

Value cpu::loadLanes(KernelBuilder &k, Type stored, Value ptr, int64_t offset, int64_t count) {
  assert(count >= 1 && count <= 16 && "lanes of one vector");
  if (count == 16)
    return k.toF32(k.loadAt(k.vec(16, stored), ptr, offset));
  Value out;
  int64_t at = 0;
  for (int64_t piece : {8, 4, 2, 1}) {
    if (!(count & piece))
      continue;
    Value p = k.toF32(k.loadAt(k.vec(piece, stored), ptr, offset + at * bytesOf(stored)));
    llvm::SmallVector<int64_t> widen(16);
    for (int64_t i = 0; i < 16; ++i)
      widen[i] = i >= at && i < at + piece ? i - at : piece; // any lane of the zero vector
    Value zeroPiece = k.splat(k.f32v(piece), 0.0);
    Value wide = k.shuffle(p, zeroPiece, widen);
    if (out) {
      llvm::SmallVector<int64_t> mix(16);
      for (int64_t i = 0; i < 16; ++i)
        mix[i] = i >= at && i < at + piece ? 16 + i : i;
      wide = k.shuffle(out, wide, mix);
    }
    out = wide;
    at += piece;
  }
  return out;
}

Value cpu::loadLanes(KernelBuilder &k, Type stored, Value ptr, Value offset, int64_t count) {
  return loadLanes(k, stored, k.gep(ptr, offset), int64_t(0), count);
}

void cpu::storeLanes(KernelBuilder &k, Type stored, Value v, Value ptr, int64_t offset, int64_t count) {
  storePieces(k, k.fromF32(v, stored), ptr, offset, count);
}

void cpu::storePieces(KernelBuilder &k, Value s, Value ptr, int64_t offset, int64_t count) {
  assert(count >= 1 && count <= 16 && "lanes of one vector");
  const int64_t bytes = bytesOf(mlir::getElementTypeOrSelf(s.getType()));
  if (count == 16)
    return k.storeAt(s, ptr, offset);
  int64_t at = 0;
  for (int64_t piece : {8, 4, 2, 1}) {
    if (!(count & piece))
      continue;
    k.storeAt(k.slice(s, at, piece), ptr, offset + at * bytes);
    at += piece;
  }
}

void cpu::storeLanes(KernelBuilder &k, Type stored, Value v, Value ptr, Value offset, int64_t count) {
  storeLanes(k, stored, v, k.gep(ptr, offset), int64_t(0), count);
}

Value cpu::keepLanes(KernelBuilder &k, Value v, int64_t count) {
  if (count >= 16)
    return v;
  llvm::SmallVector<int64_t> lanes(16);
  for (int64_t i = 0; i < 16; ++i)
    lanes[i] = i < count ? i : 16 + i;
  return k.shuffle(v, k.splat(k.f32v(), 0.0), lanes);
}

void cpu::forVectors(KernelBuilder &k, int64_t width, int64_t unroll,
                     llvm::function_ref<void(Value, int64_t)> f) {
  int64_t full = width / 16, tail = width % 16;
  if (full <= unroll) {
    for (int64_t i = 0; i < full; ++i)
      f(k.c64(i * 16), 16);
  } else {
    k.forLoop(0, full * 16, 16, [&](Value i) { f(i, 16); });
  }
  if (tail)
    f(k.c64(full * 16), tail);
}
