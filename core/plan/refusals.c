/* What frameworks refuse: one row per limit, with the framework's own words where it has some, and their source. First
 * come the degrees and schedules, then combinations of a preset and DeepSpeed's keys that have no meaning (those that
 * it overrules: overruled.c). Versions: PyTorch 2.15, DeepSpeed 0.19.8, Megatron-LM core 0.16, Accelerate 1.15;
 * frameworks.c says what has changed since October 2024. */
#include "core/plan/refusals.h"
#include "core/plan/presets.h"

#include <stdio.h>
#include <string.h>

/* One configuration to be checked against one preset. `number` replaces '@' in a limit's words. */
struct question {
  const struct sl_preset *preset;
  const struct sl_config *config;
  int64_t number;
};

struct limit {
  unsigned family, except; /* for presets with a bit of `family` and none of `except` */
  const char *key;         /* to blame */
  bool (*broken)(struct question *q);
  const char *says;
};

static bool has_tp(struct question *q) {
  return q->config->sl.tp > 1;
}
static bool has_pp(struct question *q) {
  return q->config->sl.pp > 1;
}
static bool has_cp(struct question *q) {
  return q->config->sl.cp > 1;
}
static bool gathers_keys(struct question *q) {
  return has_cp(q) && q->config->sl.cp_comm == SL_CP_ALL_GATHER;
}
static bool exchanges_heads(struct question *q) {
  return has_cp(q) && q->config->sl.cp_comm == SL_CP_A2A;
}
static bool has_virtual_stages(struct question *q) {
  return q->config->sl.virtual_stages > 1;
}
/* Megatron-DeepSpeed's model has it. */
static bool has_sequence_parallel(struct question *q) {
  return q->config->sl.sequence_parallel && q->config->sl.kernels != SL_KERNELS_MEGATRON_DEEPSPEED;
}

static bool has_tp_comm_overlap(struct question *q) {
  return q->config->sl.tp_comm_overlap;
}

static bool shards_gradients(struct question *q) {
  return q->preset->row.shard_grads;
}
static bool shards_gradients_in_stages(struct question *q) {
  return has_pp(q) && shards_gradients(q);
}

static bool not_1f1b(struct question *q) {
  return has_pp(q) && strcmp(q->config->sl.schedule, "1f1b") != 0;
}

/* Megatron-DeepSpeed puts its own zb-h1 in the place of DeepSpeed's TrainSchedule (--enable-zbh1-pipeline). */
static bool not_deepspeeds_schedule(struct question *q) {
  return not_1f1b(q) && strcmp(q->config->sl.schedule, "zb-h1") != 0;
}

static bool virtual_stages_without_pp(struct question *q) {
  return has_virtual_stages(q) && !has_pp(q);
}

static bool schedule_without_pp(struct question *q) {
  return !has_pp(q) && strcmp(q->config->sl.schedule, "1f1b") != 0;
}

/* Megatron-LM chooses the schedule by the number of model chunks. */
static bool not_megatrons_schedule(struct question *q) {
  return has_pp(q) && strcmp(q->config->sl.schedule, has_virtual_stages(q) ? "interleaved" : "1f1b") != 0;
}

/* Micro-batches of a step; 0 if unknown yet, which breaks no limit. */
static int64_t micro_batches(const struct question *q) {
  return q->config->gradient_accumulation_steps;
}

static bool fewer_micro_batches_than_group(struct question *q) {
  return has_virtual_stages(q) && has_pp(q) && micro_batches(q) > 0 && micro_batches(q) < q->config->sl.pp;
}

static bool uneven_groups(struct question *q) {
  q->number = micro_batches(q) % q->config->sl.pp;
  return has_virtual_stages(q) && has_pp(q) && q->number != 0;
}

static bool fewer_micro_batches_than_stages(struct question *q) {
  q->number = micro_batches(q);
  return not_1f1b(q) ? false : has_pp(q) && q->number > 0 && q->number < q->config->sl.pp;
}

