/* Elastic training: DeepSpeed chooses the batch so that as many numbers of GPUs as possible divide it. Internal to core/config.
 * Source: deepspeed/elasticity/{config,elasticity}.py of DeepSpeed 0.19.6, versions 0.1 and 0.2 of its rules. */
#pragma once

#include "core/config/config.h"

/* Check the "elasticity" section where it is enabled, and that no batch key stands beside it unless
 * ignore_non_elastic_batch_info says so. */
enum sl_status sl_config_check_elasticity(const struct sl_config *config);
/* Where elasticity is enabled, the three batch keys of `config` for `dp` data-parallel ranks: the batch is the one of the
 * candidates (each micro-batch size and their least common multiple, times the largest highly composite number that keeps it
 * within max_train_batch_size) that the most numbers of GPUs from min_gpus to max_gpus divide; the micro-batch is the largest
 * that divides a rank's share. Errors: `dp` is not among those numbers. */
enum sl_status sl_config_elastic_batch(struct sl_config *config, int dp);
