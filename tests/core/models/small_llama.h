/* A small Llama, whose blocks tests count by hand: 3 layers, 4 heads of 16, 2 key/value heads, inner width 96, vocabulary 80.
 * Micro-batches are 2 sequences; how long they are each test says as T. */
#pragma once

#include "core/check/rendezvous.h"
#include "tests/support/job_fixture.h"

#include <cmocka.h>

enum { LAYERS = 3, HEADS = 4, KV = 2, HEAD = 16, INNER = 96, B = 2, V = 80, C = HEADS * HEAD };
enum { KVS = KV * HEAD, WEIGHTS = 2 * C * C + 2 * C * KVS + 3 * C * INNER }; /* of a block */

/* Opens its job in bf16 on `world` ranks, with `keys` of the section "shardlab" that begin with a comma, and checks it. */
static inline void small_llama_open(struct fixture *f, int world, int tokens, const char *keys) {
  char model[256], config[512];
  snprintf(model, sizeof model, "%s/small_llama_%d.json", SL_BINARY_DIR, tokens); /* tests run side by side */
  FILE *file = fopen(model, "w");
  assert_non_null(file);
  fprintf(
      file,
      "{\"model_type\": \"llama\", \"num_hidden_layers\": %d, \"hidden_size\": %d, \"num_attention_heads\": %d, "
      "\"num_key_value_heads\": %d, \"intermediate_size\": %d, \"vocab_size\": %d, \"max_position_embeddings\": %d}",
      LAYERS, C, HEADS, KV, INNER, V, tokens);
  fclose(file);
  snprintf(
      config, sizeof config,
      "{\"train_micro_batch_size_per_gpu\": %d, \"bf16\": {\"enabled\": true}, \"optimizer\": {\"type\": \"AdamW\"}, "
      "\"shardlab\": {\"attention\": \"flash\", \"seq_len\": %d%s}}",
      B, tokens, keys);
  if (fixture_open(f, model, config, "dgx-h100", world, NULL) != SL_OK || sl_check(&f->job) != SL_OK)
    fail_msg("%s: %s", keys, sl_error_message());
}