static bool stages_by_flops(struct question *q) {
  const enum sl_stages_by by = q->config->sl.stages_by;
  return has_pp(q) && by != SL_STAGES_UNIFORM && by != SL_STAGES_LIST;
}

static bool every_nth(struct question *q) {
  return q->config->sl.recompute_every > 1;
}

static bool shards_but_may_not(struct question *q) {
  return q->preset->shards == SL_SHARDS_NONE && q->config->sl.shard_size > 0;
}

static bool no_shard_size(struct question *q) {
  return q->preset->shards == SL_SHARDS_MUST && sl_config_shard_size(q->config) == 0;
}

static bool no_hpz(struct question *q) {
  return q->preset->shards == SL_SHARDS_HPZ && q->config->zero.hpz_partition_size <= 1;
}

static bool gathers_without_overlap(struct question *q) {
  return q->config->sl.overlap_param_gather && sl_strategy_reduces_after_backward(q->preset, q->config);
}

#define DEEPSPEED SL_FAMILY_DEEPSPEED
#define ACCELERATE SL_FAMILY_ACCELERATE
#define MEGATRON SL_FAMILY_MEGATRON
#define DATA_PARALLEL (SL_FAMILY_DDP | SL_FAMILY_ZRO | SL_FAMILY_FSDP)
#define ANY (~0u)
#define TORCH (DATA_PARALLEL | SL_FAMILY_FSDP2)
#define STAGE "zero_optimization.stage"
#define NO_SETTING "the framework has no such setting: "

