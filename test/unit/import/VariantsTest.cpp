// The structural variants of one GGUF model: other versions, alignments, orders and splits of the same
// tensors. Each must give the same index and the same bytes.
#include "TestPaths.h"
#include "compiler/import/FileView.h"
#include "compiler/import/Model.h"
#include "llvm/Support/FileSystem.h"
#include <gtest/gtest.h>

using namespace ingot;
using namespace ingot::import_;

namespace {

std::string bytesOf(const ModelSource &model, const TensorInfo &tensor) {
  auto view = viewFile(model.files()[tensor.file]);
  if (!view) {
    ADD_FAILURE() << llvm::toString(view.takeError());
    return "";
  }
  return (*view)->getBuffer().substr(tensor.offset, tensor.bytes).str();
}

TEST(Variants, SameTensors) {
  std::string dir = test::sharedDir() + "/golden/gguf/";
  auto manifest = parseJsonObjectFile(dir + "variants.json");
  if (!manifest) {
    llvm::consumeError(manifest.takeError());
    GTEST_SKIP() << "no shared references";
  }
  auto base = openModel(dir + *manifest->get("same_as")->string() + ".gguf");
  ASSERT_TRUE(bool(base)) << llvm::toString(base.takeError());
  unsigned count = 0;
  for (const auto &[name, entry] : *manifest->get("variants")->object()) {
    SCOPED_TRACE(name);
    auto other = openModel(dir + *entry.get("files")->array()->front().string());
    ASSERT_TRUE(bool(other)) << llvm::toString(other.takeError());
    EXPECT_EQ((*other)->files().size(), entry.get("files")->array()->size());
    EXPECT_EQ((*other)->architecture(), (*base)->architecture());
    EXPECT_EQ((*other)->tokenizer(), (*base)->tokenizer());
    EXPECT_EQ((*other)->chatTemplate(), (*base)->chatTemplate());
    EXPECT_EQ((*other)->generation().eos, (*base)->generation().eos);
    ASSERT_EQ((*other)->tensors().size(), (*base)->tensors().size());
    for (const TensorInfo &tensor : (*base)->tensors()) {
      const TensorInfo *same = (*other)->find(tensor.name);
      ASSERT_TRUE(same) << tensor.name;
      EXPECT_EQ(same->scheme, tensor.scheme);
      EXPECT_EQ(same->shape, tensor.shape);
      EXPECT_EQ(bytesOf(**other, *same), bytesOf(**base, tensor)) << tensor.name;
    }
    ++count;
  }
  EXPECT_EQ(count, 10u);
}

TEST(Variants, SecondPartIsRefused) {
  std::string path = test::sharedDir() + "/golden/gguf/llama-mini.split-00002-of-00003.gguf";
  if (!llvm::sys::fs::exists(path))
    GTEST_SKIP() << "no shared references";
  auto model = openModel(path);
  ASSERT_FALSE(bool(model));
  EXPECT_NE(llvm::toString(model.takeError()).find("first part"), std::string::npos);
}

} // namespace
