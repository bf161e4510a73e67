/* Embeds a compiled model without the compiler: its object is linked in, its weights are read from a pack.
 *
 *   ingot compile MODEL --target=native --emit=obj -o model.o
 *   ingot compile MODEL --target=native --emit=pack -o model.ipk
 *   cc -std=c99 linked.c model.o -I PREFIX/include PREFIX/lib/libingot_runtime.a -lstdc++ -lm -lpthread -o
 * linked
 *   ./linked model.ipk "Once upon a time"
 */
#include <ingot/ingot_runtime.h>

#include <stdio.h>
#include <string.h>

static int32_t on_text(void *user, const ingot_rt_token *token) {
  (void)user;
  fwrite(token->text, 1, token->text_bytes, stdout);
  return 0;
}

int main(int argc, char **argv) {
  char message[1024] = "";
  ingot_rt_model *model = NULL;
  ingot_rt_engine *engine = NULL;
  ingot_rt_request request;
  int32_t status;
  if (argc != 3) {
    fprintf(stderr, "usage: %s PACK PROMPT\n", argv[0]);
    return 2;
  }
  status = ingot_rt_model_open(argv[1], NULL, &model, message, sizeof(message));
  if (status == INGOT_RT_OK)
    status = ingot_rt_engine_create(model, NULL, &engine, message, sizeof(message));
  if (status == INGOT_RT_OK) {
    ingot_rt_request_init(model, &request);
    request.text = argv[2];
    request.text_bytes = strlen(argv[2]);
    request.temperature = 0;
    request.max_tokens = 32;
    request.on_token = on_text;
    status = ingot_rt_submit(engine, &request, NULL, message, sizeof(message));
  }
  if (status == INGOT_RT_OK)
    status = ingot_rt_run_until_idle(engine, message, sizeof(message));
  if (status != INGOT_RT_OK)
    fprintf(stderr, "error: %s\n", message);
  else
    printf("\n");
  ingot_rt_engine_destroy(engine);
  ingot_rt_model_close(model);
  return status != INGOT_RT_OK;
}
