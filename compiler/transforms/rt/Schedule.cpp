//===- Schedule.cpp - launches into the earliest stage that memory allows --------------------------===//
#include "compiler/transforms/rt/Access.h"
#include "compiler/transforms/rt/Passes.h"

#include "mlir/IR/Builders.h"

namespace ingot::transforms {
#define GEN_PASS_DEF_RTSCHEDULEPASS
#include "compiler/transforms/rt/Passes.h.inc"
} // namespace ingot::transforms

using namespace mlir;

namespace ingot::rt {
namespace {

struct Schedule : transforms::impl::RtSchedulePassBase<Schedule> {
  void runOnOperation() override {
    for (auto program : getOperation().getOps<ProgramOp>())
      run(program);
  }

  void run(ProgramOp program) {
    SmallVector<Place> places = placesOf(program);
    SmallVector<StageOp> stages = stagesOf(program);
    struct Tap {
      TapOp op;
      int64_t stage, level = 0;
    };
    SmallVector<Tap> taps;
    for (StageOp stage : stages)
      for (auto tap : stage.block().getOps<TapOp>())
        taps.push_back({tap, stage.getIndex()});

    SmallVector<int64_t> level(places.size(), 0);
    int64_t count = 0;
    size_t nextTap = 0;
    for (size_t i = 0; i < places.size(); ++i) {
      // Taps of the stages before read after all launches there.
      for (; nextTap < taps.size() && taps[nextTap].stage < places[i].stage; ++nextTap)
        settle(taps[nextTap].op, taps[nextTap].level, places, level, i);
      for (size_t j = 0; j < i; ++j) {
        if (needBarrier(places[j].launch, places[i].launch))
          level[i] = std::max(level[i], level[j] + 1);
        else if (needOrder(places[j].launch, places[i].launch))
          level[i] = std::max(level[i], level[j]);
      }
      for (size_t t = 0; t < nextTap; ++t)
        for (Value w : writes(places[i].launch))
          if (overlap(w, taps[t].op.getSlot()))
            level[i] = std::max(level[i], taps[t].level + 1);
      count = std::max(count, level[i] + 1);
    }
    for (; nextTap < taps.size(); ++nextTap)
      settle(taps[nextTap].op, taps[nextTap].level, places, level, places.size());

    OpBuilder b(program.getContext());
    b.setInsertionPoint(program.logits());
    SmallVector<StageOp> fresh;
    for (int64_t s = 0; s < count; ++s) {
      fresh.push_back(StageOp::create(b, program.getLoc(), b.getI64IntegerAttr(s)));
      fresh.back().getBody().emplaceBlock();
    }
    for (size_t i = 0; i < places.size(); ++i)
      places[i].launch->moveBefore(&fresh[level[i]].block(), fresh[level[i]].block().end());
    for (Tap &tap : taps)
      tap.op->moveBefore(&fresh[tap.level].block(), fresh[tap.level].block().end());
    for (StageOp stage : stages)
      stage.erase();
    numMerged += int64_t(stages.size()) - count;
    numBarriers += count - 1;
  }

  /// A tap belongs to the stage of the last of the first `end` launches that writes its slot.
  static void settle(TapOp tap, int64_t &at, ArrayRef<Place> places, ArrayRef<int64_t> level, size_t end) {
    for (size_t i = 0; i < end; ++i)
      if (llvm::is_contained(writes(places[i].launch), tap.getSlot()))
        at = level[i];
  }
};

} // namespace
} // namespace ingot::rt
