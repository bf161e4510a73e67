//===- Lower.cpp - steps of launches to programs of stages -----------------------------------------===//
#include "compiler/transforms/rt/Passes.h"
#include "dialects/KvDtype.h"
#include "dialects/llm/Llm.h"
#include "dialects/tile/Describe.h"

#include "mlir/IR/SymbolTable.h"

#include <map>

namespace ingot::transforms {
#define GEN_PASS_DEF_RTLOWERPASS
#include "compiler/transforms/rt/Passes.h.inc"
} // namespace ingot::transforms

using namespace mlir;

namespace ingot::rt {
namespace {

/// Rows of logits that every program of more rows has room for.
constexpr int64_t kLeastOut = 64;
/// No slot of a sane model is larger; sizes above come from wrong options.
constexpr int64_t kMostBytes = int64_t(1) << 40;

/// KV layers by the layer number of their llm type; the index in the table is their rank.
using KvTable = std::map<int64_t, std::pair<tile::KvAttr, int64_t>>; // shape, window

struct Lower : transforms::impl::RtLowerPassBase<Lower> {
  using RtLowerPassBase::RtLowerPassBase;

  void runOnOperation() override {
    mlir::ModuleOp module = getOperation();
    llm::ConfigOp config = llm::findConfig(module);
    if (!config) {
      module.emitError() << "rt-lower needs llm.config";
      return signalPassFailure();
    }
    SymbolTable symbols(module);
    SmallVector<llm::StepOp> steps(module.getOps<llm::StepOp>());
    llvm::sort(steps, [](llm::StepOp a, llm::StepOp b) { return a.getRows() < b.getRows(); });
    KvTable kv;
    std::string isa;
    for (llm::StepOp step : steps)
      if (failed(collect(step, symbols, kv, isa)))
        return signalPassFailure();
    tables(module, config, kv, isa);

    int64_t before = 0;
    for (llm::StepOp step : steps) {
      int64_t rows = step.getRows();
      if (rows <= before) {
        step.emitOpError() << "has row class " << rows << ", which is not above the class before, " << before;
        return signalPassFailure();
      }
      if (failed(lower(module, step, symbols, kv, before + 1,
                       std::max<int64_t>(config.getMaxSeqs(), kLeastOut))))
        return signalPassFailure();
      before = rows;
    }
    for (llm::StepOp step : steps)
      step.erase();
    for (auto table : llvm::make_early_inc_range(module.getOps<tile::RopeTableOp>()))
      table.erase();
  }

private:
  static LogicalResult collect(llm::StepOp step, SymbolTable &symbols, KvTable &kv, std::string &isa) {
    for (Operation &op : step.bodyBlock()) {
      auto launch = dyn_cast<tile::LaunchOp>(op);
      if (!launch) {
        if (!isa_and_present<llm::ReturnOp>(&op))
          return op.emitOpError() << "is no launch: run tile-form-kernels first";
        continue;
      }
      auto kernel = symbols.lookup<tile::KernelOp>(launch.getKernel());
      if (!kernel.getIsa())
        return launch.emitOpError() << "kernel " << launch.getKernelAttr()
                                    << " has no schedule: run tile-select first";
      if (isa.empty())
        isa = kernel.getIsa()->str();
      if (isa != *kernel.getIsa())
        return launch.emitOpError() << "kernel " << launch.getKernelAttr() << " is for " << *kernel.getIsa()
                                    << ", others are for " << isa;
      tile::KvAttr shape = kernel.getKv();
      if (!shape)
        continue;
      auto [it, fresh] = kv.try_emplace(launch.getKvLayer(), shape, -1);
      if (it->second.first != shape)
        return launch.emitOpError() << "KV layer " << launch.getKvLayer() << " has two shapes, " << shape
                                    << " and " << it->second.first;
      if (kernel.writesKv())
        continue;
      // A cache must keep what its widest reader sees; window 0 is all.
      int64_t window = tile::describeAttention(kernel)->window;
      int64_t &have = it->second.second;
      have = have < 0 ? window : have == 0 || window == 0 ? 0 : std::max(have, window);
    }
    return success();
  }

  static void tables(mlir::ModuleOp module, llm::ConfigOp config, KvTable &kv, StringRef isa) {
    OpBuilder b(module.getContext());
    b.setInsertionPointToEnd(module.getBody());
    auto i64 = [&](int64_t v) { return b.getI64IntegerAttr(v); };
    rt::ModuleOp::create(b, config.getLoc(), b.getStringAttr(isa), i64(config.getVocab()),
                         i64(config.getHidden()), i64(config.getLayers()), i64(config.getMaxContext()),
                         i64(config.getMaxSeqs()), i64(-1));
    int64_t index = 0;
    for (auto &[layer, entry] : kv) {
      tile::KvAttr shape = entry.first;
      int64_t page = kvPageBytes(shape.getDtype(), shape.getHeads(), shape.getDim(), shape.getVDim());
      KvLayerOp::create(b, config.getLoc(), i64(index++), b.getStringAttr(shape.getDtype()),
                        i64(shape.getHeads()), i64(shape.getDim()), i64(shape.getVDim()),
                        i64(std::max<int64_t>(entry.second, 0)), i64(page));
    }
    for (auto table : module.getOps<tile::RopeTableOp>())
      RopeOp::create(b, table.getLoc(), table.getIndexAttr(), table.getNameAttr(), table.getInvFreqAttr(),
                     table.getScaleAttr());
  }

