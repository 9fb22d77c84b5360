/* Does GPT-2 XL fit on 64 A100s with ZeRO-2, and how fast is it? The same as `shardlab predict`, in this process.
 *
 *   cc predict.c $(pkg-config --cflags --libs shardlab) -o predict && ./predict
 */
#include <shardlab.h>

#include <stdio.h>

static const char config[] = "{\"train_micro_batch_size_per_gpu\": 2, \"bf16\": {\"enabled\": true},"
                             " \"optimizer\": {\"type\": \"AdamW\"}, \"zero_optimization\": {\"stage\": 2}}";

int main(int argc, char **argv) {
  const char *flags[] = {"--world", argc > 1 ? argv[1] : "64", NULL};
  shardlab_result *result;
  const int status = shardlab_predict("gpt2-xl", config, "dgx-a100-80g", flags, &result);
  for (size_t i = 0; i < shardlab_warning_count(result); i++)
    fprintf(stderr, "warning: %s\n", shardlab_warning(result, i));
  if (status == SHARDLAB_OK)
    printf("%s\n", shardlab_record(result)); /* JSON: step_time_s, tokens_per_s, memory, traffic ... */
  else
    fprintf(stderr, "error: %s\n", shardlab_error(result));
  shardlab_free(result);
  return status;
}
