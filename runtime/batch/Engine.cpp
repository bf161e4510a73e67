//===- Engine.cpp - submission, scheduling, threads -----------------------------------------------------===//
#include "runtime/batch/Engine.h"
#include "runtime/batch/Sequence.h"
#include "runtime/device/cpu/ThreadState.h"

#include <algorithm>
#include <cassert>
#include <system_error>

namespace ingot::batch {

Engine::Engine(core::Executor &executor, EngineOptions opts)
    : exec(executor), options(std::move(opts)),
      maxSeqs(std::min(options.maxSeqs ? options.maxSeqs : executor.module().max_seqs,
                       executor.module().max_seqs)),
      chunk(std::clamp(options.chunk, 1u, executor.maxRows())), pool(executor.cache().pages()),
      samplers(executor.threads()) {
  local.pagesTotal = pool.total();
  published = local;
}

Engine::~Engine() {
  stop();
  takeInbox();
  while (!running.empty() || !waiting.empty()) {
    std::deque<SequencePtr> &list = running.empty() ? waiting : running;
    SequencePtr s = std::move(list.front());
    list.pop_front();
    finish(std::move(s), Finish::Cancelled);
    takeInbox();
  }
}

SubmitStatus Engine::submit(std::vector<int32_t> prompt, RequestOptions request, Callbacks callbacks,
                            uint64_t &id, std::string &error) {
  const ingot_module_v1 &m = exec.module();
  id = 0;
  if (prompt.empty()) {
    error = "the prompt has no tokens";
    return SubmitStatus::Invalid;
  }
  for (size_t i = 0; i < prompt.size(); ++i)
    if (prompt[i] < 0 || uint32_t(prompt[i]) >= m.vocab) {
      error = "prompt token " + std::to_string(i) + " is " + std::to_string(prompt[i]) +
              ", the vocabulary has " + std::to_string(m.vocab);
      return SubmitStatus::Invalid;
    }
  if (!sample::checkParams(request.sampling, m.vocab, error))
    return SubmitStatus::Invalid;
  if (request.maxTokens < -1) {
    error = "max_tokens must be -1 or more";
    return SubmitStatus::Invalid;
  }
  bool stopText = std::any_of(request.stopStrings.begin(), request.stopStrings.end(),
                              [](const std::string &s) { return !s.empty(); });
  if (stopText && !options.textStreams) {
    error = "stop strings need a tokenizer, which this model does not carry";
    return SubmitStatus::Invalid;
  }
  uint64_t n = prompt.size();
  if (n >= m.context) {
    error = "the prompt has " + std::to_string(n) + " tokens, the context " + std::to_string(m.context) +
            " (one is needed for the answer)";
    return SubmitStatus::TooLong;
  }
  // The last drawn token never enters the cache.
  uint64_t room = uint64_t(pool.total()) * INGOT_KV_PAGE, limit = m.context - n;
  if (n > room) {
    error = "the prompt needs " + std::to_string(kv::pagesFor(n)) + " KV pages, the pool has " +
            std::to_string(pool.total());
    return SubmitStatus::TooLong;
  }
  if (request.maxTokens < 0)
    limit = std::min(limit, room - n + 1);
  else
    limit = std::min(limit, uint64_t(request.maxTokens));
  if (limit > 0 && n + limit - 1 > room) {
    error = "prompt and answer need " + std::to_string(kv::pagesFor(n + limit - 1)) +
            " KV pages, the pool has " + std::to_string(pool.total());
    return SubmitStatus::TooLong;
  }
  if (request.ignoreEos)
    request.sampling.banned.insert(request.sampling.banned.end(), options.eosIds.begin(),
                                   options.eosIds.end());
  else
    request.stopIds.insert(request.stopIds.end(), options.eosIds.begin(), options.eosIds.end());

  auto s = std::make_unique<Sequence>(std::move(request), std::move(callbacks));
  s->promptTokens = uint32_t(n);
  s->limit = limit;
  s->tokens = std::move(prompt);
  if (options.textStreams)
    s->text = options.textStreams();
  {
    std::lock_guard<std::mutex> lock(mutex);
    id = s->id = nextId++;
    live.push_back(id);
    inbox.push_back(std::move(s));
    ++published.submitted;
  }
  wake.notify_all();
  return SubmitStatus::Ok;
}

bool Engine::cancel(uint64_t id) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!std::binary_search(live.begin(), live.end(), id))
    return false;
  cancelled.push_back(id);
  wake.notify_all();
  return true;
}

void Engine::takeInbox() {
  std::vector<SequencePtr> arrived;
  {
    std::lock_guard<std::mutex> lock(mutex);
    arrived.swap(inbox);
  }
  for (SequencePtr &s : arrived)
    waiting.push_back(std::move(s));
}

void Engine::dropCancelled(std::deque<SequencePtr> &list) {
  std::vector<uint64_t> ids;
  {
    std::lock_guard<std::mutex> lock(mutex);
    ids = cancelled;
  }
  if (ids.empty())
    return;
  for (SequencePtr &s : list)
    if (std::find(ids.begin(), ids.end(), s->id) != ids.end()) {
      s->ended = true;
      s->how = Finish::Cancelled;
    }
}

void Engine::preempt(size_t index) {
  SequencePtr s = std::move(running[index]);
  running.erase(running.begin() + std::ptrdiff_t(index));
  pool.give(s->pageIndices());
  s->pages.clear();
  local.recomputedTokens += s->computed;
  s->computed = 0;
  ++s->preemptions;
  ++local.preemptions;
  auto at = std::find_if(waiting.begin(), waiting.end(), [&](const SequencePtr &w) { return w->id > s->id; });
  waiting.insert(at, std::move(s));
}

