/* See bounds.h. */
#include "core/plan/bounds.h"

#include "core/base/checked.h"
#include "core/base/limits.h"
#include "core/plan/plan.h"

/* Elements of the scores of one attention: all pairs of positions, for every sequence and head of a tp rank. Flash
 * attention never stores them all. */
static int64_t scores(const struct sl_plan *plan) {
  if (!sl_model_reads_tokens(plan->model) || plan->config->sl.attention == SL_ATTENTION_FLASH) return 0;
  const int64_t pairs = sl_product(sl_product(plan->micro_batch, plan->seq), plan->seq);
  return sl_product(pairs, plan->model->n_head / plan->tp);
}

enum sl_status sl_plan_check_bounds(const struct sl_plan *plan) {
  const struct {
    const char *key, *what;
    int64_t value, most;
  } bounds[] = {
      {"train_micro_batch_size_per_gpu", "tokens (mlp: samples) of a micro-batch",
       sl_product(plan->micro_batch, plan->seq), SL_MAX_TOKENS},
      {"gradient_accumulation_steps", "micro-batches of a step", plan->n_micro, SL_MAX_MICRO_BATCHES},
      {"train_batch_size", "sequences of a step", plan->global_batch, SL_MAX_BATCH},
      {"shardlab.seq_len", "attention scores of a micro-batch", scores(plan), SL_MAX_ELEMENTS},
  };
  for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
    if (bounds[i].value <= bounds[i].most) continue;
    return sl_json_fail(&plan->config->doc, bounds[i].key, "gives %s %s; expected at most %lld",
                        sl_count_text(bounds[i].value).text, bounds[i].what, (long long)bounds[i].most);
  }
  return SL_OK;
}
