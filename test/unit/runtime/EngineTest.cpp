//===- EngineTest.cpp - answers do not depend on the company --------------------------------------------===//
#include "ToyModule.h"

#include "runtime/batch/Engine.h"
#include "runtime/batch/Evaluate.h"
#include "runtime/core/Executor.h"
#include "runtime/core/ModuleCheck.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>

using namespace ingot;
using batch::Answer;
using batch::Finish;

namespace {

struct RunSetup {
  unsigned threads = 1;
  uint32_t pages = 200;
  uint32_t maxSeqs = 0;
  uint32_t chunk = 512;
};

std::unique_ptr<core::Executor> makeExecutor(const RunSetup &s) {
  std::string error;
  core::ExecutorOptions options;
  options.threads = s.threads;
  options.kvPages = s.pages;
  const ingot_module_v1 *m = toy::query(INGOT_ABI_VERSION);
  EXPECT_TRUE(core::checkModule(m, error)) << error;
  auto e = core::Executor::create(*m, toy::weightBytes(), options, error);
  EXPECT_TRUE(e) << error;
  return e;
}

batch::EngineOptions engineOptions(const RunSetup &s) {
  batch::EngineOptions o;
  o.maxSeqs = s.maxSeqs;
  o.chunk = s.chunk;
  o.eosIds = {toy::Eos};
  o.textStreams = toy::textStreams();
  return o;
}

struct Job {
  std::vector<int32_t> prompt;
  batch::RequestOptions options;
};

struct Outcome {
  std::vector<Answer> answers;
  batch::Stats stats;
};

Outcome runAll(const std::vector<Job> &jobs, const RunSetup &setup) {
  auto exec = makeExecutor(setup);
  batch::Engine engine(*exec, engineOptions(setup));
  Outcome out;
  out.answers.resize(jobs.size());
  for (size_t i = 0; i < jobs.size(); ++i) {
    batch::Callbacks cb;
    auto streamed = std::make_shared<std::string>();
    cb.token = [streamed](const batch::TokenEvent &e) {
      *streamed += e.text;
      return true;
    };
    cb.done = [&out, i, streamed](const Answer &a) {
      EXPECT_EQ(*streamed, a.text) << "streamed and final text differ";
      out.answers[i] = a;
    };
    uint64_t id;
    std::string error;
    EXPECT_EQ(engine.submit(jobs[i].prompt, jobs[i].options, cb, id, error), batch::SubmitStatus::Ok)
        << error;
  }
  engine.runUntilIdle();
  out.stats = engine.stats();
  EXPECT_EQ(out.stats.pagesInUse, 0u);
  EXPECT_EQ(out.stats.finished, jobs.size());
  return out;
}

/// Requests of all kinds: greedy, sampled with seeds, penalties, stop strings, logprobs, long and short
/// prompts.
std::vector<Job> mixedJobs(size_t n) {
  std::vector<Job> jobs;
  for (size_t i = 0; i < n; ++i) {
    Job j;
    j.prompt = toy::prompt(uint32_t(i) + 1, 1 + (i * 37) % 130);
    j.options.maxTokens = int64_t(5 + (i * 11) % 60);
    sample::SamplingParams &p = j.options.sampling;
    p.seed = 1000 + i;
    if (i % 3 == 1) {
      p.temperature = 0.9;
      p.topK = i % 2 ? 20 : 0;
      p.topP = 0.95;
    }
    if (i % 5 == 2) {
      p.temperature = 1.3;
      p.minP = 0.05;
      p.repetitionPenalty = 1.2;
      p.frequencyPenalty = 0.1;
    }
    if (i % 4 == 3) {
      j.options.stopStrings = {"zz", "q", "mm"};
      p.temperature = 1.0;
    }
    if (i % 7 == 0)
      p.logprobs = 3;
    j.options.ignoreEos = i % 6 == 5;
    if (i % 4 == 1)
      p.logitBias = {{toy::Eos, 2.0f}, {5, -3.0f}};
    p.banned = {toy::Poison, toy::Broken};
    jobs.push_back(std::move(j));
  }
  return jobs;
}

void expectSame(const Answer &a, const Answer &b, size_t i) {
  EXPECT_EQ(a.tokens, b.tokens) << "request " << i;
  EXPECT_EQ(a.text, b.text) << "request " << i;
  EXPECT_EQ(a.finish, b.finish) << "request " << i;
  EXPECT_EQ(a.stopString, b.stopString) << "request " << i;
  ASSERT_EQ(a.logprobs.size(), b.logprobs.size()) << "request " << i;
  for (size_t t = 0; t < a.logprobs.size(); ++t)
    EXPECT_EQ(a.logprobs[t].logprob, b.logprobs[t].logprob);
}

TEST(Engine, GreedyEqualsReference) {
  for (size_t n : {1u, 2u, 15u, 16u, 17u, 48u, 49u, 100u}) {
    Job j;
    j.prompt = toy::prompt(uint32_t(n), n);
    j.options.maxTokens = 30;
    Outcome out = runAll({j}, {});
    EXPECT_EQ(out.answers[0].tokens, toy::referenceGreedy(j.prompt, 30)) << n;
    EXPECT_EQ(out.answers[0].promptTokens, n);
  }
}

TEST(Engine, BestLogitsAloneGiveTheSameAnswers) {
  for (unsigned threads : {1u, 2u, 3u, 7u}) { // 7 parts of 5 panels: some are empty
    RunSetup s;
    s.threads = threads;
    for (size_t n : {1u, 17u, 60u}) {
      Job best, all;
      best.prompt = toy::prompt(uint32_t(n), n);
      best.options.maxTokens = 12;
      all = best;
      all.options.sampling.logprobs = 0;
      Outcome quick = runAll({best}, s), stored = runAll({all}, s), mixed = runAll({best, all, best}, s);
      EXPECT_EQ(quick.answers[0].tokens, toy::referenceGreedy(best.prompt, 12));
      EXPECT_EQ(quick.answers[0].tokens, stored.answers[0].tokens);
      EXPECT_EQ(quick.stats.argmaxSteps, quick.answers[0].tokens.size());
      EXPECT_EQ(stored.stats.argmaxSteps, 0u);
      for (const Answer &a : mixed.answers)
        EXPECT_EQ(a.tokens, stored.answers[0].tokens);
    }
  }
}

TEST(Engine, BannedTokensAmongTheBest) {
  for (unsigned threads : {1u, 3u}) {
    RunSetup s;
    s.threads = threads;
    Job plain;
    plain.prompt = toy::prompt(9, 21);
    plain.options.maxTokens = 10;
    std::vector<int32_t> greedy = toy::referenceGreedy(plain.prompt, 10);
    // One that never wins changes nothing; one that would win is passed over, as with stored logits.
    Job idle = plain, first = plain, later = plain;
    idle.options.sampling.banned = {toy::Poison};
    first.options.sampling.banned = {greedy[0]};
    later.options.sampling.banned = {toy::Poison, greedy[6]};
    Outcome quiet = runAll({idle}, s);
    EXPECT_EQ(quiet.answers[0].tokens, greedy);
    EXPECT_EQ(quiet.stats.argmaxSteps, 10u);
    for (const Job &j : {first, later}) {
      Job all = j;
      all.options.sampling.logprobs = 0;
      Outcome a = runAll({j}, s), b = runAll({all}, s), both = runAll({idle, j, plain}, s);
      EXPECT_EQ(a.answers[0].finish, Finish::Length) << a.answers[0].error;
      EXPECT_NE(a.answers[0].tokens, greedy);
      EXPECT_EQ(a.answers[0].tokens, b.answers[0].tokens);
      EXPECT_EQ(both.answers[0].tokens, greedy);
      EXPECT_EQ(both.answers[1].tokens, b.answers[0].tokens);
      EXPECT_EQ(both.answers[2].tokens, greedy);
    }
    EXPECT_LE(runAll({later}, s).stats.argmaxSteps, 6u);
  }
}

TEST(Engine, NotFiniteLogitsAreReportedAlike) {
  for (unsigned threads : {1u, 4u}) {
    RunSetup s;
    s.threads = threads;
    Job best;
    best.prompt = toy::prompt(3, 20);
    best.prompt[10] = toy::Poison;
    Job all = best;
    all.options.sampling.logprobs = 0;
    Outcome quick = runAll({best}, s), stored = runAll({all}, s);
    EXPECT_EQ(quick.answers[0].finish, Finish::Error);
    EXPECT_NE(quick.answers[0].error.find("not a finite number (token 0, answer token 0)"), std::string::npos)
        << quick.answers[0].error;
    EXPECT_EQ(quick.answers[0].error, stored.answers[0].error);
  }
}

TEST(Engine, AnswersDependOnTheWholePrompt) {
  Job a, b;
  a.prompt = b.prompt = toy::prompt(5, 90);
  b.prompt[0] = (b.prompt[0] + 1) % 60;
  a.options.sampling.logprobs = b.options.sampling.logprobs = 0;
  a.options.maxTokens = b.options.maxTokens = 1;
  Outcome out = runAll({a, b}, {});
  EXPECT_NE(out.answers[0].logprobs[0].logprob, out.answers[1].logprobs[0].logprob);
}

TEST(Engine, SameAnswersInAnyCompany) {
  std::vector<Job> jobs = mixedJobs(64);
  std::vector<Answer> alone;
  bool stopped = false, ended = false, longAnswers = false;
  for (const Job &j : jobs) {
    alone.push_back(runAll({j}, {}).answers[0]);
    stopped |= alone.back().finish == Finish::StopString;
    ended |= alone.back().finish == Finish::StopId;
    longAnswers |= alone.back().finish == Finish::Length;
    EXPECT_NE(alone.back().finish, Finish::Error) << alone.back().error;
  }
  EXPECT_TRUE(stopped) << "no job ends by a stop string";
  EXPECT_TRUE(ended) << "no job ends by an end token";
  EXPECT_TRUE(longAnswers) << "no job runs to its length";
  const RunSetup setups[] = {{1, 200, 0, 512}, {2, 200, 0, 512}, {3, 200, 0, 7}, {1, 200, 0, 1},
                             {2, 200, 2, 16},  {1, 14, 0, 512},  {3, 12, 0, 5}};
  for (const RunSetup &s : setups) {
    Outcome out = runAll(jobs, s);
    for (size_t i = 0; i < jobs.size(); ++i)
      expectSame(out.answers[i], alone[i], i);
    if (s.pages < 20) {
      EXPECT_GT(out.stats.preemptions, 10u) << s.pages << " pages";
    } else {
      EXPECT_EQ(out.stats.preemptions, 0u);
    }
    EXPECT_LE(out.stats.pagesPeak, s.pages);
  }
}

TEST(Engine, ManyMoreSequencesThanRows) {
  // One row per step for several sequences and a prompt: everyone still finishes.
  std::vector<Job> jobs = mixedJobs(12);
  Outcome wide = runAll(jobs, {});
  Outcome narrow = runAll(jobs, {2, 200, 6, 1});
  for (size_t i = 0; i < jobs.size(); ++i)
    expectSame(narrow.answers[i], wide.answers[i], i);
}

TEST(Engine, ExactPages) {
  // 17 tokens at the end occupy two pages; one page less is refused with the numbers.
  RunSetup s;
  s.pages = 1;
  auto exec = makeExecutor(s);
  batch::Engine engine(*exec, engineOptions(s));
  uint64_t id;
  std::string error;
  batch::RequestOptions o;
  o.ignoreEos = true;
  o.maxTokens = 3; // 14 + 3 - 1 = 16 cached.
  size_t got = 0;
  batch::Callbacks cb;
  cb.done = [&](const Answer &a) { got = a.tokens.size(); };
  EXPECT_EQ(engine.submit(toy::prompt(1, 14), o, cb, id, error), batch::SubmitStatus::Ok) << error;
  engine.runUntilIdle();
  EXPECT_EQ(got, 3u);
  o.maxTokens = 4;
  EXPECT_EQ(engine.submit(toy::prompt(1, 14), o, cb, id, error), batch::SubmitStatus::TooLong);
  EXPECT_NE(error.find("need 2 KV pages"), std::string::npos) << error;
  o.maxTokens = -1; // As many as the pool holds.
  EXPECT_EQ(engine.submit(toy::prompt(1, 14), o, cb, id, error), batch::SubmitStatus::Ok);
  engine.runUntilIdle();
  EXPECT_EQ(got, 3u);
  EXPECT_EQ(engine.submit(toy::prompt(1, 17), o, cb, id, error), batch::SubmitStatus::TooLong);
}

TEST(Engine, ContextEndsAnswers) {
  Job j;
  j.prompt = toy::prompt(9, toy::Context - 5);
  j.options.ignoreEos = true;
  j.options.maxTokens = 100;
  Outcome out = runAll({j}, {});
  EXPECT_EQ(out.answers[0].tokens.size(), 5u);
  EXPECT_EQ(out.answers[0].finish, Finish::Length);
}

TEST(Engine, RefusesBadRequests) {
  auto exec = makeExecutor({});
  batch::EngineOptions eo = engineOptions({});
  eo.textStreams = nullptr;
  batch::Engine engine(*exec, eo);
  uint64_t id = 5;
  std::string error;
  auto status = [&](std::vector<int32_t> prompt, batch::RequestOptions o) {
    error.clear();
    return engine.submit(std::move(prompt), std::move(o), {}, id, error);
  };
  EXPECT_EQ(status({}, {}), batch::SubmitStatus::Invalid);
  EXPECT_EQ(id, 0u);
  EXPECT_EQ(status({1, -1}, {}), batch::SubmitStatus::Invalid);
  EXPECT_NE(error.find("prompt token 1"), std::string::npos);
  EXPECT_EQ(status({1, int32_t(toy::Vocab)}, {}), batch::SubmitStatus::Invalid);
  EXPECT_EQ(status(toy::prompt(1, toy::Context), {}), batch::SubmitStatus::TooLong);
  batch::RequestOptions o;
  o.sampling.topP = 0;
  EXPECT_EQ(status({1}, o), batch::SubmitStatus::Invalid);
  o = {};
  o.stopStrings = {"x"};
  EXPECT_EQ(status({1}, o), batch::SubmitStatus::Invalid);
  o = {};
  o.maxTokens = -2;
  EXPECT_EQ(status({1}, o), batch::SubmitStatus::Invalid);
  EXPECT_FALSE(engine.step());
  EXPECT_FALSE(engine.cancel(77));
}

TEST(Engine, ZeroTokens) {
  Job j;
  j.prompt = {1, 2};
  j.options.maxTokens = 0;
  Outcome out = runAll({j}, {});
  EXPECT_EQ(out.answers[0].finish, Finish::Length);
  EXPECT_TRUE(out.answers[0].tokens.empty());
  EXPECT_EQ(out.stats.steps, 0u);
}

TEST(Engine, FaultsStayWithTheirRequest) {
  std::vector<Job> jobs = mixedJobs(6);
  Outcome clean = runAll(jobs, {});
  // The poisoned request leaves infinite values in its pages, which others then reuse.
  Job bad;
  bad.prompt = toy::prompt(3, 20);
  bad.prompt[10] = toy::Poison;
  std::vector<Job> mixed = jobs;
  mixed.insert(mixed.begin(), {bad, bad});
  Outcome out = runAll(mixed, {2, 16, 4, 512});
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(out.answers[i].finish, Finish::Error);
    EXPECT_NE(out.answers[i].error.find("not a finite number"), std::string::npos) << out.answers[i].error;
  }
  for (size_t i = 0; i < jobs.size(); ++i)
    expectSame(out.answers[i + 2], clean.answers[i], i);
}

