/* See megatron_keys.h. */
#include "core/interop/megatron_keys.h"

#include "core/interop/megatron.h"
#include "core/interop/megatron_rows.h"

#include <stdio.h>

/* What the rows of megatron_rows.h do not tie. */
static const struct sl_megatron_tie others[] = {
    {sl_megatron_global_batch, "global-batch-size"},
    {"shardlab.virtual_stages", "num-layers-per-virtual-pipeline-stage"},
    {"shardlab.stages", "pp-partition-method"},
    {"shardlab.cp_comm_type", "cp-comm-type"},
    {"shardlab.rank_order", "use-tp-pp-dp-mapping"},
    {"shardlab.recompute", "recompute-granularity"},
    {"shardlab.recompute", "recompute-activations"},
    {"shardlab.recompute", "checkpoint-activations"},
    {"shardlab.recompute", "activations-checkpoint-method"},
    {"shardlab.recompute_modules", "recompute-modules"},
    {"shardlab.attention", "attention-backend"},
    {"shardlab.attention", "use-flash-attn"},
    {"shardlab.kernels", "transformer-impl"},
    {"shardlab.preset", "use-distributed-optimizer"},
    {"shardlab.fp8", "fp8-format"},
    {"shardlab.fp8_format", "fp8-format"},
    {"shardlab.fp8_margin", "fp8-margin"},
    {"shardlab.fp8_amax_history_len", "fp8-amax-history-len"},
    {"shardlab.fp8_amax_compute_algo", "fp8-amax-compute-algo"},
    {"shardlab.fp8_param_gather", "fp8-param-gather"},
    {"optimizer.type", "optimizer"},
    {"optimizer.params.betas", "adam-beta1"},
    {"optimizer.params.betas", "adam-beta2"},
    {"zero_optimization.stage", "zero-stage"},
    {"zero_optimization.overlap_comm", "overlap-grad-reduce"},
    {"zero_optimization.offload_optimizer.device", "cpu-optimizer"},
    {"activation_checkpointing.partition_activations", "partition-activations"},
    {"communication_data_type", "grad-reduce-in-bf16"},
    {"data_types.grad_accum_dtype", "grad-reduce-in-bf16"},
};

static void name_one(const struct sl_arguments *a, const char *key, const char *argument, bool absent, json_t *names) {
  const struct sl_argument_given *g = sl_arguments_find(a, argument);
  char where[1024];
  if ((g == NULL && !absent) || json_object_get(names, key) != NULL) return;
  sl_arguments_where(a, g, where, sizeof where);
  json_object_set_new(names, key, json_pack("{s:s, s:o}", "where", where, "word", json_sprintf("--%s", argument)));
}

void sl_megatron_name(const struct sl_arguments *a, const struct sl_megatron_tie *ties, size_t count, bool absent,
                      json_t *names) {
  for (size_t i = 0; i < count; i++) name_one(a, ties[i].key, ties[i].argument, false, names);
  for (size_t i = 0; i < count && absent; i++) name_one(a, ties[i].key, ties[i].argument, true, names);
}

void sl_megatron_name_config(const struct sl_arguments *a, json_t *names) {
  sl_megatron_name(a, others, sizeof others / sizeof *others, false, names);
  for (const struct sl_argument *row = sl_megatron_arguments; row->name != NULL; row++)
    name_one(a, row->path, row->name, true, names);
}
