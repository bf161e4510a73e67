//===- EngineStep.cpp - building a step, and what follows from its logits -------------------------------===//
#include "runtime/batch/Engine.h"
#include "runtime/batch/Sequence.h"
#include "runtime/device/cpu/ThreadState.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <new>

namespace ingot::batch {

bool Engine::execute(std::string &error) {
  tokens.clear();
  positions.clear();
  rowSeq.clear();
  queryStart.assign(1, 0);
  kvLen.clear();
  outRows.clear();
  stepSeqs.clear();
  outSeqs.clear();

  uint64_t longest = 1;
  for (SequencePtr &ptr : running) {
    Sequence &s = *ptr;
    if (s.rows == 0)
      continue;
    uint64_t end = s.computed + s.rows;
    for (uint64_t p = s.computed; p < end; ++p) {
      tokens.push_back(s.tokens[p]);
      positions.push_back(int32_t(p));
      rowSeq.push_back(int32_t(stepSeqs.size()));
    }
    if (end == s.tokens.size()) {
      outRows.push_back(int32_t(tokens.size() - 1));
      outSeqs.push_back(&s);
    }
    // A page that this step begins and does not fill: kernels load it whole and mask, and what another
    // sequence left there may be infinite.
    if (end % INGOT_KV_PAGE != 0) {
      uint64_t last = (end - 1) / INGOT_KV_PAGE;
      if (s.pages[last].used && last * INGOT_KV_PAGE >= s.computed) {
        exec.cache().clear(s.pages[last].index);
        s.pages[last].used = false;
      }
    }
    kvLen.push_back(int32_t(end));
    queryStart.push_back(int32_t(tokens.size()));
    longest = std::max(longest, kv::pagesFor(end));
    stepSeqs.push_back(&s);
    local.promptTokens +=
        std::min<uint64_t>(end, s.promptTokens) - std::min<uint64_t>(s.computed, s.promptTokens);
  }
  assert(!tokens.empty() && "the oldest request always gets rows");

  // Whole blocks of 64 positions; what lies behind a sequence's tokens is the zero page.
  blockStride = uint32_t((longest + 3) / 4 * 4);
  blockTable.assign(stepSeqs.size() * blockStride, 0);
  for (size_t i = 0; i < stepSeqs.size(); ++i)
    for (uint64_t p = 0; p < kv::pagesFor(uint64_t(kvLen[i])); ++p)
      blockTable[i * blockStride + p] = stepSeqs[i]->pages[p].index;

  ingot_step_v1 step = {};
  step.n_rows = uint32_t(tokens.size());
  step.n_seqs = uint32_t(stepSeqs.size());
  step.n_out = uint32_t(outRows.size());
  step.tokens = tokens.data();
  step.positions = positions.data();
  step.row_seq = rowSeq.data();
  step.query_start = queryStart.data();
  step.kv_len = kvLen.data();
  step.block_table = blockTable.data();
  step.block_stride = blockStride;
  step.out_rows = outRows.data();
  best.clear();
  if (!outSeqs.empty() &&
      std::all_of(outSeqs.begin(), outSeqs.end(), [](Sequence *s) { return s->needs != sample::Needs::All; }))
    step.flags = INGOT_STEP_ARGMAX;

  Clock::time_point begin = Clock::now();
  bool ok;
  {
    cpu::AffinityScope affinity(pinned ? -1 : exec.callerCpu());
    ok = exec.run(step, error);
    if (ok && (step.flags & INGOT_STEP_ARGMAX))
      ok = takeBest(step, error);
  }
  local.stepSeconds += std::chrono::duration<double>(Clock::now() - begin).count();
  ++local.steps;
  local.rows += tokens.size();
  for (Sequence *s : stepSeqs)
    s->computed += s->rows;
  return ok;
}

bool Engine::takeBest(ingot_step_v1 &step, std::string &error) {
  bool missing = false;
  for (uint32_t i = 0; i < outSeqs.size(); ++i) {
    best.push_back(exec.best(i));
    Sequence &s = *outSeqs[i];
    const std::vector<int32_t> &banned = s.options.sampling.banned;
    if (!std::isnan(best[i].value) &&
        std::find(banned.begin(), banned.end(), best[i].index) != banned.end()) {
      // What it has passed once it meets again: the rest of its answer is drawn from logits.
      s.needs = sample::Needs::All;
      missing = true;
    }
  }
  if (missing)
    return exec.storeLogits(step, error);
  ++local.argmaxSteps;
  return true;
}

void Engine::sampleRows() {
  std::vector<sample::Drawn> drawn(outSeqs.size());
  auto draw = [&](uint32_t i, unsigned worker) {
    Sequence &s = *outSeqs[i];
    bool ok = false;
    if (!best.empty() && s.needs != sample::Needs::All) {
      ok = sample::Sampler::drawBest(best[i].value, best[i].index, s.drawn(), drawn[i], s.error);
    } else {
      try {
        ok = samplers[worker].draw(exec.logits(i), exec.module().vocab, s.options.sampling, s.tokens,
                                   s.drawn(), drawn[i], s.error);
      } catch (const std::bad_alloc &) {
        s.error = "no memory for sampling";
      }
    }
    if (!ok) {
      s.ended = true;
      s.how = Finish::Error;
    }
  };
  // Draws are independent and may read a large vocabulary each; what follows from them is told in order.
  if (best.empty())
    exec.forEach(uint32_t(outSeqs.size()), draw);
  else
    for (uint32_t i = 0; i < outSeqs.size(); ++i)
      draw(i, 0);
  for (size_t i = 0; i < outSeqs.size(); ++i)
    if (!outSeqs[i]->ended)
      accept(*outSeqs[i], drawn[i]);
}

void Engine::accept(Sequence &s, const sample::Drawn &drawn) {
  s.last = Clock::now();
  if (s.drawn() == 0)
    s.first = s.last;
  s.tokens.push_back(drawn.id);
  ++local.generatedTokens;

  const std::vector<int32_t> &stopIds = s.options.stopIds;
  std::string piece;
  if (std::find(stopIds.begin(), stopIds.end(), drawn.id) != stopIds.end()) {
    s.ended = true;
    s.how = Finish::StopId;
  } else if (s.text) {
    piece = s.stops.push(s.text->push(drawn.id));
  }
  if (!s.ended && s.stops.stopped()) {
    s.ended = true;
    s.how = Finish::StopString;
  } else if (!s.ended && s.drawn() >= s.limit) {
    s.ended = true;
    s.how = Finish::Length;
  }
  if (s.ended && s.text && !s.stops.stopped()) {
    piece += s.stops.push(s.text->flush());
    if (s.stops.stopped())
      s.how = Finish::StopString;
    else
      piece += s.stops.flush();
  }
  s.answer += piece;
  if (s.options.sampling.logprobs >= 0)
    s.logprobs.push_back(drawn);
  if (s.callbacks.token) {
    TokenEvent event;
    event.request = s.id;
    event.id = drawn.id;
    event.text = piece;
    event.drawn = &drawn;
    event.last = s.ended;
    if (!s.callbacks.token(event) && !s.ended) {
      s.ended = true;
      s.how = Finish::Cancelled;
    }
  }
}

void Engine::finishMarked() {
  for (std::deque<SequencePtr> *list : {&running, &waiting})
    for (size_t i = 0; i < list->size();) {
      if (!(*list)[i]->ended) {
        ++i;
        continue;
      }
      SequencePtr s = std::move((*list)[i]);
      list->erase(list->begin() + std::ptrdiff_t(i));
      Finish how = s->how;
      std::string error = std::move(s->error);
      finish(std::move(s), how, std::move(error));
    }
}

void Engine::finish(SequencePtr s, Finish how, std::string error) {
  pool.give(s->pageIndices());
  {
    std::lock_guard<std::mutex> lock(mutex);
    auto at = std::lower_bound(live.begin(), live.end(), s->id);
    assert(at != live.end() && *at == s->id);
    live.erase(at);
    cancelled.erase(std::remove(cancelled.begin(), cancelled.end(), s->id), cancelled.end());
  }
  ++local.finished;
  local.cancelled += how == Finish::Cancelled;
  local.failed += how == Finish::Error;
  publish();
  if (!s->callbacks.done)
    return;
  auto ms = [](Clock::time_point a, Clock::time_point b) {
    return a == Clock::time_point() || b == Clock::time_point() || b < a
               ? 0.0
               : std::chrono::duration<double, std::milli>(b - a).count();
  };
  Answer answer;
  answer.request = s->id;
  answer.finish = how;
  answer.tokens.assign(s->tokens.begin() + s->promptTokens, s->tokens.end());
  answer.text = std::move(s->answer);
  answer.logprobs = std::move(s->logprobs);
  if (s->stops.stopped())
    answer.stopString = s->stops.match();
  answer.error = std::move(error);
  answer.promptTokens = s->promptTokens;
  answer.preemptions = s->preemptions;
  answer.timings.queued = ms(s->submitted, s->started);
  answer.timings.prompt = ms(s->started, s->first);
  answer.timings.generation = ms(s->first, s->last);
  s->callbacks.done(answer);
}

} // namespace ingot::batch
