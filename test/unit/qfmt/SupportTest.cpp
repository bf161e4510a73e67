//===- SupportTest.cpp - the compiler's shared helpers ---------------------------------------------===//
#include "compiler/support/Support.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <gtest/gtest.h>

#include <limits>

using namespace ingot::support;

namespace {

constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();

TEST(Support, CheckedArithmetic) {
  EXPECT_EQ(checkedAdd(kMax - 1, 1), kMax);
  EXPECT_EQ(checkedAdd(kMax, 1), std::nullopt);
  EXPECT_EQ(checkedMul(kMax / 3, 3), kMax / 3 * 3);
  EXPECT_EQ(checkedMul(kMax / 2 + 1, 2), std::nullopt);
  EXPECT_EQ(checkedRoundUp(65, 64), 128u);
  EXPECT_EQ(checkedRoundUp(64, 64), 64u);
  EXPECT_EQ(checkedRoundUp(kMax - 3, 64), std::nullopt);
  EXPECT_EQ(checkedRoundUp(7, 0), std::nullopt);
}

TEST(Support, ShortHash) {
  // FNV-1a of the empty string is its offset basis cbf29ce484222325; of "a" it is af63dc4c8601ec8c.
  EXPECT_EQ(shortHash(""), "4fd0bfc1");
  EXPECT_EQ(shortHash("a"), "296230c0");
  EXPECT_NE(shortHash("ab"), shortHash("ba"));
}

TEST(Support, WriteFileAtomically) {
  llvm::SmallString<128> dir;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("ingot-support", dir));
  std::string path = (dir + "/out").str();
  ASSERT_FALSE(static_cast<bool>(writeFileAtomically(path, "first")));
  ASSERT_FALSE(static_cast<bool>(writeFileAtomically(path, "second")));
  auto buffer = llvm::MemoryBuffer::getFile(path);
  ASSERT_TRUE(buffer);
  EXPECT_EQ((*buffer)->getBuffer(), "second");
  llvm::Error error = writeFileAtomically((dir + "/missing/out").str(), "x");
  EXPECT_TRUE(static_cast<bool>(error));
  llvm::consumeError(std::move(error));
  llvm::sys::fs::remove_directories(dir);
}

} // namespace
