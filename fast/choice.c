/* A choice as text and as a configuration; see fast.h. */
#include "fast/fast.h"

#include <stdio.h>
#include <string.h>

const char *sl_fast_schedule_name(enum sl_fast_schedule schedule) {
  static const char *const names[] = {
#define X(name, text) text,
      SL_FAST_SCHEDULE_MAP(X)
#undef X
  };
  return names[schedule];
}

void sl_fast_configure(const struct sl_config *config, const struct sl_fast_choice *choice, struct sl_config *out) {
  *out = *config;
  out->train_batch_size = 0;
  out->train_micro_batch_size_per_gpu = choice->micro_batch;
  out->gradient_accumulation_steps = choice->n_micro;
  out->zero.stage = choice->zero_stage;
  out->sl.tp = choice->tp;
  out->sl.pp = choice->pp;
  out->sl.sequence_parallel = choice->sequence_parallel && choice->tp > 1;
  out->sl.tp_comm_overlap &= out->sl.sequence_parallel; /* where it applies */
  out->sl.recompute_count = 1;
  out->sl.recompute[0] = choice->recompute;
  out->sl.virtual_stages = choice->pp > 1 && choice->virtual_stages > 1 ? choice->virtual_stages : 1;
  snprintf(out->sl.schedule, sizeof out->sl.schedule, "%s",
           sl_fast_schedule_name(choice->pp > 1 ? choice->schedule : SL_FAST_1F1B));
  if (choice->stage_layers == NULL) return;
  out->sl.stages_by = SL_STAGES_LIST;
  out->sl.stage_count = choice->pp;
  memcpy(out->sl.stage_layers, choice->stage_layers, (size_t)choice->pp * sizeof *choice->stage_layers);
}