  LogicalResult lower(mlir::ModuleOp module, llm::StepOp step, SymbolTable &symbols, KvTable &kv,
                      int64_t minRows, int64_t leastOut) {
    int64_t rows = step.getRows();
    int64_t out = std::min(rows, maxOut > 0 ? maxOut.getValue() : leastOut);
    // Kernels compute whole blocks of activation rows.
    int64_t block = 1;
    step.walk([&](tile::LaunchOp launch) {
      for (BlockArgument arg : symbols.lookup<tile::KernelOp>(launch.getKernel()).getSlots())
        if (auto act = dyn_cast<tile::ActType>(arg.getType()))
          block = std::max(block, act.getAct().getBlock());
    });
    auto whole = [&](int64_t n) { return (n + block - 1) / block * block; };

    OpBuilder b(step.getContext());
    b.setInsertionPointToEnd(module.getBody()); // after the kernels and the module's facts
    auto i64 = [&](int64_t v) { return b.getI64IntegerAttr(v); };
    auto program = ProgramOp::create(b, step.getLoc(), b.getStringAttr("step_m" + Twine(rows)), i64(rows),
                                     i64(minRows), i64(rows), i64(whole(rows)), i64(out), i64(-1), i64(-1));
    b.setInsertionPointToStart(&program.getBody().emplaceBlock());

    struct Source {
      Value slot;
      int64_t level = 0;
      bool replicated = false;
    };
    llvm::DenseMap<Value, Source> sources;
    SmallVector<SmallVector<tile::LaunchOp>> levels;
    Value logits;
    int64_t logitsStride = 0, argmaxPanels = 0;
    for (Operation &op : step.bodyBlock()) {
      if (auto ret = dyn_cast<llm::ReturnOp>(op)) {
        logits = sources[ret.getLogits()].slot;
        logitsStride = (llm::widthOf(ret.getLogits()) + 15) / 16 * 16;
        if (auto head = ret.getLogits().getDefiningOp<tile::LaunchOp>()) {
          auto kernel = symbols.lookup<tile::KernelOp>(head.getKernel());
          if (kernel.getFamily() == tile::Family::Linear && tile::describeLinear(kernel)->argmax)
            argmaxPanels = kernel.getGrid().getCount();
        }
        continue;
      }
      auto launch = cast<tile::LaunchOp>(op);
      auto kernel = symbols.lookup<tile::KernelOp>(launch.getKernel());
      int64_t level = 0;
      for (Value in : launch.getOperands()) {
        if (!sources.count(in))
          return launch.emitOpError() << "reads a value that no launch computes";
        level = std::max(level, sources[in].level + (sources[in].replicated ? 0 : 1));
      }
      if (int64_t(levels.size()) <= level)
        levels.resize(level + 1);
      levels[level].push_back(launch);
      bool outDomain = kernel.getDomain() == tile::Domain::Out;
      for (auto [i, result] : llvm::enumerate(launch.getResults())) {
        Value slot;
        if (i < kernel.getOutputs().size()) {
          std::optional<int64_t> bytes =
              tile::slotBytes(kernel.getOutputs()[i].getType(), whole(outDomain ? out : rows));
          if (!bytes || *bytes > kMostBytes)
            return launch.emitOpError() << "result " << i << " of " << rows << " rows is too large";
          std::string note =
              (tile::stringifyFamily(kernel.getFamily()) + " " + Twine(launch.getLayer())).str();
          slot = BufferOp::create(
              b, launch.getLoc(), SlotType::get(b.getContext()),
              SpaceAttr::get(b.getContext(), launch.getReplicated() ? Space::Private : Space::Arena),
              i64((*bytes + 63) / 64 * 64), i64(-1), b.getStringAttr(note),
              outDomain ? b.getUnitAttr() : UnitAttr());
        }
        sources[result] = {slot, level, launch.getReplicated()};
      }
    }

    for (auto [index, level] : llvm::enumerate(levels)) {
      auto stage = StageOp::create(b, step.getLoc(), i64(index));
      OpBuilder in = OpBuilder::atBlockEnd(&stage.getBody().emplaceBlock());
      SmallVector<tile::LaunchOp> tapped;
      for (tile::LaunchOp launch : level) {
        auto kernel = symbols.lookup<tile::KernelOp>(launch.getKernel());
        SmallVector<Value> slots;
        for (Value v : launch.getIns())
          slots.push_back(sources[v].slot);
        for (Value v : launch.getResults().take_front(kernel.getOutputs().size()))
          slots.push_back(sources[v].slot);
        int64_t kvIndex =
            launch.getKvLayer() < 0 ? -1 : std::distance(kv.begin(), kv.find(launch.getKvLayer()));
        LaunchOp::create(in, launch.getLoc(), launch.getKernelAttr(), slots, launch.getParams(),
                         i64(kernel.getOutputs().size()), i64(kvIndex), i64(launch.getLayer()),
                         kernel.writesKv() ? in.getUnitAttr() : UnitAttr(),
                         launch.getReplicated() ? in.getUnitAttr() : UnitAttr());
        ++numLaunches;
        if (launch.getTap())
          tapped.push_back(launch);
      }
      for (tile::LaunchOp launch : tapped) {
        int64_t width = llm::widthOf(launch.getResult(0));
        TapKind kind = *symbolizeTapKind(*launch.getTap());
        TapOp::create(in, launch.getLoc(), kind, kind == TapKind::Layer ? launch.getLayer() : 0,
                      sources[launch.getResult(0)].slot, width, (width + 15) / 16 * 16);
      }
      ++numStages;
    }
    if (!logits)
      return step.emitOpError() << "returns a value that no launch computes";
    LogitsOp::create(b, step.getLoc(), logits, logitsStride, argmaxPanels);
    return success();
  }
};

} // namespace
} // namespace ingot::rt
