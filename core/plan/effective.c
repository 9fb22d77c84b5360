/* Which keys a preset leaves unread; see effective.h. */
#include "core/plan/effective.h"

#include "core/plan/presets.h"

#include <stddef.h>

/* Which presets read a key: those with one of these units, or of one of these families. */
static const struct {
  const char *section, *key;
  unsigned units, families;
} readers[] = {
#define UNITS(name) (1u << SL_UNITS_##name)
#define FSDP (SL_FAMILY_FSDP | SL_FAMILY_FSDP2)
#define ZERO "zero_optimization"
    {ZERO, "stage", 0, SL_FAMILY_DEEPSPEED},
    {ZERO, "reduce_bucket_size", ~UNITS(LAYER), SL_FAMILY_DEEPSPEED},
    {ZERO, "allgather_bucket_size", UNITS(FLAT), SL_FAMILY_DEEPSPEED},
    {ZERO, "use_multi_rank_bucket_allreduce", 0, SL_FAMILY_DEEPSPEED},
    {ZERO, "stage3_prefetch_bucket_size", 0, SL_FAMILY_DEEPSPEED},
    {ZERO, "stage3_param_persistence_threshold", 0, SL_FAMILY_DEEPSPEED},
    {ZERO, "stage3_model_persistence_threshold", 0, SL_FAMILY_DEEPSPEED},
    {ZERO, "stage3_max_live_parameters", 0, SL_FAMILY_DEEPSPEED},
    {ZERO, "stage3_max_reuse_distance", 0, SL_FAMILY_DEEPSPEED},
    {ZERO, "zero_quantized_weights", 0, SL_FAMILY_DEEPSPEED},
    {ZERO, "zero_quantized_gradients", 0, SL_FAMILY_DEEPSPEED},
    {"shardlab", "limit_all_gathers", 0, FSDP},
    {"shardlab", "no_sync", 0, FSDP},
    {"shardlab", "gradient_as_bucket_view", 0, SL_FAMILY_DDP | SL_FAMILY_ZRO},
};

json_t *sl_effective_json(const struct sl_config *config) {
  struct sl_preset preset;
  json_t *all = sl_config_to_json(config);
  if (all == NULL || sl_strategy_find_preset(&preset, config) != SL_OK) return all;
  for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
    const bool read = (readers[i].units >> preset.row.units & 1) || (preset.family & readers[i].families);
    if (!read) json_object_del(json_object_get(all, readers[i].section), readers[i].key);
  }
  return all;
}
