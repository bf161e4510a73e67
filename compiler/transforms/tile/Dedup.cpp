//===- Dedup.cpp - equal kernels share one body, and get their names -------------------------------===//
#include "compiler/support/Support.h"
#include "compiler/transforms/tile/Passes.h"
#include "dialects/tile/Describe.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/SymbolTable.h"

#include <map>
#include <set>

namespace ingot::transforms {
#define GEN_PASS_DEF_TILEDEDUPPASS
#include "compiler/transforms/tile/Passes.h.inc"
} // namespace ingot::transforms

using namespace mlir;

namespace ingot::tile {
namespace {

/// The kernel's text without its name and locations: equal texts mean equal code.
std::string textOf(KernelOp kernel) {
  std::string text;
  llvm::raw_string_ostream os(text);
  kernel->print(os, OpPrintingFlags().useLocalScope().enableDebugInfo(false));
  std::string name = ("@" + kernel.getSymName()).str();
  size_t at = text.find(name);
  assert(at != std::string::npos && "a kernel prints its name");
  return text.erase(at, name.size());
}

/// What people want to know of a kernel before its hash.
std::string shapeOf(KernelOp kernel) {
  auto matrix = [](qfmt::PackedType t) {
    return (t.getSchemeAttr().schemeName() + "_" + Twine(t.getRows()) + "x" + Twine(t.getCols())).str();
  };
  switch (kernel.getFamily()) {
  case Family::Embed:
    return matrix(describeEmbed(kernel)->table);
  case Family::Linear: {
    LinearDesc d = *describeLinear(kernel);
    return matrix(d.w) + (d.ropeKv ? "_rope_kv" : d.argmax ? "_argmax" : "");
  }
  case Family::Attention:
  case Family::AttnSplit: {
    AttentionDesc d = *describeAttention(kernel);
    return ("h" + Twine(d.qHeads) + "_kv" + Twine(d.kv.getHeads()) + "_d" + Twine(d.kv.getDim())).str();
  }
  case Family::AttnMerge: {
    PartialsType p = describeMerge(kernel)->partials;
    return ("h" + Twine(p.getHeads()) + "_d" + Twine(p.getDim())).str();
  }
  case Family::RopeKv: {
    RopeKvDesc d = *describeRopeKv(kernel);
    int64_t q = d.q.slot >= 0 ? d.qRope.heads : 0, kv = d.kv ? d.kv.getHeads() : 0;
    int64_t dim = d.q.slot >= 0 ? d.qRope.headDim : d.kRope.headDim;
    return ("h" + Twine(q) + "_kv" + Twine(kv) + "_d" + Twine(dim)).str();
  }
  case Family::Norm:
    return std::to_string(describeNorm(kernel)->out.width);
  case Family::Quantize:
    return std::to_string(describeQuantize(kernel)->out.width);
  case Family::Gate:
  case Family::Add:
  case Family::Select:
  case Family::Softcap:
  case Family::Scale:
    return std::to_string(describeElementwise(kernel)->out.width);
  }
  return "";
}

struct Dedup : transforms::impl::TileDedupPassBase<Dedup> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::map<std::string, KernelOp> byText;
    std::set<std::string> names;
    llvm::StringMap<StringAttr> renamed; // looked up only
    for (auto kernel : llvm::make_early_inc_range(module.getOps<KernelOp>())) {
      ++numBefore;
      std::string text = textOf(kernel);
      auto [it, first] = byText.try_emplace(text, kernel);
      if (!first) {
        renamed[kernel.getSymName()] = it->second.getSymNameAttr();
        kernel.erase();
        continue;
      }
      ++numAfter;
      std::string rows = kernel.getRows() ? std::to_string(kernel.getRows()) : "N";
      std::string name = ("k_" + stringifyFamily(kernel.getFamily()) + "_" + shapeOf(kernel) + "_m" + rows +
                          "_" + support::shortHash(text))
                             .str();
      while (!names.insert(name).second)
        name += "x"; // two texts with one hash
      StringAttr attr = StringAttr::get(&getContext(), name);
      renamed[kernel.getSymName()] = attr;
      kernel.setSymNameAttr(attr);
    }
    module.walk([&](LaunchOp launch) {
      if (StringAttr name = renamed.lookup(launch.getKernel()))
        launch.setKernelAttr(FlatSymbolRefAttr::get(name));
    });
  }
};

} // namespace
} // namespace ingot::tile
