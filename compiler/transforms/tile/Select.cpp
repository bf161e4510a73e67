//===- Select.cpp - schedules, dot kinds and layouts from the kernel registry ----------------------===//
#include "compiler/support/TuneProfile.h"
#include "compiler/transforms/tile/Passes.h"
#include "compiler/transforms/tile/Query.h"
#include "dialects/llm/Llm.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <map>
#include <set>

namespace ingot::transforms {
#define GEN_PASS_DEF_TILESELECTPASS
#include "compiler/transforms/tile/Passes.h.inc"
} // namespace ingot::transforms

using namespace mlir;

namespace ingot::tile {
namespace {

struct Select : transforms::impl::TileSelectPassBase<Select> {
  using TileSelectPassBase::TileSelectPassBase;
  Select() = default;
  Select(const KernelRegistry &registry, StringRef target, const TuneProfile *profile)
      : registry(&registry), profile(profile) {
    isa = target.str();
  }
  Select(const Select &other) : TileSelectPassBase(other), registry(other.registry), profile(other.profile) {}

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!registry) {
      module.emitError() << "tile-select has no kernel registry";
      return signalPassFailure();
    }
    if (!llvm::is_contained(registry->targets(), isa.getValue())) {
      module.emitError() << "unknown target '" << isa << "'; --isa takes "
                         << llvm::join(registry->targets(), ", ");
      return signalPassFailure();
    }
    for (llm::ConfigOp config : module.getOps<llm::ConfigOp>())
      fast = config.getNumerics() == llm::Numerics::Fast;
    TuneProfile file;
    if (!profile && !tune.empty()) {
      llvm::Expected<TuneProfile> read = TuneProfile::read(tune);
      if (!read) {
        emitError(module.getLoc()) << "--tune: " << llvm::toString(read.takeError());
        return signalPassFailure();
      }
      file = std::move(*read);
      profile = &file;
    }
    // One launch of each kernel, to name its params in messages.
    std::map<StringRef, LaunchOp> users;
    module.walk([&](LaunchOp op) { users.try_emplace(op.getKernel(), op); });
    for (KernelOp kernel : module.getOps<KernelOp>())
      if (failed(select(kernel, users)))
        return signalPassFailure();
    if (profile)
      warnOfProfile(module);
    if (profile == &file)
      profile = nullptr;
  }

  /// The profile's schedule of that prototype, among all that the registry offers, which `all` then holds; or
  /// null.
  const KernelCandidate *tuned(KernelQuery query, KernelAnswer &all) {
    const TuneEntry *entry = profile->find(tuneKey(query));
    if (!entry)
      return nullptr;
    met.insert(entry->key);
    if (profile->generation() == registry->generation()) {
      query.allSchedules = true;
      all = registry->find(query);
      for (const KernelCandidate &c : all.candidates)
        if (tuneSchedule(c) == entry->schedule)
          return &c;
    }
    stale.insert(entry->key);
    return nullptr;
  }

  /// Says what of a profile was of no use. The kernels of other targets and models in it are none of it.
  void warnOfProfile(ModuleOp module) {
    if (!stale.empty())
      emitWarning(module.getLoc()) << "--tune: " << stale.size() << " of the " << met.size()
                                   << " entries for kernels of this model on " << isa << " no longer apply, "
                                   << (profile->generation() == registry->generation()
                                           ? "the kernels have no such schedules"
                                           : "the kernels have changed since they were timed")
                                   << "; 'ingot tune' times them again";
    else if (met.empty() && isa != "ref")
      emitWarning(module.getLoc()) << "--tune: the profile has no kernel of this model on " << isa;
    met.clear();
    stale.clear();
  }

  LogicalResult select(KernelOp kernel, std::map<StringRef, LaunchOp> &users) {
    KernelQuery query = queryOf(kernel, isa);
    query.fast = fast;
    KernelAnswer answer = registry->find(query);
    if (answer.candidates.empty())
      return refuse(kernel, query, answer, users);
    const KernelCandidate *best = &answer.candidates.front();
    for (const KernelCandidate &c : answer.candidates)
      if (c.cost < best->cost)
        best = &c;
    KernelAnswer all;
    bool isTuned = false;
    if (profile)
      if (const KernelCandidate *measured = tuned(query, all)) {
        best = measured;
        isTuned = true;
        ++numTuned;
      }
    if (failed(applySchedule(kernel, *best, isa)))
      return failure();
    std::string reason;
    llvm::raw_string_ostream os(reason);
    os << (isTuned ? "tuned, " : "") << best->reason << llvm::format(" (%.0f ns)", best->cost);
    kernel.setReason(reason);
    Builder b(kernel.getContext());
    // What tile-form-kernels refused comes first.
    SmallVector<StringRef> refused;
    if (std::optional<ArrayAttr> formed = kernel.getRefused())
      for (Attribute one : *formed)
        refused.push_back(cast<StringAttr>(one).getValue());
    refused.append(answer.refused.begin(), answer.refused.end());
    if (!refused.empty())
      kernel.setRefusedAttr(b.getStrArrayAttr(refused));
    ++numSelected;
    return success();
  }

  LogicalResult refuse(KernelOp kernel, const KernelQuery &q, const KernelAnswer &answer,
                       std::map<StringRef, LaunchOp> &users) {
    auto diag = kernel.emitError() << "no kernel for op '" << q.family << "'";
    if (auto it = users.find(kernel.getSymName()); it != users.end() && !it->second.getParams().empty())
      diag << " of tensor " << it->second.getParams()[0];
    if (!q.scheme.empty())
      diag << " with scheme " << q.scheme << " (" << q.n << "x" << q.k << ")";
    else if (q.headDim || q.vDim)
      diag << " with heads of " << (q.headDim ? q.headDim : q.vDim);
    diag << " on target " << q.isa << " for " << (q.rows ? std::to_string(q.rows) : "any number of")
         << " rows";
    for (const std::string &why : answer.refused)
      diag.attachNote(kernel.getLoc()) << why;
    diag << "; change it by " << (answer.hint.empty() ? "--isa" : answer.hint);
    return diag;
  }

  const KernelRegistry *registry = nullptr;
  bool fast = false;
  const TuneProfile *profile = nullptr;
  std::set<std::string> met, stale; ///< keys of the profile's entries for kernels of the module
};

} // namespace

} // namespace ingot::tile

std::unique_ptr<Pass> ingot::transforms::createTileSelectPass(const KernelRegistry &registry, StringRef isa,
                                                              const TuneProfile *profile) {
  return std::make_unique<tile::Select>(registry, isa, profile);
}
