/* See gradients.h. */
#include "core/lower/gradients.h"

#include "core/lower/lower.h"

bool sl_gradients_sharded(const struct sl_lowering *l) {
  return l->plan->strategy.shard_grads;
}

bool sl_gradients_reduced(const struct sl_lowering *l, const struct sl_layout *layout) {
  if (l->zero != NULL && l->zero->compressed) return false;
  return layout->group.ranks > 1 || sl_gradients_sharded(l);
}

enum sl_dtype sl_gradients_in_buckets(const struct sl_lowering *l) {
  return l->plan->strategy.casts_buckets ? l->dtype : l->wire;
}

bool sl_gradients_added_later(const struct sl_lowering *l) {
  return l->plan->strategy.adds_parts_later && l->plan->n_micro > 1 && l->plan->stage_count == 1;
}

bool sl_gradients_recast(const struct sl_lowering *l, const struct sl_layout *layout) {
  return l->accumulate != sl_gradients_in_buckets(l) && sl_gradients_reduced(l, layout);
}

bool sl_gradients_owned_in_flat(const struct sl_lowering *l) {
  return !sl_gradients_sharded(l) && l->plan->strategy.shard_optimizer && l->plan->strategy.units != SL_UNITS_OWNER;
}

bool sl_gradients_copied_back(const struct sl_lowering *l) {
  return !sl_gradients_sharded(l) && (!sl_gradients_owned_in_flat(l) || l->plan->strategy.sums_whole);
}

bool sl_gradients_kept(const struct sl_lowering *l, int placed) {
  const struct sl_pass *pass = &l->zero->reduce->pass;
  return l->pp_rank->tensors[placed].shared ? !pass->tied_first : !pass->first;
}

/* Some frameworks have one buffer for gradients, allocated once. One whose units are layers allocates the
 * reduced gradient of each unit (FSDP2's _fsdp_collectives.py, foreach_reduce) and frees it before the next forward;
 * but the freed blocks are too small for most of the forward's activations, so memory is as if the gradients stayed. */
enum sl_scope sl_gradients_scope(const struct sl_lowering *l) {
  const struct sl_strategy *s = &l->plan->strategy;
  const bool by_unit = s->units == SL_UNITS_LAYER && s->shard_grads && !s->offload_optimizer;
  const bool from_start = s->whole_buckets && s->units == SL_UNITS_PARAMETER && !s->offload_optimizer;
  const bool frameworks =
      l->plan->config->sl.kernels != SL_KERNELS_SHARDLAB && (s->gradient_buffer || by_unit || from_start);
  return l->options->save_grads || frameworks ? SL_SCOPE_PERSISTENT : SL_SCOPE_PROGRAM;
}
