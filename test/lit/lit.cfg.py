# IR and tool tests. Run by the target check-lit, or: lit -sv <build>/test/lit
import os

import lit.formats

config.name = "ingot"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = config.ingot_obj
config.environment["PATH"] = os.pathsep.join(
    [config.ingot_bin, config.llvm_tools_dir, config.environment.get("PATH", "")])

# Full references; tests that need them say REQUIRES: shared.
config.substitutions.append(("%shared", config.ingot_shared))
config.substitutions.append(("%golden", os.path.join(config.ingot_src, "test", "golden")))
config.substitutions.append(("%src", config.ingot_src))
if os.path.isdir(os.path.join(config.ingot_shared, "golden")):
    config.available_features.add("shared")
for tool in ["ingot", "ingot-translate"]:
    if os.path.exists(os.path.join(config.ingot_bin, tool)):
        config.available_features.add(tool)
