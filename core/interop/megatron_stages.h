/* How Megatron-DeepSpeed deals its layers to the stages of DeepSpeed's pipeline. Internal to core/interop. */
#pragma once

#include "core/interop/arguments.h"

/* --pp-partition-method, of which shardlab.stages becomes the list: the blocks of each stage. `config` has the degrees
 * and number types; `model` is the arguments' own, NULL if they have none or another one is taken. Errors:
 * SL_ERR_INPUT: an unknown method, and divisions that the list cannot say: embedding or head elsewhere than at the ends,
 * a stage without a block. */
enum sl_status sl_megatron_put_stages(const struct sl_arguments *a, const json_t *model, json_t *config);
