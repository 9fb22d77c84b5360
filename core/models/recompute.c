/* The policies of recomputation; see recompute.h. */
#include "core/models/recompute.h"

#include "core/plan/kernels.h"

/* How many layers of the rank are in front of this one, of all its stages. */
static int layers_before(const struct sl_lowering *l, int layer) {
  int count = 0;
  for (int i = 0; i < l->pp_rank->stage_count; i++) {
    const struct sl_stage *s = &l->plan->stages[l->pp_rank->stages[i]];
    if (s->first_layer <= layer)
      count += layer < s->first_layer + s->layer_count ? layer - s->first_layer : s->layer_count;
  }
  return count;
}

/* torchtitan counts the blocks that a rank wraps, of all its model parts (_apply_ac_to_transformer_block, ac_freq). */
enum sl_recompute sl_recompute_asked(const struct sl_lowering *l, int layer) {
  const struct sl_config *config = l->plan->config;
  if ((layers_before(l, layer) + 1) % config->sl.recompute_every != 0) return SL_RECOMPUTE_NONE;
  return config->sl.recompute[config->sl.recompute_count > 1 ? l->stage->stage->rank : 0];
}

enum sl_recompute sl_recompute_of(const struct sl_transformer *g, int layer) {
  if (!g->recomputes || !sl_transformer_in_block(g, layer)) return SL_RECOMPUTE_NONE;
  return sl_recompute_asked(g->l, layer);
}

/* Flash attention keeps no probabilities in the first place, so to repeat it saves a number a row; frameworks that
 * checkpoint whatever computes attention do it all the same. */
static bool by_layer(const struct sl_config *config, enum sl_made made) {
  if (made == SL_MADE_NORM) return config->sl.recompute_norms;
  if (made != SL_MADE_SOFTMAX || !config->sl.recompute_attention) return false;
  return config->sl.attention == SL_ATTENTION_MATERIALISED || sl_kernel_set(config->sl.kernels)->repeats_flash;
}

/* torchtitan's policy (torchtitan/parallelisms/parallelize_llama.py of December 2024, _save_list and
 * _get_custom_policy): the outputs of attention and of reduce-scatters are kept, and of the block's products every
 * other one, starting with the first; everything else is recomputed. So q and v (or the three in one) and the first
 * input of the activation are kept; k, attention's last product and the second input are not. q is kept after rotation,
 * where torchtitan keeps it before and rotates it again. What is gathered for a product is gathered again. */
static bool by_op(const struct sl_transformer *g, enum sl_made made) {
  switch (made) {
  case SL_MADE_OUTPUT:
  case SL_MADE_PRODUCT:
  case SL_MADE_SOFTMAX:
  case SL_MADE_ATTENTION:
    return false;
  case SL_MADE_SUM:
    return g->s == g->r;
  case SL_MADE_NORM:
  case SL_MADE_OTHER_PRODUCT:
  case SL_MADE_GATHERED:
  case SL_MADE_SHARED:
  case SL_MADE_ELEMENTWISE:
    break;
  }
  return true;
}

bool sl_recompute_forgets(const struct sl_transformer *g, int layer, enum sl_made made, bool optional) {
  if (made == SL_MADE_SHARED) return true;
  switch (sl_recompute_of(g, layer)) {
  case SL_RECOMPUTE_NONE:
    break;
  case SL_RECOMPUTE_SELECTIVE:
    return by_layer(g->l->plan->config, made);
  case SL_RECOMPUTE_SELECTIVE_OP:
    return by_op(g, made);
  case SL_RECOMPUTE_FULL:
    return made != SL_MADE_OUTPUT || optional;
  }
  return false;
}
