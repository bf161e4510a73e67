/* clang-format off */
/*===- ingot_runtime.h - running compiled models, C API --------------------------------------------------===*\
 *
 * Load a model, submit requests, receive tokens and text by callbacks. Opaque handles, no global state; several
 * models and engines may live in one process.
 *
 * Every function that can fail returns an ingot_rt_status and writes a message (UTF-8, zero-terminated, cut to fit)
 * to `message`, which may be NULL with `message_size` 0. Structs begin with their size, which the caller sets
 * (the *_init functions do); fields that an older caller does not know keep their defaults. Strings passed in are
 * copied. No C++ exception leaves a function.
 *
 * Threads: a model may be used from any thread. ingot_rt_submit, _cancel and _stats may be called from any thread at
 * any time; _step, _run_until_idle, _start and _stop from one thread at a time. Callbacks run on the stepping thread:
 * they may submit and cancel, but neither step nor stop nor destroy.
 *
\*===----------------------------------------------------------------------------------------------------===*/
#ifndef INGOT_RUNTIME_CORE_INGOT_RUNTIME_H
#define INGOT_RUNTIME_CORE_INGOT_RUNTIME_H

#include "runtime/abi/ingot_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define INGOT_RT_API __attribute__((visibility("default")))
#else
#define INGOT_RT_API
#endif

typedef enum ingot_rt_status {
  INGOT_RT_OK = 0,
  INGOT_RT_INVALID = 1,       /* an argument or a request field; the message names it                          */
  INGOT_RT_FILE = 2,          /* the pack cannot be read, or is damaged                                        */
  INGOT_RT_UNSUPPORTED = 3,   /* no variant runs on this CPU, or the model lacks a tokenizer or template       */
  INGOT_RT_OUT_OF_MEMORY = 4,
  INGOT_RT_TOO_LONG = 5,      /* the prompt does not fit the context, or the request not the KV pool           */
  INGOT_RT_NOT_FOUND = 6,     /* no such request                                                               */
  INGOT_RT_TOO_SMALL = 7,     /* the buffer; the needed count has been written                                 */
  INGOT_RT_INTERNAL = 8
} ingot_rt_status;

typedef struct ingot_rt_model ingot_rt_model;
typedef struct ingot_rt_engine ingot_rt_engine;

/*===- Models -------------------------------------------------------------------------------------------===*/

/* Code of one variant: what ingot_module_query_<isa> of its object is, linked in or made by the JIT. */
typedef struct ingot_rt_variant {
  const char *isa;
  ingot_module_query_fn query;
} ingot_rt_variant;

typedef struct ingot_rt_model_options {
  uint32_t struct_size;
  uint32_t map_weights;  /* 0: read into huge pages; 1: map the file or use the memory given                   */
  uint32_t load_threads; /* readers of the weights; 0: one per usable core                                     */
  uint32_t verify;       /* 1: check the hashes of all weights                                                 */
  const char *isa;       /* the only variant to accept; NULL: the best that runs here                          */
  const ingot_rt_variant *variants;
  uint32_t n_variants;   /* 0: the variants that are linked into this program                                  */
  uint32_t reserved0;
} ingot_rt_model_options;

/* Strings live as long as the model. */
typedef struct ingot_rt_model_info {
  uint32_t struct_size;
  uint32_t vocab, hidden, layers, context, max_seqs;
  uint64_t weight_bytes;
  uint64_t kv_page_bytes; /* one page of INGOT_KV_PAGE tokens, all layers                                      */
  const char *name;
  const char *arch;
  const char *isa;        /* of the chosen variant                                                             */
  const char *build;
  const char *meta;       /* the pack's META, JSON                                                             */
  uint32_t has_tokenizer;
  uint32_t has_chat_template;
  const int32_t *eos_ids;
  uint64_t n_eos_ids;
} ingot_rt_model_info;

INGOT_RT_API void ingot_rt_model_options_init(ingot_rt_model_options *options);

/* Opens a `.ipk` file or an executable with a pack at its end; NULL: the running executable. `options` may be
 * NULL. On success *model is to be closed; on failure it is NULL. */
INGOT_RT_API int32_t ingot_rt_model_open(const char *path, const ingot_rt_model_options *options,
                                         ingot_rt_model **model, char *message, size_t message_size);
