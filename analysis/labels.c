/* The facts in which rows may differ; see labels.h. */
#include "analysis/labels.h"

#include "core/base/json_get.h"
#include "core/base/json_write.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In the order in which they appear in a name; a number follows its word. */
static const struct fact {
  const char *path, *word;
} facts[] = {{"model._name_or_path", ""},
             {"plan.parameters", "parameters "},
             {"cluster.name", ""},
             {"plan.world", "world "},
             {"config.shardlab.preset", ""},
             {"plan.zero_stage", "ZeRO-"},
             {"plan.shard_size", "shard "},
             {"plan.tp", "tp "},
             {"plan.pp", "pp "},
             {"plan.cp", "cp "},
             {"plan.schedule", ""},
             {"plan.virtual_stages", "stages a rank "},
             {"plan.rank_order", ""},
             {"plan.sequence_parallel", "sequence parallel "},
             {"plan.micro_batch", "micro-batch "},
             {"plan.micro_batches", "x "},
             {"plan.seq", "seq "},
             {"plan.recompute", "recompute "},
             {"plan.threads", "threads "},
             {"config.bf16.enabled", "bf16 "},
             {"config.fp16.enabled", "fp16 "},
             {"config.torch_autocast.dtype", "autocast "},
             {"config.shardlab.attention", ""},
             {"config.shardlab.kernels", ""},
             {"config.zero_optimization.offload_optimizer.device", "optimizer on "},
             {"config.zero_optimization.offload_param.device", "parameters on "}};

enum { FACTS = sizeof facts / sizeof *facts };

static const json_t *fact_of(const struct sl_row *row, const char *path) {
  return sl_json_at(row->predicted != NULL ? row->predicted : row->measured, path);
}

static bool same(const struct sl_row *a, const struct sl_row *b, const char *path) {
  const json_t *x = fact_of(a, path), *y = fact_of(b, path);
  return x == y || (x != NULL && y != NULL && json_equal(x, y));
}

/* Whether fact `f` distinguishes two rows that the chosen facts before it do not. */
static bool tells(const struct sl_rows *rows, const bool *chosen, int f) {
  for (size_t a = 0; a < rows->count; a++)
    for (size_t b = a + 1; b < rows->count; b++) {
      bool alike = !same(&rows->rows[a], &rows->rows[b], facts[f].path);
      for (int g = 0; g < f && alike; g++) alike = !chosen[g] || same(&rows->rows[a], &rows->rows[b], facts[g].path);
      if (alike) return true;
    }
  return false;
}

static void value_text(const json_t *value, char *out, size_t size) {
  char *text = value != NULL ? sl_json_text(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
  const bool quoted = text != NULL && text[0] == '"';
  snprintf(out, size, "%s", text == NULL ? "-" : quoted ? text + 1 : text);
  if (quoted) out[strcspn(out, "\"")] = '\0';
  if (out[0] == '\0') snprintf(out, size, "-");
  for (char *c = out; *c != '\0'; c++)
    if (*c == ',' || *c == '"') *c = ' '; /* names are used in CSV files */
  free(text);
}

void sl_label_of(const struct sl_rows *rows, size_t i, char *out, size_t size) {
  bool chosen[FACTS] = {false};
  size_t used = 0;
  out[0] = '\0';
  for (int f = 0; f < FACTS && used < size; f++) {
    char value[64];
    chosen[f] = tells(rows, chosen, f);
    if (!chosen[f]) continue;
    value_text(fact_of(&rows->rows[i], facts[f].path), value, sizeof value);
    used += (size_t)snprintf(out + used, size - used, "%s%s%s", used > 0 ? " " : "", facts[f].word, value);
  }
  if (used == 0) snprintf(out, size, "all");
}
