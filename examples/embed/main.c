/* Embeds the compiler: a model file becomes code in this process, and answers.
 *
 *   cc -std=c99 main.c -I PREFIX/include -L PREFIX/lib -lingot -lingot_runtime -Wl,-rpath,PREFIX/lib -o embed
 *   ./embed MODEL "Once upon a time"
 *
 * Prints the answer to the prompt as it comes. A second request runs beside it and is cancelled after its
 * third token; standard error says so. */
#include <ingot/ingot.h>
#include <ingot/ingot_runtime.h>

#include <stdio.h>
#include <string.h>

typedef struct run {
  ingot_rt_engine *engine;
  int tokens; /* received */
  int finish; /* how the answer ended, an ingot_rt_finish */
  int limit;  /* cancel after so many tokens; 0: never */
} run;

static void on_progress(void *user, const char *what, const char *unit, uint64_t done, uint64_t total) {
  (void)user;
  (void)unit;
  if (total && done == total)
    fprintf(stderr, "%s: done\n", what);
}

static int32_t on_text(void *user, const ingot_rt_token *token) {
  run *r = user;
  ++r->tokens;
  fwrite(token->text, 1, token->text_bytes, stdout);
  fflush(stdout);
  return 0;
}

static int32_t on_counted(void *user, const ingot_rt_token *token) {
  run *r = user;
  if (++r->tokens == r->limit)
    ingot_rt_cancel(r->engine, token->request);
  return 0;
}

static void on_done(void *user, const ingot_rt_answer *answer) {
  run *r = user;
  r->finish = answer->finish;
  if (answer->finish == INGOT_RT_FINISH_ERROR)
    fprintf(stderr, "request failed: %s\n", answer->error);
}

static int answer(const ingot_rt_model *model, const char *prompt) {
  char message[1024];
  ingot_rt_engine *engine = NULL;
  ingot_rt_request request;
  run first = {0}, second = {0};
  int32_t status = ingot_rt_engine_create(model, NULL, &engine, message, sizeof(message));
  if (status == INGOT_RT_OK) {
    first.engine = second.engine = engine;
    second.limit = 3;
    ingot_rt_request_init(model, &request);
    request.text = prompt;
    request.text_bytes = strlen(prompt);
    request.temperature = 0;
    request.max_tokens = 32;
    request.on_token = on_text;
    request.on_done = on_done;
    request.user = &first;
    status = ingot_rt_submit(engine, &request, NULL, message, sizeof(message));
  }
  if (status == INGOT_RT_OK) {
    request.ignore_eos = 1;
    request.on_token = on_counted;
    request.user = &second;
    status = ingot_rt_submit(engine, &request, NULL, message, sizeof(message));
  }
  if (status == INGOT_RT_OK)
    status = ingot_rt_run_until_idle(engine, message, sizeof(message));
  if (status != INGOT_RT_OK)
    fprintf(stderr, "error: %s\n", message);
  ingot_rt_engine_destroy(engine);
  if (status != INGOT_RT_OK || first.finish == INGOT_RT_FINISH_ERROR)
    return 1;
  printf("\n");
  fprintf(stderr, "first: %d tokens; second: %s after %d tokens\n", first.tokens,
          second.finish == INGOT_RT_FINISH_CANCELLED ? "cancelled" : "finished", second.tokens);
  return 0;
}

int main(int argc, char **argv) {
  char message[4096];
  ingot_compile_options options;
  ingot_jit *jit = NULL;
  ingot_rt_model *model = NULL;
  int result = 1;
  if (argc != 3) {
    fprintf(stderr, "usage: %s MODEL PROMPT\n", argv[0]);
    return 2;
  }
  ingot_compile_options_init(&options);
  options.on_progress = on_progress;
  if (ingot_jit_compile(argv[1], &options, &jit, message, sizeof(message)) != INGOT_OK ||
      ingot_jit_open_model(jit, NULL, &model, message, sizeof(message)) != INGOT_RT_OK)
    fprintf(stderr, "error: %s\n", message);
  else
    result = answer(model, argv[2]);
  /* The code outlives what was opened from it. */
  ingot_rt_model_close(model);
  ingot_jit_destroy(jit);
  return result;
}
