//===- PlanMemory.cpp - offsets of buffers and weights ---------------------------------------------===//
//
// Arena buffers live from the stage that writes them to the last stage that reads them: inside a stage
// workers are not ordered. Private buffers live from launch to launch, since one worker runs them in order.
// Placement is greedy, largest first, at the lowest offset that is free over the whole lifetime.
//
//===----------------------------------------------------------------------------------------------------===//
#include "compiler/transforms/rt/Access.h"
#include "compiler/transforms/rt/Passes.h"
#include "dialects/llm/Llm.h"
#include "dialects/rt/Limits.h"
#include "dialects/tile/Tile.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/SymbolTable.h"

namespace ingot::transforms {
#define GEN_PASS_DEF_RTPLANMEMORYPASS
#include "compiler/transforms/rt/Passes.h.inc"
} // namespace ingot::transforms

using namespace mlir;

namespace ingot::rt {
namespace {

/// Memory of one or more buffers that share a place.
struct Cell {
  SmallVector<BufferOp, 2> buffers;
  Space space = Space::Arena;
  bool outRows = false;
  int64_t bytes = 0;
  int64_t first = INT64_MAX, last = -1; ///< stages (arena) or launches (private), inclusive
  int64_t offset = -1;

  bool livesWith(const Cell &other) const { return first <= other.last && other.first <= last; }
};

class Planner {
public:
  Planner(ProgramOp program, SymbolTable &symbols) : program(program), symbols(symbols) {}

  LogicalResult run(int64_t &inPlace) {
    for (auto buffer : program.block().getOps<BufferOp>()) {
      cellOf[buffer] = cells.size();
      Cell cell;
      cell.buffers.push_back(buffer);
      cell.space = buffer.getSpace();
      cell.outRows = buffer.getOutRows();
      cell.bytes = (buffer.getBytes() + kAlign - 1) / kAlign * kAlign;
      cells.push_back(cell);
    }
    places = placesOf(program);
    int64_t end = 0;
    for (Place &place : places)
      for (Value slot : place.launch.getSlots())
        extend(slot, place);
    for (StageOp stage : stagesOf(program)) {
      end = stage.getIndex();
      for (auto tap : stage.block().getOps<TapOp>()) {
        Cell &cell = cells[cellOf[bufferOf(tap.getSlot())]];
        // Worker 0 reads a private tap once the stage is over.
        int64_t at = cell.space == Space::Arena ? stage.getIndex() : lastOrderOf(stage);
        cell.last = std::max(cell.last, at);
      }
    }
    Cell &logits = cells[cellOf[bufferOf(program.logits().getSlot())]];
    logits.last = std::max(logits.last, end + 1);

    for (Place &place : places)
      inPlace += share(place);

    int64_t arena = 0, priv = 0;
    place(Space::Arena, false, 0, arena);
    place(Space::Arena, true, arena, arena);
    place(Space::Private, false, 0, priv);
    place(Space::Private, true, 0, priv);
    for (Cell &cell : cells)
      for (BufferOp buffer : cell.buffers)
        buffer.setOffset(cell.offset);
    program.setArenaBytes(arena);
    program.setPrivateBytes(priv);
    return success();
  }

private:
  int64_t timeOf(const Cell &cell, const Place &p) { return cell.space == Space::Arena ? p.stage : p.order; }
  int64_t lastOrderOf(StageOp stage) {
    int64_t last = 0;
    for (Place &p : places)
      if (p.stage <= stage.getIndex())
        last = p.order;
    return last;
  }
  void extend(Value slot, const Place &p) {
    Cell &cell = cells[cellOf[bufferOf(slot)]];
    cell.first = std::min(cell.first, timeOf(cell, p));
    cell.last = std::max(cell.last, timeOf(cell, p));
  }

