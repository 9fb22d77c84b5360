/* A cache of whole steps (whole.h), and of what is known about the programs of further choices. */
#pragma once

#include "fast/map.h"
#include "fast/whole.h"

/* A zeroed struct is an empty cache. */
struct sl_fast_wholes {
  struct sl_fast_map wholes;  /* struct sl_fast_whole */
  struct sl_fast_map shapes;  /* int64_t: `more` of sl_fast_whole_take */
  struct sl_fast_map refused; /* char: why this step has no plan */
};

/* The inputs apart from the choice, borrowed. `config` includes the choice. */
struct sl_fast_inputs {
  const struct sl_model *model;
  const struct sl_config *config;
  const struct sl_cluster *cluster;
  const struct sl_kernel_costs *costs;
};

/* Errors: those of a plan. */
enum sl_status sl_fast_wholes_predict(struct sl_fast_wholes *known, const struct sl_fast_inputs *in,
                                      const struct sl_fast_choice *choice, struct sl_fast_prediction *out);
void sl_fast_wholes_clear(struct sl_fast_wholes *known);
