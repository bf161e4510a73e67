/* The C API used from C: one answer, its tokens counted in a callback. */
#include "runtime/core/ingot_runtime.h"

static int32_t onToken(void *user, const ingot_rt_token *token) {
  (void)token;
  ++*(int *)user;
  return 0;
}

/* Tokens received for a greedy answer of up to `n`, or the negated status that failed. */
int answerFromC(const void *pack, uint64_t bytes, const ingot_rt_variant *variant, int n);

int answerFromC(const void *pack, uint64_t bytes, const ingot_rt_variant *variant, int n) {
  ingot_rt_model_options options;
  ingot_rt_model *model;
  ingot_rt_engine *engine;
  ingot_rt_request request;
  const int32_t ids[3] = {1, 2, 3};
  char message[200];
  int seen = 0;
  ingot_rt_model_options_init(&options);
  options.variants = variant;
  options.n_variants = 1;
  int32_t status = ingot_rt_model_open_memory(pack, bytes, &options, &model, message, sizeof(message));
  if (status != INGOT_RT_OK)
    return -status;
  status = ingot_rt_engine_create(model, NULL, &engine, message, sizeof(message));
  ingot_rt_request_init(NULL, &request);
  ingot_rt_model_close(model); /* The engine keeps what it needs. */
  if (status != INGOT_RT_OK)
    return -status;
  request.ids = ids;
  request.n_ids = 3;
  request.max_tokens = n;
  request.ignore_eos = 1;
  request.on_token = onToken;
  request.user = &seen;
  status = ingot_rt_submit(engine, &request, NULL, message, sizeof(message));
  if (status == INGOT_RT_OK)
    status = ingot_rt_run_until_idle(engine, message, sizeof(message));
  ingot_rt_engine_destroy(engine);
  return status != INGOT_RT_OK ? -status : seen;
}
