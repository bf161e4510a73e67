//===- Streams.cpp --------------------------------------------------------------------------------------===//

#include "runtime/main/Streams.h"

#include "runtime/main/Options.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace ingot::main_ {

void openStreams() {
  std::signal(SIGPIPE, SIG_IGN);
  // open(2) gives the lowest free number, so a closed stream gets its own. The direction is the wrong one on
  // purpose: reading and writing fail as they do on a closed stream.
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream)
    if (::fcntl(stream, F_GETFD) < 0 && ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
      return;
}

bool outputFailed() { return std::ferror(stdout) != 0; }

int closeStreams(int status) {
  errno = 0;
  bool failed = outputFailed();
  failed = std::fflush(stdout) != 0 || failed;
  if (!failed)
    return status;
  if (errno != EPIPE)
    std::fprintf(stderr, "error: cannot write to standard output%s%s\n", errno ? ": " : "",
                 errno ? std::strerror(errno) : "");
  return ExitError;
}

} // namespace ingot::main_
