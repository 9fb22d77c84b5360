/* The table of presets: one row for each way in which a framework shards; see plan/presets.h. */
#include "core/plan/presets.h"

#include "core/base/nearest.h"

#include <stdio.h>
#include <string.h>

enum { MIB = 1 << 20 };

/* Short names for the columns "family" and "split", where each word of "split" includes those before it. */
enum {
  DEEPSPEED = SL_FAMILY_DEEPSPEED,
  DEEPSPEED_PIPE = SL_FAMILY_DEEPSPEED | SL_FAMILY_PIPELINE_ENGINE,
  DDP = SL_FAMILY_DDP,
  ZRO = SL_FAMILY_ZRO,
  FSDP = SL_FAMILY_FSDP,
  FSDP2 = SL_FAMILY_FSDP2,
  MEGATRON = SL_FAMILY_MEGATRON,
  MEGATRON_FSDP = SL_FAMILY_MEGATRON | SL_FAMILY_MEGATRON_FSDP,
  ACCELERATE = SL_FAMILY_ACCELERATE,
  MEGATRON_LOCAL = SL_FAMILY_MEGATRON | SL_FAMILY_ONE_BUCKET,
  NANOTRON = SL_FAMILY_NANOTRON,
  NANOTRON_ZERO1 = SL_FAMILY_NANOTRON | SL_FAMILY_ONE_BUCKET,
  SCALING = SL_FAMILY_SCALING
};
enum { NONE, OPTIMIZER, GRADS, PARAMS };
enum { BEFORE, AFTER }; /* of struct sl_strategy: closes_after */

#define ROW(preset, whose, families, stage, unit, split, closes, beside, fp32, lets_go, ahead, first, limit, groups,   \
            of_stage, more_sharded, text)                                                                              \
  {                                                                                                                    \
    .row = {.name = preset,                                                                                            \
            .framework = whose,                                                                                        \
            .zero_stage = stage,                                                                                       \
            .units = SL_UNITS_##unit,                                                                                  \
            .shard_optimizer = (split) >= OPTIMIZER,                                                                   \
            .shard_grads = (split) >= GRADS,                                                                           \
            .shard_params = (split) >= PARAMS,                                                                         \
            .closes_after = (closes) == AFTER,                                                                         \
            .overlap = beside,                                                                                         \
            .fp32_gradients = fp32,                                                                                    \
            .release = SL_RELEASE_##lets_go,                                                                           \
            .prefetch_units = ahead},                                                                                  \
    .family = families, .first_bucket_bytes = (first)*MIB, .bucket_bytes = (limit)*MIB, .shards = SL_SHARDS_##groups,  \
    .by_stage = of_stage, .more = more_sharded, .description = text                                                    \
  }

/* Sources: torch/nn/parallel/distributed.py (bucket_cap_mb 25, first bucket 1 MiB); torch/distributed/fsdp (transformer
 * auto-wrap, BACKWARD_PRE, limit_all_gathers); Megatron-LM core/distributed/distributed_data_parallel.py, with
 * --overlap-grad-reduce (without it, its default, a stage is one bucket, reduced after the backward, which
 * zero_optimization.overlap_comm false asks for); DeepSpeed 0.19.6
 * runtime/zero; Accelerate 1.15 parallelism_config.py and utils/dataclasses.py. Whether Megatron-LM runs with
 * --overlap-param-gather and --tp-comm-overlap is up to the configuration: shardlab.overlap_param_gather,
 * shardlab.tp_comm_overlap.
 *
 * Megatron-LM of February 2022: megatron/model/distributed.py (allreduce_gradients: the whole buffer, called by
 * training.py after the schedule). nanotron: src/nanotron/trainer.py (DDP's buckets of ddp_bucket_cap_mb 25 at ZeRO-0;
 * in January 2025, at ZeRO-1, no DDP: sync_gradients_across_dp after backward with reduce_scatter=False all-reduces the
 * one buffer of fp32 gradients) and optim/zero.py (_all_gather_params). Aleph-Alpha/scaling: src/scaling/core/optimizer
 * (optimizer.py, step; allreduce.py, allreduce_no_retain and allreduce_tensor_in_float32; parameter_group.py,
 * step_prequel and step_sequel).
 *
 * Columns: "zero" is the ZeRO stage that a row corresponds to. "first" and "MiB" limit the first bucket and the others;
 * 0 stands for a limit by the number of ranks for Megatron-LM, otherwise for reduce_bucket_size, or for one bucket per
 * layer. "groups" says whether states may be sharded within groups of ranks. A row with "by stage" takes its other
 * columns from deepspeed-STAGE. "shards more" names the next preset of the same maker that a job goes to which does not
 * fit into memory. */
