/* Turns a row of a table (rows.h) into the three inputs of a prediction. What the row leaves open follows from the
 * preset of its framework and from how that framework is known to behave.
 *
 * - arch: gpt is the family gpt2, llama and nemotron are those of their names. Dropout is Megatron-LM's default, 0.1
 *   with stored masks, for a gpt of the two Megatrons, and 0 otherwise.
 * - framework and zero_stage choose the preset:
 *     megatron            0 megatron-lm, in fp16 megatron-local-ddp; 1 megatron-distributed-optimizer, 3 megatron-fsdp
 *     megatron-deepspeed  0 and 1 deepspeed-pipeline; without a pipeline 2 and 3 deepspeed-2, deepspeed-3
 *     deepspeed           deepspeed-0 to deepspeed-3
 *     fsdp                3 fsdp, 2 fsdp-shard-grad-op; with tp or pp those of torchtitan, fsdp2 and fsdp2-no-reshard
 *     torchtitan          3 fsdp2, 2 fsdp2-no-reshard
 *     nanotron            0 nanotron, 1 nanotron-zero1
 *     ddp                 0 ddp
 *     aleph-alpha-scaling 1 aleph-alpha-scaling; "megatron" means this on a cluster whose profile says so (framework),
 *                         if it has the row's sharding
 * - The two Megatrons pad the vocabulary to a multiple of 128 tp, the others to a multiple of tp.
 * - The kernels of torchtitan, and of FSDP with other parallelism, are those of December 2024, with compiled blocks and
 *   an eager loss; with framework_version 2025 or later the loss is compiled too. Its "selective" is selective_op;
 *   async_tp and fp8_recipe apply only to it.
 * - Stages have the same number of layers if possible. Otherwise torchtitan gives the first and the last one layer
 *   less; megatron-deepspeed fills them one by one, counting the two embeddings as layers if only that divides evenly
 *   (inputs.c, stages_of); nanotron divides by cost (shardlab.stages "cost").
 * - DeepSpeed's ZeRO 1 and 2 all-reduce whole buckets; with framework_version before 2023-11, and in megatron-deepspeed
 *   without one, they reduce parts to their owners.
 * - megatron in fp16 and DeepSpeed scatter pipeline messages over the tp ranks; Megatron-DeepSpeed's launches block.
 * - recompute "unknown" is none for nanotron (its benchmarks turned it off) and for the PyTorch family, and full for
 *   the two Megatrons and DeepSpeed, whose users need it to save memory.
 * - attention: flash1, flash2, flash3 and cudnn recompute the probabilities; materialised and
 *   materialised_fused_softmax store them. A llama of megatron has the unfused kernels, with norms and softmax fused or
 *   not as fused_norm and attention say.
 * - cp above 1 is refused by the plan, with its own message.
 * - precision: fp8 is bf16 with products in fp8, of "nemo" and "megatron-bridge" with parameters in fp8 alone; tf32 is
 *   fp32 with products in tf32; bf16-autocast and fp16-autocast are fp32 parameters under torch.autocast, of ddp alone.
 * - grad_reduce_dtype applies to FSDP and DeepSpeed; a framework with a single gradient type refuses any other. */
#pragma once

#include "core/cluster/cluster.h"
#include "core/config/config.h"
#include "core/model/model.h"
#include "table/predict.h"
#include "table/rows.h"

#include <stdbool.h>

struct sl_table_inputs {
  struct sl_model model;
  struct sl_config config;
  struct sl_cluster cluster;
  int world;
  enum sl_table_memory memory; /* which memory tables of this framework report */
};

/* On failure nothing is allocated. `cluster` replaces the row's own; NULL: the row's. Errors: SL_ERR_INPUT with what of
 * the row cannot be expressed. */
enum sl_status sl_table_inputs(struct sl_table_inputs *inputs, const struct sl_table_row *row, const char *cluster);
void sl_table_inputs_free(struct sl_table_inputs *inputs);
