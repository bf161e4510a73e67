//===- Targets.cpp - the CPU variants that a caller asks for --------------------------------------------===//

#include "compiler/api/Targets.h"

#include "compiler/api/ingot.h"
#include "compiler/pipeline/CompileOptions.h"

#include <algorithm>
#include <sstream>

namespace ingot::api {

cpu::Variant variantOf(const std::string &isa) {
  for (const pipeline::TargetInfo &target : pipeline::knownTargets())
    if (target.name == (isa == "ref" ? "avx2" : isa))
      return {isa, target.features};
  return {isa, ""};
}

int chooseVariant(const std::vector<std::string> &isas, const std::string &forced, std::string &error) {
  std::vector<cpu::Variant> variants;
  for (const std::string &isa : isas)
    variants.push_back(variantOf(isa));
  bool wantsAmx = std::any_of(variants.begin(), variants.end(), [&](const cpu::Variant &v) {
    return v.features.find("amx-") != std::string::npos && (forced.empty() || forced == v.isa);
  });
  return cpu::chooseVariant(variants, cpu::CpuFeatures::detect(/*requestAmx=*/wantsAmx), forced, error);
}

int32_t expandTargets(const std::string &text, bool fast, std::vector<std::string> &out, std::string &error) {
  const std::vector<pipeline::TargetInfo> known = pipeline::knownTargets();
  if (text == "ref") {
    out = {"ref"};
    return INGOT_OK;
  }
  if (text == "all" || text == "native") {
    for (const pipeline::TargetInfo &target : known)
      if (fast || !target.fastOnly)
        out.push_back(target.name);
    if (text == "all")
      return INGOT_OK;
    int best = chooseVariant(out, "", error);
    if (best < 0)
      return INGOT_UNSUPPORTED;
    out = {out[static_cast<size_t>(best)]};
    return INGOT_OK;
  }
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    auto found = std::find_if(known.begin(), known.end(), [&](const pipeline::TargetInfo &target) {
      return target.name == word || target.cpu == word;
    });
    if (word == "native" || word == "all" || word == "ref") {
      error = "--target: '" + word + "' stands alone";
      return INGOT_INVALID;
    }
    if (found == known.end()) {
      error = "--target: unknown target '" + word + "'; known are native, all";
      for (const pipeline::TargetInfo &target : known)
        error += ", " + target.name;
      return INGOT_INVALID;
    }
    if (std::find(out.begin(), out.end(), found->name) == out.end())
      out.push_back(found->name);
  }
  if (out.empty()) {
    error = "--target: no target given";
    return INGOT_INVALID;
  }
  return INGOT_OK;
}

} // namespace ingot::api