/* clang-format off */
static const struct sl_preset presets[] = {
    /*  preset                            framework                          family                  zero  units      split      closes  overlap  fp32  release   ahead  first  MiB  groups  by stage  shards more                       what it is */
    ROW("deepspeed-0",                    "DeepSpeed",                       DEEPSPEED,              0,    WHOLE,     NONE,      BEFORE, 0,       0,    DISTANCE, 0,     0,     0,   NONE,   0,        "deepspeed-1",                    "DeepSpeed without ZeRO: everything replicated"),
    ROW("deepspeed-1",                    "DeepSpeed",                       DEEPSPEED,              1,    FLAT,      OPTIMIZER, BEFORE, 0,       0,    DISTANCE, 0,     0,     0,   NONE,   0,        "deepspeed-2",                    "ZeRO-1: optimizer state in flat partitions"),
    ROW("deepspeed-2",                    "DeepSpeed",                       DEEPSPEED,              2,    FLAT,      GRADS,     BEFORE, 0,       0,    DISTANCE, 0,     0,     0,   NONE,   0,        "deepspeed-3",                    "ZeRO-2: gradients too"),
    ROW("deepspeed-3",                    "DeepSpeed",                       DEEPSPEED,              3,    PARAMETER, PARAMS,    BEFORE, 0,       0,    DISTANCE, 0,     0,     0,   NONE,   0,        NULL,                             "ZeRO-3: parameters too"),
    ROW("ddp",                            "PyTorch DDP",                     DDP,                    0,    WHOLE,     NONE,      AFTER,  1,       0,    DISTANCE, 0,     1,     25,  NONE,   0,        "fsdp2-no-reshard",               "DistributedDataParallel: 25 MiB buckets, the first 1 MiB, all-reduced as backward fills them"),
    ROW("zero-redundancy-optimizer",      "PyTorch ZeroRedundancyOptimizer", ZRO,                    1,    OWNER,     OPTIMIZER, AFTER,  1,       0,    DISTANCE, 0,     1,     25,  NONE,   0,        "fsdp2-no-reshard",               "DDP gradients; each rank updates its own whole parameters and broadcasts them"),
    ROW("fsdp",                           "PyTorch FSDP",                    FSDP,                   3,    LAYER,     PARAMS,    BEFORE, 1,       0,    PASS,     1,     0,     0,   NONE,   0,        NULL,                             "FullyShardedDataParallel FULL_SHARD: one flat parameter a block, gathered for forward and again for backward"),
    ROW("fsdp-shard-grad-op",             "PyTorch FSDP",                    FSDP,                   2,    LAYER,     PARAMS,    BEFORE, 1,       0,    MICRO,    1,     0,     0,   NONE,   0,        "fsdp",                           "FullyShardedDataParallel SHARD_GRAD_OP: gathered for forward, kept until backward is over"),
    ROW("megatron-distributed-optimizer", "Megatron-LM",                     MEGATRON,               1,    BUCKET,    OPTIMIZER, AFTER,  1,       1,    DISTANCE, 0,     0,     0,   MAY,    0,        "megatron-fsdp",                  "Megatron-LM --use-distributed-optimizer --overlap-grad-reduce: fp32 gradients reduce-scattered by bucket, parameters gathered by bucket"),
    ROW("fsdp-hybrid-shard",              "PyTorch FSDP",                    FSDP,                   3,    LAYER,     PARAMS,    BEFORE, 1,       0,    PASS,     1,     0,     0,   MUST,   0,        "fsdp",                           "HYBRID_SHARD: FULL_SHARD inside groups of shard_size ranks, replicas across them"),
    ROW("fsdp-hybrid-shard-zero2",        "PyTorch FSDP",                    FSDP,                   2,    LAYER,     PARAMS,    BEFORE, 1,       0,    MICRO,    1,     0,     0,   MUST,   0,        "fsdp-shard-grad-op",             "_HYBRID_SHARD_ZERO2: SHARD_GRAD_OP inside groups of shard_size ranks, replicas across them"),
    ROW("fsdp2",                          "PyTorch FSDP2",                   FSDP2,                  3,    LAYER,     PARAMS,    BEFORE, 1,       0,    PASS,     1,     0,     0,   MAY,    0,        NULL,                             "fully_shard, which DTensor tensor parallelism and torch.distributed.pipelining compose with; laid out like fsdp"),
    ROW("fsdp2-no-reshard",               "PyTorch FSDP2",                   FSDP2,                  2,    LAYER,     PARAMS,    BEFORE, 1,       0,    MICRO,    1,     0,     0,   MAY,    0,        "fsdp2",                          "fully_shard with reshard_after_forward false: gathered for forward, kept until backward is over"),
    ROW("mics",                           "DeepSpeed",                       DEEPSPEED,              3,    PARAMETER, PARAMS,    BEFORE, 0,       0,    DISTANCE, 0,     0,     0,   MUST,   0,        "deepspeed-3",                    "MiCS: ZeRO-3 inside groups of mics_shard_size ranks, replicas across them (until DeepSpeed 0.19.6)"),
    ROW("zero++",                         "DeepSpeed",                       DEEPSPEED,              3,    PARAMETER, PARAMS,    BEFORE, 0,       0,    DISTANCE, 0,     0,     0,   HPZ,    0,        "deepspeed-3",                    "ZeRO++'s hpZ: ZeRO-3 with a second copy of the parameters in groups of zero_hpz_partition_size ranks"),
    ROW("deepspeed-pipeline",             "DeepSpeed",                       DEEPSPEED_PIPE,         0,    WHOLE,     NONE,      BEFORE, 0,       0,    DISTANCE, 0,     0,     0,   NONE,   1,        NULL,                             "DeepSpeed's PipelineEngine: 1F1B; ZeRO stage 0 or 1, as zero_optimization.stage says"),
    ROW("megatron-lm",                    "Megatron-LM",                     MEGATRON,               0,    WHOLE,     NONE,      AFTER,  1,       1,    DISTANCE, 0,     0,     0,   NONE,   0,        "megatron-distributed-optimizer", "Megatron-LM --overlap-grad-reduce without a distributed optimizer: tensor, sequence and (interleaved) pipeline parallel"),
    ROW("megatron-local-ddp",             "Megatron-LM",                     MEGATRON_LOCAL,         0,    WHOLE,     NONE,      AFTER,  0,       0,    DISTANCE, 0,     0,     0,   NONE,   0,        "megatron-distributed-optimizer", "Megatron-LM of 2021 and 2022, --DDP-impl local: gradients in the parameters' type, all-reduced at once when backward is over"),
    ROW("megatron-fsdp",                  "Megatron-LM",                     MEGATRON_FSDP,          3,    LAYER,     PARAMS,    BEFORE, 1,       1,    PASS,     1,     0,     0,   MAY,    0,        NULL,                             "Megatron-FSDP, optim_grads_params: data and tensor parallel; laid out like fsdp"),
    ROW("accelerate-ddp",                 "Accelerate",                      ACCELERATE | DDP,       0,    WHOLE,     NONE,      AFTER,  1,       0,    DISTANCE, 0,     1,     25,  NONE,   0,        "accelerate-fsdp",                "ddp, as Accelerate wraps it"),
    ROW("accelerate-fsdp",                "Accelerate",                      ACCELERATE | FSDP2,     3,    LAYER,     PARAMS,    BEFORE, 1,       0,    PASS,     1,     0,     0,   MAY,    0,        NULL,                             "fsdp2 through Accelerate's ParallelismConfig: data and tensor parallel"),
    ROW("accelerate-deepspeed",           "Accelerate",                      ACCELERATE | DEEPSPEED, 0,    WHOLE,     NONE,      BEFORE, 0,       0,    DISTANCE, 0,     0,     0,   NONE,   1,        NULL,                             "DeepSpeed through Accelerate: the stage is zero_optimization.stage"),
    ROW("accelerate-megatron",            "Accelerate",                      ACCELERATE | MEGATRON,  1,    BUCKET,    OPTIMIZER, AFTER,  1,       1,    DISTANCE, 0,     0,     0,   NONE,   0,        NULL,                             "megatron-distributed-optimizer, through Accelerate's MegatronLMPlugin"),
    ROW("nanotron",                       "nanotron",                        NANOTRON,               0,    WHOLE,     NONE,      AFTER,  1,       1,    DISTANCE, 0,     1,     25,  NONE,   0,        "nanotron-zero1",                 "nanotron at ZeRO-0: fp32 gradients all-reduced in DDP's buckets; --stages cost cuts a pipeline as it does"),
    ROW("nanotron-zero1",                 "nanotron",                        NANOTRON_ZERO1,         1,    FLAT,      OPTIMIZER, BEFORE, 0,       1,    DISTANCE, 0,     0,     0,   NONE,   0,        NULL,                             "nanotron at ZeRO-1: fp32 gradients all-reduced at once when backward is over, optimizer state in partitions, parameters gathered"),
    ROW("aleph-alpha-scaling",            "Aleph Alpha Scaling",             SCALING,                1,    FLAT,      OPTIMIZER, AFTER,  0,       0,    DISTANCE, 0,     0,     0,   NONE,   0,        NULL,                             "Aleph Alpha Scaling with ZeRO: gradients summed in the parameters' type, all-reduced in fp32 when backward is over, optimizer state in partitions, parameters gathered"),
};
/* clang-format on */
enum { PRESETS = sizeof presets / sizeof *presets };

