/* Elastic training: DeepSpeed chooses a batch size that as many numbers of GPUs as possible divide. Internal to
 * core/config. Source: deepspeed/elasticity/{config,elasticity}.py of DeepSpeed 0.19.6, versions 0.1 and 0.2 of its
 * rules. */
#pragma once

#include "core/config/config.h"

/* Checks the "elasticity" section if it is enabled; batch keys beside it are an error unless
 * ignore_non_elastic_batch_info is set. */
enum sl_status sl_config_check_elasticity(const struct sl_config *config);
/* Sets the three batch keys of `config` for `dp` data-parallel ranks, if elasticity is enabled. Candidates are each
 * micro-batch size and their least common multiple, times the largest highly composite number that keeps the product
 * within max_train_batch_size; the batch is the candidate that the most numbers of GPUs from min_gpus to max_gpus
 * divide. The micro-batch is the largest that divides a rank's share. Errors: SL_ERR_INPUT if `dp` is not one of those
 * numbers. */
enum sl_status sl_config_elastic_batch(struct sl_config *config, int dp);