TEST(Engine, PagesAreCleanForTheNext) {
  // One page in the pool: the short request gets the poisoned one and loads it whole.
  RunSetup s;
  s.pages = 1;
  Job bad, good;
  bad.prompt = toy::prompt(3, 12);
  bad.prompt[10] = toy::Poison;
  bad.options.maxTokens = 2;
  good.prompt = toy::prompt(4, 5);
  good.options.maxTokens = 8;
  Outcome out = runAll({bad, good}, s);
  EXPECT_EQ(out.answers[0].finish, Finish::Error);
  EXPECT_EQ(out.answers[1].tokens, toy::referenceGreedy(good.prompt, 8)) << out.answers[1].error;
}

TEST(Engine, KernelFailureIsReported) {
  for (unsigned threads : {1u, 3u}) {
    Job j;
    j.prompt = {1, 2, toy::Broken, 3, 4, 5};
    Job after;
    after.prompt = toy::prompt(1, 5);
    RunSetup s;
    s.threads = threads;
    s.maxSeqs = 1;
    Outcome out = runAll({j, after}, s);
    EXPECT_EQ(out.answers[0].finish, Finish::Error);
    EXPECT_NE(out.answers[0].error.find("toy_embed"), std::string::npos) << out.answers[0].error;
    EXPECT_NE(out.answers[0].error.find("failed with 7"), std::string::npos) << out.answers[0].error;
    EXPECT_NE(out.answers[1].finish, Finish::Error);
  }
}