void Engine::securePages() {
  // Oldest first, so that victims are always newer and have not been looked at.
  for (size_t i = 0; i < running.size(); ++i) {
    Sequence &s = *running[i];
    uint64_t need = kv::pagesFor(s.tokens.size());
    while (s.pages.size() < need && !pool.take(uint32_t(need - s.pages.size()), s.pages)) {
      size_t newest = running.size() - 1;
      preempt(newest);
      if (newest == i)
        return;
    }
  }
}

void Engine::admit(uint32_t &promptRows, uint32_t &rows) {
  while (!waiting.empty() && running.size() < maxSeqs && promptRows > 0 && rows > 0) {
    Sequence &s = *waiting.front();
    uint64_t need = kv::pagesFor(s.tokens.size());
    if (need > pool.free() || !pool.take(uint32_t(need), s.pages))
      return;
    if (s.started == Clock::time_point())
      s.started = Clock::now();
    s.rows = uint32_t(std::min<uint64_t>({s.tokens.size(), promptRows, rows}));
    promptRows -= s.rows;
    rows -= s.rows;
    // Arrival order is kept: a request that was preempted may be older than some that run.
    SequencePtr moved = std::move(waiting.front());
    waiting.pop_front();
    auto at =
        std::find_if(running.begin(), running.end(), [&](const SequencePtr &r) { return r->id > moved->id; });
    running.insert(at, std::move(moved));
  }
}

void Engine::assignRows() {
  uint32_t rows = exec.maxRows();
  size_t n = running.size();
  uint32_t prompts = 0;
  for (SequencePtr &s : running) {
    s->rows = 0;
    prompts += s->tokens.size() - s->computed > 1;
  }
  // Rows run short only where there are more sequences than rows; then turns are taken, and prompts keep one
  // row (or every other step, where there is one).
  bool turns = n + 1 > rows;
  size_t first = turns && n ? rotation % n : 0;
  uint32_t kept = prompts == 0 ? 0 : rows > 1 ? 1 : rotation & 1;
  if (turns)
    ++rotation;
  for (size_t k = 0; k < n && rows > kept; ++k) {
    Sequence &s = *running[(first + k) % n];
    if (s.tokens.size() - s.computed == 1) {
      s.rows = 1;
      --rows;
    }
  }
  uint32_t promptRows = std::min(chunk, rows);
  for (size_t k = 0; k < n && promptRows > 0; ++k) {
    Sequence &s = *running[(first + k) % n];
    uint64_t left = s.tokens.size() - s.computed;
    if (left > 1) {
      s.rows = uint32_t(std::min<uint64_t>(left, promptRows));
      promptRows -= s.rows;
      rows -= s.rows;
    }
  }
  admit(promptRows, rows);
}

bool Engine::step() {
  std::lock_guard<std::mutex> one(stepping);
  takeInbox();
  dropCancelled(waiting);
  dropCancelled(running);
  for (SequencePtr &s : waiting)
    if (!s->ended && s->limit == 0) {
      s->ended = true;
      s->how = Finish::Length;
    }
  finishMarked();
  if (running.empty() && waiting.empty()) {
    publish();
    return false;
  }
  uint64_t before = local.preemptions;
  securePages();
  if (local.preemptions != before) {
    // A page has just been taken from the newest: admitting now would hand it out again.
    std::deque<SequencePtr> held;
    held.swap(waiting);
    assignRows();
    held.swap(waiting);
  } else {
    assignRows();
  }
  std::string error;
  if (execute(error)) {
    sampleRows();
  } else {
    for (Sequence *s : stepSeqs) {
      s->ended = true;
      s->how = Finish::Error;
      s->error = error;
    }
  }
  finishMarked();
  publish();
  return true;
}

void Engine::runUntilIdle() {
  cpu::AffinityScope affinity(exec.callerCpu());
  pinned = true;
  while (step()) {
  }
  pinned = false;
}

bool Engine::start(std::string &error) {
  if (background.joinable())
    return true;
  quit = false;
  try {
    background = std::thread([this] {
      cpu::AffinityScope affinity(exec.callerCpu());
      pinned = true;
      for (;;) {
        while (step()) {
          std::lock_guard<std::mutex> lock(mutex);
          if (quit)
            break;
        }
        std::unique_lock<std::mutex> lock(mutex);
        wake.wait(lock, [this] { return quit || !inbox.empty() || !cancelled.empty(); });
        if (quit)
          break;
      }
      pinned = false;
    });
  } catch (const std::system_error &e) {
    error = std::string("cannot start the engine's thread: ") + e.what();
    return false;
  }
  return true;
}

void Engine::stop() {
  if (!background.joinable())
    return;
  {
    std::lock_guard<std::mutex> lock(mutex);
    quit = true;
  }
  wake.notify_all();
  background.join();
}

void Engine::publish() {
  local.running = uint32_t(running.size());
  local.waiting = uint32_t(waiting.size());
  local.pagesInUse = pool.inUse();
  local.pagesPeak = pool.peak();
  std::lock_guard<std::mutex> lock(mutex);
  uint64_t submitted = published.submitted;
  published = local;
  published.submitted = submitted;
}

Stats Engine::stats() const {
  std::lock_guard<std::mutex> lock(mutex);
  Stats s = published;
  s.waiting += uint32_t(inbox.size());
  return s;
}

} // namespace ingot::batch
