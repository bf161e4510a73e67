// Malformed models: every case is opened and built into a module, which is what any use of a model starts
// with. An expected refusal must be an error that names the file and one of the words of the manifest.
#include "BadCases.h"
#include "compiler/arch/Build.h"
#include "compiler/import/Model.h"
#include "mlir/IR/MLIRContext.h"
#include "runtime/token/Tokenizer.h"

using namespace ingot;
using namespace ingot::import_;

namespace {

/// The error of loading a model, empty if it loads.
std::string load(const std::string &path) {
  auto model = openModel(path);
  if (!model)
    return llvm::toString(model.takeError());
  // Every use of a tokenizer starts with the runtime's own checks.
  const std::vector<uint8_t> &blob = (*model)->tokenizer();
  std::string tokenizerFault;
  if (!blob.empty() && !token::Tokenizer::load(blob.data(), blob.size(), tokenizerFault))
    return path + ": tokenizer: " + tokenizerFault;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  std::string error;
  auto module = arch::buildModel(&context, **model, {}, error);
  EXPECT_EQ(!module, !error.empty()) << error;
  return error;
}

void check(const test::BadCase &c) {
  std::string text = load(c.path);
  if (c.expect == "accept" || c.when != "load") {
    EXPECT_EQ(text, "");
    return;
  }
  if (c.expect == "error")
    EXPECT_NE(text, "") << "was accepted: " << c.wrong;
  if (!text.empty())
    c.check(text);
}

TEST(BadModels, Shared) {
  if (!test::forEachSharedCase(check))
    GTEST_SKIP() << "no shared references";
}

TEST(BadModels, Compact) { test::forEachCompactCase(check); }

/// A chat template that cannot be used must not stop other uses of the model.
TEST(BadModels, ChatTemplateFaultsAreKept) {
  test::forEachCompactCase([](const test::BadCase &c) {
    if (c.id != "chat_not_utf8" && c.id != "hf_chat_number")
      return;
    auto model = openModel(c.path);
    ASSERT_TRUE(bool(model)) << llvm::toString(model.takeError());
    EXPECT_FALSE((*model)->chatTemplate());
    c.check((*model)->chatTemplateError().str());
  });
}

} // namespace
