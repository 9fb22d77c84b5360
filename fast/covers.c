/* The limits of the formulas; see covers.h. */
#include "fast/covers.h"

#include "core/plan/kernels.h"
#include "core/program/step_state.h"

double sl_fast_agreed_bytes(void) {
  return SL_STEP_STATE_REDUCED * (double)sizeof(double);
}

bool sl_fast_covers_inputs(const struct sl_model *model, const struct sl_config *config,
                           const struct sl_cluster *cluster) {
  const struct sl_device *d = &cluster->device;
  const bool device = d->kind == SL_DEVICE_GPU && !(d->cache_bytes > 0) && !(d->comm_cpu_share > 0);
  const bool measured = cluster->op_costs.count > 0;
  if (config->activations.partitioned || config->activations.on_host) return false;
  if (!sl_model_blocks_alike(model)) return false;
  if (sl_config_product_dtype(config) == SL_F8 && sl_kernel_set(config->sl.kernels)->fp8_casts == SL_CASTS_SHARDLAB)
    return false; /* ranks agree on scales once a step, and the casts of weights are in no block's products */
  return sl_model_reads_tokens(model) && device && !measured && config->sl.recompute_every <= 1 && config->sl.cp <= 1 &&
         config->sl.rank_order == SL_RANKS_TP_DP_PP && !config->sparse_gradients &&
         config->optimizer.type != SL_OPT_ONEBIT_ADAM;
}

/* Whether all groups of the world have the same place in the topology: the units of every level hold whole replicas, or
 * whole replicas fill them. */
static bool aligned(const struct sl_cluster *cluster, int64_t size) {
  for (int i = 0; i < cluster->n_link; i++) {
    const int64_t span = cluster->link[i].span;
    if (span != INT64_MAX && span % size != 0 && size % span != 0) return false;
  }
  return true;
}

static enum sl_status check_layers(const struct sl_model *model, const struct sl_fast_choice *c) {
  int64_t sum = 0;
  for (int i = 0; i < c->pp; i++) {
    if (c->stage_layers[i] < 1 || c->stage_layers[i] > model->n_layer)
      return sl_fail(SL_ERR_INPUT, "stage %d has %lld layers; expected 1 to %lld", i, (long long)c->stage_layers[i],
                     (long long)model->n_layer);
    sum += c->stage_layers[i];
  }
  if (sum == model->n_layer) return SL_OK;
  return sl_fail(SL_ERR_INPUT, "stages add up to %lld layers; expected the %lld of model %s", (long long)sum,
                 (long long)model->n_layer, model->name);
}

enum sl_status sl_fast_check_choice(const struct sl_model *model, const struct sl_fast_choice *c) {
  if (c->world < 1 || c->tp < 1 || c->pp < 1 || c->world % ((int64_t)c->tp * c->pp) != 0)
    return sl_fail(SL_ERR_INPUT, "tp %d x pp %d does not divide the world of %d ranks", c->tp, c->pp, c->world);
  if (c->micro_batch < 1 || c->n_micro < 1 || c->n_micro > INT32_MAX)
    return sl_fail(SL_ERR_INPUT, "micro batch %lld, %lld of them: expected at least 1", (long long)c->micro_batch,
                   (long long)c->n_micro);
  if (c->pp > SL_MAX_STAGES || (sl_model_reads_tokens(model) && c->pp > model->n_layer))
    return sl_fail(SL_ERR_INPUT, "%d pipeline stages for the %lld layers of model %s; expected at least a layer each",
                   c->pp, (long long)model->n_layer, model->name);
  if (c->zero_stage < 0 || c->zero_stage > 3)
    return sl_fail(SL_ERR_INPUT, "ZeRO stage %d; expected 0 to 3", c->zero_stage);
  if (c->stage_layers != NULL && c->virtual_stages > 1)
    return sl_fail(SL_ERR_INPUT, "stage_layers says the layers of a pipeline rank's one stage, not of %d",
                   c->virtual_stages);
  return c->stage_layers != NULL ? check_layers(model, c) : SL_OK;
}

bool sl_fast_covers_choice(const struct sl_config *config, const struct sl_cluster *cluster,
                           const struct sl_kernel_costs *costs, const struct sl_fast_choice *c) {
  const bool pipeline = c->pp > 1;
  if (c->zero_stage > 1 || c->recompute == SL_RECOMPUTE_SELECTIVE_OP) return false;
  if (pipeline && (c->schedule > SL_FAST_1F1B || c->virtual_stages > 1)) return false;
  if (pipeline && c->stage_layers == NULL && config->sl.stages_by != SL_STAGES_UNIFORM) return false;
  const bool rough = costs->comm_compute_share > 0 || costs->host_launch > 0 || costs->host_collective > 0;
  if (c->tp > 1 && c->world > c->tp && rough) return false; /* collectives of two kinds overlap the same kernels */
  const bool stalls = c->tp > 1 && cluster->pipeline_stall > 0 && c->world > cluster->devices_per_node;
  /* a pipeline needs to know which kernels overlap messages, and what a host waits for */
  if (pipeline && (rough || stalls)) return false;
  if (c->tp > 1 && c->sequence_parallel && config->sl.tp_comm_overlap) return false;
  if (c->tp > 1 && (config->sl.launch_blocking || sl_kernel_set(config->sl.kernels)->gathers_logits)) return false;
  return aligned(cluster, c->tp) && aligned(cluster, (int64_t)c->world / c->pp);
}

bool sl_fast_covers_strategy(const struct sl_strategy *s, const struct sl_config *config) {
  if (config->sl.pp > 1 && s->blocking_messages) return false;
  const bool recast = s->shard_optimizer && config->grad_accum_dtype != config->communication_data_type;
  const bool units = s->units == SL_UNITS_WHOLE || s->units == SL_UNITS_FLAT;
  const bool groups = s->shard_size > 0 || s->secondary_size > 0;
  const bool wider = config->grad_accum_dtype != config->param_dtype;
  const bool kept = s->gradients_apart || (sl_kernel_set(config->sl.kernels)->keeps_gradients && wider);
  const bool lists = sl_kernel_set(config->sl.kernels)->gathers_into_lists && s->shard_optimizer;
  const bool copies = s->copies_gradients && s->shard_optimizer;
  return units && !kept && !s->copies_to_buckets && !lists && !copies && !s->shard_grads && !s->shard_params &&
         !s->offload_optimizer && !s->offload_params && !groups && !recast;
}