/* A pack in memory that outlives the model. */
INGOT_RT_API int32_t ingot_rt_model_open_memory(const void *pack, uint64_t bytes,
                                                const ingot_rt_model_options *options, ingot_rt_model **model,
                                                char *message, size_t message_size);
/* Engines made of the model keep what they need of it. NULL is ignored. */
INGOT_RT_API void ingot_rt_model_close(ingot_rt_model *model);
INGOT_RT_API int32_t ingot_rt_model_get_info(const ingot_rt_model *model, ingot_rt_model_info *info);

/* Ids of a text of `bytes` bytes. add_special: what the tokenizer puts around a text (BOS); parse_special: special
 * tokens in the text are read as such. *count is always the number needed; with fewer in `capacity` nothing is
 * written and INGOT_RT_TOO_SMALL returned. */
INGOT_RT_API int32_t ingot_rt_tokenize(const ingot_rt_model *model, const char *text, uint64_t bytes,
                                       int32_t add_special, int32_t parse_special, int32_t *ids, uint64_t capacity,
                                       uint64_t *count, char *message, size_t message_size);
/* Text of ids; not terminated. Conventions as above. */
INGOT_RT_API int32_t ingot_rt_detokenize(const ingot_rt_model *model, const int32_t *ids, uint64_t n,
                                         int32_t skip_special, char *text, uint64_t capacity, uint64_t *bytes,
                                         char *message, size_t message_size);
/* Renders a conversation (JSON array of {"role","content",...}) with the model's chat template. `extra`: NULL or a
 * JSON object of further template variables; its "tools" and "documents" are the template's. */
INGOT_RT_API int32_t ingot_rt_chat_render(const ingot_rt_model *model, const char *messages, const char *extra,
                                          int32_t add_generation_prompt, char *text, uint64_t capacity,
                                          uint64_t *bytes, char *message, size_t message_size);
/* The same as ids: special tokens are read in what the template wrote, never in what users wrote. */
INGOT_RT_API int32_t ingot_rt_chat_tokenize(const ingot_rt_model *model, const char *messages, const char *extra,
                                            int32_t add_generation_prompt, int32_t *ids, uint64_t capacity,
                                            uint64_t *count, char *message, size_t message_size);

/*===- Engines ------------------------------------------------------------------------------------------===*/

enum { INGOT_RT_PIN_AUTO = 0, INGOT_RT_PIN_ON = 1, INGOT_RT_PIN_OFF = 2 };

typedef struct ingot_rt_engine_options {
  uint32_t struct_size;
  uint32_t threads;  /* 0: one per usable core                                                                 */
  uint32_t pinning;
  uint32_t max_seqs; /* requests that run together; 0: the model's limit                                       */
  uint32_t chunk;    /* prompt tokens per step; 0: 512                                                         */
  uint32_t kv_pages; /* 0: by kv_bytes                                                                         */
  uint64_t kv_bytes; /* 0: full context for max_seqs requests, at most half of the machine's memory       */
} ingot_rt_engine_options;

typedef struct ingot_rt_logprob {
  int32_t id;
  float logprob;
} ingot_rt_logprob;

/* One token of an answer. `text` is what became certain with it: complete UTF-8, not terminated, possibly empty. */
typedef struct ingot_rt_token {
  uint32_t struct_size;
  int32_t id;
  uint64_t request;
  const char *text;
  uint64_t text_bytes;
  float logprob;         /* with logprobs >= 0                                                                 */
  uint32_t n_top;
  const ingot_rt_logprob *top;
  uint32_t last;
  uint32_t reserved0;
} ingot_rt_token;

typedef enum ingot_rt_finish {
  INGOT_RT_FINISH_STOP_ID = 0,     /* the drawn end token is the last of `tokens`, not in the text             */
  INGOT_RT_FINISH_STOP_STRING = 1,
  INGOT_RT_FINISH_LENGTH = 2,
  INGOT_RT_FINISH_CANCELLED = 3,
  INGOT_RT_FINISH_ERROR = 4
} ingot_rt_finish;

typedef struct ingot_rt_answer {
  uint32_t struct_size;
  int32_t finish;
  uint64_t request;
  const int32_t *tokens;
  uint64_t n_tokens;
  const char *text;        /* the whole answer, zero-terminated                                                */
  uint64_t text_bytes;
  const char *stop_string; /* the one that matched, or ""                                                      */
  const char *error;       /* why, for INGOT_RT_FINISH_ERROR, or ""                                            */
  uint32_t prompt_tokens;
  uint32_t preemptions;
  double queued_ms, prompt_ms, generation_ms;
} ingot_rt_answer;

