/* The table of frameworks; see frameworks.h. */
#include "table/frameworks.h"

#include "core/base/nearest.h"

#include <string.h>

/* Sources: Megatron-LM megatron/training/arguments.py: make-vocab-size-divisible-by 128, hidden-dropout and attention-
 * dropout 0.1. Megatron-DeepSpeed has the same; bigscience-workshop/bigscience train/tr11-176B-ml (slurm scripts) sets
 * no other dropout. BigScience exported CUDA_LAUNCH_BLOCKING=1 (tr11-176B-ml.slurm, its last script; that its
 * experiments did so too is a guess).
 *
 * Megatron-LM's megatron/p2p_communication.py and megatron/arguments.py of 2022: pipeline messages are scattered by
 * default, and bf16, unlike fp16, forces fp32 gradients; its megatron/core of 2023 scatters none. DeepSpeed's
 * runtime/config.py: pipe_partitioned and grad_partitioned.
 *
 * Aleph-Alpha/scaling's src/scaling/core/nn/parallel_module/pipeline_partitioning.py, pipe_partition_uniform, divides
 * the embedding, the blocks, the last norm and the head, which transformer/model/model.py lists as layers of one kind.
 *
 * torchtitan at 9dec370 (December 2024): parallelisms/parallelize_llama.py (selective_ac_option "op" of
 * train_configs/llama3_8b.toml; apply_compile of each block), train.py (the loss is not compiled; in June 2025
 * components/loss.py compiles it), run_llama_train.sh (expandable segments), parallelisms/pipelining_utils.py,
 * generate_split_points; benchmarks/llama3_h100_202412_torchtitan.md, footnote 1, and metrics.py (max_reserved, the
 * largest of all ranks). FSDP's MixedPrecision keeps sharded gradients in the type of the parameters' shards, fp32
 * (torch/distributed/fsdp/api.py). */
#define OF_MEGATRON                                                                                                    \
  .vocab_multiple = 128, .gpt_dropout = 0.1, .recompute = "full", .stages = "uniform", .unfused = "megatron-unfused",  \
  .llama_unfused = true
#define OF_MEGATRON_DEEPSPEED                                                                                          \
  OF_MEGATRON, .presets = {"deepspeed-pipeline", "deepspeed-pipeline", "deepspeed-2", "deepspeed-3"},                  \
               .stage_in_config = true, .dealt = SL_TABLE_STAGES_FILLED, .fused = "megatron-deepspeed",                \
               .version = "2022-02", .launch_blocking = true, .scatter_gather = true
/* Rows below, by what a table calls them; behind NAMES stand those that a name means in another precision or version. */
enum {
  MEGATRON,
  MEGATRON_DEEPSPEED,
  DEEPSPEED,
  FSDP,
  TORCHTITAN,
  NANOTRON,
  DDP,
  ALEPH_ALPHA,
  ACCELERATE,
  NAMES,
  MEGATRON_FP16 = NAMES,
  MEGATRON_DEEPSPEED_BF16,
  MEGATRON_CORE
};

/* Megatron-LM on Transformer Engine: its --transformer-impl is transformer_engine by default since its 0.6 of 2024.
 * account_for_embedding_in_pipeline_split and account_for_loss_in_pipeline_split (megatron/core/transformer/
 * transformer_config.py) are how 126 layers of Llama 3.1 are dealt to a number of stages that divides 128. */
