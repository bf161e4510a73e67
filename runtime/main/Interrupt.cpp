//===- Interrupt.cpp - Ctrl-C as a question that loops ask ----------------------------------------------===//

#include "runtime/main/Interrupt.h"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace ingot::main_ {

// A signal handler can reach nothing but globals. The event wakes a wait for input: the signal alone would
// not when it comes just before the wait, or on one of the workers' threads.
static volatile std::sig_atomic_t interrupted = 0;
static int event = -1;

static void onInterrupt(int) {
  int saved = errno;
  interrupted = 1;
  uint64_t one = 1;
  [[maybe_unused]] ssize_t written = write(event, &one, sizeof one);
  errno = saved;
}

InterruptScope::InterruptScope() {
  event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  reset();
  struct sigaction action{};
  action.sa_handler = onInterrupt;
  sigaction(SIGINT, &action, nullptr);
}

InterruptScope::~InterruptScope() {
  std::signal(SIGINT, SIG_DFL);
  close(event);
  event = -1;
}

bool InterruptScope::raised() const { return interrupted != 0; }

void InterruptScope::reset() {
  uint64_t count;
  [[maybe_unused]] ssize_t taken = read(event, &count, sizeof count);
  interrupted = 0;
}

bool InterruptScope::waitForInput(int descriptor) const {
  while (!raised()) {
    pollfd wanted[] = {{descriptor, POLLIN, 0}, {event, POLLIN, 0}};
    int ready = poll(wanted, 2, -1);
    if (ready < 0 && errno == EINTR)
      continue;
    // What poll cannot wait for (an error, an end), the read itself tells.
    if (ready < 0 || wanted[0].revents != 0)
      return !raised();
  }
  return false;
}

} // namespace ingot::main_
