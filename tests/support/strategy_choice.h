/* What a configuration becomes of a preset, for tests of plan/strategy.h and what it refuses. */
#pragma once

#include "core/plan/strategy.h"

#include <stdio.h>
#include <string.h>

static char said[4096]; /* warnings of the latest choose(), a line each */

static inline void collect(void *context, const char *message) {
  (void)context;
  const size_t n = strlen(said);
  snprintf(said + n, sizeof said - n, "%s\n", message);
}

static struct sl_config chosen; /* what the latest choose() made of the configuration, without its document */

/* The strategy of a "shardlab" section (and the rest, both without their braces) for `dp` replicas of 6
 * micro-batches. */
static inline enum sl_status choose(struct sl_strategy *s, const char *section, const char *rest, int dp) {
  char text[1024];
  struct sl_config config;
  snprintf(text, sizeof text,
           "{\"train_micro_batch_size_per_gpu\": 2, \"gradient_accumulation_steps\": 6, \"shardlab\": {%s}%s%s}",
           section, rest[0] != '\0' ? ", " : "", rest);
  said[0] = '\0';
  sl_warn_set_sink(collect, NULL);
  sl_error_clear();
  enum sl_status status = sl_config_parse(&config, "ds.json", text, strlen(text), false);
  if (status != SL_OK) return status;
  status = sl_strategy_choose(s, &config, dp);
  chosen = config;
  chosen.doc = (struct sl_json){0};
  sl_config_free(&config);
  return status;
}
