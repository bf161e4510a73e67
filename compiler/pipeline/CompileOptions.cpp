//===- CompileOptions.cpp - every knob of one compile ---------------------------------------------------===//

#include "compiler/pipeline/CompileOptions.h"

namespace ingot::pipeline {

static constexpr const char *phaseNames[] = {"import", "model",   "quant",  "shape",
                                             "kernel", "program", "target", "package"};

const char *phaseName(Phase phase) { return phaseNames[static_cast<int>(phase)]; }

std::optional<Phase> parsePhase(const std::string &name) {
  for (int i = 0; i < 8; ++i)
    if (name == phaseNames[i])
      return static_cast<Phase>(i);
  return std::nullopt;
}

std::string CompileOptions::describe() const {
  std::string text = "targets=";
  for (size_t i = 0; i < targets.size(); ++i)
    text += (i ? "," : "") + targets[i];
  if (context)
    text += " ctx=" + std::to_string(*context);
  text += " max-seqs=" + std::to_string(maxSeqs) + " kv=" + kvDtype + " chunk=" + std::to_string(chunk) +
          " numerics=" + numerics;
  if (tune)
    text += " tune=" + tune->hash();
  return text;
}

} // namespace ingot::pipeline
