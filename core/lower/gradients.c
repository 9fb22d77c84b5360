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

enum sl_dtype sl_gradients_bucket_dtype(const struct sl_lowering *l) {
  return l->plan->strategy.casts_buckets ? l->dtype : l->wire;
}

bool sl_gradients_added_later(const struct sl_lowering *l) {
  return l->plan->strategy.adds_parts_later && l->plan->n_micro > 1 && l->plan->stage_count == 1;
}

bool sl_gradients_recast(const struct sl_lowering *l, const struct sl_layout *layout) {
  return l->accumulate != sl_gradients_bucket_dtype(l) && sl_gradients_reduced(l, layout);
}

bool sl_gradients_in_buckets(const struct sl_lowering *l, const struct sl_layout *layout) {
  const struct sl_strategy *s = &l->plan->strategy;
  const bool flattened = s->reduces_apart && s->copies_gathered;
  const bool copied = (s->copies_to_buckets || flattened) && sl_gradients_reduced(l, layout);
  return !sl_gradients_sharded(l) && (copied || sl_gradients_recast(l, layout));
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

enum sl_status sl_gradients_cut(struct sl_lowering *l) {
  const struct sl_pp_rank *s = l->pp_rank;
  const int32_t whole = l->homes->flat;
  const int64_t bytes = l->rank_class->buffers[whole].bytes, element = sl_dtype_bytes(l->accumulate);
  int32_t piece, count = 0;
  if (!l->plan->strategy.gradients_by_tensor || l->scopes[whole] != SL_SCOPE_PROGRAM) return SL_OK;
  for (int64_t at = 0, i = 0; i < s->tensor_count; i++) {
    const int64_t end = i + 1 < s->tensor_count ? s->tensors[i + 1].flat * element / SL_ALIGN * SL_ALIGN : bytes;
    if (end <= at) continue;
    SL_TRY(sl_build_buffer(l, &piece, SL_SCOPE_PROGRAM, SL_CATEGORY_GRADIENT, l->accumulate, (end - at) / element,
                           "grad.%s", l->plan->model->tensors[s->tensors[i].tensor].name));
    l->rank_class->buffers[piece].piece = true;
    l->rank_class->buffers[piece].piece_at = at;
    count++;
    at = end;
  }
  l->rank_class->buffers[whole].pieces = count;
  return SL_OK;
}
