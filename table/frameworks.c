/* The table of frameworks; see frameworks.h. */
#include "table/frameworks.h"

#include "core/base/nearest.h"

#include <string.h>

/* Sources: Megatron-LM megatron/training/arguments.py (make-vocab-size-divisible-by 128, hidden-dropout and attention-dropout
 * 0.1), which Megatron-DeepSpeed has too; bigscience-workshop/bigscience train/tr11-176B-ml (its slurm scripts) sets no other dropout.
 * FSDP's MixedPrecision keeps sharded gradients in the type of the parameters' shards, fp32 (torch/distributed/fsdp/api.py). */
/* clang-format off */
static const struct sl_table_framework frameworks[] = {
    /* name, presets by ZeRO stage, stage in config, vocabulary, dropout, recompute, stages, fused and unfused kernels, gradients reduced and summed in */
    {"megatron", {"megatron-lm", "megatron-distributed-optimizer", NULL, "megatron-fsdp"},
     false, 128, 0.1, "full", "uniform", "megatron-fused", "megatron-unfused", "fp32", NULL},
    {"megatron-deepspeed", {"deepspeed-pipeline", "deepspeed-pipeline", "deepspeed-2", "deepspeed-3"},
     true, 128, 0.1, "full", "uniform", "megatron-fused", "megatron-unfused", NULL, NULL},
    {"deepspeed", {"deepspeed-0", "deepspeed-1", "deepspeed-2", "deepspeed-3"},
     true, 1, 0, "full", "uniform", "megatron-fused", "torch-eager", NULL, NULL},
    {"fsdp", {NULL, NULL, "fsdp-shard-grad-op", "fsdp"},
     false, 1, 0, "none", "uniform", "llm-foundry", "llm-foundry", NULL, "fp32"},
    {"torchtitan", {NULL, NULL, "fsdp2-no-reshard", "fsdp2"},
     false, 1, 0, "none", "uniform", "torch-compile", "torch-eager", NULL, "fp32"},
    {"nanotron", {"nanotron", "nanotron-zero1", NULL, NULL},
     false, 1, 0, "none", "cost", "megatron-fused", "torch-eager", "fp32", NULL},
    {"ddp", {"ddp", NULL, NULL, NULL}, false, 1, 0, "none", "uniform", "torch-eager", "torch-eager", NULL, NULL},
};
/* clang-format on */
enum { FRAMEWORKS = sizeof frameworks / sizeof *frameworks, FSDP = 3, TORCHTITAN = 4 };

enum sl_status sl_table_framework(const struct sl_table_framework **out, const struct sl_table_row *row) {
  const char *names[FRAMEWORKS];
  for (int i = 0; i < FRAMEWORKS; i++) {
    names[i] = frameworks[i].name;
    if (strcmp(names[i], row->framework) != 0) continue;
    *out = &frameworks[i == FSDP && (row->tp > 1 || row->pp > 1) ? TORCHTITAN : i];
    return SL_OK;
  }
  const char *near = sl_nearest(row->framework, names, FRAMEWORKS);
  return sl_fail(
      SL_ERR_INPUT,
      "framework: is \"%.40s\"; expected megatron, megatron-deepspeed, deepspeed, fsdp, torchtitan, nanotron "
      "or ddp%s%s%s",
      row->framework, near != NULL ? "; did you mean " : "", near != NULL ? near : "", near != NULL ? "?" : "");
}