TEST(Engine, Cancel) {
  auto exec = makeExecutor({});
  batch::Engine engine(*exec, engineOptions({}));
  std::map<uint64_t, Answer> done;
  batch::RequestOptions o;
  o.ignoreEos = true;
  o.maxTokens = 50;
  std::vector<uint64_t> ids;
  std::string error;
  size_t seen = 0;
  for (int i = 0; i < 8; ++i) {
    batch::Callbacks cb;
    cb.done = [&](const Answer &a) { done[a.request] = a; };
    if (i == 1)
      cb.token = [&](const batch::TokenEvent &) { return ++seen < 4; };
    uint64_t id;
    ASSERT_EQ(engine.submit(toy::prompt(uint32_t(i), 10), o, cb, id, error), batch::SubmitStatus::Ok);
    ids.push_back(id);
  }
  for (int i = 0; i < 10; ++i)
    ASSERT_TRUE(engine.step());
  EXPECT_TRUE(engine.cancel(ids[0]));
  EXPECT_TRUE(engine.cancel(ids[7])); // Still waiting: six run together.
  engine.runUntilIdle();
  ASSERT_EQ(done.size(), 8u);
  EXPECT_EQ(done[ids[0]].finish, Finish::Cancelled);
  EXPECT_EQ(done[ids[0]].tokens.size(), 10u);
  EXPECT_EQ(done[ids[1]].finish, Finish::Cancelled);
  EXPECT_EQ(done[ids[1]].tokens.size(), 4u);
  EXPECT_EQ(done[ids[7]].finish, Finish::Cancelled);
  EXPECT_TRUE(done[ids[7]].tokens.empty());
  EXPECT_EQ(done[ids[3]].tokens.size(), 50u);
  EXPECT_FALSE(engine.cancel(ids[0]));
  EXPECT_EQ(engine.stats().pagesInUse, 0u);
}

