//===- FuseProjections.cpp - one linear for q, k, v and one for gate and up ------------------------===//
//
//   linear q, linear k, linear v of one input -> linear of a concatenated weight, three column slices
//   gate(linear g, linear u) of one input     -> linear of a weight interleaved by 16 rows, gate epilogue
//
// Saves reading (and quantizing) the activations again, launches and barriers; the gate epilogue also saves
// the round trip of two wide rows through memory. Each output element is the same dot product as before.
//
//===----------------------------------------------------------------------------------------------------===//
#include "compiler/transforms/llm/ParamUses.h"
#include "compiler/transforms/llm/Passes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace ingot::llm;

namespace ingot::transforms {
#define GEN_PASS_DEF_LLMFUSEPROJECTIONSPASS
#include "compiler/transforms/llm/Passes.h.inc"

namespace {

/// The names' common parts once, the first part that differs joined: a.q.w and a.k.w give a.q_k.w.
std::string joinNames(ArrayRef<ParamOp> params) {
  SmallVector<SmallVector<StringRef>> split;
  for (ParamOp param : params)
    llvm::SplitString(param.getSymName(), split.emplace_back(), ".");
  ArrayRef<StringRef> first = split[0];
  auto sameLength = [&](ArrayRef<StringRef> parts) { return parts.size() == first.size(); };
  size_t at = 0;
  if (!first.empty() && llvm::all_of(split, sameLength)) {
    while (at + 1 < first.size() &&
           llvm::all_of(split, [&](ArrayRef<StringRef> parts) { return parts[at] == first[at]; }))
      ++at;
    std::string name;
    for (size_t i = 0; i < first.size(); ++i) {
      if (i)
        name += '.';
      name += i != at ? first[i].str()
                      : llvm::join(llvm::map_range(split, [&](ArrayRef<StringRef> p) { return p[at]; }), "_");
    }
    return name;
  }
  return llvm::join(llvm::map_range(params, [](ParamOp p) { return p.getSymName(); }), "_");
}

/// The value reaches an attention's q, k or v through per-head norms and rope only.
bool feedsAttention(Value value) {
  for (Operation *user : value.getUsers()) {
    if (isa<AttentionOp, KvAppendOp>(user))
      return true;
    if (isa<RopeOp, RmsNormOp>(user) && feedsAttention(user->getResult(0)))
      return true;
  }
  return false;
}

struct LlmFuseProjectionsPass : impl::LlmFuseProjectionsPassBase<LlmFuseProjectionsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbolTable(module);
    ParamUses paramUses(module);
    symbols = &symbolTable;
    uses = &paramUses;
    for (StepOp step : module.getOps<StepOp>()) {
      for (GateOp gate : llvm::make_early_inc_range(step.bodyBlock().getOps<GateOp>()))
        if (failed(fuseGate(gate)))
          return signalPassFailure();
      if (failed(fuseAttentionInputs(step)))
        return signalPassFailure();
    }
  }

  ParamOp param(FlatSymbolRefAttr ref) { return ref ? symbols->lookup<ParamOp>(ref.getAttr()) : ParamOp(); }

  /// A linear with nothing but a bias behind it, whose parameters serve no one else.
  bool isPlain(LinearOp linear) {
    if (!linear || linear.getResidual() || linear.epilogueList().size() != (linear.getBiasAttr() ? 1u : 0u))
      return false;
    for (FlatSymbolRefAttr ref : {linear.getWAttr(), linear.getBiasAttr()})
      if (ParamOp p = param(ref); p && (!uses->usedOnce(p) || p.getRecipe() != Recipe::None))
        return false;
    return true;
  }

  /// Both can be rows of one parameter.
  static bool agree(ParamOp a, ParamOp b) {
    if (!a || !b)
      return !a && !b;
    qfmt::PackedType ta = a.packedType(), tb = b.packedType();
    return a.sourceScheme() == b.sourceScheme() && ta.getScheme() == tb.getScheme() &&
           ta.getLayout() == tb.getLayout() && ta.isVector() == tb.isVector() &&
           (ta.isVector() || ta.getCols() == tb.getCols()) && a.getOffsetAddAttr() == b.getOffsetAddAttr();
  }

  bool agree(LinearOp a, LinearOp b) {
    return a.getX() == b.getX() && agree(param(a.getWAttr()), param(b.getWAttr())) &&
           agree(param(a.getBiasAttr()), param(b.getBiasAttr()));
  }

