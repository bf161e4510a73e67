//===- Interrupt.cpp - Ctrl-C as a question that loops ask ----------------------------------------------===//

#include "runtime/main/Interrupt.h"

#include <csignal>

namespace ingot::main_ {

// A signal handler can reach nothing but a global.
static volatile std::sig_atomic_t interrupted = 0;

static void onInterrupt(int) { interrupted = 1; }

InterruptScope::InterruptScope() {
  reset();
  struct sigaction action{};
  action.sa_handler = onInterrupt;
  // No SA_RESTART: waiting for a line of input ends too.
  sigaction(SIGINT, &action, nullptr);
}

InterruptScope::~InterruptScope() { std::signal(SIGINT, SIG_DFL); }
bool InterruptScope::raised() const { return interrupted != 0; }
void InterruptScope::reset() { interrupted = 0; }

} // namespace ingot::main_
