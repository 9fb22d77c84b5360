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
 * torchtitan at 9dec370 (December 2024): parallelisms/parallelize_llama.py (selective_ac_option "op" of train_configs/llama3_8b.toml;
 * apply_compile of each block), train.py (the loss is not compiled; in June 2025 components/loss.py compiles it),
 * parallelisms/pipelining_utils.py, generate_split_points; benchmarks/llama3_h100_202412_torchtitan.md, footnote 1, and metrics.py
 * (max_reserved, of all ranks the largest).
 * FSDP's MixedPrecision keeps sharded gradients in the type of the parameters' shards, fp32 (torch/distributed/fsdp/api.py). */
/* clang-format off */
static const struct sl_table_framework frameworks[] = {
    /* name, presets by ZeRO stage, stage in config, vocabulary, dropout, recompute and what "selective" is, stages, fused and unfused kernels, a llama has
     * the second, gradients reduced in, stages filled, launches that block, messages scattered, reduces last, gradients summed in, fused
     * kernels of later versions, thin ends, memory */
    {"megatron", {"megatron-lm", "megatron-distributed-optimizer", NULL, "megatron-fsdp"},
     false, 128, 0.1, "full", "selective", "uniform", "megatron-fused", "megatron-unfused", true, "fp32", false, false, false, false, NULL,
     NULL, false, SL_MEMORY_OF_DEVICE},
    {"megatron-deepspeed", {"deepspeed-pipeline", "deepspeed-pipeline", "deepspeed-2", "deepspeed-3"},
     true, 128, 0.1, "full", "selective", "uniform", "megatron-deepspeed", "megatron-unfused", true, NULL, true, true, true, true, NULL,
     NULL, false, SL_MEMORY_OF_DEVICE},
    {"deepspeed", {"deepspeed-0", "deepspeed-1", "deepspeed-2", "deepspeed-3"},
     true, 1, 0, "full", "selective", "uniform", "megatron-fused", "torch-eager", false, NULL, true, false, true, true, NULL,
     NULL, false, SL_MEMORY_OF_DEVICE},
    {"fsdp", {NULL, NULL, "fsdp-shard-grad-op", "fsdp"},
     false, 1, 0, "none", "selective", "uniform", "llm-foundry", "llm-foundry", false, NULL, false, false, false, false, "fp32",
     NULL, false, SL_MEMORY_OF_DEVICE},
    {"torchtitan", {NULL, NULL, "fsdp2-no-reshard", "fsdp2"},
     false, 1, 0, "none", "selective_op", "uniform", "torch-compile-blocks", "torch-eager", false, NULL, false, false, false, false, "fp32",
     "torch-compile", true, SL_MEMORY_LOGGED_MOST},
    {"nanotron", {"nanotron", "nanotron-zero1", NULL, NULL},
     false, 1, 0, "none", "selective", "cost", "nanotron", "nanotron", false, "fp32", false, false, false, false, NULL,
     NULL, false, SL_MEMORY_LOGGED_FIRST},
    {"ddp", {"ddp", NULL, NULL, NULL},
     false, 1, 0, "none", "selective", "uniform", "torch-eager", "torch-eager", false, NULL, false, false, false, false, NULL,
     NULL, false, SL_MEMORY_OF_DEVICE},
    /* what "megatron" is in fp16 */
    {"megatron", {"megatron-local-ddp", "megatron-distributed-optimizer", NULL, "megatron-fsdp"},
     false, 128, 0.1, "full", "selective", "uniform", "megatron-fused", "megatron-unfused", true, NULL, false, false, true, false, NULL,
     NULL, false, SL_MEMORY_OF_DEVICE},
};
/* clang-format on */
enum { NAMES = 7, FSDP = 3, TORCHTITAN = 4, MEGATRON_FP16 = NAMES };

/* FSDP beside other parallelism is torchtitan's. Gradients of Megatron-LM are 16-bit in fp16 alone, which is how it ran before bf16
 * in 2022, with messages scattered. */
static int row_of(const struct sl_table_row *row, int named) {
  if (named == FSDP && (row->tp > 1 || row->pp > 1)) return TORCHTITAN;
  return strcmp(row->framework, "megatron") == 0 && strcmp(row->precision, "fp16") == 0 ? MEGATRON_FP16 : named;
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
