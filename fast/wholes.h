/* Whole steps (whole.h) that are known already, and what is known of the shapes of others. */
#pragma once

#include "fast/map.h"
#include "fast/whole.h"

/* Zero is an empty one. */
struct sl_fast_wholes {
  struct sl_fast_map wholes;  /* struct sl_fast_whole */
  struct sl_fast_map shapes;  /* int64_t: `more` of sl_fast_whole_take */
  struct sl_fast_map refused; /* char: why a step has no plan */
};

/* What a choice stands beside, borrowed; `config` has the choice. */
struct sl_fast_inputs {
  const struct sl_model *model;
  const struct sl_config *config;
  const struct sl_cluster *cluster;
  const struct sl_kernel_costs *costs;
};

/* Errors: those of a plan. */
enum sl_status sl_fast_wholes_predict(struct sl_fast_wholes *known, const struct sl_fast_inputs *in,
                                      const struct sl_fast_choice *choice, struct sl_fast_prediction *out);
/* Price all of them anew. */
enum sl_status sl_fast_wholes_price(struct sl_fast_wholes *known, const struct sl_kernel_costs *costs);
void sl_fast_wholes_clear(struct sl_fast_wholes *known);
