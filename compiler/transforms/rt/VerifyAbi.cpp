//===- VerifyAbi.cpp - planned programs against the rules of the ABI -------------------------------===//
//
// Independent of the planner: replays each program launch by launch and checks who reads and overwrites what.
//
//===----------------------------------------------------------------------------------------------------===//
#include "compiler/transforms/rt/Access.h"
#include "compiler/transforms/rt/Passes.h"
#include "dialects/llm/Llm.h"
#include "dialects/rt/Limits.h"
#include "dialects/tile/Describe.h"

#include "mlir/IR/SymbolTable.h"

#include <map>
#include <set>

namespace ingot::transforms {
#define GEN_PASS_DEF_RTVERIFYABIPASS
#include "compiler/transforms/rt/Passes.h.inc"
} // namespace ingot::transforms

using namespace mlir;

namespace ingot::rt {
namespace {

struct VerifyAbi : transforms::impl::RtVerifyAbiPassBase<VerifyAbi> {
  void runOnOperation() override {
    mlir::ModuleOp module = getOperation();
    symbols.emplace(module);
    // A clone of the pass starts empty too.
    layers.clear();
    ropes.clear();
    weights.clear();
    bool ok = succeeded(checkTables(module));
    if (!ok)
      return signalPassFailure();
    int64_t next = 1;
    for (auto program : module.getOps<ProgramOp>()) {
      if (program.getMinRows() != next) {
        program.emitOpError() << "serves rows from " << program.getMinRows() << ", not from " << next;
        ok = false;
      }
      next = program.getMaxRows() + 1;
      ok &= succeeded(checkProgram(program));
    }
    if (next == 1) {
      module.emitError() << "module has no rt.program";
      ok = false;
    }
    if (!ok)
      signalPassFailure();
  }

private:
  LogicalResult checkTables(mlir::ModuleOp module) {
    auto all = module.getOps<rt::ModuleOp>();
    if (all.empty() || std::next(all.begin()) != all.end())
      return module.emitError() << "needs exactly one rt.module";
    facts = *all.begin();
    for (auto layer : module.getOps<KvLayerOp>()) {
      if (layer.getIndex() != int64_t(layers.size()))
        return layer.emitOpError() << "index must be " << layers.size();
      layers.push_back(layer);
    }
    for (auto rope : module.getOps<RopeOp>()) {
      if (rope.getIndex() != int64_t(ropes.size()))
        return rope.emitOpError() << "index must be " << ropes.size();
      ropes.push_back(rope);
    }
    int64_t end = 0;
    for (auto weight : module.getOps<WeightOp>()) {
      auto param = symbols->lookup<llm::ParamOp>(weight.getParam());
      if (!param)
        return weight.emitOpError() << "no llm.param " << weight.getParamAttr();
      if (weight.getOffset() < end || weight.getOffset() % kAlign)
        return weight.emitOpError() << "offset must be a multiple of " << kAlign << " from " << end;
      if (weight.getBytes() != param.packedType().packedBytes())
        return weight.emitOpError() << "has " << weight.getBytes() << " bytes, " << param.packedType()
                                    << " takes " << param.packedType().packedBytes();
      end = weight.getOffset() + weight.getBytes();
      weights.insert(weight.getParamAttr());
    }
    if (facts.getWeightBytes() < end)
      return facts.emitOpError() << "weight_bytes is below the end of the last weight, " << end;
    return success();
  }

  LogicalResult checkProgram(ProgramOp program) {
    if (program.getArenaBytes() < 0 || program.getPrivateBytes() < 0)
      return program.emitOpError() << "is not planned: run rt-plan-memory";
    for (auto buffer : program.block().getOps<BufferOp>()) {
      int64_t room = buffer.getSpace() == Space::Arena ? program.getArenaBytes() : program.getPrivateBytes();
      if (buffer.getOffset() < 0 || buffer.getOffset() % kAlign ||
          buffer.getBytes() > room - buffer.getOffset())
        return buffer.emitOpError() << "does not lie aligned inside its " << room << " bytes";
    }
    SmallVector<Place> places = placesOf(program);
    for (Place &place : places) {
      if (failed(checkLaunch(program, place.launch)))
        return failure();
      ++numChecked;
    }
    if (failed(checkMemory(program, places)) || failed(checkTaps(program, places)))
      return failure();
    LogitsOp logits = program.logits();
    if (logits.getStride() < facts.getVocab())
      return logits.emitOpError() << "stride " << logits.getStride() << " is below the vocabulary, "
                                  << facts.getVocab();
    if (logits.getStride() * 4 * program.getMaxOut() > bufferOf(logits.getSlot()).getBytes())
      return logits.emitOpError() << program.getMaxOut() << " rows do not fit the buffer";
    return checkArgmax(logits, places);
  }