static const struct sl_table_framework frameworks[] = {
    [MEGATRON] = {.name = "megatron",
                  .presets = {"megatron-lm", "megatron-distributed-optimizer", NULL, "megatron-fsdp"},
                  OF_MEGATRON,
                  .fused = "megatron-fused",
                  .grad_type = "fp32"},
    [MEGATRON_DEEPSPEED] =
        {
            .name = "megatron-deepspeed",
            OF_MEGATRON_DEEPSPEED,
        },
    [DEEPSPEED] = {.name = "deepspeed",
                   .presets = {"deepspeed-0", "deepspeed-1", "deepspeed-2", "deepspeed-3"},
                   .stage_in_config = true,
                   .vocab_multiple = 1,
                   .recompute = "full",
                   .stages = "uniform",
                   .dealt = SL_TABLE_STAGES_FILLED,
                   .fused = "megatron-fused",
                   .unfused = "torch-eager",
                   .scatter_gather = true},
    [FSDP] = {.name = "fsdp",
              .presets = {NULL, NULL, "fsdp-shard-grad-op", "fsdp"},
              .vocab_multiple = 1,
              .recompute = "none",
              .stages = "uniform",
              .fused = "llm-foundry",
              .unfused = "llm-foundry",
              .grad_sum = "fp32"},
    [TORCHTITAN] = {.name = "torchtitan",
                    .presets = {NULL, NULL, "fsdp2-no-reshard", "fsdp2"},
                    .vocab_multiple = 1,
                    .recompute = "none",
                    .stages = "uniform",
                    .dealt = SL_TABLE_STAGES_OF_TORCHTITAN,
                    .fused = "torch-compile-blocks",
                    .later = "torch-compile",
                    .unfused = "torch-eager",
                    .selective = "selective_op",
                    .memory = SL_MEMORY_LOGGED_MOST,
                    .expandable_segments = true,
                    .grad_sum = "fp32"},
    [NANOTRON] = {.name = "nanotron",
                  .presets = {"nanotron", "nanotron-zero1", NULL, NULL},
                  .vocab_multiple = 1,
                  .recompute = "none",
                  .stages = "cost",
                  .fused = "nanotron",
                  .unfused = "nanotron",
                  .memory = SL_MEMORY_LOGGED_FIRST,
                  .grad_type = "fp32"},
    [DDP] = {.name = "ddp",
             .presets = {"ddp", NULL, NULL, NULL},
             .vocab_multiple = 1,
             .recompute = "none",
             .stages = "uniform",
             .fused = "torch-eager",
             .unfused = "torch-eager"},
    [ALEPH_ALPHA] = {.name = "aleph-alpha-scaling",
                     .presets = {NULL, "aleph-alpha-scaling", NULL, NULL},
                     .vocab_multiple = 1,
                     .recompute = "none",
                     .stages = "uniform",
                     .dealt = SL_TABLE_STAGES_WITH_ENDS,
                     .fused = "aleph-alpha-scaling",
                     .unfused = "aleph-alpha-scaling",
                     .grad_type = "fp32"},
    /* transformers' models in eager torch, under DDP and FSDP */
    [ACCELERATE] = {.name = "accelerate",
                    .presets = {"ddp", NULL, "fsdp-shard-grad-op", "fsdp"},
                    .vocab_multiple = 1,
                    .recompute = "none",
                    .stages = "uniform",
                    .fused = "torch-eager",
                    .unfused = "torch-eager",
                    .grad_sum = "fp32",
                    .no_sync = true},
    [MEGATRON_FP16] = {.name = "megatron",
                       .presets = {"megatron-local-ddp", "megatron-distributed-optimizer", NULL, "megatron-fsdp"},
                       OF_MEGATRON,
                       .fused = "megatron-fused",
                       .scatter_gather = true},
    [MEGATRON_DEEPSPEED_BF16] = {.name = "megatron-deepspeed",
                                 OF_MEGATRON_DEEPSPEED,
                                 .grad_type = "fp32",
                                 .grad_sum = "fp32"},
    [MEGATRON_CORE] = {.name = "megatron",
                       .presets = {"megatron-lm", "megatron-distributed-optimizer", NULL, "megatron-fsdp"},
                       .vocab_multiple = 128,
                       .gpt_dropout = 0.1,
                       .recompute = "none",
                       .stages = "uniform",
                       .dealt = SL_TABLE_STAGES_SHORT_ENDS,
                       .fused = "megatron-core",
                       .unfused = "megatron-core",
                       .sums_as_reduced = true},
};

/* Other names of the same. GPT-NeoX is Megatron-LM on DeepSpeed; NeMo, Megatron Bridge and their like are
 * Megatron-LM; llm-foundry's and Composer's runs are what "fsdp" means. */
