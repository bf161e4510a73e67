//===- CApiTest.cpp - the runtime's C API ---------------------------------------------------------------===//
#include "TestPack.h"
#include "ToyModule.h"

#include "compiler/import/tokenizer/TokenizerImport.h"
#include "runtime/core/ingot_runtime.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

extern "C" int answerFromC(const void *pack, uint64_t bytes, const ingot_rt_variant *variant, int n);

namespace {

/// Byte-level BPE over letters and a few digits; ids as the toy module has them, 60 ends, 61 begins.
std::string tokenizerJson() {
  std::string vocab;
  auto add = [&](const std::string &text, int id) {
    vocab += (vocab.empty() ? "\"" : ",\"") + text + "\":" + std::to_string(id);
  };
  for (int i = 0; i < 26; ++i) {
    add(std::string(1, char('a' + i)), i);
    add(std::string(1, char('A' + i)), 26 + i);
  }
  add("\xC4\xA0", 52); // The byte-level space.
  for (int i = 0; i < 7; ++i)
    add(std::string(1, char('0' + i)), 53 + i);
  add("</s>", 60);
  add("<s>", 61);
  const char *pairs[] = {"th", "he", "in", "er", "an", "re", "on", "at"};
  std::string merges;
  for (int i = 0; i < 8; ++i) {
    add(pairs[i], 62 + i);
    merges += std::string(i ? "," : "") + "[\"" + pairs[i][0] + "\",\"" + pairs[i][1] + "\"]";
  }
  auto special = [](int id, const char *text) {
    return "{\"id\":" + std::to_string(id) + ",\"content\":\"" + text +
           "\",\"single_word\":false,\"lstrip\":false,\"rstrip\":false,\"normalized\":false,\"special\":"
           "true}";
  };
  return "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":[" +
         special(60, "</s>") + "," + special(61, "<s>") +
         "],\"normalizer\":null,\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false,"
         "\"trim_offsets\":true,\"use_regex\":true},\"post_processor\":null,\"decoder\":{\"type\":"
         "\"ByteLevel\","
         "\"add_prefix_space\":true,\"trim_offsets\":true,\"use_regex\":true},\"model\":{\"type\":\"BPE\","
         "\"dropout\":null,\"unk_token\":null,\"continuing_subword_prefix\":null,\"end_of_word_suffix\":null,"
         "\"fuse_unk\":false,\"byte_fallback\":false,\"ignore_merges\":false,\"vocab\":{" +
         vocab + "},\"merges\":[" + merges + "]}}";
}

const ingot_module_v1 *needsTooMuch(uint32_t version) {
  static ingot_module_v1 m = *toy::query(version);
  m.isa = "amx";
  m.features = "sse2,feature-of-the-future";
  return &m;
}

const ingot_module_v1 *otherWeights(uint32_t version) {
  static ingot_module_v1 m = *toy::query(version);
  m.weight_hash ^= 1;
  return &m;
}

std::vector<uint8_t> makePack(bool withTokenizer, const std::string &extraMeta = "") {
  const ingot_module_v1 &m = *toy::query(INGOT_ABI_VERSION);
  std::string meta =
      "{\"name\":\"toy\",\"arch\":\"llama\",\"vocab\":70,\"hidden\":16,\"layers\":2,\"context\":400,"
      "\"generation\":{\"eos_ids\":[60],\"temperature\":0.5,\"top_k\":7}" +
      extraMeta + "}";
  std::vector<testpack::Piece> pieces = {{INGOT_PACK_META, "", testpack::bytesOf(meta)}};
  if (withTokenizer) {
    std::vector<uint8_t> blob;
    std::string error;
    EXPECT_TRUE(ingot::import_::importHfTokenizer(
        tokenizerJson(), "{\"bos_token\":\"<s>\",\"eos_token\":\"</s>\"}", blob, error))
        << error;
    pieces.push_back({INGOT_PACK_TOKENIZER, "", blob});
  }
  pieces.push_back({INGOT_PACK_PARAMS, "", testpack::paramsOf(m, toy::weightBytes())});
  pieces.push_back({INGOT_PACK_WEIGHTS, "", {toy::weightBytes(), toy::weightBytes() + m.weight_bytes}});
  return testpack::write(pieces, m.weight_hash);
}

const std::string ChatMeta = ",\"chat_template\":\"{% for m in messages %}<s>{{ m.content }}</s>{% endfor "
                             "%}{% if add_generation_prompt %}"
                             "<s>{{ mood }}{% endif %}\"";

class CApi : public ::testing::Test {
protected:
  ingot_rt_variant variant = {"ref", toy::query};
  std::vector<uint8_t> bytes;
  ingot_rt_model *model = nullptr;
  ingot_rt_engine *engine = nullptr;
  char message[300] = "";

  int32_t open(std::vector<uint8_t> pack, const ingot_rt_model_options *given = nullptr) {
    bytes = std::move(pack);
    ingot_rt_model_options o;
    ingot_rt_model_options_init(&o);
    o.variants = &variant;
    o.n_variants = 1;
    return ingot_rt_model_open_memory(bytes.data(), bytes.size(), given ? given : &o, &model, message,
                                      sizeof(message));
  }
  void makeEngine(uint32_t pages = 40, uint32_t threads = 1) {
    ingot_rt_engine_options o;
    ingot_rt_engine_options_init(&o);
    o.threads = threads;
    o.kv_pages = pages;
    ASSERT_EQ(ingot_rt_engine_create(model, &o, &engine, message, sizeof(message)), INGOT_RT_OK) << message;
  }
  void TearDown() override {
    ingot_rt_engine_destroy(engine);
    ingot_rt_model_close(model);
  }
};

struct Seen {
  std::string streamed, text, error;
  std::vector<int32_t> ids, tokens;
  int32_t finish = -1;
  int done = 0;
  uint64_t request = 0;
  size_t tops = 0;
  int32_t stopAfter = 1000;
};

int32_t seeToken(void *user, const ingot_rt_token *t) {
  auto &s = *static_cast<Seen *>(user);
  s.streamed.append(t->text, t->text_bytes);
  s.ids.push_back(t->id);
  s.tops += t->n_top;
  return int32_t(s.ids.size()) >= s.stopAfter;
}

void seeDone(void *user, const ingot_rt_answer *a) {
  auto &s = *static_cast<Seen *>(user);
  s.text.assign(a->text, a->text_bytes);
  s.tokens.assign(a->tokens, a->tokens + a->n_tokens);
  s.finish = a->finish;
  s.error = a->error;
  s.request = a->request;
  ++s.done;
}

ingot_rt_request requestFor(Seen &seen) {
  ingot_rt_request r;
  ingot_rt_request_init(nullptr, &r);
  r.on_token = seeToken;
  r.on_done = seeDone;
  r.user = &seen;
  return r;
}

TEST_F(CApi, AnswersAreTheReference) {
  ASSERT_EQ(open(makePack(false)), INGOT_RT_OK) << message;
  makeEngine();
  std::vector<int32_t> prompt = toy::prompt(8, 20);
  Seen seen;
  ingot_rt_request r = requestFor(seen);
  r.ids = prompt.data();
  r.n_ids = prompt.size();
  r.max_tokens = 12;
  r.logprobs = 2;
  uint64_t id = 0;
  ASSERT_EQ(ingot_rt_submit(engine, &r, &id, message, sizeof(message)), INGOT_RT_OK) << message;
  ASSERT_EQ(ingot_rt_run_until_idle(engine, message, sizeof(message)), INGOT_RT_OK);
  EXPECT_EQ(seen.tokens, toy::referenceGreedy(prompt, 12));
  EXPECT_EQ(seen.ids, seen.tokens);
  EXPECT_EQ(seen.done, 1);
  EXPECT_EQ(seen.request, id);
  EXPECT_EQ(seen.tops, 2 * seen.tokens.size());
  EXPECT_EQ(ingot_rt_cancel(engine, id), INGOT_RT_NOT_FOUND);
  ingot_rt_stats_v1 stats = {};
  stats.struct_size = sizeof(stats);
  EXPECT_EQ(ingot_rt_stats(engine, &stats), INGOT_RT_OK);
  EXPECT_EQ(stats.generated_tokens, seen.tokens.size());
  EXPECT_EQ(stats.kv_pages_total, 40u);
  EXPECT_EQ(stats.finished, 1u);
  int32_t more = 1;
  EXPECT_EQ(ingot_rt_step(engine, &more, nullptr, 0), INGOT_RT_OK);
  EXPECT_EQ(more, 0);
}

TEST_F(CApi, FromC) {
  std::vector<uint8_t> pack = makePack(true);
  EXPECT_EQ(answerFromC(pack.data(), pack.size(), &variant, 9), 9);
  EXPECT_EQ(answerFromC(pack.data(), pack.size() - 1, &variant, 9), -INGOT_RT_FILE);
}

TEST_F(CApi, TextChatAndInfo) {
  ASSERT_EQ(open(makePack(true, ChatMeta)), INGOT_RT_OK) << message;
  ingot_rt_model_info info = {};
  info.struct_size = sizeof(info);
  ASSERT_EQ(ingot_rt_model_get_info(model, &info), INGOT_RT_OK);
  EXPECT_STREQ(info.name, "toy");
  EXPECT_STREQ(info.isa, "ref");
  EXPECT_EQ(info.vocab, toy::Vocab);
  EXPECT_EQ(info.kv_page_bytes, 4096u);
  EXPECT_TRUE(info.has_tokenizer && info.has_chat_template);
  EXPECT_EQ(std::vector<int32_t>(info.eos_ids, info.eos_ids + info.n_eos_ids), std::vector<int32_t>{60});
  // An older caller's shorter struct is filled as far as it goes.
  struct {
    uint32_t size, vocab, guard;
  } old = {8, 0, 0xABCD};
  EXPECT_EQ(ingot_rt_model_get_info(model, reinterpret_cast<ingot_rt_model_info *>(&old)), INGOT_RT_OK);
  EXPECT_EQ(old.vocab, toy::Vocab);
  EXPECT_EQ(old.guard, 0xABCDu);

  int32_t ids[32];
  uint64_t n = 0;
  ASSERT_EQ(ingot_rt_tokenize(model, "the cat", 7, 0, 0, ids, 32, &n, message, sizeof(message)), INGOT_RT_OK);
  EXPECT_EQ(std::vector<int32_t>(ids, ids + n), (std::vector<int32_t>{62, 4, 52, 2, 69}));
  uint64_t need = 0;
  EXPECT_EQ(ingot_rt_tokenize(model, "the cat", 7, 0, 0, ids, 4, &need, message, sizeof(message)),
            INGOT_RT_TOO_SMALL);
  EXPECT_EQ(need, 5u);
  char text[64];
  uint64_t length = 0;
  ASSERT_EQ(ingot_rt_detokenize(model, ids, n, 1, text, 64, &length, message, sizeof(message)), INGOT_RT_OK);
  EXPECT_EQ(std::string(text, length), "the cat");

  const char *chat = "[{\"role\":\"user\",\"content\":\"a</s>b\"}]";
  ASSERT_EQ(
      ingot_rt_chat_render(model, chat, "{\"mood\":\"in\"}", 1, text, 64, &length, message, sizeof(message)),
      INGOT_RT_OK)
      << message;
  EXPECT_EQ(std::string(text, length), "<s>a</s>b</s><s>in");
  // The user's "</s>" is text; '<', '/' and '>' have no token here and only the letter stays.
  ASSERT_EQ(
      ingot_rt_chat_tokenize(model, chat, "{\"mood\":\"in\"}", 1, ids, 32, &n, message, sizeof(message)),
      INGOT_RT_OK)
      << message;
  EXPECT_EQ(std::vector<int32_t>(ids, ids + n), (std::vector<int32_t>{61, 0, 18, 1, 60, 61, 64}));
  EXPECT_EQ(ingot_rt_chat_render(model, "[{", nullptr, 1, text, 64, &length, message, sizeof(message)),
            INGOT_RT_INVALID);
  EXPECT_EQ(ingot_rt_chat_render(model, "{}", nullptr, 1, text, 64, &length, message, sizeof(message)),
            INGOT_RT_INVALID);
  EXPECT_EQ(ingot_rt_chat_render(model, chat, "[]", 1, text, 64, &length, message, sizeof(message)),
            INGOT_RT_INVALID);

  // Prompts as text and as messages give the same answers as their ids.
  makeEngine();
  Seen a, b, c;
  std::vector<int32_t> direct = {61, 0, 18, 1, 60, 61, 64};
  ingot_rt_request r = requestFor(a);
  r.ids = direct.data();
  r.n_ids = direct.size();
  r.max_tokens = 10;
  const char *stops[] = {"zzzz"};
  r.stop_strings = stops;
  r.n_stop_strings = 1;
  ASSERT_EQ(ingot_rt_submit(engine, &r, nullptr, message, sizeof(message)), INGOT_RT_OK) << message;
  ingot_rt_request q = requestFor(b);
  q.messages = chat;
  q.extra = "{\"mood\":\"in\"}";
  q.max_tokens = 10;
  ASSERT_EQ(ingot_rt_submit(engine, &q, nullptr, message, sizeof(message)), INGOT_RT_OK) << message;
  ingot_rt_request t = requestFor(c);
  t.text = "<s>as b</s>";
  t.text_bytes = 11;
  t.parse_special = 1;
  t.max_tokens = 3;
  ASSERT_EQ(ingot_rt_submit(engine, &t, nullptr, message, sizeof(message)), INGOT_RT_OK) << message;
  ASSERT_EQ(ingot_rt_run_until_idle(engine, message, sizeof(message)), INGOT_RT_OK);
  EXPECT_EQ(a.tokens, b.tokens);
  EXPECT_EQ(a.text, b.text);
  EXPECT_EQ(a.text, a.streamed);
  EXPECT_FALSE(a.text.empty());
  EXPECT_EQ(c.done, 1);
  // The author's sampling is the default of request_init.
  ingot_rt_request_init(model, &r);
  EXPECT_EQ(r.temperature, 0.5);
  EXPECT_EQ(r.top_k, 7);
}

TEST_F(CApi, OpenFaults) {
  ingot_rt_model_options o;
  ingot_rt_model_options_init(&o);
  EXPECT_EQ(ingot_rt_model_open("/no/such/model.ipk", &o, &model, message, sizeof(message)), INGOT_RT_FILE);
  EXPECT_NE(std::string(message).find("/no/such/model.ipk"), std::string::npos);
  EXPECT_EQ(model, nullptr);
  EXPECT_EQ(ingot_rt_model_open(nullptr, &o, &model, message, sizeof(message)), INGOT_RT_FILE);
  EXPECT_EQ(open(makePack(false), &o), INGOT_RT_UNSUPPORTED) << "nothing is linked in";
  std::vector<uint8_t> bad = makePack(false);
  bad[200] ^= 1;
  EXPECT_EQ(open(bad), INGOT_RT_FILE);
  variant.query = otherWeights;
  EXPECT_EQ(open(makePack(false)), INGOT_RT_FILE);
  EXPECT_NE(std::string(message).find("other code"), std::string::npos) << message;
  variant = {"amx", needsTooMuch};
  EXPECT_EQ(open(makePack(false)), INGOT_RT_UNSUPPORTED);
  EXPECT_NE(std::string(message).find("feature-of-the-future"), std::string::npos) << message;
  // Several variants: the one that runs is taken; a forced one is not replaced.
  ingot_rt_variant two[2] = {{"amx", needsTooMuch}, {"ref", toy::query}};
  o.variants = two;
  o.n_variants = 2;
  EXPECT_EQ(open(makePack(false), &o), INGOT_RT_OK) << message;
  ingot_rt_model_close(model);
  o.isa = "amx";
  EXPECT_EQ(open(makePack(false), &o), INGOT_RT_UNSUPPORTED);
  o.isa = nullptr;
  o.verify = 1;
  EXPECT_EQ(open(makePack(false), &o), INGOT_RT_OK) << message;
  ingot_rt_model_close(model);
  bad = makePack(false);
  bad[bad.size() - 3] ^= 1;
  EXPECT_EQ(open(bad, &o), INGOT_RT_FILE);
  EXPECT_NE(std::string(message).find("layer1.o"), std::string::npos) << message;
  o.struct_size = 0;
  EXPECT_EQ(open(makePack(false), &o), INGOT_RT_INVALID);
  EXPECT_EQ(ingot_rt_model_open_memory(nullptr, 0, nullptr, &model, nullptr, 0), INGOT_RT_INVALID);
  EXPECT_EQ(ingot_rt_model_open("x", nullptr, nullptr, nullptr, 0), INGOT_RT_INVALID);
  char tiny[10];
  EXPECT_EQ(ingot_rt_model_open("/no/such/model.ipk", nullptr, &model, tiny, sizeof(tiny)), INGOT_RT_FILE);
  EXPECT_STREQ(tiny, "/no/such/");
  EXPECT_EQ(model, nullptr);
}

TEST_F(CApi, BrokenTokenizerAndTemplate) {
  const ingot_module_v1 &m = *toy::query(INGOT_ABI_VERSION);
  std::vector<uint8_t> pack =
      testpack::write({{INGOT_PACK_META, "", testpack::bytesOf("{}")},
                       {INGOT_PACK_TOKENIZER, "", testpack::bytesOf("not a tokenizer")},
                       {INGOT_PACK_PARAMS, "", testpack::paramsOf(m, toy::weightBytes())},
                       {INGOT_PACK_WEIGHTS, "", {toy::weightBytes(), toy::weightBytes() + m.weight_bytes}}},
                      m.weight_hash);
  EXPECT_EQ(open(pack), INGOT_RT_FILE);
  EXPECT_NE(std::string(message).find("section TOKENIZER"), std::string::npos) << message;
  ASSERT_EQ(open(makePack(false, ",\"chat_template\":\"{% for %}\"")), INGOT_RT_OK) << message;
  uint64_t n;
  EXPECT_EQ(ingot_rt_chat_render(model, "[]", nullptr, 1, nullptr, 0, &n, message, sizeof(message)),
            INGOT_RT_UNSUPPORTED);
  EXPECT_NE(std::string(message).find("line 1"), std::string::npos) << message;
  EXPECT_EQ(ingot_rt_tokenize(model, "a", 1, 0, 0, nullptr, 0, &n, message, sizeof(message)),
            INGOT_RT_UNSUPPORTED);
}

TEST_F(CApi, RequestFaults) {
  ASSERT_EQ(open(makePack(false)), INGOT_RT_OK) << message;
  makeEngine(2);
  Seen seen;
  auto submit = [&](auto change) {
    ingot_rt_request r = requestFor(seen);
    static const int32_t ids[] = {1, 2, 3};
    r.ids = ids;
    r.n_ids = 3;
    change(r);
    uint64_t id = 99;
    int32_t status = ingot_rt_submit(engine, &r, &id, message, sizeof(message));
    EXPECT_EQ(id != 0, status == INGOT_RT_OK);
    return status;
  };
  EXPECT_EQ(submit([](auto &r) { r.text = "both"; }), INGOT_RT_INVALID);
  EXPECT_EQ(submit([](auto &r) { r.ids = nullptr; }), INGOT_RT_INVALID);
  EXPECT_EQ(submit([](auto &r) { r.n_ids = 0; }), INGOT_RT_INVALID);
  EXPECT_EQ(submit([](auto &r) { r.ids = nullptr, r.text = "x", r.text_bytes = 1; }), INGOT_RT_UNSUPPORTED);
  EXPECT_EQ(submit([](auto &r) { r.ids = nullptr, r.messages = "[]"; }), INGOT_RT_UNSUPPORTED);
  EXPECT_EQ(submit([](auto &r) { r.temperature = -1; }), INGOT_RT_INVALID);
  EXPECT_NE(std::string(message).find("temperature"), std::string::npos);
  EXPECT_EQ(submit([](auto &r) { r.n_stop_ids = 1; }), INGOT_RT_INVALID);
  EXPECT_EQ(submit([](auto &r) { r.max_tokens = 100; }), INGOT_RT_TOO_LONG);
  EXPECT_EQ(submit([](auto &r) { r.struct_size = 2; }), INGOT_RT_INVALID);
  EXPECT_EQ(ingot_rt_submit(nullptr, nullptr, nullptr, message, sizeof(message)), INGOT_RT_INVALID);
  EXPECT_EQ(ingot_rt_submit(engine, nullptr, nullptr, message, sizeof(message)), INGOT_RT_INVALID);
  EXPECT_EQ(seen.done, 0);
  EXPECT_EQ(submit([](auto &r) { r.max_tokens = 2, r.ignore_eos = 1; }), INGOT_RT_OK);
  EXPECT_EQ(ingot_rt_run_until_idle(engine, nullptr, 0), INGOT_RT_OK);
  EXPECT_EQ(seen.done, 1);
  EXPECT_EQ(seen.finish, INGOT_RT_FINISH_LENGTH);
  // The callback's value cancels.
  seen = {};
  seen.stopAfter = 3;
  EXPECT_EQ(submit([](auto &r) { r.ignore_eos = 1; }), INGOT_RT_OK);
  EXPECT_EQ(ingot_rt_run_until_idle(engine, nullptr, 0), INGOT_RT_OK);
  EXPECT_EQ(seen.finish, INGOT_RT_FINISH_CANCELLED);
  EXPECT_EQ(seen.tokens.size(), 3u);
}

TEST_F(CApi, EngineOptions) {
  ASSERT_EQ(open(makePack(false)), INGOT_RT_OK) << message;
  ingot_rt_engine_options o;
  ingot_rt_engine_options_init(&o);
  o.threads = 1;
  o.kv_bytes = 5 * 4096;
  ASSERT_EQ(ingot_rt_engine_create(model, &o, &engine, message, sizeof(message)), INGOT_RT_OK) << message;
  ingot_rt_stats_v1 stats = {};
  stats.struct_size = sizeof(stats);
  EXPECT_EQ(ingot_rt_stats(engine, &stats), INGOT_RT_OK);
  EXPECT_EQ(stats.kv_pages_total, 4u);
  ingot_rt_engine_destroy(engine);
  engine = nullptr;
  o.kv_bytes = 100;
  EXPECT_EQ(ingot_rt_engine_create(model, &o, &engine, message, sizeof(message)), INGOT_RT_INVALID);
  o.kv_bytes = 0;
  o.threads = 100000;
  EXPECT_EQ(ingot_rt_engine_create(model, &o, &engine, message, sizeof(message)), INGOT_RT_INVALID);
  EXPECT_EQ(engine, nullptr);
  o.threads = 1;
  ASSERT_EQ(ingot_rt_engine_create(model, &o, &engine, message, sizeof(message)), INGOT_RT_OK);
  EXPECT_EQ(ingot_rt_stats(engine, &stats), INGOT_RT_OK);
  EXPECT_EQ(stats.kv_pages_total, 6u * 25);
}

TEST_F(CApi, BackgroundThreadAndDestruction) {
  ASSERT_EQ(open(makePack(true)), INGOT_RT_OK) << message;
  makeEngine(40, 2);
  ASSERT_EQ(ingot_rt_start(engine, message, sizeof(message)), INGOT_RT_OK) << message;
  ingot_rt_model_close(model);
  model = nullptr;
  std::vector<Seen> seen(30);
  std::vector<int32_t> prompt = toy::prompt(8, 20);
  for (Seen &s : seen) {
    ingot_rt_request r = requestFor(s);
    r.ids = prompt.data();
    r.n_ids = prompt.size();
    r.max_tokens = 40;
    r.ignore_eos = 1;
    ASSERT_EQ(ingot_rt_submit(engine, &r, nullptr, message, sizeof(message)), INGOT_RT_OK) << message;
  }
  ingot_rt_engine_destroy(engine);
  engine = nullptr;
  for (Seen &s : seen) {
    EXPECT_EQ(s.done, 1);
    EXPECT_TRUE(s.finish == INGOT_RT_FINISH_CANCELLED || s.tokens.size() == 40);
  }
}

} // namespace
