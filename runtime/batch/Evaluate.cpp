//===- Evaluate.cpp -------------------------------------------------------------------------------------===//
#include "runtime/batch/Evaluate.h"
#include "runtime/device/cpu/ThreadState.h"
#include "runtime/kv/PagePool.h"

#include <algorithm>

namespace ingot::batch {

bool evaluate(core::Executor &executor, const std::vector<int32_t> &ids, const std::vector<uint32_t> &wanted,
              bool all, const EvaluateOptions &options, std::string &error) {
  const ingot_module_v1 &m = executor.module();
  if (ids.empty() || ids.size() > m.context) {
    error = std::to_string(ids.size()) + " ids; 1 to " + std::to_string(m.context) + " fit the context";
    return false;
  }
  for (size_t i = 0; i < ids.size(); ++i)
    if (ids[i] < 0 || uint32_t(ids[i]) >= m.vocab) {
      error = "id " + std::to_string(i) + " is " + std::to_string(ids[i]) + ", the embedding has " +
              std::to_string(m.vocab) + " rows";
      return false;
    }
  for (size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i] >= ids.size() || (i > 0 && wanted[i] <= wanted[i - 1])) {
      error = "positions must ascend and lie below " + std::to_string(ids.size());
      return false;
    }
  uint64_t pages = kv::pagesFor(ids.size());
  if (pages > executor.cache().pages()) {
    error = std::to_string(ids.size()) + " ids need " + std::to_string(pages) + " KV pages, there are " +
            std::to_string(executor.cache().pages());
    return false;
  }
  std::vector<int32_t> table((pages + 3) / 4 * 4, 0);

  cpu::AffinityScope affinity(executor.callerCpu());
  uint32_t limit = std::clamp(options.chunk, 1u, executor.maxRows());
  std::vector<int32_t> positions, rowSeq, outRows;
  size_t nextWanted = 0;
  for (uint32_t begin = 0; begin < ids.size();) {
    uint32_t rows = std::min<uint32_t>(limit, uint32_t(ids.size()) - begin);
    // The plan has room for so many rows of logits; cut the step where they are full.
    for (;;) {
      outRows.clear();
      size_t w = nextWanted;
      for (uint32_t r = 0; r < rows; ++r)
        if (all || (w < wanted.size() && wanted[w] == begin + r)) {
          outRows.push_back(int32_t(r));
          ++w;
        }
      uint32_t room = executor.maxOut(rows);
      if (outRows.size() <= room)
        break;
      rows = uint32_t(outRows[room]);
    }
    positions.resize(rows);
    rowSeq.assign(rows, 0);
    for (uint32_t r = 0; r < rows; ++r)
      positions[r] = int32_t(begin + r);
    int32_t queryStart[2] = {0, int32_t(rows)}, kvLen = int32_t(begin + rows);
    // As the engine does: entries behind the tokens name the zero page, and a page begun but not filled is
    // cleared.
    uint32_t last = uint32_t(kvLen - 1) / INGOT_KV_PAGE;
    for (uint32_t p = begin / INGOT_KV_PAGE; p <= last; ++p)
      table[p] = int32_t(p + 1);
    if (kvLen % INGOT_KV_PAGE != 0 && last * INGOT_KV_PAGE >= begin)
      executor.cache().clear(table[last]);

    ingot_step_v1 step = {};
    step.n_rows = rows;
    step.n_seqs = 1;
    step.n_out = uint32_t(outRows.size());
    step.tokens = ids.data() + begin;
    step.positions = positions.data();
    step.row_seq = rowSeq.data();
    step.query_start = queryStart;
    step.kv_len = &kvLen;
    step.block_table = table.data();
    step.block_stride = uint32_t(table.size());
    step.out_rows = outRows.data();
    core::Executor::TapFn taps;
    if (options.hidden)
      taps = [&](const ingot_tap_v1 &tap, const float *data, uint32_t) {
        for (size_t o = 0; o < outRows.size(); ++o) {
          size_t row = tap.kind == INGOT_TAP_NORM ? o : size_t(outRows[o]);
          options.hidden(tap.kind, tap.layer, begin + uint32_t(outRows[o]), data + row * tap.stride,
                         tap.width);
        }
      };
    if (!executor.run(step, error, options.hidden ? &taps : nullptr))
      return false;
    if (options.logits)
      for (size_t o = 0; o < outRows.size(); ++o)
        options.logits(begin + uint32_t(outRows[o]), executor.logits(uint32_t(o)));
    nextWanted += outRows.size();
    begin += rows;
  }
  return true;
}

} // namespace ingot::batch