static const struct {
  const char *name, *of;
} aliases[] = {
    {"megatron-lm", "megatron"},
    {"megatron-core", "megatron"},
    {"nemo", "megatron"},
    {"megatron-bridge", "megatron"},
    {"gpt-neox", "megatron-deepspeed"},
    {"llm-foundry", "fsdp"},
    {"composer", "fsdp"},
    {"fsdp2", "torchtitan"},
    {"transformers", "accelerate"},
    {"huggingface", "accelerate"},
};

/* fp8 and cuDNN's attention come with Transformer Engine, and Hopper and later GPUs came when it was there. Rows that
 * say "nemo" or "megatron-core" mean it by that, unless they name an older version. */
static bool on_transformer_engine(const struct sl_table_row *row, const struct sl_cluster *cluster) {
  const bool by_name = strcmp(row->framework, "megatron") != 0 && strcmp(row->framework, "megatron-lm") != 0;
  if (strcmp(row->precision, "fp8") == 0 || strcmp(row->attention, "cudnn") == 0) return true;
  if (row->framework_version[0] != '\0') return strcmp(row->framework_version, "2024") >= 0;
  const double capability = cluster->device.compute_capability; /* 0: not of CUDA's, as AMD's of 2023 */
  return by_name || capability >= 9 || capability == 0;
}

/* FSDP with other parallelism is torchtitan's. Megatron-LM's gradients are 16-bit only in fp16, its mode before bf16 in
 * 2022, in which it scattered messages. DeepSpeed's bf16 optimizer of February 2022 (runtime/bf16_optimizer.py) sums
 * and reduces gradients in fp32. */
static int row_of(const struct sl_table_row *row, int named, const struct sl_cluster *cluster) {
  if (named == MEGATRON && on_transformer_engine(row, cluster)) return MEGATRON_CORE;
  if (named == FSDP && (row->tp > 1 || row->pp > 1)) return TORCHTITAN;
  if (named == MEGATRON_DEEPSPEED && strcmp(row->precision, "bf16") == 0) return MEGATRON_DEEPSPEED_BF16;
  return named == MEGATRON && strcmp(row->precision, "fp16") == 0 ? MEGATRON_FP16 : named;
}

static int place_of(const char *name) {
  int i = 0;
  for (size_t k = 0; k < sizeof aliases / sizeof *aliases; k++)
    if (strcmp(aliases[k].name, name) == 0) name = aliases[k].of;
  while (i < NAMES && strcmp(frameworks[i].name, name) != 0) i++;
  return i;
}

/* The framework that ran on this cluster instead of Megatron-LM, if it has the row's sharding; else the row's own. */
static const char *name_of(const struct sl_table_row *row, const struct sl_cluster *cluster) {
  const int own = place_of(cluster->framework);
  const bool stands_in = own < NAMES && strcmp(row->framework, "megatron") == 0 && row->virtual_stages == 1;
  return stands_in && frameworks[own].presets[row->zero_stage] != NULL ? cluster->framework : row->framework;
}

enum sl_status sl_table_framework(const struct sl_table_framework **out, const struct sl_table_row *row,
                                  const struct sl_cluster *cluster) {
  const char *names[NAMES], *name = name_of(row, cluster);
  const int named = place_of(name);
  if (named < NAMES) {
    *out = &frameworks[row_of(row, named, cluster)];
    return SL_OK;
  }
  for (int i = 0; i < NAMES; i++) names[i] = frameworks[i].name;
  const char *near = sl_nearest(name, names, NAMES);
  return sl_fail(
      SL_ERR_INPUT,
      "framework: is \"%.40s\"; expected megatron, megatron-deepspeed, deepspeed, fsdp, torchtitan, nanotron, "
      "ddp, accelerate or aleph-alpha-scaling%s%s%s",
      name, near != NULL ? "; did you mean " : "", near != NULL ? near : "", near != NULL ? "?" : "");
}

bool sl_table_fuses_loss(const struct sl_table_row *row) {
  return strcmp(row->framework, "nemo") == 0 || strcmp(row->framework, "megatron-bridge") == 0;
}