/* A row whose text starts with NO_SETTING is ours: the framework has no such setting to refuse. */
static const struct limit limits[] = {
    /* accelerate/accelerator.py, pipeline_parallel_rank; parallelism_config.py, __post_init__ */
    {ACCELERATE, MEGATRON, "shardlab.pp", has_pp, "Pipeline parallelism is currently not supported in Accelerate."},
#define WITHOUT_SHARDS                                                                                                 \
  "Tensor/Context parallelism (tp/cp_size > 1) cannot be used with pure data parallelism (dp_replicate_size > 1 and "  \
  "dp_shard_size == 1)."
    {ACCELERATE, ANY & ~(ACCELERATE | SL_FAMILY_DDP), "shardlab.tp", has_tp, WITHOUT_SHARDS},
    {ACCELERATE, ANY & ~(ACCELERATE | SL_FAMILY_DDP), "shardlab.cp", has_cp, WITHOUT_SHARDS},
    /* torch/nn/parallel/distributed.py: tp and pp would need a mesh with a second dimension */
    {SL_FAMILY_DDP, 0, "shardlab.tp", has_tp, "Only 1D device mesh is supported"},
    {SL_FAMILY_DDP, 0, "shardlab.pp", has_pp, "Only 1D device mesh is supported"},
    {SL_FAMILY_DDP, 0, "shardlab.cp", has_cp, "Only 1D device mesh is supported"},
#define COMPOSES NO_SETTING "data parallel only, where fully_shard composes with it (--preset fsdp2)"
    {DATA_PARALLEL, 0, "shardlab.tp", has_tp, COMPOSES},
    {DATA_PARALLEL, 0, "shardlab.pp", has_pp, COMPOSES},
    {DATA_PARALLEL, 0, "shardlab.cp", has_cp, COMPOSES},
    /* torch/distributed/fsdp/_init_utils.py */
    {SL_FAMILY_FSDP, 0, "shardlab.shard_size", no_shard_size,
     "Manual wrapping with HYBRID_SHARD requires explicit specification of process group or device_mesh: expected the "
     "ranks of a group, --shard-size 8"},
    {SL_FAMILY_FSDP2, 0, "shardlab.cp_comm_type", exchanges_heads,
     NO_SETTING "PyTorch's context_parallel moves keys and values, never heads"},
    {TORCH, MEGATRON, "shardlab.virtual_stages", virtual_stages_without_pp,
     NO_SETTING "a rank has several stages only in a pipeline"},
    /* torch/distributed/pipelining/schedules.py, Schedule1F1B */
    {SL_FAMILY_FSDP2, ACCELERATE, "gradient_accumulation_steps", fewer_micro_batches_than_stages,
     "Number of microbatches (@) must be greater than or equal to the number of stages"},
    /* deepspeed/runtime/pipe/engine.py */
    {DEEPSPEED, 0, STAGE, shards_gradients_in_stages, "ZeRO-2 and ZeRO-3 are incompatible with pipeline parallelism"},
    {SL_FAMILY_PIPELINE_ENGINE, 0, STAGE, shards_gradients,
     "ZeRO-2 and ZeRO-3 are incompatible with pipeline parallelism"},
    {DEEPSPEED, 0, "shardlab.virtual_stages", has_virtual_stages, NO_SETTING "PipelineEngine holds one stage a rank"},
    {DEEPSPEED, 0, "shardlab.schedule", not_deepspeeds_schedule,
     NO_SETTING "PipelineEngine runs TrainSchedule, which is 1f1b, or Megatron-DeepSpeed's zb-h1"},
    {DEEPSPEED, 0, "shardlab.cp_comm_type", gathers_keys,
     NO_SETTING "Ulysses exchanges heads for tokens, which is a2a"},
    {DEEPSPEED, 0, "shardlab.sequence_parallel", has_sequence_parallel,
     NO_SETTING "Megatron-LM's sequence parallelism is the client model's"},
    {DEEPSPEED, 0, "zero_optimization.mics_shard_size", no_shard_size,
     "is missing; expected the ranks of a group that shards, --shard-size 8"},
    {DEEPSPEED, 0, "zero_optimization.zero_hpz_partition_size", no_hpz,
     "is missing; expected the ranks of a group that has a second copy, above 1"},
    {ANY, MEGATRON, "shardlab.tp_comm_overlap", has_tp_comm_overlap, NO_SETTING "Megatron-LM's userbuffers"},
    {SL_FAMILY_ONE_BUCKET, 0, "shardlab.tp_comm_overlap", has_tp_comm_overlap, NO_SETTING "userbuffers are of 2023"},
    /* megatron/training/arguments.py, validate_args; megatron/core/pipeline_parallel/schedules.py */
    {SL_FAMILY_MEGATRON_FSDP, 0, "shardlab.pp", has_pp, NO_SETTING "Megatron-FSDP goes with TP, EP and CP"},
    {MEGATRON, 0, "shardlab.virtual_stages", virtual_stages_without_pp,
     "When interleaved schedule is used, pipeline-model-parallel size should be greater than 1"},
    {MEGATRON, 0, "shardlab.schedule", not_megatrons_schedule,
     NO_SETTING "get_forward_backward_func takes 1f1b, and interleaved where virtual_stages is above 1"},
    {MEGATRON, 0, "gradient_accumulation_steps", fewer_micro_batches_than_group,
     "The number of contiguous micro-batches in a virtual pipeline stage should range in [PP, M]"},
    {MEGATRON, 0, "gradient_accumulation_steps", uneven_groups,
     "The remainder of M (the total micro-batches) divided by N (number of contiguous micro-batches in a virtual "
     "pipeline stage) should be 0, or larger than or equal to the pipeline-parallel size, but it is @."},
    {MEGATRON, 0, "shardlab.overlap_param_gather", gathers_without_overlap,
     "--overlap-param-gather only supported with overlap-grad-reduce"},
    {MEGATRON, 0, "shardlab.stages", stages_by_flops,
     NO_SETTING "layers are dealt evenly, or by --pipeline-model-parallel-layout"},
    {MEGATRON | DEEPSPEED, 0, "shardlab.recompute_every", every_nth, NO_SETTING "every layer is treated alike"},
    /* nanotron/parallel/pipeline_parallel/engine.py */
    {SL_FAMILY_NANOTRON, 0, "shardlab.virtual_stages", has_virtual_stages, NO_SETTING "a rank holds one run of blocks"},
    /* Aleph-Alpha/scaling core/nn/pipeline_schedule/train.py */
    {SL_FAMILY_SCALING, 0, "shardlab.virtual_stages", has_virtual_stages, NO_SETTING "a rank holds one run of layers"},
    {SL_FAMILY_SCALING, 0, "shardlab.schedule", not_1f1b, NO_SETTING "PipelineScheduleTrain is 1f1b"},
    {TORCH | DEEPSPEED | MEGATRON, 0, "shardlab.schedule", schedule_without_pp,
     NO_SETTING "a schedule is a pipeline's"},
    {ANY, 0, "shardlab.shard_size", shards_but_may_not, NO_SETTING "it shards over all data-parallel ranks"},
};

