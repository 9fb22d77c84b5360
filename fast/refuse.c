/* Rules and their words; see refuse.h. */
#include "fast/refuse.h"

#include "core/plan/kernels.h"
#include "core/program/step_state.h"

static enum sl_status no(const char *what) {
  return sl_fail(SL_ERR_INPUT, "the fast clock does not cover %s; expected a configuration without, or the exact clock",
                 what);
}

double sl_fast_agreed_bytes(void) {
  return SL_STEP_STATE_REDUCED * (double)sizeof(double);
}

enum sl_status sl_fast_refuse_inputs(const struct sl_model *model, const struct sl_config *config,
                                     const struct sl_cluster *cluster) {
  const struct sl_device *d = &cluster->device;
  if (!sl_model_reads_tokens(model)) return no("models that read no tokens");
  if (d->kind != SL_DEVICE_GPU) return no("devices of kind \"cpu\"");
  if (d->cache_bytes > 0) return no("devices with a cache");
  if (d->comm_cpu_share > 0) return no("devices whose transfers slow compute (comm_cpu_share)");
  if (cluster->op_costs.count > 0) return no("clusters with measured ops");
  if (sl_kernel_row(config, &(struct sl_op){.kind = SL_OP_ADAMW}, NULL) != NULL)
    return no("kernel sets with passes beside the optimizer");
  if (config->sl.recompute_count > 1) return no("recomputation that differs between pipeline ranks");
  if (config->sl.recompute_every > 1) return no("recompute_every above 1");
  if (config->sl.virtual_stages > 1) return no("several stages a pipeline rank (virtual_stages)");
  if (config->sl.cp > 1) return no("context parallelism");
  if (config->sl.rank_order != SL_RANKS_TP_DP_PP) return no("ranks in another order than tp-dp-pp (rank_order)");
  return SL_OK;
}

enum sl_status sl_fast_refuse_messages(const struct sl_kernel_costs *costs, int pp) {
  if (pp > 1 && costs->comm_compute_share > 0)
    return no("pipelines of kernel sets whose transfers slow compute (comm_compute_share)");
  return SL_OK;
}

/* Do all groups of the world sit alike: units of every level hold whole replicas, or whole replicas fill them? */
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

enum sl_status sl_fast_refuse_choice(const struct sl_model *model, const struct sl_config *config,
                                     const struct sl_cluster *cluster, const struct sl_fast_choice *c) {
  if (c->world < 1 || c->tp < 1 || c->pp < 1 || c->world % ((int64_t)c->tp * c->pp) != 0)
    return sl_fail(SL_ERR_INPUT, "tp %d x pp %d does not divide the world of %d ranks", c->tp, c->pp, c->world);
  if (c->micro_batch < 1 || c->n_micro < 1 || c->n_micro > INT32_MAX)
    return sl_fail(SL_ERR_INPUT, "micro batch %lld, %lld of them: expected at least 1", (long long)c->micro_batch,
                   (long long)c->n_micro);
  if (c->pp > model->n_layer || c->pp > SL_MAX_STAGES)
    return sl_fail(SL_ERR_INPUT, "%d pipeline stages for the %lld layers of model %s; expected at least a layer each",
                   c->pp, (long long)model->n_layer, model->name);
  if (c->stage_layers != NULL) SL_TRY(check_layers(model, c));
  if (c->stage_layers == NULL && c->pp > 1 && config->sl.stages_by != SL_STAGES_UNIFORM)
    return no("stages that the configuration cuts (a choice's stage_layers does)");
  if (c->tp > 1 && config->sl.launch_blocking)
    return no("launches that block (launch_blocking) with tensor parallelism");
  if (c->world > c->tp * c->pp && sl_kernel_set(config->sl.kernels)->keeps_gradients)
    return no("data parallelism of kernel sets that keep 16-bit gradients");
  if (c->tp > 1 && sl_kernel_set(config->sl.kernels)->gathers_logits)
    return no("tensor parallelism of kernel sets that gather the logits");
  if (c->recompute == SL_RECOMPUTE_SELECTIVE_OP) return no("selective recomputation by op (selective_op)");
  if (c->zero_stage < 0 || c->zero_stage > 1) return no("ZeRO stages 2 and 3");
  if (!aligned(cluster, c->tp) || !aligned(cluster, (int64_t)c->world / c->pp))
    return no("groups that sit differently in the nodes");
  return SL_OK;
}

enum sl_status sl_fast_refuse_strategy(const struct sl_strategy *s, const struct sl_config *config) {
  if (s->shard_grads || s->shard_params) return no("sharded gradients or parameters");
  if (s->units != SL_UNITS_WHOLE && s->units != SL_UNITS_FLAT) return no("units of layers, owners or buckets");
  if (s->reduces_last) return no("buckets that wait for the last backward");
  if (s->offload_optimizer || s->offload_params) return no("offload");
  if (s->shard_size > 0 || s->secondary_size > 0) return no("groups that shard among themselves");
  if (s->shard_optimizer && config->grad_accum_dtype != config->communication_data_type)
    return no("a partitioned optimizer whose gradients travel in another type than they are summed in");
  return SL_OK;
}
