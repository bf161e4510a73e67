//===- Registry.cpp - the kernel registry of the code generators ----------------------------------===//
#include "codegen/target/Registry.h"
#include "codegen/cpu/Families.h"
#include "codegen/target/Targets.h"

using namespace ingot;

namespace {

class Registry final : public KernelRegistry {
public:
  KernelAnswer find(const KernelQuery &query) const override {
    KernelAnswer answer;
    if (query.isa == "ref")
      return reference(query);
    const target::Target *t = target::findTarget(query.isa);
    if (!t) {
      answer.refused.push_back("no target " + query.isa);
      return answer;
    }
    std::optional<tile::Family> family = tile::symbolizeFamily(query.family);
    if (!family) {
      answer.refused.push_back("no family " + query.family);
      return answer;
    }
    switch (*family) {
#define INGOT_FAMILY(name)                                                                                   \
  case tile::Family::name:                                                                                   \
    cpu::answer##name(query, *t, answer);                                                                    \
    break;
#include "codegen/cpu/Families.def"
    default:
      answer.refused.push_back("family " + query.family + " has no CPU kernel");
    }
    return answer;
  }

  int64_t generation() const override { return 3; }

  std::vector<std::string> targets() const override {
    std::vector<std::string> names;
    for (const target::Target &t : target::allTargets())
      names.push_back(t.name.str());
    names.push_back("ref");
    return names;
  }

  int64_t gemmBlock(const std::string &) const override { return 12; }

  RopeInLinear ropeInLinear(const std::string &isa) const override {
    const target::Target *t = target::findTarget(isa);
    if (!t) // the oracle's kernels have no fused epilogues
      return {"none", "the reference computes every operation by itself"};
    // With 8 lanes the epilogue of one panel was slower than a launch of its own when it was measured (960 x
    // 576 in Q4_1: 4 % of the projection, 13 % with 512 rows); units of several panels were not measured
    // there.
    if (!t->hasAvx512())
      return {"none", "slower on targets of 8 lanes"};
    return {};
  }

  bool argmaxHead(const std::string &isa) const override { return target::findTarget(isa) != nullptr; }

private:
  /// The oracle computes everything in f32 from unpacked f32 rows.
  static KernelAnswer reference(const KernelQuery &query) {
    KernelAnswer answer;
    bool matrix = query.family == "linear" || query.family == "embed";
    if (matrix && query.scheme != "f32") {
      answer.refused.push_back("ref: weights are f32");
      answer.hint = "--scheme=f32";
      return answer;
    }
    for (const std::string &key : query.keys)
      if (key == "argmax") {
        answer.refused.push_back("ref: the oracle stores the logits");
        answer.hint = "--isa, or argmax-head=false of tile-form-kernels";
        return answer;
      }
    KernelCandidate c;
    c.dot = query.family == "linear" ? "fma" : "";
    c.layout = matrix ? "row" : "";
    c.reason = "reference";
    answer.candidates.push_back(c);
    return answer;
  }
};

} // namespace

std::unique_ptr<KernelRegistry> ingot::target::createKernelRegistry() { return std::make_unique<Registry>(); }