/* Copies `says` with '@' replaced by the number. */
static void fill_in(const char *says, int64_t number, char *words, size_t size) {
  const char *mark = strchr(says, '@');
  if (mark == NULL) {
    snprintf(words, size, "%s", says);
  } else {
    snprintf(words, size, "%.*s%lld%s", (int)(mark - says), says, (long long)number, mark + 1);
  }
}

static enum sl_status refuse(const struct limit *limit, const struct question *q) {
  char words[512];
  const struct sl_config *c = q->config;
  fill_in(limit->says, q->number, words, sizeof words);
  return sl_json_fail(&c->doc, limit->key, "%s; preset %s (%s), stage %d, tp %d, pp %d", words, q->preset->row.name,
                      q->preset->row.framework, q->preset->row.zero_stage, c->sl.tp, c->sl.pp);
}

static enum sl_status check_degrees(const struct sl_preset *preset, const struct sl_config *config) {
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
    struct question q = {.preset = preset, .config = config};
    const struct limit *limit = &limits[i];
    if (!(preset->family & limit->family) || (preset->family & limit->except)) continue;
    if (limit->broken(&q)) return refuse(limit, &q);
  }
  return SL_OK;
}

/* The stage repeats what a DeepSpeed preset already implies: the two must agree. */
static enum sl_status check_stage(const struct sl_strategy *s, const struct sl_config *c, bool deepspeed) {
  if (deepspeed && c->zero.stage != s->zero_stage) {
    return sl_json_fail(&c->doc, "zero_optimization.stage", "is %d; preset %s is stage %d", c->zero.stage, s->name,
                        s->zero_stage);
  }
  if (!deepspeed && c->zero.stage != 0 && c->zero.stage != s->zero_stage) {
    return sl_json_fail(&c->doc, "zero_optimization.stage",
                        "is %d; preset %s (%s) shards as stage %d does: leave the stage out or at 0", c->zero.stage,
                        s->name, s->framework, s->zero_stage);
  }
  return SL_OK;
}

/* What the configuration alone could not say, where a preset says the stage. */
static enum sl_status check_offload_stage(const struct sl_strategy *s, const struct sl_config *c) {
  if (c->zero.offload_param != SL_OFFLOAD_NONE && s->zero_stage != 3)
    return sl_json_fail(&c->doc, "zero_optimization.offload_param.device",
                        "parameter offload is only supported with ZeRO stage 3; preset %s is stage %d", s->name,
                        s->zero_stage);
  if (c->zero.offload_optimizer != SL_OFFLOAD_NONE && s->zero_stage == 0)
    return sl_json_fail(&c->doc, "zero_optimization.offload_optimizer.device",
                        "optimizer offload is only supported with ZeRO stage 1, 2 or 3; preset %s is stage 0", s->name);
  return SL_OK;
}

/* MiCS and ZeRO++'s hpZ are extensions of stage 3; DeepSpeed's other optimizers ignore their keys. */
static enum sl_status check_stage3_keys(const struct sl_strategy *s, const struct sl_config *c) {
  if (s->zero_stage == 3) return SL_OK;
  if (c->zero.mics_shard_size > 0)
    return sl_json_fail(&c->doc, "zero_optimization.mics_shard_size",
                        "is %lld; MiCS is an extension of ZeRO stage 3; the stage is %d",
                        (long long)c->zero.mics_shard_size, s->zero_stage);
  if (c->zero.hpz_partition_size > 1)
    return sl_json_fail(&c->doc, "zero_optimization.zero_hpz_partition_size",
                        "is %lld; ZeRO++'s hpZ keeps a second copy of the parameters that ZeRO stage 3 shards; the "
                        "stage is %d",
                        (long long)c->zero.hpz_partition_size, s->zero_stage);
  return SL_OK;
}

