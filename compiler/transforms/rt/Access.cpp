//===- Access.cpp - which memory a launch touches --------------------------------------------------===//
#include "compiler/transforms/rt/Access.h"

using namespace mlir;

namespace ingot::rt {

SmallVector<Place> placesOf(ProgramOp program) {
  SmallVector<Place> places;
  for (StageOp stage : stagesOf(program))
    for (auto launch : stage.block().getOps<LaunchOp>())
      places.push_back({launch, stage.getIndex(), int64_t(places.size())});
  return places;
}

BufferOp bufferOf(Value slot) { return slot.getDefiningOp<BufferOp>(); }
bool isPrivate(Value slot) { return bufferOf(slot).getSpace() == Space::Private; }

SmallVector<Value> reads(LaunchOp launch) {
  auto slots = launch.getSlots().drop_back(launch.getOuts());
  return SmallVector<Value>(slots.begin(), slots.end());
}

SmallVector<Value> writes(LaunchOp launch) {
  auto slots = launch.getSlots().take_back(launch.getOuts());
  return SmallVector<Value>(slots.begin(), slots.end());
}

bool overlap(Value a, Value b) {
  if (a == b)
    return true;
  BufferOp x = bufferOf(a), y = bufferOf(b);
  if (x.getSpace() != y.getSpace() || x.getOffset() < 0 || y.getOffset() < 0)
    return false;
  return x.getOffset() < y.getOffset() + y.getBytes() && y.getOffset() < x.getOffset() + x.getBytes();
}

static bool meet(LaunchOp first, LaunchOp second, Space space) {
  auto any = [&](ArrayRef<Value> xs, ArrayRef<Value> ys) {
    for (Value x : xs)
      for (Value y : ys)
        if (bufferOf(x).getSpace() == space && overlap(x, y))
          return true;
    return false;
  };
  SmallVector<Value> w1 = writes(first), w2 = writes(second);
  return any(w1, reads(second)) || any(w1, w2) || any(reads(first), w2);
}

bool needBarrier(LaunchOp first, LaunchOp second) {
  if (first.getKvLayer() >= 0 && first.getKvLayer() == second.getKvLayer() &&
      (first.getKvWrite() || second.getKvWrite()))
    return true;
  return meet(first, second, Space::Arena);
}

bool needOrder(LaunchOp first, LaunchOp second) { return meet(first, second, Space::Private); }

} // namespace ingot::rt
