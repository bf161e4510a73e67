//===- Stepper.h - steps of the model by hand -----------------------------------------------------------===//
//
// What measuring needs: steps over sequences of given lengths with made-up ids, no tokenizing, no sampling,
// no engine.
//
//===------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_RUNTIME_MAIN_STEPPER_H
#define INGOT_RUNTIME_MAIN_STEPPER_H

#include "runtime/core/Executor.h"

#include <string>
#include <vector>

namespace ingot::main_ {

class Stepper {
public:
  /// `sequences` sequences of at most `positions` tokens each; the executor has pages(..) KV pages and more
  /// positions than that.
  Stepper(core::Executor &executor, int64_t sequences, int64_t positions);
  /// KV pages that these need.
  static int64_t pages(int64_t sequences, int64_t positions) {
    return sequences * ((positions + INGOT_KV_PAGE - 1) / INGOT_KV_PAGE);
  }

  /// Begins a step, adds `rows` tokens of a sequence from `position` on, runs it with logits of its last
  /// `out` rows. Each sequence at most once.
  void begin();
  void add(int64_t sequence, int64_t position, int64_t rows);
  bool run(uint32_t out, std::string &error);

  /// INGOT_STEP_* of the steps; after a run, what the program could do of them.
  uint32_t flags = 0;

  /// `count` tokens of each of the first sequences from `position` on, in steps of at most `chunk` rows, with
  /// the logits of each sequence's last row.
  bool prompt(int64_t sequences, int64_t position, int64_t count, int64_t chunk, std::string &error);
  /// One step of one token of each of the first sequences, with their logits.
  bool generate(int64_t sequences, int64_t position, std::string &error);

private:
  core::Executor &executor;
  int64_t stride;
  std::vector<int32_t> table, blocks, tokens, positions, rowSeq, starts, lengths, outRows;
};

} // namespace ingot::main_

#endif // INGOT_RUNTIME_MAIN_STEPPER_H