/* ZeRO++'s qwZ and qgZ quantise what stage 3 gathers and reduces. */
static enum sl_status check_quantized(const struct sl_strategy *s, const struct sl_config *c) {
  const bool weights = c->zero.quantized_weights, gradients = c->zero.quantized_gradients;
  const char *key = weights ? "zero_optimization.zero_quantized_weights" : "zero_optimization.zero_quantized_gradients";
  if (!weights && !gradients) return SL_OK;
  if (s->zero_stage != 3)
    return sl_json_fail(&c->doc, key, "is true; ZeRO++ quantises what ZeRO stage 3 %s; the stage is %d",
                        weights ? "gathers" : "reduces", s->zero_stage);
  if (sl_config_shard_size(c) > 0)
    return sl_json_fail(&c->doc, key,
                        "is true; groups of %lld ranks that shard among themselves are MiCS, whose "
                        "gathers and reductions are not quantised",
                        (long long)sl_config_shard_size(c));
  if (weights && sl_config_flag(c, "torch_autocast.enabled", false))
    return sl_json_fail(&c->doc, key, "Cannot enable both torch autocast and zero quantized weights");
  if (gradients && (c->sl.tp > 1 || c->sl.pp > 1))
    return sl_json_fail(&c->doc, "zero_optimization.zero_quantized_gradients",
                        "is true beside tp %d, pp %d; expected 1 and 1: its groups are of all ranks, node by node",
                        c->sl.tp, c->sl.pp);
  return SL_OK;
}

/* Types of parameters and of gradients without ZeRO: deepspeed/runtime/engine.py, _do_optimizer_sanity_check. Until
 * 0.18.5 bf16 beside fp32 was BF16_Optimizer's, and until 0.17.6 bf16 had no other choice, except in pipelines (since
 * 0.12.5). */
static enum sl_status check_types(const struct sl_preset *preset, const struct sl_config *c) {
  static const char *const key = "data_types.grad_accum_dtype";
  static const char *const torchs[] = {[SL_F32] = "float32", [SL_F16] = "float16", [SL_BF16] = "bfloat16"};
  const bool bf16 = c->param_dtype == SL_BF16, same = c->grad_accum_dtype == c->param_dtype;
  const bool engine = c->sl.pp > 1 || preset->family & SL_FAMILY_PIPELINE_ENGINE;
  if (!(preset->family & DEEPSPEED) || preset->row.zero_stage > 0) return SL_OK;
  if (same && (!bf16 || sl_config_since(c, 0, 17, 6) || (engine && sl_config_since(c, 0, 12, 5)))) return SL_OK;
  if (same)
    return sl_json_fail(&c->doc, key,
                        "Bfloat16 wrapper must use a gradient accumulation type of fp32, enable ZeRO to use Bfloat16 "
                        "gradient accumulation; preset %s, stage 0, shardlab.ds_version %s",
                        preset->row.name, c->ds_version);
  if (bf16 && c->grad_accum_dtype == SL_F32 && !sl_config_since(c, 0, 18, 5)) return SL_OK;
  return sl_json_fail(&c->doc, key,
                      "unsupported mix of model_dtype=torch.%s and grad_accum_dtype=torch.%s; preset %s (DeepSpeed), "
                      "stage 0: expected the same, or zero_optimization.stage above 0",
                      torchs[c->param_dtype], torchs[c->grad_accum_dtype], preset->row.name);
}

/* FSDP's CPUOffload (torch/distributed/fsdp/api.py) and FSDP2's CPUOffloadPolicy keep parameters, gradients and
 * optimizer states in host memory, all of them or none. */
