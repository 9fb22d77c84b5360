/* A row of a table (rows.h) as the three inputs of a prediction: the framework's own preset, and what that framework is known to
 * do where the row is silent.
 *
 * - arch: gpt is the family gpt2, llama is llama. Dropout is Megatron-LM's default, 0.1 with stored masks, for a gpt of the two
 *   Megatrons, and 0 elsewhere.
 * - framework and zero_stage choose the preset:
 *     megatron            0 megatron-lm, in fp16 megatron-local-ddp; 1 megatron-distributed-optimizer, 3 megatron-fsdp
 *     megatron-deepspeed  0 and 1 deepspeed-pipeline; without a pipeline 2 and 3 deepspeed-2, deepspeed-3
 *     deepspeed           deepspeed-0 to deepspeed-3
 *     fsdp                3 fsdp, 2 fsdp-shard-grad-op; beside tp or pp fsdp2, fsdp2-no-reshard, as of torchtitan
 *     torchtitan          3 fsdp2, 2 fsdp2-no-reshard
 *     nanotron            0 nanotron, 1 nanotron-zero1
 *     ddp                 0 ddp
 *     aleph-alpha-scaling 1 aleph-alpha-scaling; "megatron" is this where the cluster's profile says so (framework), of such a row
 * - The two Megatrons pad the vocabulary to a multiple of 128 tp, the others to one of tp.
 * - torchtitan's and FSDP's kernels beside other parallelism are those of December 2024, blocks compiled and the loss eager, or with
 *   framework_version from 2025 on with a compiled loss; its "selective" is selective_op; async_tp and fp8_recipe are its own.
 * - Stages: even, as far as it goes; torchtitan gives the first and the last one less where they do not come out even; megatron-deepspeed fills them one by one, counting the two embeddings as layers where only that
 *   comes out even (inputs.c, stages_of); nanotron: by cost (shardlab.stages "cost").
 * - Messages of a pipeline are scattered over tp ranks by megatron in fp16 and by DeepSpeed; Megatron-DeepSpeed's launches block.
 * - recompute "unknown": none of nanotron (its benchmarks turned it off) and of the PyTorch family; full of the two Megatrons and
 *   of DeepSpeed, whose users keep it on for want of memory.
 * - attention: flash1, flash2, flash3 and cudnn form the probabilities again, materialised and materialised_fused_softmax keep
 *   them. A llama of megatron has the unfused kernels, its norms and softmax fused or not as fused_norm and attention say.
 * - cp above 1 is refused by the plan, in its words.
 * - precision: fp8 is bf16 with products in fp8. tf32 is fp32 with products in tf32.
 * - grad_reduce_dtype: of FSDP and DeepSpeed; a framework that has one type for gradients refuses another. */
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
  enum sl_table_memory memory; /* what tables of this framework have */
};

/* Errors: SL_ERR_INPUT with what of the row cannot be expressed. On failure nothing is held. `cluster`: in place of the row's own;
 * NULL: the row's. */
enum sl_status sl_table_inputs(struct sl_table_inputs *inputs, const struct sl_table_row *row, const char *cluster);
void sl_table_inputs_free(struct sl_table_inputs *inputs);