  /// The launch that fills the logits can leave the best of each part instead exactly where rt.logits says
  /// so. It is the last one, so that nothing reads what would be missing, and that it may run again.
  LogicalResult checkArgmax(LogitsOp logits, ArrayRef<Place> places) {
    int64_t panels = 0;
    for (const Place &p : places) {
      LaunchOp launch = p.launch;
      auto kernel = symbols->lookup<tile::KernelOp>(launch.getKernel());
      if (kernel.getFamily() != tile::Family::Linear || !tile::describeLinear(kernel)->argmax)
        continue;
      if (writes(launch).front() != logits.getSlot() || p.order + 1 != int64_t(places.size()))
        return launch.emitOpError() << "ends in argmax, but is not the last launch, which fills the logits";
      panels = kernel.getGrid().getCount();
    }
    if (logits.getArgmaxPanels() != panels)
      return logits.emitOpError() << "argmax_panels is " << logits.getArgmaxPanels()
                                  << ", the kernel that fills the logits has " << panels;
    if (panels && panels != (facts.getVocab() + 15) / 16)
      return logits.emitOpError() << panels << " panels do not hold the vocabulary, " << facts.getVocab();
    return success();
  }

  LogicalResult checkLaunch(ProgramOp program, LaunchOp launch) {
    auto kernel = symbols->lookup<tile::KernelOp>(launch.getKernel());
    if (!kernel)
      return launch.emitOpError() << "no kernel " << launch.getKernelAttr();
    if (!kernel.getSchedule() || *kernel.getIsa() != facts.getIsa())
      return launch.emitOpError() << "kernel " << launch.getKernelAttr() << " has no schedule for "
                                  << facts.getIsa();
    if (kernel.getRows() && kernel.getRows() != program.getMClass())
      return launch.emitOpError() << "kernel " << launch.getKernelAttr() << " is made for "
                                  << kernel.getRows() << " rows, the program for " << program.getMClass();
    if (int64_t(launch.getSlots().size()) > kMaxSlots || int64_t(launch.getWeights().size()) > kMaxWeights)
      return launch.emitOpError() << "has " << launch.getSlots().size() << " slots and "
                                  << launch.getWeights().size() << " weights; the ABI takes " << kMaxSlots
                                  << " and " << kMaxWeights;
    if (launch.getSlots().size() != kernel.getSlots().size() ||
        launch.getOuts() != int64_t(kernel.getOutputs().size()) ||
        launch.getWeights().size() != kernel.getWeights().size())
      return launch.emitOpError() << "does not fit the arguments of " << launch.getKernelAttr();
    bool out = kernel.getDomain() == tile::Domain::Out;
    for (auto [i, slot, arg] : llvm::enumerate(launch.getSlots(), kernel.getSlots())) {
      // select reads rows of the step; everything else of domain out has rows of out_rows.
      bool stepRows = !out || (kernel.getFamily() == tile::Family::Select && i == 0);
      std::optional<int64_t> bytes =
          tile::slotBytes(arg.getType(), stepRows ? program.getMaxRows() : program.getMaxOut());
      if (!bytes || *bytes > bufferOf(slot).getBytes())
        return launch.emitOpError() << "slot " << i << " of " << arg.getType()
                                    << " does not fit its buffer of " << bufferOf(slot).getBytes()
                                    << " bytes";
      bool isOut = int64_t(i) >= int64_t(launch.getSlots().size()) - launch.getOuts();
      if (isOut && launch.getReplicated() != isPrivate(slot))
        return launch.emitOpError() << "slot " << i
                                    << ": results of replicated launches are private, others are not";
    }
    for (auto [ref, arg] :
         llvm::zip(launch.getWeights().getAsRange<FlatSymbolRefAttr>(), kernel.getWeights())) {
      auto param = symbols->lookup<llm::ParamOp>(ref.getValue());
      if (!param || !weights.count(ref))
        return launch.emitOpError() << "weight " << ref << " has no place in the weight section";
      if (param.packedType() != arg.getType())
        return launch.emitOpError() << "weight " << ref << " is " << param.packedType()
                                    << ", the kernel reads " << arg.getType();
    }
    return checkKv(launch, kernel);
  }