TEST(Engine, BackgroundThread) {
  RunSetup s;
  s.threads = 2;
  std::vector<Job> jobs = mixedJobs(20);
  Outcome expected = runAll(jobs, {});
  auto exec = makeExecutor(s);
  std::mutex mutex;
  std::condition_variable all;
  std::vector<Answer> answers(jobs.size());
  size_t finished = 0;
  {
    batch::Engine engine(*exec, engineOptions(s));
    std::string error;
    ASSERT_TRUE(engine.start(error)) << error;
    std::vector<std::thread> clients;
    for (size_t t = 0; t < 4; ++t)
      clients.emplace_back([&, t] {
        for (size_t i = t; i < jobs.size(); i += 4) {
          batch::Callbacks cb;
          cb.done = [&, i](const Answer &a) {
            std::lock_guard<std::mutex> lock(mutex);
            answers[i] = a;
            ++finished;
            all.notify_one();
          };
          uint64_t id;
          std::string message;
          EXPECT_EQ(engine.submit(jobs[i].prompt, jobs[i].options, cb, id, message), batch::SubmitStatus::Ok);
          std::this_thread::yield();
        }
      });
    for (std::thread &c : clients)
      c.join();
    std::unique_lock<std::mutex> lock(mutex);
    all.wait(lock, [&] { return finished == jobs.size(); });
  }
  for (size_t i = 0; i < jobs.size(); ++i)
    expectSame(answers[i], expected.answers[i], i);
}