bool sl_strategy_preset(int i, const char **name, const char **description) {
  if (i < 0 || i >= PRESETS) return false;
  *name = presets[i].row.name;
  *description = presets[i].description;
  return true;
}

static const struct sl_preset *find(const char *name) {
  for (int i = 0; i < PRESETS; i++)
    if (strcmp(presets[i].row.name, name) == 0) return &presets[i];
  return NULL;
}

const char *sl_strategy_more_sharded(const char *name) {
  const struct sl_preset *p = find(name);
  return p != NULL ? p->more : NULL;
}

int sl_strategy_deepspeed_stage(const char *name) {
  const struct sl_preset *p = find(name);
  return p != NULL && (p->family & SL_FAMILY_DEEPSPEED) && !p->by_stage ? p->row.zero_stage : -1;
}

bool sl_strategy_cuts_vocabulary(const char *name) {
  const struct sl_preset *p = find(name);
  return p != NULL && (p->family & (SL_FAMILY_MEGATRON | SL_FAMILY_NANOTRON | SL_FAMILY_SCALING));
}

static enum sl_status unknown(const struct sl_config *config) {
  const char *names[PRESETS];
  for (int i = 0; i < PRESETS; i++) names[i] = presets[i].row.name;
  const char *near = sl_nearest(config->sl.preset, names, PRESETS);
  return sl_json_fail(&config->doc, "shardlab.preset", "\"%s\" is no preset%s%s%s (shardlab show presets lists them)",
                      config->sl.preset, near != NULL ? "; did you mean " : "", near != NULL ? near : "",
                      near != NULL ? "?" : "");
}

bool sl_strategy_reduces_after_backward(const struct sl_preset *preset, const struct sl_config *config) {
  const unsigned others = SL_FAMILY_MEGATRON_FSDP | SL_FAMILY_ONE_BUCKET;
  return (preset->family & SL_FAMILY_MEGATRON) && !(preset->family & others) &&
         json_is_false(sl_config_at(config, "zero_optimization.overlap_comm"));
}

enum sl_status sl_strategy_find_preset(struct sl_preset *out, const struct sl_config *config) {
  char name[16];
  const char *wanted = config->sl.preset;
  const struct sl_preset *p = find(wanted);
  if (p == NULL && wanted[0] != '\0') return unknown(config);
  if (p != NULL && !p->by_stage) {
    *out = *p;
    return SL_OK;
  }
  snprintf(name, sizeof name, "deepspeed-%d", config->zero.stage);
  *out = *find(name);
  if (p == NULL) return SL_OK;
  out->row.name = p->row.name;
  out->row.framework = p->row.framework;
  out->family = p->family;
  return SL_OK;
}
