//===- Streams.h - the standard streams at start and end of a program -----------------------------------===//
//
// At start each of the descriptors 0, 1 and 2 is open, so that no file takes the place of a stream that the
// caller closed. At the end what could not be written is an error: a full disk must not look like an answer.
//
//===------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_RUNTIME_MAIN_STREAMS_H
#define INGOT_RUNTIME_MAIN_STREAMS_H

namespace ingot::main_ {

/// Call first in main. Also makes a reader that goes away a failed write instead of a signal.
void openStreams();

/// Whether a write to standard output failed; loops that produce an answer stop then.
bool outputFailed();

/// Flushes standard output. `status`, or ExitError with a message where something was not written (without a
/// message where the reader went away).
int closeStreams(int status);

} // namespace ingot::main_

#endif // INGOT_RUNTIME_MAIN_STREAMS_H