/* Returns 0 to go on, another value to cancel the request. */
typedef int32_t (*ingot_rt_token_fn)(void *user, const ingot_rt_token *token);
typedef void (*ingot_rt_done_fn)(void *user, const ingot_rt_answer *answer);

typedef struct ingot_rt_bias {
  int32_t id;
  float bias;
} ingot_rt_bias;

/* The prompt is exactly one of ids, text and messages. */
typedef struct ingot_rt_request {
  uint32_t struct_size;
  int32_t parse_special;  /* of text                                                                           */
  const int32_t *ids;
  uint64_t n_ids;
  const char *text;       /* begins with the tokenizer's BOS                                                   */
  uint64_t text_bytes;
  const char *messages;   /* as of ingot_rt_chat_render, with generation prompt                                */
  const char *extra;

  double temperature;     /* 0: greedy                                                                         */
  int32_t top_k;          /* 0: off                                                                            */
  int32_t penalty_window; /* last tokens that penalties count; -1: all                                         */
  double top_p;
  double min_p;
  double repetition_penalty;
  double presence_penalty;
  double frequency_penalty;
  uint64_t seed;
  int64_t max_tokens;     /* -1: as many as fit                                                                */
  int32_t logprobs;       /* alternatives per token; -1: none                                                  */
  int32_t ignore_eos;
  const ingot_rt_bias *logit_bias;
  uint64_t n_logit_bias;
  const int32_t *stop_ids;
  uint64_t n_stop_ids;
  const char *const *stop_strings;
  uint64_t n_stop_strings;

  ingot_rt_token_fn on_token; /* may be NULL, as on_done                                                       */
  ingot_rt_done_fn on_done;   /* called exactly once for every accepted request                                */
  void *user;
} ingot_rt_request;

typedef struct ingot_rt_stats_v1 {
  uint32_t struct_size;
  uint32_t running, waiting;
  uint32_t kv_pages_total, kv_pages_in_use, kv_pages_peak;
  uint64_t steps, rows, prompt_tokens, recomputed_tokens, generated_tokens, preemptions;
  uint64_t submitted, finished, cancelled, failed;
  double step_seconds;
} ingot_rt_stats_v1;

INGOT_RT_API void ingot_rt_engine_options_init(ingot_rt_engine_options *options);
INGOT_RT_API int32_t ingot_rt_engine_create(const ingot_rt_model *model, const ingot_rt_engine_options *options,
                                            ingot_rt_engine **engine, char *message, size_t message_size);
/* Cancels what has not finished, with its callbacks. NULL is ignored. */
INGOT_RT_API void ingot_rt_engine_destroy(ingot_rt_engine *engine);

/* Defaults: the sampling that the model's author published, else greedy; no limit of tokens. */
INGOT_RT_API void ingot_rt_request_init(const ingot_rt_model *model, ingot_rt_request *request);
INGOT_RT_API int32_t ingot_rt_submit(ingot_rt_engine *engine, const ingot_rt_request *request, uint64_t *id,
                                     char *message, size_t message_size);
/* INGOT_RT_NOT_FOUND where the request has finished already. on_done follows with INGOT_RT_FINISH_CANCELLED. */
INGOT_RT_API int32_t ingot_rt_cancel(ingot_rt_engine *engine, uint64_t id);
/* One step; *more is 0 where nothing is left to do. */
INGOT_RT_API int32_t ingot_rt_step(ingot_rt_engine *engine, int32_t *more, char *message, size_t message_size);
INGOT_RT_API int32_t ingot_rt_run_until_idle(ingot_rt_engine *engine, char *message, size_t message_size);
/* Steps on a thread of the engine's own until _stop. */
INGOT_RT_API int32_t ingot_rt_start(ingot_rt_engine *engine, char *message, size_t message_size);
INGOT_RT_API int32_t ingot_rt_stop(ingot_rt_engine *engine);
INGOT_RT_API int32_t ingot_rt_stats(const ingot_rt_engine *engine, ingot_rt_stats_v1 *stats);

#ifdef __cplusplus
}
#endif
#endif