TEST(Engine, DestructionCancels) {
  auto exec = makeExecutor({});
  int cancelled = 0;
  {
    batch::Engine engine(*exec, engineOptions({}));
    for (int i = 0; i < 9; ++i) {
      batch::Callbacks cb;
      cb.done = [&](const Answer &a) { cancelled += a.finish == Finish::Cancelled; };
      uint64_t id;
      std::string error;
      batch::RequestOptions o;
      o.ignoreEos = true;
      engine.submit(toy::prompt(1, 30), o, cb, id, error);
      if (i == 7)
        engine.step();
    }
  }
  EXPECT_EQ(cancelled, 9);
}

TEST(Engine, ThousandRequestsReturnEverything) {
  RunSetup s;
  s.pages = 24;
  auto exec = makeExecutor(s);
  batch::Engine engine(*exec, engineOptions(s));
  size_t done = 0;
  for (uint32_t round = 0; round < 10; ++round) {
    for (uint32_t i = 0; i < 100; ++i) {
      batch::RequestOptions o;
      o.maxTokens = 1 + (i * 5) % 20;
      o.sampling.temperature = i % 2;
      o.sampling.seed = i;
      o.sampling.banned = {toy::Poison, toy::Broken};
      batch::Callbacks cb;
      cb.done = [&](const Answer &a) { done += a.finish != Finish::Error; };
      uint64_t id;
      std::string error;
      ASSERT_EQ(engine.submit(toy::prompt(i, 1 + i % 40), o, cb, id, error), batch::SubmitStatus::Ok);
      if (i % 10 == 9)
        engine.cancel(id);
    }
    engine.runUntilIdle();
    EXPECT_EQ(engine.stats().pagesInUse, 0u);
  }
  EXPECT_EQ(done, 1000u);
  EXPECT_EQ(engine.stats().cancelled, 100u);
}