  /// One parameter of all the given ones, in their order; erases them. Null, with a diagnostic, where the sum
  /// of the sizes is out of range.
  ParamOp combine(ArrayRef<ParamOp> parts, Recipe recipe) {
    SmallVector<Attribute> sources, tensors;
    SmallVector<int64_t> extents;
    SmallVector<Location> locs;
    int64_t total = 0;
    for (ParamOp part : parts) {
      qfmt::PackedType type = part.packedType();
      int64_t extent = type.isVector() ? type.getCols() : type.getRows();
      if (__builtin_add_overflow(total, extent, &total)) {
        part.emitError("the rows of the fused parameter overflow");
        return {};
      }
      extents.push_back(extent);
      sources.push_back(part.sourceList().front());
      tensors.push_back(part.getTensors().empty() ? Attribute(part.getSymNameAttr()) : part.getTensors()[0]);
      locs.push_back(part.getLoc());
    }
    ParamOp first = parts.front();
    qfmt::PackedType type = first.packedType();
    qfmt::PackedType fused = qfmt::PackedType::getChecked(
        [&] { return first.emitError(); }, &getContext(), type.isVector() ? 1 : total,
        type.isVector() ? total : type.getCols(), type.getScheme(), type.getLayout());
    if (!fused)
      return {};
    OpBuilder builder(first);
    auto created =
        ParamOp::create(builder, FusedLoc::get(&getContext(), locs), builder.getStringAttr(joinNames(parts)),
                        TypeAttr::get(fused), first.getSourceSchemeAttr(), builder.getArrayAttr(sources),
                        builder.getDenseI64ArrayAttr(extents), RecipeAttr::get(&getContext(), recipe),
                        first.getOffsetAddAttr(), builder.getArrayAttr(tensors));
    for (ParamOp part : parts)
      symbols->erase(part);
    symbols->insert(created);
    return created;
  }

  /// Combined weight and bias (null without one) of linears that agree.
  LogicalResult combineAll(ArrayRef<LinearOp> linears, Recipe recipe, ParamOp &w, ParamOp &bias) {
    SmallVector<ParamOp> weights, biases;
    for (LinearOp linear : linears) {
      weights.push_back(param(linear.getWAttr()));
      if (linear.getBiasAttr())
        biases.push_back(param(linear.getBiasAttr()));
    }
    w = combine(weights, recipe);
    bias = biases.empty() ? ParamOp() : combine(biases, recipe);
    return success(w && (biases.empty() || bias));
  }

  Location fusedLoc(ArrayRef<Operation *> ops) {
    SmallVector<Location> locs;
    for (Operation *op : ops)
      locs.push_back(op->getLoc());
    return FusedLoc::get(&getContext(), locs);
  }

  LogicalResult fuseGate(GateOp gate) {
    auto g = gate.getGate().getDefiningOp<LinearOp>(), u = gate.getUp().getDefiningOp<LinearOp>();
    if (!g || !u || g == u || !g->hasOneUse() || !u->hasOneUse() || !isPlain(g) || !isPlain(u) ||
        !agree(g, u))
      return success();
    int64_t rows = param(g.getWAttr()).packedType().getRows();
    if (rows != param(u.getWAttr()).packedType().getRows() || rows % 16 != 0)
      return success();
    ParamOp w, bias;
    if (failed(combineAll({g, u}, Recipe::Interleave16, w, bias)))
      return failure();
    SmallVector<Attribute> epilogue;
    if (bias)
      epilogue.push_back(EpilogueAttr::get(&getContext(), EpilogueKind::Bias));
    epilogue.push_back(EpilogueAttr::get(&getContext(), gate.getKind()));
    OpBuilder builder(gate);
    auto fused =
        LinearOp::create(builder, fusedLoc({g, u, gate}), gate.getType(), g.getX(), /*residual=*/Value(),
                         FlatSymbolRefAttr::get(w), bias ? FlatSymbolRefAttr::get(bias) : FlatSymbolRefAttr(),
                         builder.getArrayAttr(epilogue));
    gate.getResult().replaceAllUsesWith(fused.getResult());
    gate.erase();
    g.erase();
    u.erase();
    ++numInterleave;
    return success();
  }

  LogicalResult fuseAttentionInputs(StepOp step) {
    SmallVector<SmallVector<LinearOp>> groups;
    for (LinearOp linear : step.bodyBlock().getOps<LinearOp>()) {
      if (!isPlain(linear) || !feedsAttention(linear.getResult()))
        continue;
      auto *group = llvm::find_if(groups, [&](ArrayRef<LinearOp> g) { return agree(g.front(), linear); });
      if (group == groups.end())
        group = &groups.emplace_back();
      group->push_back(linear);
    }
    for (ArrayRef<LinearOp> group : groups)
      if (group.size() > 1 && failed(fuseGroup(group)))
        return failure();
    return success();
  }

  LogicalResult fuseGroup(ArrayRef<LinearOp> group) {
    ParamOp w, bias;
    if (failed(combineAll(group, Recipe::Concat, w, bias)))
      return failure();
    // The input dominates the first linear, and the first one comes before every use of the others.
    OpBuilder builder(group.front());
    SmallVector<Operation *> ops(group.begin(), group.end());
    LinearOp first = group.front();
    auto fused = LinearOp::create(builder, fusedLoc(ops), first.getX(), w, bias);
    int64_t offset = 0;
    for (LinearOp linear : group) {
      int64_t size = widthOf(linear.getResult());
      auto slice = SliceOp::create(builder, linear.getLoc(), fused.getResult(), offset, size);
      linear.getResult().replaceAllUsesWith(slice.getResult());
      offset += size;
    }
    for (LinearOp linear : group)
      linear.erase();
    numConcat += group.size();
    return success();
  }

  SymbolTable *symbols = nullptr;
  const ParamUses *uses = nullptr;
};

} // namespace
} // namespace ingot::transforms
