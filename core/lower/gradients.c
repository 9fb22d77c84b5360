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

bool sl_gradients_recast(const struct sl_lowering *l, const struct sl_layout *layout) {
  return l->accumulate != l->wire && sl_gradients_reduced(l, layout);
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