TEST(Engine, StopStringsAndPieces) {
  // The reference text of a greedy answer; then stop in the middle of it.
  Job j;
  j.prompt = toy::prompt(12, 6);
  j.options.maxTokens = 40;
  j.options.ignoreEos = true;
  Answer full = runAll({j}, {}).answers[0];
  ASSERT_GT(full.text.size(), 12u);
  std::string stop = full.text.substr(full.text.size() / 2, 3);
  j.options.stopStrings = {"no such text", stop};
  Answer cut = runAll({j}, {}).answers[0];
  EXPECT_EQ(cut.finish, Finish::StopString);
  EXPECT_EQ(cut.stopString, stop);
  EXPECT_EQ(cut.text, full.text.substr(0, full.text.find(stop)));
  // A stop that never completes is given back at the end.
  j.options.stopStrings = {full.text.substr(full.text.size() - 2) + "#"};
  Answer whole = runAll({j}, {}).answers[0];
  EXPECT_EQ(whole.text, full.text);
  EXPECT_EQ(whole.finish, Finish::Length);
}

TEST(Engine, EosAndStopIds) {
  Job j;
  j.prompt = toy::prompt(12, 6);
  j.options.maxTokens = 40;
  j.options.ignoreEos = true;
  Answer full = runAll({j}, {}).answers[0];
  for (int32_t id : full.tokens)
    EXPECT_NE(id, toy::Eos);
  j.options.stopIds = {full.tokens[7]};
  Answer cut = runAll({j}, {}).answers[0];
  EXPECT_EQ(cut.finish, Finish::StopId);
  EXPECT_EQ(cut.tokens.back(), full.tokens[7]);
  EXPECT_LE(cut.tokens.size(), 8u);
  // A bias drives the model to its end token.
  Job k;
  k.prompt = toy::prompt(1, 3);
  k.options.sampling.logitBias = {{toy::Eos, 1000.0f}};
  Answer eos = runAll({k}, {}).answers[0];
  EXPECT_EQ(eos.tokens, std::vector<int32_t>{toy::Eos});
  EXPECT_EQ(eos.text, "");
}

