//===- Engine.h - continuous batching -------------------------------------------------------------------===//
//
// Requests wait in the order of arrival, are admitted when the pool has the pages of all their tokens, and
// then run together: one step carries one token of every answering sequence and chunks of prompts. When an
// answer needs a page and none is free, the newest running request gives its pages back and later computes
// prompt and answer so far again. What a request answers depends on itself only: kernels keep the row
// contract, random numbers are counted per request, and text and stop strings are handled once per drawn
// token.
//
// Liveness: pages go to the oldest request first, and a request that could not finish alone in the pool is
// refused at submission, so the oldest always advances.
//
// Threads: submit, cancel and stats may be called from any thread; step from one at a time.
//
//===------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_RUNTIME_BATCH_ENGINE_H
#define INGOT_RUNTIME_BATCH_ENGINE_H

#include "runtime/batch/Request.h"
#include "runtime/core/Executor.h"
#include "runtime/kv/PagePool.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace ingot::batch {

struct EngineOptions {
  uint32_t maxSeqs = 0;        ///< Requests that run together; 0 or too many: the module's max_seqs.
  uint32_t chunk = 512;        ///< Prompt tokens in a step, capped by the executor's rows.
  std::vector<int32_t> eosIds; ///< The model's end tokens.
  TextStreamFactory textStreams;
};

enum class SubmitStatus { Ok, Invalid, TooLong };

struct Stats {
  uint64_t steps = 0, rows = 0;
  uint64_t promptTokens = 0;     ///< Prompt rows computed, repeats after preemption included.
  uint64_t recomputedTokens = 0; ///< Rows computed again after preemption.
  uint64_t generatedTokens = 0;
  uint64_t preemptions = 0;
  uint64_t argmaxSteps = 0; ///< Steps of which the largest logits were wanted and no others.
  uint64_t submitted = 0, finished = 0, cancelled = 0, failed = 0;
  uint32_t running = 0, waiting = 0;
  uint32_t pagesInUse = 0, pagesTotal = 0, pagesPeak = 0;
  double stepSeconds = 0; ///< In the executor.
};

class Engine {
public:
  /// The executor outlives the engine and is used by it alone.
  Engine(core::Executor &executor, EngineOptions options);
  /// Ends the background thread; requests that are not finished are cancelled, with their callbacks.
  ~Engine();
  Engine(const Engine &) = delete;
  Engine &operator=(const Engine &) = delete;

  /// Queues a request. `id` is unique in the engine and never 0. Anything wrong with it is said here; a
  /// request never disturbs another.
  SubmitStatus submit(std::vector<int32_t> prompt, RequestOptions options, Callbacks callbacks, uint64_t &id,
                      std::string &error);
  /// False where no such request is waiting or running. Takes effect before the next step.
  bool cancel(uint64_t id);

  /// Computes one step. False where nothing is left to do.
  bool step();
  void runUntilIdle();

  /// Steps on a thread of the engine's own whenever there is work. False and a message where it cannot start.
  bool start(std::string &error);
  /// Ends that thread after its current step.
  void stop();

  Stats stats() const;
  const core::Executor &executor() const { return exec; }

private:
  struct Sequence;
  using SequencePtr = std::unique_ptr<Sequence>;

  void takeInbox();
  void dropCancelled(std::deque<SequencePtr> &list);
  void securePages();
  void preempt(size_t index);
  void assignRows();
  void admit(uint32_t &promptRows, uint32_t &rows);
  bool execute(std::string &error);
  bool takeBest(ingot_step_v1 &step, std::string &error);
  void sampleRows();
  void accept(Sequence &s, const sample::Drawn &drawn);
  void finish(SequencePtr s, Finish how, std::string error = {});
  void finishMarked();
  void publish();

  core::Executor &exec;
  const EngineOptions options;
  const uint32_t maxSeqs, chunk;
  kv::PagePool pool;
  std::vector<sample::Sampler> samplers; ///< One per worker: they hold buffers only.

  // Of the stepping thread.
  std::mutex stepping;
  std::deque<SequencePtr> waiting, running; ///< Ascending arrival.
  uint32_t rotation = 0;                    ///< Where rows begin to be dealt where they do not suffice.
  bool pinned = false;                      ///< The stepping thread holds the affinity already.
  std::vector<int32_t> tokens, positions, rowSeq, queryStart, kvLen, blockTable, outRows;
  std::vector<Sequence *> stepSeqs, outSeqs;
  std::vector<ingot_argmax_v1> best; ///< Of the step's outputs, where it asked for them.
  uint32_t blockStride = 0;
  Stats local;

  // Shared.
  mutable std::mutex mutex;
  std::condition_variable wake;
  std::vector<SequencePtr> inbox;
  std::vector<uint64_t> live;      ///< Ids not finished, ascending.
  std::vector<uint64_t> cancelled; ///< Ids to drop.
  Stats published;
  uint64_t nextId = 1;
  bool quit = false;
  std::thread background;
};

} // namespace ingot::batch
#endif
