//===- Interrupt.h - Ctrl-C as a question that loops ask ------------------------------------------------===//
#ifndef INGOT_RUNTIME_MAIN_INTERRUPT_H
#define INGOT_RUNTIME_MAIN_INTERRUPT_H

namespace ingot::main_ {

/// Catches SIGINT for its lifetime; one at a time.
class InterruptScope {
public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope &) = delete;
  /// Whether SIGINT came since the last reset.
  bool raised() const;
  void reset();
  /// Waits until a read of `descriptor` would not block (true) or SIGINT is raised (false), be it before the
  /// call, during it or on another thread.
  bool waitForInput(int descriptor) const;
};

} // namespace ingot::main_

#endif // INGOT_RUNTIME_MAIN_INTERRUPT_H
