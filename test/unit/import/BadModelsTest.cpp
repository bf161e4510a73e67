// Malformed models: every case of the manifest is opened; an expected refusal must be an error that names
// the file and one of the words of the manifest. The compact part of the cases lies in test/golden/bad.
#include "TestPaths.h"
#include "compiler/import/Model.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include <gtest/gtest.h>

using namespace ingot;
using namespace ingot::import_;

namespace {

/// Faults that only the architecture can see (contents against metadata): opening succeeds.
const llvm::StringSet<> kArchitecture = {"missing_norm",
                                         "no_tensors",
                                         "norm_short",
                                         "embedding_length_0",
                                         "heads_0",
                                         "kv_heads_0",
                                         "layers_2p31",
                                         "layers_negative",
                                         "layers_missing",
                                         "rope_dims_more",
                                         "rope_base_0",
                                         "eps_negative",
                                         "eps_missing",
                                         "arch_unknown",
                                         "arch_other",
                                         "tokens_more",
                                         "head_count_array_short",
                                         "hf_st_dtype_i8",
                                         "hf_st_scalar",
                                         "hf_cfg_no_hidden",
                                         "hf_cfg_type_unknown",
                                         "hf_cfg_layers_string",
                                         "hf_cfg_layers_huge",
                                         "hf_cfg_layers_negative",
                                         "hf_cfg_heads_0",
                                         "hf_cfg_kv_heads",
                                         "hf_cfg_head_dim_odd",
                                         "hf_cfg_vocab",
                                         "hf_cfg_eps",
                                         "hf_cfg_rope_type",
                                         "hf_cfg_rope_missing",
                                         "hf_cfg_untied",
                                         "hf_tok_id_range"};

void runCases(const std::string &dir) {
  auto manifest = parseJsonObjectFile(dir + "/manifest.json");
  if (!manifest) {
    llvm::consumeError(manifest.takeError());
    GTEST_SKIP() << "no " << dir;
  }
  unsigned run = 0;
  for (const JsonValue &entry : *manifest->get("cases")->array()) {
    const std::string &id = *entry.get("id")->string();
    std::string path = dir + "/" + *entry.get("path")->string();
    if (!llvm::sys::fs::exists(path))
      continue;
    SCOPED_TRACE(id);
    ++run;
    const std::string &expect = *entry.get("expect")->string(), &when = *entry.get("when")->string();
    auto model = openModel(path);
    std::string text = model ? "" : llvm::toString(model.takeError());
    if (expect == "accept" || when != "load") {
      EXPECT_EQ(text, "");
      continue;
    }
    if (expect == "error" && !kArchitecture.contains(id))
      EXPECT_NE(text, "") << "was opened: " << *entry.get("wrong")->string();
    if (text.empty())
      continue;
    std::string lower = llvm::StringRef(text).lower();
    std::string stem = llvm::StringRef(path).rsplit('/').second.str();
    if (size_t split = stem.find("-0000"); split != std::string::npos)
      stem = stem.substr(0, split);
    EXPECT_NE(text.find(stem), std::string::npos) << text;
    const JsonValue::Array &words = *entry.get("mention")->array();
    bool mentioned = words.empty();
    for (const JsonValue &word : words)
      mentioned |= lower.find(llvm::StringRef(*word.string()).lower()) != std::string::npos;
    EXPECT_TRUE(mentioned) << text;
  }
  EXPECT_GT(run, 0u);
}

TEST(BadModels, Shared) { runCases(test::sharedDir() + "/golden/bad"); }
TEST(BadModels, Compact) { runCases(test::compactDir() + "/bad"); }

} // namespace
