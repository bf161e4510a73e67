//===- InterruptTest.cpp - Ctrl-C ends a wait for input, whenever and wherever it comes
//------------------===//

#include "runtime/main/Interrupt.h"

#include <chrono>
#include <csignal>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

namespace {

using ingot::main_::InterruptScope;

class Interrupt : public ::testing::Test {
protected:
  void SetUp() override { ASSERT_EQ(pipe(ends), 0); }
  void TearDown() override {
    close(ends[0]);
    close(ends[1]);
  }
  void send() { ASSERT_EQ(write(ends[1], "x", 1), 1); }

  InterruptScope scope;
  int ends[2];
};

TEST_F(Interrupt, BeforeTheWait) {
  raise(SIGINT);
  send();
  EXPECT_FALSE(scope.waitForInput(ends[0]));
  EXPECT_TRUE(scope.raised());
  scope.reset();
  EXPECT_FALSE(scope.raised());
  EXPECT_TRUE(scope.waitForInput(ends[0]));
}

TEST_F(Interrupt, OnAnotherThread) {
  // The signal is this thread's alone, so no call of the waiting one is interrupted by it; input later ends a
  // wait that missed it.
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    pthread_kill(pthread_self(), SIGINT);
    std::this_thread::sleep_for(std::chrono::seconds(2));
    send();
  });
  bool input = scope.waitForInput(ends[0]);
  EXPECT_FALSE(input);
  other.join();
}

TEST_F(Interrupt, EndOfInput) {
  int end = ends[0];
  close(ends[1]);
  EXPECT_TRUE(scope.waitForInput(end));
  close(end);
  ASSERT_EQ(pipe(ends), 0);
}

} // namespace
