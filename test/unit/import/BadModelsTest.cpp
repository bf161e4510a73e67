// Malformed models at the level of files: every case is opened; an expected refusal must be an error that
// names the file and one of the words of the manifest.
#include "BadCases.h"
#include "compiler/import/Model.h"
#include "llvm/ADT/StringSet.h"

using namespace ingot;
using namespace ingot::import_;

namespace {

/// Faults that only the architecture can see (contents against metadata): opening may succeed.
bool needsArchitecture(llvm::StringRef id) {
  static const llvm::StringSet<> ids = {"missing_norm",
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
                                        "hf_st_dtype_i8",
                                        "hf_cfg_no_hidden",
                                        "head_count_array_short",
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
  return ids.contains(id);
}

void checkOpening(const test::BadCase &c) {
  auto model = openModel(c.path);
  std::string text = model ? "" : llvm::toString(model.takeError());
  if (c.expect == "accept" || c.when != "load") {
    EXPECT_EQ(text, "");
    return;
  }
  if (c.expect == "error" && !needsArchitecture(c.id))
    EXPECT_NE(text, "") << "was opened: " << c.wrong;
  if (!text.empty())
    c.check(text);
}

TEST(BadModels, Shared) {
  if (!test::forEachSharedCase(checkOpening))
    GTEST_SKIP() << "no shared references";
}

TEST(BadModels, Compact) { test::forEachCompactCase(checkOpening); }

} // namespace
