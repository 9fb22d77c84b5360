/* Megatron-LM's arguments for fp8: those of Transformer Engine's DelayedScaling, which our own casts compute. Internal to
 * core/interop.
 *
 *   --fp8-format hybrid|e4m3        shardlab.fp8, fp8_format
 *   --fp8-margin                    fp8_margin
 *   --fp8-amax-history-len          fp8_amax_history_len: 1 unless it is given
 *   --fp8-amax-compute-algo         fp8_amax_compute_algo: most_recent unless it is given
 *   --fp8-param-gather              fp8_param_gather
 *
 * Source: megatron/core/transformer/transformer_config.py (d98e8a64dd). Without --fp8-format the others do nothing there
 * either. */
#pragma once

#include "core/interop/arguments.h"

/* Puts the keys into a configuration. Errors: SL_ERR_INPUT for another recipe, layers that stay in bf16, and attention
 * or amax reductions of another kind. */
enum sl_status sl_megatron_read_fp8(json_t *config, const struct sl_arguments *a);
/* Writes the arguments of a configuration in the form of sl_config_to_json, one per line; none if it has no fp8. */
void sl_megatron_write_fp8(const json_t *config, FILE *out);
/* Is `path` a key of them? */
bool sl_megatron_says_fp8(const char *path);