  /// Lets the launch's output take the place of an input that dies there. Returns the number of such outputs.
  int64_t share(const Place &p) {
    LaunchOp launch = p.launch;
    auto kernel = symbols.lookup<tile::KernelOp>(launch.getKernel());
    if (!kernel)
      return 0;
    SmallVector<Value> ins = reads(launch), outs = writes(launch);
    for (auto [o, out] : llvm::enumerate(outs))
      for (auto [i, in] : llvm::enumerate(ins)) {
        size_t from = cellOf[bufferOf(in)], to = cellOf[bufferOf(out)];
        Cell &a = cells[from], &b = cells[to];
        if (from == to || a.space != b.space || a.bytes != b.bytes || a.outRows != b.outRows ||
            a.last != timeOf(a, p) || !kernel.mayAlias(i, o) || llvm::count(ins, in) != 1)
          continue;
        // Nobody else of this stage may read the input: workers are not ordered inside a stage.
        bool alone = true;
        for (Place other : places)
          if (other.launch != launch && other.stage == p.stage && a.space == Space::Arena)
            for (Value slot : other.launch.getSlots())
              alone &= cellOf[bufferOf(slot)] != from;
        if (a.space == Space::Arena)
          for (auto tap : launch->getParentOfType<StageOp>().block().getOps<TapOp>())
            alone &= cellOf[bufferOf(tap.getSlot())] != from;
        if (!alone)
          continue;
        a.first = std::min(a.first, b.first);
        a.last = std::max(a.last, b.last);
        for (BufferOp buffer : b.buffers) {
          a.buffers.push_back(buffer);
          cellOf[buffer] = from;
        }
        b.buffers.clear();
        return 1;
      }
    return 0;
  }

  void place(Space space, bool outRows, int64_t base, int64_t &peak) {
    SmallVector<size_t> order;
    for (size_t i = 0; i < cells.size(); ++i)
      if (!cells[i].buffers.empty() && cells[i].space == space && cells[i].outRows == outRows)
        order.push_back(i);
    llvm::sort(order, [&](size_t a, size_t b) {
      return std::make_pair(-cells[a].bytes, a) < std::make_pair(-cells[b].bytes, b);
    });
    for (size_t i : order) {
      Cell &cell = cells[i];
      SmallVector<std::pair<int64_t, int64_t>> taken;
      for (const Cell &other : cells)
        if (other.offset >= 0 && other.space == space && cell.livesWith(other))
          taken.push_back({other.offset, other.offset + other.bytes});
      llvm::sort(taken);
      int64_t at = base;
      for (auto [from, to] : taken)
        if (at + cell.bytes > from)
          at = std::max(at, to);
        else
          break;
      cell.offset = at;
      peak = std::max(peak, at + cell.bytes);
    }
  }

  ProgramOp program;
  SymbolTable &symbols;
  SmallVector<Cell> cells;
  llvm::DenseMap<Operation *, size_t> cellOf; // looked up only
  SmallVector<Place> places;
};

struct PlanMemory : transforms::impl::RtPlanMemoryPassBase<PlanMemory> {
  void runOnOperation() override {
    mlir::ModuleOp module = getOperation();
    SymbolTable symbols(module);
    int64_t inPlace = 0;
    for (auto program : module.getOps<ProgramOp>()) {
      if (failed(Planner(program, symbols).run(inPlace)))
        return signalPassFailure();
      arenaPeak.updateMax(program.getArenaBytes());
      privatePeak.updateMax(program.getPrivateBytes());
    }
    numInPlace += inPlace;
    if (failed(planWeights(module, symbols)))
      return signalPassFailure();
  }

  static LogicalResult planWeights(mlir::ModuleOp module, SymbolTable &symbols) {
    auto facts = module.getOps<rt::ModuleOp>();
    if (facts.empty())
      return module.emitError() << "rt-plan-memory needs rt.module: run rt-lower first";
    OpBuilder b(module.getContext());
    b.setInsertionPointToEnd(module.getBody());
    llvm::DenseSet<Attribute> seen; // looked up only
    int64_t offset = 0;
    WalkResult result = module.walk([&](LaunchOp launch) {
      for (auto ref : launch.getWeights().getAsRange<FlatSymbolRefAttr>()) {
        if (!seen.insert(ref).second)
          continue;
        auto param = symbols.lookup<llm::ParamOp>(ref.getValue());
        if (!param) {
          launch.emitOpError() << "no llm.param " << ref;
          return WalkResult::interrupt();
        }
        auto type = param.packedType();
        std::optional<int64_t> bytes =
            qfmt::packedBytes(type.getScheme(), type.getLayout(), type.getRows(), type.getCols());
        int64_t end;
        if (!bytes || __builtin_add_overflow(offset, *bytes + kAlign - 1, &end)) {
          param.emitOpError() << "size of " << type << " does not fit";
          return WalkResult::interrupt();
        }
        WeightOp::create(b, param.getLoc(), ref, b.getI64IntegerAttr(offset), b.getI64IntegerAttr(*bytes));
        offset = end / kAlign * kAlign;
      }
      return WalkResult::advance();
    });
    (*facts.begin()).setWeightBytes(offset);
    return failure(result.wasInterrupted());
  }
};

} // namespace
} // namespace ingot::rt