TEST(Evaluate, LogitsAndHiddenStates) {
  std::vector<int32_t> ids = toy::prompt(4, 100);
  std::vector<std::vector<float>> expected = toy::reference(ids);
  std::vector<std::vector<float>> hidden = toy::referenceHidden(ids, 1);
  for (RunSetup s : {RunSetup{1, 10}, RunSetup{3, 10}})
    for (uint32_t chunk : {512u, 48u, 5u, 1u})
      for (bool all : {true, false}) {
        auto exec = makeExecutor(s);
        std::vector<uint32_t> wanted = {0, 3, 50, 51, 99}, seen, seenHidden;
        batch::EvaluateOptions o;
        o.chunk = chunk;
        o.logits = [&](uint32_t p, const float *l) {
          seen.push_back(p);
          ASSERT_EQ(std::vector<float>(l, l + toy::Vocab), expected[p]) << p;
        };
        o.hidden = [&](uint32_t kind, uint32_t layer, uint32_t p, const float *d, uint32_t width) {
          ASSERT_EQ(width, toy::Hidden);
          if (kind == INGOT_TAP_LAYER && layer == 1) {
            seenHidden.push_back(p);
            ASSERT_EQ(std::vector<float>(d, d + width), hidden[p]) << p;
          }
        };
        std::string error;
        ASSERT_TRUE(batch::evaluate(*exec, ids, all ? std::vector<uint32_t>() : wanted, all, o, error))
            << error;
        EXPECT_EQ(seen.size(), all ? 100u : wanted.size());
        EXPECT_EQ(seen, seenHidden);
        if (!all) {
          EXPECT_EQ(seen, wanted);
        }
      }
}

TEST(Evaluate, RefusesWhatDoesNotFit) {
  RunSetup s;
  s.pages = 2;
  auto exec = makeExecutor(s);
  std::string error;
  EXPECT_FALSE(batch::evaluate(*exec, toy::prompt(1, 33), {}, true, {}, error));
  EXPECT_NE(error.find("KV pages"), std::string::npos);
  EXPECT_FALSE(batch::evaluate(*exec, {}, {}, true, {}, error));
  EXPECT_FALSE(batch::evaluate(*exec, {1, 70}, {}, true, {}, error));
  EXPECT_FALSE(batch::evaluate(*exec, {1, 2}, {1, 1}, false, {}, error));
  EXPECT_FALSE(batch::evaluate(*exec, {1, 2}, {2}, false, {}, error));
  EXPECT_TRUE(batch::evaluate(*exec, toy::prompt(1, 32), {}, true, {}, error)) << error;
}

} // namespace
