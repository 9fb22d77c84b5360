/* The table of frameworks; see frameworks.h. */
#include "table/frameworks.h"

#include "core/base/nearest.h"

#include <string.h>

/* Sources: Megatron-LM megatron/training/arguments.py (make-vocab-size-divisible-by 128, hidden-dropout and attention-dropout
 * 0.1), which Megatron-DeepSpeed has too; bigscience-workshop/bigscience train/tr11-176B-ml (its slurm scripts) sets no other dropout.
 * BigScience exported CUDA_LAUNCH_BLOCKING=1 (tr11-176B-ml.slurm, its last script; that its experiments ran so too is a guess).
 * Megatron-LM's megatron/p2p_communication.py and megatron/arguments.py of 2022: messages of a pipeline are scattered by default, and
 * bf16 forces gradients to fp32 where fp16 does not; its megatron/core of 2023 scatters none. DeepSpeed's runtime/config.py:
 * pipe_partitioned and grad_partitioned; runtime/pipe/engine.py, _exec_reduce_grads, behind a step's last backward.
 * FSDP's MixedPrecision keeps sharded gradients in the type of the parameters' shards, fp32 (torch/distributed/fsdp/api.py). */
/* clang-format off */
static const struct sl_table_framework frameworks[] = {
    /* name, presets by ZeRO stage, stage in config, vocabulary, dropout, recompute, stages, fused and unfused kernels, a llama has
     * the second, gradients reduced in, stages filled, launches that block, messages scattered, reduces last, gradients summed in */
    {"megatron", {"megatron-lm", "megatron-distributed-optimizer", NULL, "megatron-fsdp"},
     false, 128, 0.1, "full", "uniform", "megatron-fused", "megatron-unfused", true, "fp32", false, false, false, false, NULL},
    {"megatron-deepspeed", {"deepspeed-pipeline", "deepspeed-pipeline", "deepspeed-2", "deepspeed-3"},
     true, 128, 0.1, "full", "uniform", "megatron-deepspeed", "megatron-unfused", true, NULL, true, true, true, true, NULL},
    {"deepspeed", {"deepspeed-0", "deepspeed-1", "deepspeed-2", "deepspeed-3"},
     true, 1, 0, "full", "uniform", "megatron-fused", "torch-eager", false, NULL, true, false, true, true, NULL},
    {"fsdp", {NULL, NULL, "fsdp-shard-grad-op", "fsdp"},
     false, 1, 0, "none", "uniform", "llm-foundry", "llm-foundry", false, NULL, false, false, false, false, "fp32"},
    {"torchtitan", {NULL, NULL, "fsdp2-no-reshard", "fsdp2"},
     false, 1, 0, "none", "uniform", "torch-compile", "torch-eager", false, NULL, false, false, false, false, "fp32"},
    {"nanotron", {"nanotron", "nanotron-zero1", NULL, NULL},
     false, 1, 0, "none", "cost", "nanotron", "nanotron", false, "fp32", false, false, false, false, NULL},
    {"ddp", {"ddp", NULL, NULL, NULL},
     false, 1, 0, "none", "uniform", "torch-eager", "torch-eager", false, NULL, false, false, false, false, NULL},
    /* what "megatron" is in fp16 */
    {"megatron", {"megatron-local-ddp", "megatron-distributed-optimizer", NULL, "megatron-fsdp"},
     false, 128, 0.1, "full", "uniform", "megatron-fused", "megatron-unfused", true, NULL, false, false, true, false, NULL},
    /* what "megatron-deepspeed" is in bf16 */
    {"megatron-deepspeed", {"deepspeed-pipeline", "deepspeed-pipeline", "deepspeed-2", "deepspeed-3"},
     true, 128, 0.1, "full", "uniform", "megatron-deepspeed", "megatron-unfused", true, "fp32", true, true, true, true, "fp32"},
};
/* clang-format on */
enum {
  NAMES = 7,
  MEGATRON = 0,
  MEGATRON_DEEPSPEED = 1,
  FSDP = 3,
  TORCHTITAN = 4,
  MEGATRON_FP16 = NAMES,
  MEGATRON_DEEPSPEED_BF16
};

/* FSDP beside other parallelism is torchtitan's. Gradients of Megatron-LM are 16-bit in fp16 alone, which is how it ran before bf16
 * in 2022, with messages scattered. DeepSpeed's bf16 optimizer of February 2022 (runtime/bf16_optimizer.py) adds gradients up
 * and reduces them in fp32. */
static int row_of(const struct sl_table_row *row, int named) {
  if (named == FSDP && (row->tp > 1 || row->pp > 1)) return TORCHTITAN;
  if (named == MEGATRON_DEEPSPEED && strcmp(row->precision, "bf16") == 0) return MEGATRON_DEEPSPEED_BF16;
  return named == MEGATRON && strcmp(row->precision, "fp16") == 0 ? MEGATRON_FP16 : named;
}

enum sl_status sl_table_framework(const struct sl_table_framework **out, const struct sl_table_row *row) {
  const char *names[NAMES];
  for (int i = 0; i < NAMES; i++) {
    names[i] = frameworks[i].name;
    if (strcmp(names[i], row->framework) != 0) continue;
    *out = &frameworks[row_of(row, i)];
    return SL_OK;
  }
  const char *near = sl_nearest(row->framework, names, NAMES);
  return sl_fail(
      SL_ERR_INPUT,
      "framework: is \"%.40s\"; expected megatron, megatron-deepspeed, deepspeed, fsdp, torchtitan, nanotron "
      "or ddp%s%s%s",
      row->framework, near != NULL ? "; did you mean " : "", near != NULL ? near : "", near != NULL ? "?" : "");
}