  LogicalResult checkKv(LaunchOp launch, tile::KernelOp kernel) {
    tile::KvAttr kv = kernel.getKv();
    if (bool(kv) != (launch.getKvLayer() >= 0))
      return launch.emitOpError() << (kv ? "needs a kv_layer" : "takes no kv_layer");
    bool writes = false;
    WalkResult result = kernel.walk([&](Operation *op) {
      writes |= isa<tile::KvStoreOp>(op);
      auto rope = dyn_cast<tile::RopeOp>(op);
      if (!rope)
        return WalkResult::advance();
      if (rope.getTable() >= int64_t(ropes.size()) ||
          int64_t(ropes[rope.getTable()].getInvFreq().size()) != rope.getRotaryDim() / 2) {
        launch.emitOpError() << "rope table " << rope.getTable() << " does not exist or has not "
                             << rope.getRotaryDim() / 2 << " pairs";
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return failure();
    if (writes != launch.getKvWrite())
      return launch.emitOpError() << "kv_write does not say what the kernel does";
    if (launch.getReplicated() && writes)
      return launch.emitOpError() << "a replicated launch must not write KV";
    if (!kv)
      return success();
    if (launch.getKvLayer() >= int64_t(layers.size()))
      return launch.emitOpError() << "no rt.kv_layer " << launch.getKvLayer();
    KvLayerOp layer = layers[launch.getKvLayer()];
    if (layer.getHeads() != kv.getHeads() || layer.getDim() != kv.getDim() ||
        layer.getVDim() != kv.getVDim() || layer.getDtype() != kv.getDtype())
      return launch.emitOpError() << "KV layer " << launch.getKvLayer() << " is not " << kv;
    return success();
  }

  /// Who holds which bytes, launch by launch.
  LogicalResult checkMemory(ProgramOp program, SmallVector<Place> places) {
    llvm::DenseMap<Value, int64_t> written, lastRead; // stage of the write; order of the last read
    for (Place p : places)
      for (Value slot : reads(p.launch))
        lastRead[slot] = p.order;
    lastRead[program.logits().getSlot()] = INT64_MAX;
    SmallVector<Value> live;
    for (Place p : places) {
      LaunchOp launch = p.launch;
      for (Value slot : reads(launch)) {
        auto it = written.find(slot);
        if (it == written.end() || !llvm::is_contained(live, slot))
          return launch.emitOpError() << "reads " << note(slot) << ", which holds nothing at this point";
        if (!isPrivate(slot) && it->second == p.stage)
          return launch.emitOpError() << "reads " << note(slot) << " without a barrier after its write";
      }
      for (Value slot : writes(launch)) {
        SmallVector<Value> held(live);
        for (Value other : held) {
          if (!overlap(slot, other))
            continue;
          bool needed = lastRead.lookup(other) > p.order;
          bool inPlace = lastRead.lookup(other) == p.order && llvm::is_contained(reads(launch), other);
          if (needed || (inPlace && !aliases(launch, other, slot)))
            return launch.emitOpError() << "overwrites " << note(other) << ", which is still read";
          llvm::erase(live, other);
        }
        live.push_back(slot);
        written[slot] = p.stage;
      }
    }
    for (size_t i = 0; i < places.size(); ++i)
      for (size_t j = i + 1; j < places.size() && places[j].stage == places[i].stage; ++j)
        if (needBarrier(places[i].launch, places[j].launch))
          return places[j].launch.emitOpError() << "meets " << places[i].launch.getKernelAttr()
                                                << " of the same stage in the arena or in KV";
    if (!llvm::is_contained(live, program.logits().getSlot()))
      return program.logits().emitOpError() << "buffer holds nothing at the end";
    return success();
  }

  bool aliases(LaunchOp launch, Value in, Value out) {
    auto kernel = symbols->lookup<tile::KernelOp>(launch.getKernel());
    if (bufferOf(in).getOffset() != bufferOf(out).getOffset())
      return false;
    SmallVector<Value> ins = reads(launch), outs = writes(launch);
    for (auto [i, a] : llvm::enumerate(ins))
      for (auto [o, b] : llvm::enumerate(outs))
        if (a == in && b == out && !kernel.mayAlias(i, o))
          return false;
    return true;
  }

  LogicalResult checkTaps(ProgramOp program, SmallVector<Place> places) {
    std::set<std::pair<int64_t, int64_t>> seen;
    for (StageOp stage : stagesOf(program))
      for (auto tap : stage.block().getOps<TapOp>()) {
        if (!seen.insert({int64_t(tap.getKind()), tap.getLayer()}).second)
          return tap.emitOpError() << "second tap " << stringifyTapKind(tap.getKind()) << " "
                                   << tap.getLayer();
        int64_t rows = tap.getKind() == TapKind::Norm ? program.getMaxOut() : program.getMaxRows();
        if (tap.getWidth() < 1 || tap.getWidth() > tap.getStride() ||
            tap.getStride() * 4 * rows > bufferOf(tap.getSlot()).getBytes())
          return tap.emitOpError() << "does not fit its buffer";
        // The slot must hold its value when the stage is over.
        int64_t at = -1;
        for (Place p : places) {
          if (p.stage > stage.getIndex())
            break;
          for (Value slot : writes(p.launch)) {
            if (slot == tap.getSlot())
              at = p.order;
            else if (at >= 0 && overlap(slot, tap.getSlot()))
              return p.launch.emitOpError() << "overwrites a tap of stage " << stage.getIndex();
          }
        }
        if (at < 0)
          return tap.emitOpError() << "is not written by then";
      }
    return success();
  }

  static std::string note(Value slot) { return ("'" + bufferOf(slot).getNote() + "'").str(); }

  std::optional<SymbolTable> symbols;
  rt::ModuleOp facts;
  SmallVector<KvLayerOp> layers;
  SmallVector<RopeOp> ropes;
  llvm::DenseSet<Attribute> weights; // looked up only
};

} // namespace
} // namespace ingot::rt