static enum sl_status check_offload(const struct sl_preset *preset, const struct sl_config *c) {
  const struct sl_strategy *s = &preset->row;
  if (c->zero.offload_optimizer == SL_OFFLOAD_NONE && c->zero.offload_param == SL_OFFLOAD_NONE) return SL_OK;
  if (!(preset->family & (SL_FAMILY_FSDP | SL_FAMILY_FSDP2)))
    return sl_json_fail(&c->doc, "zero_optimization",
                        "preset %s: offload_optimizer and offload_param are DeepSpeed's; %s has none", s->name,
                        s->framework);
  if (c->zero.offload_optimizer == SL_OFFLOAD_CPU && c->zero.offload_param == SL_OFFLOAD_CPU &&
      c->zero.offload_ratio == 1)
    return SL_OK;
  return sl_json_fail(&c->doc, "zero_optimization",
                      "preset %s: %s offloads all or nothing: expected offload_optimizer and offload_param, both with "
                      "device \"cpu\" and a ratio of 1",
                      s->name, s->framework);
}

/* Features that only DeepSpeed's engine has. */
static enum sl_status check_foreign_keys(const struct sl_strategy *s, const struct sl_config *c) {
  if (c->optimizer.type == SL_OPT_ONEBIT_ADAM)
    return sl_json_fail(&c->doc, "optimizer.type", "is \"%s\"; preset %s: 1-bit Adam is DeepSpeed's",
                        c->optimizer.type_name, s->name);
  if (c->sparse_gradients)
    return sl_json_fail(&c->doc, "sparse_gradients", "is true; preset %s: sparse gradients are DeepSpeed's", s->name);
  if (c->zero.hpz_partition_size > 1 || c->zero.mics_shard_size > 0) {
    return sl_json_fail(&c->doc,
                        c->zero.mics_shard_size > 0 ? "zero_optimization.mics_shard_size"
                                                    : "zero_optimization.zero_hpz_partition_size",
                        "preset %s: shards over part of the ranks are DeepSpeed's (ZeRO++, MiCS); %s shards over all",
                        s->name, s->framework);
  }
  if (c->zero.quantized_weights || c->zero.quantized_gradients) {
    return sl_json_fail(&c->doc,
                        c->zero.quantized_weights ? "zero_optimization.zero_quantized_weights"
                                                  : "zero_optimization.zero_quantized_gradients",
                        "is true; preset %s: quantised transfers are DeepSpeed's (ZeRO++)", s->name);
  }
  if (c->activations.partitioned || c->activations.on_host) {
    return sl_json_fail(&c->doc,
                        c->activations.partitioned ? "activation_checkpointing.partition_activations"
                                                   : "activation_checkpointing.cpu_checkpointing",
                        "is true; preset %s: activation_checkpointing is DeepSpeed's; %s has none", s->name,
                        s->framework);
  }
  if (sl_config_flag(c, "prescale_gradients", false)) {
    return sl_json_fail(&c->doc, "prescale_gradients", "is true; preset %s: %s averages after the reduction", s->name,
                        s->framework);
  }
  if (c->gradient_allreduce_sum) {
    return sl_json_fail(&c->doc, "gradient_allreduce_op", "is \"sum\"; preset %s: %s averages gradients", s->name,
                        s->framework);
  }
  return SL_OK;
}

/* Megatron-LM's messages: megatron/training/arguments.py, validate_args. Its other requirement of the first,
 * --overlap-grad-reduce, always holds for this preset. */
static enum sl_status check_param_gather(const struct sl_strategy *s, const struct sl_config *c) {
  const bool fp8 = c->sl.fp8_param_gather && c->sl.fp8 && c->sl.kernels == SL_KERNELS_MEGATRON_CORE;
  if ((!c->sl.overlap_param_gather && !fp8) || s->units == SL_UNITS_BUCKET) return SL_OK;
  return sl_json_fail(&c->doc,
                      c->sl.overlap_param_gather ? "shardlab.overlap_param_gather" : "shardlab.fp8_param_gather",
                      "--%s-param-gather only supported with distributed optimizer; expected preset "
                      "megatron-distributed-optimizer, not %s",
                      c->sl.overlap_param_gather ? "overlap" : "fp8", s->name);
}

