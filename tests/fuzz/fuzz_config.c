/* Fuzz target: any bytes as a training configuration. Whatever parses must resolve or fail cleanly, give finite
 * learning rates, and survive its own dump. */
#include "core/config/config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void swallow(void *context, const char *message) {
  (void)context;
  (void)message;
}

/* The dump of `config` must read back as the same configuration. */
static void check_dump(const struct sl_config *config) {
  struct sl_config again;
  json_t *dump = sl_config_to_json(config);
  char *text = json_dumps(dump, 0);
  if (text == NULL || sl_config_parse(&again, "dump", text, strlen(text), true) != SL_OK) abort();
  json_t *second = sl_config_to_json(&again);
  if (!json_equal(dump, second)) abort();
  json_decref(second);
  sl_config_free(&again);
  free(text);
  json_decref(dump);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const int64_t steps[] = {0, 1, 2, 77, 1000, INT64_MAX};
  struct sl_config config;
  double beta1, beta2;
  sl_warn_set_sink(swallow, NULL);
  sl_error_clear();
  if (sl_config_parse(&config, "fuzz", (const char *)data, size, false) != SL_OK) {
    if (sl_error_message()[0] == '\0') abort();
    return 0;
  }
  for (int i = 0; i < 6; i++) {
    if (isnan(sl_config_lr(&config, steps[i]))) abort();
    sl_config_betas(&config, steps[i], &beta1, &beta2);
    if (isnan(beta1) || isnan(beta2)) abort();
  }
  check_dump(&config);
  if (sl_config_resolve_batch(&config, 6) == SL_OK) {
    if (config.train_batch_size != config.train_micro_batch_size_per_gpu * config.gradient_accumulation_steps * 6)
      abort();
    check_dump(&config);
  }
  sl_config_free(&config);
  return 0;
}
