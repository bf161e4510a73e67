//===- Stepper.cpp - steps of the model by hand ---------------------------------------------------------===//

#include "runtime/main/Stepper.h"

#include <algorithm>

namespace ingot::main_ {

Stepper::Stepper(core::Executor &executor, int64_t sequences, int64_t positions) : executor(executor) {
  int64_t each = pages(1, positions);
  stride = (each + 3) / 4 * 4;
  table.assign(stride * sequences, 0);
  for (int64_t s = 0; s < sequences; ++s)
    for (int64_t p = 0; p < each; ++p)
      table[s * stride + p] = static_cast<int32_t>(1 + s * each + p);
  begin();
}

void Stepper::begin() {
  tokens.clear(), positions.clear(), rowSeq.clear(), starts.assign(1, 0), lengths.clear(), blocks.clear();
}

void Stepper::add(int64_t sequence, int64_t position, int64_t rows) {
  auto index = static_cast<int32_t>(lengths.size());
  for (int64_t r = 0; r < rows; ++r) {
    // Any ids do; these are the same in every run.
    tokens.push_back(static_cast<int32_t>((position + r) * 7919 % executor.module().vocab));
    positions.push_back(static_cast<int32_t>(position + r));
    rowSeq.push_back(index);
  }
  starts.push_back(static_cast<int32_t>(tokens.size()));
  lengths.push_back(static_cast<int32_t>(position + rows));
  blocks.insert(blocks.end(), table.begin() + sequence * stride, table.begin() + (sequence + 1) * stride);
}

bool Stepper::run(uint32_t out, std::string &error) {
  outRows.clear();
  for (uint32_t o = 0; o < out; ++o)
    outRows.push_back(static_cast<int32_t>(tokens.size() - out + o));
  ingot_step_v1 step = {};
  step.n_rows = static_cast<uint32_t>(tokens.size());
  step.n_seqs = static_cast<uint32_t>(lengths.size());
  step.n_out = out;
  step.tokens = tokens.data();
  step.positions = positions.data();
  step.row_seq = rowSeq.data();
  step.query_start = starts.data();
  step.kv_len = lengths.data();
  step.block_table = blocks.data();
  step.block_stride = static_cast<uint32_t>(stride);
  step.out_rows = outRows.data();
  step.flags = flags;
  bool ok = executor.run(step, error);
  flags = step.flags;
  return ok;
}

bool Stepper::prompt(int64_t sequences, int64_t position, int64_t count, int64_t chunk, std::string &error) {
  int64_t most = std::min<int64_t>(chunk, executor.maxRows());
  for (int64_t s = 0; s < sequences; ++s)
    for (int64_t done = 0; done < count;) {
      int64_t rows = std::min(count - done, most);
      begin();
      add(s, position + done, rows);
      if (!run(done + rows == count ? 1 : 0, error))
        return false;
      done += rows;
    }
  return true;
}

bool Stepper::generate(int64_t sequences, int64_t position, std::string &error) {
  begin();
  for (int64_t s = 0; s < sequences; ++s)
    add(s, position, 1);
  return run(static_cast<uint32_t>(sequences), error);
}

} // namespace ingot::main_