/* torch.autocast beside fp32 parameters is lowered for a plain loop on one rank and for DDP, whose gradients are
 * whole and fp32. What DeepSpeed makes of its section (runtime/torch_autocast.py: gradients reduced in 16 bits) is
 * not. */
static enum sl_status check_autocast(const struct sl_preset *preset, const struct sl_config *c) {
  static const char *const key = "torch_autocast.enabled";
  const bool ddp = preset->family & (SL_FAMILY_DDP | SL_FAMILY_ZRO), named = c->sl.preset[0] != '\0';
  if (c->autocast_dtype == SL_F32) return SL_OK;
  if (c->param_dtype != SL_F32)
    return sl_json_fail(&c->doc, key,
                        "is true beside %s.enabled; expected one of them: autocast keeps parameters in fp32",
                        sl_dtype_name(c->param_dtype));
  if (c->sl.tp > 1 || c->sl.pp > 1 || c->sl.cp > 1)
    return sl_json_fail(&c->doc, key, "is true beside tp %d, pp %d, cp %d; expected data parallelism alone", c->sl.tp,
                        c->sl.pp, c->sl.cp);
  if (!ddp && named)
    return sl_json_fail(&c->doc, key,
                        "is true; preset %s: expected ddp, accelerate-ddp, zero-redundancy-optimizer, or one rank "
                        "without a preset; autocast under other strategies is not modelled",
                        c->sl.preset);
  return SL_OK;
}

enum sl_status sl_strategy_check_autocast(const struct sl_config *c, int dp) {
  if (c->autocast_dtype == SL_F32 || dp == 1 || c->sl.preset[0] != '\0') return SL_OK;
  return sl_json_fail(
      &c->doc, "torch_autocast.enabled",
      "is true on %d ranks without a preset, which are DeepSpeed's; expected preset ddp, accelerate-ddp or "
      "zero-redundancy-optimizer, or one rank; autocast under other strategies is not modelled",
      dp);
}

/* runtime/zero/mics.py, allreduce_mics_shard_grads: sums over replicas, of which there are some if groups that shard
 * are smaller than the data-parallel group. shardlab.shard_size without a preset is our own, which sums in host
 * memory. */
enum sl_status sl_strategy_check_replicas(const struct sl_preset *preset, const struct sl_config *c, int dp) {
  const bool mics = c->zero.mics_shard_size > 0 || (c->sl.preset[0] != '\0' && preset->family & SL_FAMILY_DEEPSPEED);
  const int64_t size = sl_config_shard_size(c);
  if (!mics || c->zero.offload_optimizer == SL_OFFLOAD_NONE || size == 0 || size >= dp) return SL_OK;
  return sl_json_fail(
      &c->doc, "zero_optimization.offload_optimizer.device",
      "Local sharding has no support for CPU offloading: MiCS, in groups of %lld of %d data-parallel ranks; "
      "expected \"none\"",
      (long long)size, dp);
}

enum sl_status sl_strategy_check_limits(const struct sl_preset *preset, const struct sl_config *config) {
  const struct sl_strategy *s = &preset->row;
  const bool deepspeed = preset->family & SL_FAMILY_DEEPSPEED, named = config->sl.preset[0] != '\0';
  if (named) SL_TRY(check_degrees(preset, config));
  SL_TRY(deepspeed ? check_stage3_keys(s, config) : check_foreign_keys(s, config));
  if (!deepspeed) SL_TRY(check_offload(preset, config));
  SL_TRY(check_quantized(s, config));
  SL_TRY(check_param_gather(s, config));
  SL_TRY(check_autocast(preset, config));
  SL_TRY(check_stage(s, config, deepspeed));
  SL_TRY(check_offload_stage(s, config));
  SL_TRY(check_types(preset, config));
  if ((preset->family & SL_FAMILY_MEGATRON) && config->optimizer.type == SL_OPT_ADAM) {
    return sl_json_fail(
        &config->doc, "optimizer.type",
        "\"%s\" with L2 in the gradient; Megatron-LM's distributed optimizer runs AdamW (adam_w_mode) or SGD",
        config->optimizer.type_name);
  }
  return SL_OK;
}
